// What lets the terminal look right under a policy that allows no inline style, in our colours, and makes it deaf for
// everything that a program inside could ask of a page. The library itself is as its makers published it.

const PALETTE = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
// Names of the window, colours by number, links, the colours of text, ground and cursor, and the clipboard.
const UNHEARD = [0, 1, 2, 4, 8, 10, 11, 12, 52, 104, 110, 111, 112];

// The library writes its rules into <style> elements, and the colours of a letter into style attributes. Both are inline
// style; a sheet made by a script and an element's own style are not, and do the same.
export function allowStyles() {
  const create = document.createElement.bind(document);
  document.createElement = (name, options) => (name === "style" ? sheetInstead(create("template")) : create(name, options));
  const set = Element.prototype.setAttribute;
  HTMLSpanElement.prototype.setAttribute = function (name, value) {
    if (name === "style") this.style.cssText = value;
    else set.call(this, name, value);
  };
}

function sheetInstead(place) {
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  Object.defineProperty(place, "textContent", { set: (rules) => sheet.replaceSync(rules) });
  place.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((other) => other !== sheet);
    Element.prototype.remove.call(place);
  };
  return place;
}

export function deafen(terminal) {
  for (const number of UNHEARD) terminal.parser.registerOscHandler(number, () => true);
}

export function colours() {
  const probe = document.body.appendChild(document.createElement("span")); // a colour has two faces: it is asked for the one in use
  const of = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const theme = {
    background: of("surface"),
    foreground: of("ink"),
    cursor: of("sea"),
    cursorAccent: of("surface"),
    selectionBackground: of("sea-tint"),
    selectionForeground: of("ink"),
  };
  for (const name of PALETTE) {
    theme[name] = of(`ansi-${name}`);
    theme[`bright${name[0].toUpperCase()}${name.slice(1)}`] = of(`ansi-bright-${name}`);
  }
  probe.remove();
  return theme;
}

export function letters() {
  return getComputedStyle(document.documentElement).getPropertyValue("--mono").trim();
}
