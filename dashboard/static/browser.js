// What only the page of an agent's browser has.

import { startBrowserView } from "./browser-view.js";
import { addParts } from "./pages.js";

addParts([startBrowserView]);
