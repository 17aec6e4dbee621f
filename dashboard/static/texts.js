// What scripts say, in the page's language. A page in another language than English brings the translations before this
// script runs (texts.DE.js, made from the catalogues): a text by its English wording; forms of a plural in a list.

const known = globalThis.hermitTexts ?? {};
const { lang } = document.documentElement;
const rules = new Intl.PluralRules(lang || "en");

// `%(name)s` in the text is filled in from `about`.
export function t(text, about) {
  return fill(known[text] ?? text, about);
}

export function tn(one, many, count, about) {
  const forms = known[one] ?? [one, many];
  return fill(forms[Math.min(rules.select(count) === "one" ? 0 : 1, forms.length - 1)], { count, ...about });
}

// An amount as the language writes it.
export function amount(number, places = 0) {
  if (lang === "en" || !lang) return number.toFixed(places);
  return number.toLocaleString(lang, { minimumFractionDigits: places, maximumFractionDigits: places });
}

function fill(text, about) {
  return about ? text.replace(/%\((\w+)\)s/g, (_, name) => about[name]) : text;
}
