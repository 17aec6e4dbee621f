// Within the frame: draws what the page outside sends, and says how high that is. There is no network here, no storage,
// and nobody else to talk to.

const LONGEST = 10000;

const RULES = { startOnLoad: false, securityLevel: "strict", maxTextSize: LONGEST, maxEdges: 300, suppressErrorRendering: true, htmlLabels: false, flowchart: { htmlLabels: false }, fontFamily: "system-ui, sans-serif" };

let count = 0;

addEventListener("message", async ({ source, data }) => {
  if (source !== parent || typeof data?.text !== "string") return;
  const place = document.body;
  try {
    document.documentElement.style.colorScheme = data.isDark ? "dark" : "light"; // as the page has it, or it is opaque
    mermaid.initialize({ ...RULES, theme: data.isDark ? "dark" : "default" });
    count += 1;
    const { svg } = await mermaid.render(`d${count}`, data.text);
    place.innerHTML = svg;
    tell();
  } catch {
    parent.postMessage({ height: 0 }, "*");
  }
});

function tell() {
  const drawn = document.querySelector("svg");
  if (drawn) parent.postMessage({ height: Math.ceil(drawn.getBoundingClientRect().height) }, "*");
}

new ResizeObserver(tell).observe(document.body);
parent.postMessage({ isReady: true }, "*");
