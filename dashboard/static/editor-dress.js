// How the editor looks and what it can do: our colours, which come through from the page, and a language by the name.

import {
  EditorState, EditorView, HighlightStyle, bracketMatching, closeBrackets, closeBracketsKeymap, defaultKeymap, drawSelection, dropCursor, foldGutter,
  foldKeymap, highlightActiveLine, highlightActiveLineGutter, highlightSelectionMatches, highlightSpecialChars, history, historyKeymap,
  indentOnInput, indentWithTab, keymap, languages, lineNumbers, rectangularSelection, searchKeymap, syntaxHighlighting, tags,
} from "./vendor/codemirror/codemirror.mjs";

const WRAPPED = /\.(md|txt|log|csv|html?)$/i;

const look = EditorView.theme({
  "&": { height: "100%", color: "var(--ink)", backgroundColor: "var(--surface)", fontSize: "0.875rem" },
  "&.cm-focused": { outline: "2px solid var(--sea)", outlineOffset: "1px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--sunken)", color: "var(--ink-soft)", borderRight: "1px solid var(--line)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--sea-tint) 55%, transparent)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "color-mix(in srgb, var(--sea) 32%, transparent)" },
  ".cm-selectionMatch": { backgroundColor: "color-mix(in srgb, var(--mark) 45%, transparent)" },
  ".cm-specialChar": { color: "var(--bad)" },
  ".cm-panels": { backgroundColor: "var(--surface)", color: "var(--ink)", borderColor: "var(--line)" },
  ".cm-panels input, .cm-panels button": { fontSize: "0.875rem", minHeight: "2rem", color: "var(--ink)", background: "var(--surface)", border: "1px solid var(--edge)", borderRadius: "0.375rem" },
  ".cm-panels label": { fontSize: "0.875rem" },
  ".cm-searchMatch": { backgroundColor: "var(--mark)", color: "var(--mark-ink)" },
  ".cm-foldPlaceholder": { backgroundColor: "var(--sunken)", color: "var(--ink-soft)", border: "0" },
});

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier, tags.operatorKeyword], color: "var(--ansi-magenta)" },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: "var(--ansi-green)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: "var(--ansi-red)" },
  { tag: [tags.comment, tags.meta, tags.processingInstruction], color: "var(--ink-soft)", fontStyle: "italic" },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName), tags.definition(tags.variableName), tags.labelName], color: "var(--ansi-blue)" },
  { tag: [tags.typeName, tags.className, tags.tagName, tags.namespace], color: "var(--ansi-cyan)" },
  { tag: [tags.propertyName, tags.attributeName], color: "var(--ansi-yellow)" },
  { tag: [tags.heading, tags.strong], fontWeight: "650" },
  { tag: tags.emphasis, fontStyle: "italic" },
  { tag: [tags.link, tags.url], color: "var(--sea)", textDecoration: "underline" },
  { tag: tags.invalid, color: "var(--bad)" },
]);

// An editor that fills the host, in a shadow tree of it.
export function openView(host, { text, name, label, onChange }) {
  const root = host.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(":host { display: grid; grid-template-rows: minmax(0, 1fr); }");
  root.adoptedStyleSheets = [sheet];
  const extensions = [
    ...extensionsFor(name),
    EditorView.contentAttributes.of({ "aria-label": label }),
    EditorView.updateListener.of((update) => update.docChanged && onChange()),
  ];
  return new EditorView({ root, parent: root, state: EditorState.create({ doc: text, extensions }) });
}

function extensionsFor(name) {
  const language = languages[name.toLowerCase().split(".").pop()];
  return [
    lineNumbers(),
    highlightActiveLineGutter(),
    highlightSpecialChars(),
    history(),
    foldGutter(),
    drawSelection(),
    dropCursor(),
    EditorState.allowMultipleSelections.of(true),
    indentOnInput(),
    syntaxHighlighting(colours),
    bracketMatching(),
    closeBrackets(),
    rectangularSelection(),
    highlightActiveLine(),
    highlightSelectionMatches(),
    keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...foldKeymap, indentWithTab]),
    look,
    ...(language ? [language()] : []),
    ...(!name || WRAPPED.test(name) ? [EditorView.lineWrapping] : []),
  ];
}
