// Puts the page's parts to work. Each module owns one of them and finds out by itself whether it is on this page.

import { startFields } from "./fields.js";
import { startForms } from "./forms.js";
import { checkNames, startPeople } from "./people.js";
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
import { startGlances } from "./glances.js";
import { startHome } from "./home.js";
import { startKeys } from "./keys.js";
import { startLanguage } from "./language.js";
import { startPalette } from "./palette.js";
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
import { startZone } from "./zone.js";
import { startPictures } from "./pictures.js";

const PARTS = [markTheme, startPush, startCards, startParts, startChat, startBranches, startConversations, startReading, startDiagrams, startPictures, startGlances, startWords, startSections, startTabs, startHome, checkNames, startZone, startWaiting];

startForms();
startFields();
startTimes();
startLanguage();
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
  startPalette();
  startTheme();
  startKeys();
  startNews();
  startPhone();
  startPages((page) => PARTS.forEach((begin) => begin(page)));
}

// Until now no button would have done anything (pieces.css); a page that names a script more waits for that.
if (!document.querySelector("script[data-parts]")) document.documentElement.dataset.ready = "";
