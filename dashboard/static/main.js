// Puts the page's parts to work. Each module owns one of them and finds out by itself whether it is on this page.

import { startFields } from "./fields.js";
import { startForms } from "./forms.js";
import { checkNames, startPeople } from "./people.js";
import { startPlanner } from "./planner.js";
import { startPresses } from "./press.js";
import { startNews } from "./news.js";
import { startPages } from "./pages.js";
import { startParts } from "./parts.js";
import { startActs } from "./acts.js";
import { startApps } from "./apps.js";
import { startApprovals } from "./approvals.js";
import { startBranches } from "./branches.js";
import { startCalendar } from "./calendar.js";
import { startCards } from "./cards.js";
import { startChat } from "./chat.js";
import { startCodes } from "./codes.js";
import { startConversations } from "./conversations.js";
import { startCopying } from "./copy.js";
import { startDiagrams } from "./diagrams.js";
import { startFiles } from "./files.js";
import { startLog } from "./log.js";
import { startKeys } from "./keys.js";
import { startModels } from "./models.js";
import { startPalette } from "./palette.js";
import { startPasskeyLogin, startPasskeys } from "./passkeys.js";
import { startPhone } from "./phone.js";
import { startPush } from "./push.js";
import { startReading } from "./reading.js";
import { startSections } from "./sections.js";
import { startTabs } from "./tabs.js";
import { markTheme, startTheme } from "./theme.js";
import { startTimes } from "./times.js";
import { startWaiting } from "./waiting.js";
import { startWords } from "./words.js";
import { startWrapping } from "./wrap.js";
import { startWizard } from "./wizard.js";
import { startZone } from "./zone.js";
import { startPictures } from "./pictures.js";
import { startProviders } from "./providers.js";

const PARTS = [markTheme, startPush, startCards, startParts, startPlanner, startChat, startBranches, startConversations, startReading, startDiagrams, startPictures, startWords, startFiles, startLog, startSections, startTabs, startModels, checkNames, startWizard, startProviders, startZone, startWaiting];

startForms();
startFields();
startTimes();
startPasskeyLogin();
if (document.body.dataset.viewer) {
  startPresses();
  startActs();
  startApprovals();
  startCalendar();
  startCopying();
  startWrapping();
  startApps();
  startPeople();
  startCodes();
  startPasskeys();
  startPalette();
  startTheme();
  startKeys();
  startNews();
  startPhone();
  startPages((page) => PARTS.forEach((begin) => begin(page)));
}

document.documentElement.dataset.ready = ""; // until now no button would have done anything: pieces.css
