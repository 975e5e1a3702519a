// Which view the address asks for; keys, theme, and the start.

const VIEWS = [["overview", "Overview"], ["plan", "Plan"], ["findings", "Findings"], ["functions", "Functions"]];
let current = { view: "", id: "" };

function counts() {
  return { plan: R.plan.length, findings: R.findings.length, functions: R.functions.length };
}

function route() {
  const { view, values } = here();
  const main = byId("main");
  const same = view === current.view && (values.id || "") === current.id;
  byId("nav").replaceChildren(...VIEWS.map(([name, text]) => el("a", {
    href: name === "overview" ? "#/" : name === "functions" && R.back ? R.back : address(name),
    "aria-current": name === view || (name === "functions" && view === "function") ? "page" : null,
  }, text, counts()[name] === undefined ? null : el("span.count", null, number(counts()[name])))));
  if (view === "functions") R.back = location.hash;
  if (view === "function") showFunction(main, values, same);
  else if (view === "functions" && same) redrawFunctions(main, values);
  else {
    const made = { overview: overviewView, plan: planView, findings: findingsView, functions: functionsView, place: placeView }[view];
    const focused = same && document.activeElement ? document.activeElement.id : "";
    main.replaceChildren(made ? made(values) : missing("There is no such view."));
    if (view === "place" && placeIn(values.at)) showSource(main, NOBODY, values, true);
    if (focused && byId(focused)) restore(byId(focused));
    else if (current.view) arrive(main);
  }
  current = { view, id: values.id || "" };
  const heading = main.querySelector("h1");
  document.title = view === "overview" ? `${R.title}: hybridize` : `${heading ? heading.textContent : view}, ${R.title}: hybridize`;
}

function redrawFunctions(main, values) {
  const sorted = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.sort : "";
  const turned = document.activeElement && document.activeElement.closest(".pager");
  drawFunctions(main, values);
  const box = byId("search");
  if (box !== document.activeElement && box.value !== (values.q || "")) box.value = values.q || "";
  for (const name of ["show", "verdict", "reason"]) byId(`filter-${name}`).value = values[name] || "";
  if (sorted) main.querySelector(`[data-sort="${sorted}"]`).focus();
  if (turned) arrive(main);
}

function showFunction(main, values, same) {
  const f = R.functions[R.keys.get(values.id)];
  if (!f) {
    main.replaceChildren(missing("There is no such function in this report."));
    return;
  }
  const old = main.querySelector("article.function");
  const moved = !same || !old;
  const view = moved ? functionView(f, values) : old;
  if (moved) main.replaceChildren(view);
  showCalls(view, f, values);
  showSource(view, f, values, Boolean(values.at));
  if (moved && !values.at && current.view) arrive(main);
}

// A new view begins at its heading; a list to which one comes back, where one was.
function arrive(main) {
  scrollTo(0, 0);
  const left = current.view === "function" ? R.functions[R.keys.get(current.id)] : null;
  const entry = left && [...main.querySelectorAll("[data-item]")].find((each) => each.getAttribute("href") === functionAddress(left));
  if (entry && here().view !== "function") {
    entry.focus({ preventScroll: true });
    entry.scrollIntoView({ block: "center" });
    return;
  }
  const heading = main.querySelector("h1");
  if (heading) heading.focus({ preventScroll: true });
}

function restore(box) {
  box.focus();
  if (box.type === "search") box.setSelectionRange(box.value.length, box.value.length);
}

// j and k, or the arrows, go through what can be opened here.
function step(by) {
  const items = [...document.querySelectorAll("main [data-item]")].filter((each) => each.getClientRects().length);
  if (!items.length) return;
  const at = items.indexOf(document.activeElement);
  const next = items[at < 0 ? (by > 0 ? 0 : items.length - 1) : Math.min(items.length - 1, Math.max(0, at + by))];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

const KEYS = {
  j: () => step(1),
  k: () => step(-1),
  "/": () => {
    if (!byId("search")) location.hash = address("functions");
    setTimeout(() => byId("search") && byId("search").focus());
  },
  n: () => byId("next") && byId("next").click(),
  p: () => byId("previous") && byId("previous").click(),
  g: () => { location.hash = "#/"; },
  f: () => { location.hash = R.back || address("functions"); },
  t: () => byId("theme").click(),
  "?": () => byId("keys").click(),
};
const HELP = [["j k", "next, previous entry"], ["↓ ↑", "the same, from an entry"], ["Enter", "open it"], ["/", "search"], ["n p", "next, previous function of the list"],
  ["Esc", "back: to the list, out of the search"], ["g f", "overview, functions"], ["t", "light, dark"], ["?", "these keys"]];

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
  const target = event.target;
  const typing = target.matches("input, select, textarea");
  if (event.key === "Escape") {
    if (typing) target.blur();
    else if (current.view === "function") location.hash = R.back || address("functions");
    return;
  }
  if (typing && !(event.key === "ArrowDown" && target.id === "search")) return;
  const item = target.matches("[data-item]") || typing;
  const key = item && event.key === "ArrowDown" ? "j" : item && event.key === "ArrowUp" ? "k" : event.key;
  if (!KEYS[key]) return;
  event.preventDefault();
  KEYS[key]();
}

function help() {
  const box = byId("help");
  box.replaceChildren(el("h2", { id: "help-title" }, "Keys"), el("dl", null, HELP.map(([keys, text]) => [el("dt", null, keys.split(" ").map((key) => [el("kbd", null, key), " "])), el("dd", null, text)])),
    el("form", { method: "dialog" }, el("button", { type: "submit" }, "Close")), el("p.sub", null, `Written by ${R.tool}.`));
  box.showModal();
}

// The theme is the system's until somebody chooses one; where nothing can be kept it lasts as long as the page.
const THEME = "hybridize-theme";
const kept = () => {
  try {
    return localStorage.getItem(THEME);
  } catch {
    return null;
  }
};

function theme(chosen) {
  const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  if (chosen) document.documentElement.dataset.theme = chosen;
  const button = byId("theme");
  if (!button) return;
  button.textContent = dark ? "Light" : "Dark";
  button.setAttribute("aria-label", `Use the ${dark ? "light" : "dark"} theme`);
}

async function start() {
  theme(kept());
  byId("theme").addEventListener("click", () => {
    const next = byId("theme").textContent.toLowerCase();
    try {
      localStorage.setItem(THEME, next);
    } catch { /* it lasts as long as the page */ }
    theme(next);
  });
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault();
    byId("main").focus();
    byId("main").scrollIntoView();
  });
  if (!window.DecompressionStream) {
    byId("wait").textContent = "This browser cannot unpack the report: it lacks DecompressionStream (Chrome 80, Firefox 113, Safari 16.4 have it).";
    return;
  }
  try {
    take(await unpack("data"));
  } catch (error) {
    byId("wait").textContent = `The report cannot be unpacked; the file may be cut off. (${error.message})`;
    return;
  }
  byId("keys").addEventListener("click", help);
  addEventListener("hashchange", route);
  addEventListener("keydown", pressed);
  let width = innerWidth;
  addEventListener("resize", () => {
    const f = R.functions[R.keys.get(current.id)];
    if (current.view === "function" && f && width !== innerWidth) showCalls(byId("main"), f, here().values);
    width = innerWidth;
  });
  route();
  performance.mark("hybridize-ready");
  document.documentElement.dataset.ready = "true";
}

theme(kept());
document.addEventListener("DOMContentLoaded", start);
