// The project at a glance, its plan, and small parts that several views share.

const pill = (f) => el(`span.pill.${ACTIONS[f.action]}${f.hybrid ? ".hybrid" : ""}`, null, f.verdict);
const chip = (code, severity) => el(`span.chip.${severity || "plain"}`, { title: codeSays(code) }, code);
const gain = (f) => (f.gain === null ? "" : `${f.gain.toFixed(1)}×`);

function title(text, ...rest) {
  return el("h1", { tabindex: "-1" }, text, rest);
}

function overviewView() {
  const { counts } = R;
  const changes = R.plan.length;
  const levels = SEVERITIES.map((level) => [level, R.findings.filter((each) => each.severity === level).length]).filter(([, count]) => count);
  const serious = levels.some(([level]) => level !== "info");
  const parts = [
    el("div.head", null, title(bidi(R.title)), el("p.sub", null, R.releases), el("p.sub", null, `${counted(R.size[0], "file")}, ${counted(R.size[1], "line")}`)),
    el("ul.tiles", null,
      tile(counts.functions, "functions", address("functions")),
      tile(counts.candidates, "candidates", address("functions", { show: "candidates" }), "receive tensors, or are graphs already"),
      tile(counts.hybrid, "hybrid today", address("functions", { show: "hybrid" })),
      tile(changes, "to change", address("plan"), changeWords(counts.actions), changes ? "good" : ""),
      tile(R.findings.length, R.findings.length === 1 ? "finding" : "findings", address("findings"), levels.map(([level, count]) => (level === "info" ? `${number(count)} info` : counted(count, level))).join(", "), serious ? "warn" : ""),
      R.errors.length ? tile(R.errors.length, "not analyzed", address("findings"), "files or functions", "bad") : null),
    modeBar(counts),
    el("div.columns", null,
      el("div", null, bestFirst(), findingTable()),
      el("div", null,
        bars("Why candidates stay as they are", R.failed, "failed", "that pass no precondition"),
        bars("Left out though a graph would be the same", R.left_out, "left_out", "that pass a precondition"))),
    el("p.sub.foot", null, `Written by ${R.tool}. `, el("code", null, "hybridize explain NAME"), " says the same of a function in a terminal, and ", el("code", null, "hybridize explain CODE"), " what a code means."),
  ];
  return el("div.overview", null, parts);
}

function changeWords(actions) {
  const words = ["to hybrid", "to eager", "to reconfigure"];
  return words.map((word, i) => (actions[i] ? `${number(actions[i])} ${word}` : "")).filter(Boolean).join(", ");
}

function tile(value, noun, href, note, kind) {
  return el("li", null, el(`a.tile${kind ? `.${kind}` : ""}`, { href, "data-item": true },
    el("strong", null, number(value)), el("span", null, noun), note ? el("small", null, note) : null));
}

// What runs as a graph now, what would, and what is no candidate, as shares of all functions.
function modeBar({ functions, candidates, hybrid, actions }) {
  if (!functions) return el("p.empty", null, "There are no functions here.");
  const shares = [
    ["hybrid", hybrid - actions[1], "hybrid"],
    ["to-hybrid", actions[0], "to hybrid"],
    ["to-eager", actions[1], "to eager"],
    ["eager", Math.max(0, candidates - hybrid - actions[0]), "candidates that stay eager"],
    ["other", functions - candidates, "no candidates"],
  ].filter(([, count]) => count > 0);
  const bar = el("div.shares", { "aria-hidden": "true" });
  for (const [kind, count] of shares) {
    const part = el(`span.share.${kind}`);
    part.style.flexGrow = String(count);
    bar.append(part);
  }
  return el("div.mode", null, bar, el("p.legend", null, shares.map(([kind, count, text]) => el("span.item", null, el(`span.key.share.${kind}`, { "aria-hidden": "true" }), `${number(count)} ${text}`))));
}

function bestFirst() {
  if (!R.plan.length) {
    return el("section", null, el("h2", null, "The plan"),
      el("p.empty", null, "Nothing is to be changed: no conversion is both safe and seen to pay."),
      R.next ? el("p.next", null, sentence(R.next)) : null,
      R.repairable.length ? el("p", null, el("a", { href: address("plan"), "data-item": true }, "What repairs may unlock")) : null);
  }
  return el("section", null, el("h2", null, "The plan, best first"),
    el("ol.plan", null, R.plan.slice(0, 5).map((at) => planRow(R.functions[at]))),
    R.plan.length > 5 ? el("p", null, el("a", { href: address("plan") }, `All ${number(R.plan.length)} changes`)) : null,
    R.next ? el("p.sub.next", null, sentence(R.next)) : null);
}

function planRow(f, said) {
  return el("li", null, el("a.row", { href: functionAddress(f), "data-item": true },
    el("span.lead", null, pill(f), f.won !== null ? el("span.gain", null, `${f.won.toFixed(1)}×`) : null),
    el("span.what", null, el("span.name", null, bidi(f.name)), el("span.where", null, bidi(placeOf(f.file, f.line))),
      el("span.why", null, sentence(said || f.change || f.told)))));
}

function repairRow(each) {
  const f = each.function < 0 ? null : R.functions[each.function];
  return el("li", null, el("a.row", { href: f ? functionAddress(f) : address("place", { at: `${R.fileNames[each.file]}:${each.line}` }), "data-item": true },
    el("span.lead", null, f ? pill(f) : el("span.pill", null, "module")),
    el("span.what", null, el("span.name", null, f ? bidi(f.name) : bidi(placeOf(each.file, each.line))), f ? el("span.where", null, bidi(placeOf(f.file, f.line))) : null,
      el("span.why", null, sentence(each.says)), el("span.where", null, each.hint))));
}

function planView() {
  R.list = [...R.plan, ...R.repairable.map((each) => each.function).filter((at) => at >= 0)];
  const parts = [el("div.head", null, title("The plan"), R.next ? el("p.sub.next", null, sentence(R.next)) : null)];
  if (R.plan.length) parts.push(el("ol.plan.box", null, R.plan.map((at) => planRow(R.functions[at]))));
  else parts.push(el("p.empty", null, "Nothing is to be changed: no conversion is both safe and seen to pay."));
  if (R.repairable.length) {
    parts.push(el("h2", null, "What repairs may unlock"),
      el("p.sub", null, "These are tried by ", el("code", null, "hybridize fix"), ", and stay only where the function becomes a graph then."),
      el("ol.plan.box", null, R.repairable.map(repairRow)));
  }
  return el("div", null, parts);
}

function findingTable() {
  if (!R.findings.length) return el("section", null, el("h2", null, "Findings"), el("p.empty", null, "None: nothing here is seen to break or to mislead a graph."));
  const head = el("tr", null, el("th", { scope: "col" }, "Category"), SEVERITIES.map((s) => el("th.num", { scope: "col" }, s)));
  const body = R.categories.map(([name, ...numbers]) => el("tr", null,
    el("th", { scope: "row" }, el("a", { href: address("findings", { category: name }), "data-item": true }, name)),
    numbers.map((count, i) => el(`td.num${count ? `.${SEVERITIES[i]}` : ".zero"}`, null, number(count)))));
  return el("section", null, el("h2", null, "Findings by category"), el("table.small", null, el("thead", null, head), el("tbody", null, body)));
}

const MOST_BARS = 12;

function bars(heading, counts, which, note) {
  if (!counts.length) return null;
  const greatest = counts[0][1];
  const row = ([code, count]) => {
    const bar = el("span.bar", { "aria-hidden": "true" });
    bar.style.width = `${(100 * count) / greatest}%`;
    return el("li", null, el("a.bar-row", { href: address("functions", { reason: code, show: "candidates" }), title: codeSays(code), "data-item": true },
      el("span.count", null, number(count)), el("span.track", null, bar, el("span.label", null, el("b", null, code), " ", codeName(code)))));
  };
  const rest = counts.slice(MOST_BARS);
  return el(`section.${which}`, null, el("h2", null, heading), el("p.sub", null, `Reasons of functions ${note}; one function may have several.`),
    el("ul.bars", null, counts.slice(0, MOST_BARS).map(row)),
    rest.length ? el("details", null, el("summary", null, counted(rest.length, "more reason")), el("ul.bars", null, rest.map(row))) : null);
}
