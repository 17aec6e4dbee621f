// A document as text with refs, for a model: Markdown-like, one walk, in a world of its own that no page sees or changes.
//
// hermitSnapshot({ urls, prefix }) -> { pieces, frames, refs, … }; every second piece is the number of a frame
// hermitFrames, hermitHosts        -> of the last snapshot: its frames, and elements that may have a closed shadow root
// hermitAdopt(host, root)          -> opens a closed shadow root to the walk
// hermitRef("e12")                 -> the element; a ref names the same element for as long as the document lives
// hermitConceal(element)           -> what the field holds is never shown, whatever its type becomes
// hermitSpot(element)              -> where to press it, and what lies over it
//
// `start`: the last number that an earlier document of this tab gave to an element.
(start) => {
  if (globalThis.hermitSnapshot) return;
  const MAX_NODES = 200_000, MAX_TEXT = 1_500_000, MAX_DEPTH = 400, MAX_FRAMES = 30, MAX_HOSTS = 100;
  const SKIP = new Set(
    ("SCRIPT STYLE NOSCRIPT TEMPLATE HEAD META LINK TITLE BASE SVG CANVAS AUDIO VIDEO OBJECT EMBED PARAM SOURCE TRACK " +
      "AREA MAP COL COLGROUP DATALIST WBR").split(" "),
  );
  const INLINE = /^(inline|contents|ruby)/;
  const HEADINGS = { H1: "# ", H2: "## ", H3: "### ", H4: "#### ", H5: "##### ", H6: "###### " };
  const INPUTS = {
    checkbox: "checkbox", radio: "radio", range: "slider", button: "button", submit: "button", reset: "button",
    image: "button", file: "file", color: "color", number: "number", hidden: "hidden",
  };
  const ROLES = new Set(
    ("button link checkbox radio switch tab menuitem menuitemcheckbox menuitemradio option treeitem textbox searchbox " +
      "combobox slider spinbutton listbox").split(" "),
  );
  const FIELDS = new Set("textbox searchbox combobox number slider spinbutton color".split(" "));
  const ACTIVE = /\]\((f\d+)?e\d|\[(button|textbox|checkbox|radio|select|file|clickable) (f\d+)?e\d/;
  const ONLY_ONE = /^(\[(button|textbox|checkbox|radio|select|file|clickable) (f\d+)?e\d+[^[\]]*\]|\[[^[\]]*\]\((f\d+)?e\d+[^()]*\))$/;
  const PARTS_OF_LINKS = /\[(button|textbox|checkbox|select) (f\d+)?e\d/;
  const ICON_WORDS = /^(fa|fas|far|fab|fa-fw|bi|icon|svg|nav-icon|right)$/;

  const refOf = new WeakMap(), byRef = new Map(), closed = new WeakMap(), plain = new WeakSet(), passwords = new WeakSet(), concealed = new Set();
  let count = start, prefix = "";

  const bare = (text) => text.replace(/[\u0000\u00ad\u200b\u2060\ufeff]/g, "");
  const clean = (text, most = 0) => {
    text = bare(text).replace(/\s+/g, " ").trim();
    return most && text.length > most ? text.slice(0, most - 1) + "…" : text;
  };
  const ref = (el) => {
    let name = refOf.get(el);
    if (!name) {
      name = "e" + ++count;
      refOf.set(el, name);
      byRef.set(name, new WeakRef(el));
    }
    return prefix + name;
  };
  const isConcealed = (el) => {
    if (el.type === "password") passwords.add(el);
    return passwords.has(el) || concealed.has(el);
  };
  const byIds = (el, ids) =>
    clean(ids.split(/\s+/).map((id) => el.getRootNode().getElementById?.(id)?.textContent || "").join(" "));

  function iconName(el) {
    const icon = el.querySelector?.("svg use, i[class], span[class*=icon], svg[class]");
    const hint = icon && (icon.getAttribute("href") || icon.getAttribute("xlink:href") || icon.getAttribute("class"));
    if (!hint) return "";
    const words = hint.replace(/^.*#/, "").split(/\s+/).filter((word) => !ICON_WORDS.test(word));
    return "icon " + clean(words.slice(0, 2).join(" "), 40);
  }
  function wordsBeside(label, el) {
    if (label === el) return ""; // a list's own options are no part of its name
    if (!label.contains(el)) return label.innerText ?? label.textContent ?? "";
    return [...label.childNodes].map((one) => wordsBeside(one, el)).join(" ");
  }
  function dialogName(el) {
    const named = el.getAttribute("aria-labelledby"), heading = el.querySelector("h1,h2,h3,h4,h5,h6");
    return clean((named && byIds(el, named)) || el.getAttribute("aria-label") || el.title || heading?.textContent || "", 100);
  }
  function nameOf(el, inner) {
    const named = el.getAttribute("aria-labelledby");
    const labels = el.labels?.length ? [...el.labels].map((one) => wordsBeside(one, el)).join(" ") : "";
    const image = () => {
      const found = el.querySelector?.("img[alt]:not([alt='']),[aria-label],svg title");
      return found ? found.getAttribute("alt") || found.getAttribute("aria-label") || found.textContent || "" : "";
    };
    const value = el.tagName === "INPUT" && /^(submit|button|reset)$/.test(el.type) ? el.value : "";
    const preset = isConcealed(el) ? "" : el.getAttribute("value");
    return (
      (named && byIds(el, named)) || clean(el.getAttribute("aria-label") || "") || clean(labels) || clean(inner || "") ||
      clean(value) || clean(image()) ||
      clean(el.title || el.placeholder || el.getAttribute("data-tooltip") || el.name || preset || "") || iconName(el)
    );
  }
  function kindOf(el, style) {
    const role = el.getAttribute("role");
    if (role && ROLES.has(role)) return role;
    switch (el.tagName) {
      case "A": return el.hasAttribute("href") ? "link" : el.hasAttribute("onclick") ? "button" : "";
      case "BUTTON": case "SUMMARY": return "button";
      case "INPUT": return INPUTS[el.type] || "textbox";
      case "TEXTAREA": return "textbox";
      case "SELECT": return "select";
    }
    if (el.isContentEditable && !el.parentElement?.isContentEditable) return "textbox";
    if (el.hasAttribute("onclick")) return "clickable";
    const isFocusable = el.tabIndex >= 0 && el.hasAttribute("tabindex") && el.childElementCount < 20;
    if (isFocusable && style.overflowY !== "auto" && style.overflowY !== "scroll") return "clickable";
    const isPointed = style.cursor === "pointer" && el.tagName !== "LABEL" && el.parentElement;
    return isPointed && getComputedStyle(el.parentElement).cursor !== "pointer" ? "clickable" : "";
  }
  function stateOf(el) {
    const aria = (name) => el.getAttribute("aria-" + name);
    let out = "";
    if (el.checked || aria("checked") === "true") out += ", checked";
    else if (aria("checked") === "mixed" || el.indeterminate) out += ", mixed";
    if (el.disabled || aria("disabled") === "true") out += ", disabled";
    if (aria("expanded")) out += aria("expanded") === "true" ? ", open" : ", closed";
    if (aria("selected") === "true" || (aria("current") && aria("current") !== "false")) out += ", current";
    if (aria("pressed") === "true") out += ", pressed";
    if (el.required || aria("required") === "true") out += ", required";
    if (el.readOnly) out += ", read-only";
    if (aria("invalid") === "true" || (el.validity && !el.validity.valid && el.value)) out += ", invalid";
    return out;
  }
  function valueOf(el, what, label) {
    if (what === "select" && el.options) {
      const all = [...el.options], labels = (some) => some.map((one) => one.label);
      const chosen = clean(labels([...el.selectedOptions]).join(", ") || "none", 80);
      return ` = ${chosen} of ${all.length > 12 ? all.length + ": " : ""}${clean(labels(all.slice(0, 12)).join(" | "), 200)}`;
    }
    if (what === "file" && el.files?.length) return ` = ${JSON.stringify(clean([...el.files].map((one) => one.name).join(", "), 200))}`;
    if (!FIELDS.has(what)) return "";
    const value = isConcealed(el) ? (el.value ? "•••" : "") : clean(String(el.value ?? el.innerText ?? ""), 200);
    let out = value ? ` = ${JSON.stringify(value)}` : "";
    if (!value && el.placeholder && el.placeholder !== label) out = ` (${clean(el.placeholder, 60)})`;
    const isUsual = !el.type || /^(text|textarea|search|number|range|color)$/.test(el.type);
    return isUsual ? out : `${out} ${clean(String(el.type), 20)}`;
  }

  function snapshot({ urls = false } = {}) {
    const lines = [], frames = [], hosts = [];
    let line = "", indent = 0, nodes = 0, size = 0, depth = 0, isCut = false;

    const margin = () => "  ".repeat(Math.min(indent, 6));
    const push = (text) => {
      size += text.length;
      lines.push(margin() + text);
    };
    const flush = () => {
      const text = line.replace(/ {2,}/g, " ").trim();
      line = "";
      if (text) push(text);
    };
    const inner = (el) => {
      const before = [line, lines.length, indent];
      line = "";
      indent = 0;
      kids(el);
      flush();
      const text = lines.splice(before[1]).map((one) => one.trim()).join(" ");
      [line, , indent] = before;
      return text;
    };
    function kids(el) {
      if (el.tagName === "SLOT") {
        const given = el.assignedNodes();
        (given.length ? given : el.childNodes).forEach(walk);
        return;
      }
      const root = el.shadowRoot || closed.get(el);
      if (!root && el.localName.includes("-") && !plain.has(el) && hosts.length < MAX_HOSTS) {
        plain.add(el);
        hosts.push(el);
      }
      (root || el).childNodes.forEach(walk);
    }
    function walk(node) {
      if (++nodes > MAX_NODES || size + line.length > MAX_TEXT) {
        isCut = true;
      } else if (depth > MAX_DEPTH) {
        line += " " + clean(node.textContent || "", 2000) + " ";
      } else {
        depth++;
        if (node.nodeType === 3) words(node);
        else if (node.nodeType === 1) element(node);
        depth--;
      }
    }
    function words(node) {
      const text = bare(node.data);
      if (text.trim()) line += text.replace(/\s+/g, " ");
      else if (text) line += " ";
    }
    function element(el) {
      const tag = el.tagName.toUpperCase();
      if (tag === "BR") return flush();
      if (SKIP.has(tag) && !(tag === "SVG" && el.getAttribute("role"))) return;
      if (el.getAttribute("aria-hidden") === "true" && !el.matches(":focus-within")) return;
      const style = getComputedStyle(el);
      if (style.display === "none" || style.contentVisibility === "hidden") return;
      if (style.visibility === "hidden" || style.visibility === "collapse") {
        for (const child of el.children) walk(child);
        return;
      }
      if (tag === "IFRAME" || tag === "FRAME") return frame(el);
      if (tag === "IMG") {
        const alt = clean(el.alt || "", 120);
        if (alt) line += ` ![${alt}] `;
        return;
      }
      const what = kindOf(el, style), isBlock = !INLINE.test(style.display);
      if (what === "hidden") return;
      if (what === "link") return link(el, isBlock);
      if (what) return control(el, what, isBlock && !/^inline-/.test(style.display));
      if (tag === "LABEL" && el.control && el.control !== el) {
        if (el.contains(el.control)) for (const one of el.querySelectorAll("input,select,textarea,button")) walk(one);
        return;
      }
      if (isBlock) block(el, tag);
      else kids(el);
    }
    function frame(el) {
      const box = el.getBoundingClientRect();
      if (box.width < 3 || box.height < 3 || frames.length >= MAX_FRAMES) return;
      flush();
      frames.push({ el, indent: Math.min(indent, 6) });
      lines.push(`\u0000${frames.length - 1};`);
    }
    function link(el, isBlock) {
      const text = inner(el), label = clean(nameOf(el, text), 200), href = clean(el.getAttribute("href") || "", 500);
      if (PARTS_OF_LINKS.test(text)) {
        line += " " + text + " ";
        return;
      }
      if (isBlock) flush();
      const box = el.getBoundingClientRect();
      if (label) line += ` [${label}](${ref(el)}${urls && href ? " " + href : ""}${stateOf(el)}) `;
      else if (box.width > 3 && box.height > 3) line += ` [](${ref(el)} ${clean(href, 60)}) `;
      if (isBlock) flush();
    }
    function control(el, what, isAlone) {
      const text = FIELDS.has(what) || what === "select" ? "" : inner(el), isCard = ACTIVE.test(text);
      if (isAlone) flush();
      if (what === "clickable" && (isCard || text.length > 300)) {
        if (!ONLY_ONE.test(text)) line += ` (${ref(el)}) `; // its parts speak for themselves
        kids(el);
      } else {
        const label = clean(nameOf(el, isCard ? "" : text), 150);
        if (what === "clickable" && !label) return;
        const focus = el === el.getRootNode().activeElement ? ", focused" : "";
        line += ` [${what} ${ref(el)}${label ? ": " + label : ""}${valueOf(el, what, label)}${stateOf(el)}${focus}] `;
        if (isCard) line += text + " ";
      }
      if (isAlone) flush();
    }
    function block(el, tag) {
      const role = el.getAttribute("role");
      flush();
      if (HEADINGS[tag]) {
        const text = inner(el);
        if (text) push(HEADINGS[tag] + text);
      } else if (tag === "TR" || role === "row") {
        const text = [...el.children].map((cell) => inner(cell)).join(" | ").trim();
        if (text.replace(/[| ]/g, "")) push("| " + text);
      } else if (tag === "LI" || role === "listitem") {
        const first = lines.length;
        indent++;
        kids(el);
        flush();
        indent--;
        if (lines.length > first && lines[first][0] !== "\u0000") lines[first] = margin() + "- " + lines[first].trim();
      } else if (tag === "PRE") {
        const text = bare(el.innerText).replace(/\n+$/, "");
        if (text.trim()) push("```\n" + text.slice(0, 4000) + "\n```");
      } else {
        const label = /^(alert)?dialog$/.test(role) || tag === "DIALOG" ? dialogName(el) : null;
        if (label !== null) push(`--- dialog${label ? ": " + label : ""} ---`);
        kids(el);
        flush();
      }
    }

    if (document.body) walk(document.body);
    flush();
    globalThis.hermitFrames = frames.map((one) => one.el);
    globalThis.hermitHosts = hosts;
    const called = (el) => clean(el.title || el.name || el.getAttribute("aria-label") || "", 80).toWellFormed();
    return {
      pieces: lines.join("\n").toWellFormed().split(/\n?\u0000(\d+);\n?/),
      frames: frames.map(({ el, indent }) => ({ name: called(el), indent })),
      title: document.title.slice(0, 500).toWellFormed(),
      scroll: [Math.round(scrollY), document.documentElement?.scrollHeight ?? 0, innerHeight],
      refs: count, hosts: hosts.length, isCut,
      isExposed: [...concealed].some((el) => el.isConnected && el.type !== "password" && el.value),
    };
  }

  function spot(el) {
    const sized = (one) => [...one.getClientRects()].filter((box) => box.width > 0 && box.height > 0);
    const labels = [...(el.labels || [])];
    let target = el, boxes = sized(el);
    if (!boxes.length || getComputedStyle(el).opacity === "0") {
      const label = labels.find((one) => sized(one).length); // a drawn stand-in, as for many checkboxes
      if (label) [target, boxes] = [label, sized(label)];
    }
    if (!boxes.length) return { problem: "it has no size on the page" };
    const best = boxes.reduce((a, b) => (b.width * b.height > a.width * a.height ? b : a));
    const x = best.x + best.width / 2, y = best.y + best.height / 2;
    let top = document.elementFromPoint(x, y);
    for (let root; top && (root = top.shadowRoot || closed.get(top)); ) {
      const within = root.elementFromPoint(x, y);
      if (!within || within === top) break;
      top = within;
    }
    const isWithin = (node, outer) => {
      for (; node; node = node.parentNode || node.host) if (node === outer) return true;
      return false;
    };
    if (!top) return { x, y, cover: "the edge of the window" };
    if (isWithin(top, target) || isWithin(target, top) || labels.some((one) => isWithin(top, one))) return { x, y, cover: "" };
    const name = typeof top.className === "string" && top.className ? " class=" + top.className : "";
    return { x, y, cover: `<${clean(top.tagName.toLowerCase() + (top.id ? " id=" + top.id : "") + name, 100)}>`.toWellFormed() };
  }

  globalThis.hermitSnapshot = (options = {}) => {
    prefix = options.prefix || "";
    return snapshot(options);
  };
  globalThis.hermitRef = (name) => {
    const el = byRef.get(name)?.deref();
    return el?.isConnected ? el : null;
  };
  globalThis.hermitAdopt = (host, root) => void closed.set(host, root);
  globalThis.hermitConceal = (el) => void concealed.add(el);
  globalThis.hermitSpot = spot;
}
