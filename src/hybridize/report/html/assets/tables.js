// The table of all functions and the list of findings: searched, filtered, sorted and paged by what the address says.

const PAGE = 100;
const SHOWS = [
  ["", "All functions", () => true],
  ["candidates", "Candidates", (f) => f.candidate || f.action < 3],
  ["changes", "To be changed", (f) => f.action < 3],
  ["hybrid", "Hybrid today", (f) => f.hybrid],
  ["repairable", "Repairable", (f) => Boolean(f.hint)],
  ["findings", "With findings", (f) => f.findings.length > 0],
  ["assumed", "With assumptions", (f) => f.assumed > 0],
  ["unreached", "Unreached", (f) => !f.reached],
];
const VERDICTS = ["to hybrid", "to eager", "reconfigure", "keep eager", "keep hybrid"];
const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
const relevance = (f) => (R.rank.has(f.index) ? R.rank.get(f.index) : f.hint ? 1e6 : f.findings.length ? 2e6 : f.candidate ? 3e6 : 4e6);
const ORDERS = {
  relevance: (a, b) => relevance(a) - relevance(b) || a.index - b.index,
  verdict: (a, b) => compare(VERDICTS.indexOf(a.verdict), VERDICTS.indexOf(b.verdict)) || ORDERS.relevance(a, b),
  name: (a, b) => compare(a.name.toLowerCase(), b.name.toLowerCase()) || a.index - b.index,
  file: (a, b) => a.index - b.index,
  gain: (a, b) => (b.gain ?? -1) - (a.gain ?? -1) || a.index - b.index,
  why: (a, b) => compare(a.first ? a.first.code : "~", b.first ? b.first.code : "~") || a.index - b.index,
};

function words(f) {
  f.words ??= `${f.id} ${R.files[f.file]} ${f.statuses.map((s) => `${s.code} ${codeName(s.code)}`).join(" ")} ${f.findings.map((s) => s.code).join(" ")}`.toLowerCase();
  return f.words;
}

function chosenFunctions(values) {
  const asked = (values.q || "").toLowerCase().split(/\s+/).filter(Boolean);
  const [, , shows] = SHOWS.find(([name]) => name === (values.show || "")) || SHOWS[0];
  const found = R.functions.filter((f) => shows(f)
    && (!values.verdict || f.verdict === values.verdict)
    && (!values.reason || f.statuses.some((s) => s.code === values.reason) || f.pre === values.reason)
    && asked.every((word) => words(f).includes(word)));
  const back = (values.sort || "").startsWith("-");
  const order = ORDERS[(values.sort || "").replace(/^-/, "")] || ORDERS.relevance;
  return found.sort(back ? (a, b) => order(b, a) : order);
}

function go(values, replace) {
  const now = here();
  const next = address(now.view, { ...now.values, page: "", ...values });
  if (replace) {
    history.replaceState(null, "", next);
    route();
  } else if (next !== location.hash) location.hash = next;
}

function search(values, label) {
  let timer = 0;
  const box = el("input", { type: "search", id: "search", placeholder: label, "aria-label": label, autocomplete: "off", spellcheck: "false", value: values.q || "" });
  box.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => go({ q: box.value }, true), 120);
  });
  return box;
}

function select(id, label, values, options) {
  const box = el("select", { id: `filter-${id}`, "aria-label": label, onchange: () => go({ [id]: box.value }) },
    options.map(([value, text]) => el("option", { value, selected: (values[id] || "") === value }, text)));
  return box;
}

const reasonOptions = () => {
  const found = new Map();
  for (const f of R.functions) for (const code of new Set(f.statuses.map((s) => s.code))) found.set(code, (found.get(code) || 0) + 1);
  return [["", "Any reason"], ...[...found].sort((a, b) => b[1] - a[1] || compare(a[0], b[0])).map(([code, count]) => [code, `${code} ${codeName(code)} (${number(count)})`])];
};

function functionsView(values) {
  const view = el("div.functions");
  view.append(
    el("div.head.slim", null, title("Functions")),
    el("form.filters", { role: "search", onsubmit: (event) => event.preventDefault() },
      search(values, "Search names, files, codes"),
      select("show", "Which functions", values, SHOWS),
      select("verdict", "Verdict", values, [["", "Any verdict"], ...VERDICTS.filter((v) => R.functions.some((f) => f.verdict === v)).map((v) => [v, v])]),
      select("reason", "Reason", values, (R.reasonOptions ??= reasonOptions()))),
    el("div.result"));
  drawFunctions(view, values);
  return view;
}

function drawFunctions(view, values) {
  const found = chosenFunctions(values);
  R.list = found.map((f) => f.index);
  const pages = Math.max(1, Math.ceil(found.length / PAGE));
  const page = Math.min(pages, Math.max(1, Number(values.page) || 1));
  const shown = found.slice((page - 1) * PAGE, page * PAGE);
  const said = `${counted(found.length, "function")}${found.length < R.functions.length ? ` of ${number(R.functions.length)}` : ""}`;
  const result = view.querySelector(".result");
  result.replaceChildren(
    el("p.sub.said", null, said, found.length < R.functions.length ? [" · ", el("a", { href: address("functions") }, "show all")] : null),
    found.length ? table(shown, values) : el("p.empty", null, "No function is like that."),
    pages > 1 ? pager(page, pages, values) : "");
  say(said);
}

function table(shown, values) {
  const sort = values.sort || "relevance";
  const head = [["verdict", "Verdict"], ["name", "Function"], ["gain", "As a graph", "num"], ["why", "Why"], ["file", "File", "file"]].map(([key, text, kind]) => {
    const [up, down] = [sort === key, sort === `-${key}`];
    const rises = key === "gain" ? down : up; // the greatest gain comes first
    return el(`th${kind ? `.${kind}` : ""}`, { scope: "col", "aria-sort": !up && !down ? null : rises ? "ascending" : "descending" },
      el("button.sort", { type: "button", "data-sort": key, onclick: () => go({ sort: up ? `-${key}` : down ? "" : key }) }, text, el("span", { "aria-hidden": "true" }, !up && !down ? "" : rises ? " ↑" : " ↓")));
  });
  const body = shown.map((f) => el("tr", null,
    el("td.verdict", null, pill(f)),
    el("th.name", { scope: "row" }, el("a", { href: functionAddress(f), "data-item": true }, bidi(f.name)), el("span.where", null, bidi(placeOf(f.file, f.line)))),
    el("td.num", null, gain(f)),
    el("td.why", null, el("div", null, f.first ? [chip(f.first.code, f.first.severity), " "] : null, f.findings.length ? [el("span.chip.warning", null, counted(f.findings.length, "finding")), " "] : null, sentence(f.told))),
    el("td.file", null, bidi(placeOf(f.file, f.line)))));
  return el("table.list", null, el("caption.hide", null, "Functions"), el("thead", null, el("tr", null, head)), el("tbody", null, body));
}

function pager(page, pages, values) {
  const to = (number, text, label) => (number < 1 || number > pages ? el("span.off", { "aria-hidden": "true" }, text)
    : el("a", { href: address("functions", { ...values, page: number === 1 ? "" : String(number) }), "aria-label": label, rel: label === "Next page" ? "next" : null }, text));
  return el("nav.pager", { "aria-label": "Pages" }, to(page - 1, "‹ Previous", "Previous page"), el("span", null, `Page ${page} of ${pages}`), to(page + 1, "Next ›", "Next page"));
}

function findingsView(values) {
  const asked = (values.q || "").toLowerCase().split(/\s+/).filter(Boolean);
  const names = new Map(R.categories.map(([name]) => [name, name]));
  const found = R.findings.filter((each) => (!values.severity || each.severity === values.severity)
    && (!values.category || each.category === values.category)
    && asked.every((word) => `${each.code} ${codeName(each.code)} ${each.message} ${R.files[each.file]}`.toLowerCase().includes(word)));
  found.sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) || a.index - b.index);
  const said = `${counted(found.length, "finding")}${found.length < R.findings.length ? ` of ${number(R.findings.length)}` : ""}`;
  say(said);
  return el("div", null,
    el("div.head.slim", null, title("Findings")),
    R.errors.length ? el("section.errors", null, el("h2", null, "Not analyzed"), el("ul", null, R.errors.map(([message, file, line]) => el("li", null, el("b", null, bidi(line ? placeOf(file, line) : R.files[file])), ": ", message)))) : null,
    R.findings.length ? el("form.filters", { role: "search", onsubmit: (event) => event.preventDefault() },
      search(values, "Search codes, messages, files"),
      select("severity", "Severity", values, [["", "Any severity"], ...SEVERITIES.map((s) => [s, s])]),
      select("category", "Category", values, [["", "Any category"], ...names])) : null,
    R.findings.length ? el("p.sub.said", null, said) : el("p.empty", null, "There are no findings: nothing here is seen to break or to mislead a graph."),
    found.length ? el("ol.plan.box", null, found.map(findingRow)) : R.findings.length ? el("p.empty", null, "No finding is like that.") : null);
}

function findingRow(each) {
  const around = each.function !== null ? R.functions[each.function] : functionAt(each.file, each.line);
  const at = `${R.fileNames[each.file]}:${each.line}`;
  return el("li", null, el("a.row", { href: around ? functionAddress(around, { at }) : address("place", { at }), "data-item": true },
    el("span.lead", null, chip(each.code, each.severity), el("span.severity", null, each.severity)),
    el("span.what", null, el("span.name.prose", null, codeName(each.code), each.fix ? el("span.chip.plain", null, `${each.fix} fix`) : null),
      el("span.where", null, bidi(placeOf(each.file, each.line)), around ? [" in ", bidi(around.name)] : null),
      el("span.why.full", null, sentence(each.message)))));
}
