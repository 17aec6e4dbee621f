// What only some pages have: they name this script, and no other page waits for it.

import { startFiles } from "./files.js";
import { startImport } from "./importing.js";
import { startLog } from "./log.js";
import { startLooks } from "./looks.js";
import { startModels } from "./models.js";
import { startOidc } from "./oidc.js";
import { addParts } from "./pages.js";
import { startPasskeyLogin, startPasskeys } from "./passkeys.js";
import { startPlanner } from "./planner.js";
import { startProviders } from "./providers.js";
import { startWizard } from "./wizard.js";

startPasskeyLogin();
startPasskeys();
startOidc();
addParts([startFiles, startImport, startLog, startLooks, startModels, startPlanner, startProviders, startWizard]);
