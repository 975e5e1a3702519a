// One function: its verdict, why, and its source; every step of evidence leads to its place.

function functionView(f, values) {
  const list = R.list && R.list.includes(f.index) ? R.list : null;
  const at = list ? list.indexOf(f.index) : -1;
  const view = el("article.function", null,
    el("div.head", null,
      el("p.crumbs", null, el("a", { href: R.back || address("functions") }, "‹ Functions"), " / ", bidi(placeOf(f.file, f.line)),
        list && list.length > 1 ? el("span.steps", null,
          at > 0 ? el("a", { href: functionAddress(R.functions[list[at - 1]]), id: "previous", "aria-label": "Previous function" }, "‹") : el("span.off", { "aria-hidden": "true" }, "‹"),
          ` ${number(at + 1)} of ${number(list.length)} `,
          at < list.length - 1 ? el("a", { href: functionAddress(R.functions[list[at + 1]]), id: "next", "aria-label": "Next function" }, "›") : el("span.off", { "aria-hidden": "true" }, "›")) : null),
      title(bidi(f.name)),
      el(`div.verdict-bar.${ACTIONS[f.action]}${f.hybrid ? ".hybrid" : ""}`, null,
        el("p.big", null, pill(f), f.won !== null ? el("span.gain", null, `${f.won.toFixed(1)}×`) : null, el("span.kind", null, [f.kind, f.candidate ? "candidate" : "no candidate", f.reached ? "reached" : "unreached"].join(" · "))),
        el("p", null, sentence(f.rests)),
        f.change ? el("p.change", null, sentence(f.change)) : null,
        f.gains ? el("p.sub", null, f.gains) : null,
        f.made ? el("p.sub", null, sentence(f.made)) : null,
        f.sure ? el("p.sub", null, `Confidence: ${f.sure}`) : null)),
    el("div.aside", null, whyParts(f)),
    el("section.calls", null, el("h2", null, "Calls"), el("div.calls-in")),
    el("section.code", null, el("h2.source-title", null, "Source"), el("div.source-in")));
  return view;
}

const DECORATOR = "The decorator comes after these, where what they make is fit for a graph.";

function whyParts(f) {
  const parts = [];
  if (f.statuses.length) {
    parts.push(part(f.action < 3 ? "What is said of it" : "Why", byCode(f.statuses).map((group) => card(f, group, (s) => [s.file, s.line]))));
  }
  if (f.findings.length) {
    parts.push(part("Findings", byCode(f.findings).map((group) => card(f, group, (each) => [each.file, each.line]))));
  }
  if (f.diff) parts.push(part(f.action < 3 ? "The change" : "The repairs", [diffView(f.diff), f.action < 3 || f.hybrid ? null : el("p.sub", null, DECORATOR)]));
  if (f.repairs.length) {
    parts.push(part("Repairs", [f.hint ? el("p", null, f.hint) : null, ...f.repairs.map(([code, name, says, doubt, file, line]) => el("div.card.info", null,
      el("p", null, chip(code, "info"), " ", el("b", null, name)), el("p", null, sentence(says)), doubt ? el("p.sub", null, "Not safe: ", sentence(doubt)) : el("p.sub", null, "Safe"),
      place(f, file, line))), steps(f, f.rest, "No repair for")]));
  }
  parts.push(factPart(f));
  if (f.grounds) parts.push(part("What the conversion rests on", [steps(f, f.grounds)]));
  if (f.parameters.length) parts.push(part("Parameters", f.parameters.map((each) => parameterCard(f, each))));
  if (f.assumed) parts.push(part("Assumptions", [steps(f, f.assumed)]));
  return parts;
}

const part = (heading, children) => el("section", null, el("h2", null, heading), children);

function byCode(list) {
  const groups = new Map();
  for (const each of list) groups.set(each.code, [...(groups.get(each.code) || []), each]);
  return [...groups.values()];
}

// What is said under one code: each with the chain that leads to it; of a chain of one step the place says enough.
function card(f, group, placed) {
  const { code, severity } = group[0];
  const says = codeSays(code);
  return el(`div.card.${severity}`, null,
    el("p", null, chip(code, severity), " ", el("b", null, codeName(code)), " ", el("span.severity", null, severity)),
    says ? el("p.sub", null, sentence(says)) : null,
    el("ul", null, group.map((each) => {
      const links = chain(each.chain);
      const own = links.length === 1 && each.message.includes(links[0].message) ? [links[0].file, links[0].line] : placed(each);
      return el("li", null, el("p", null, sentence(each.message)), links.length > 1 || (links.length && !each.message.includes(links[0].message)) ? steps(f, each.chain) : own[1] ? el("p", null, place(f, ...own)) : null);
    })));
}

const MOST_STEPS = 8; // of a chain, before all are asked for

// A chain of evidence: each step a link to its place.
function steps(f, at, before) {
  if (!at) return null;
  const links = chain(at);
  const list = el("ol.chain", null, links.map((step, i) => el("li", { "data-step": String(i + 1) },
    step.line ? el("a", { href: placeAddress(f, step.file, step.line), "data-item": true, "data-place": `${step.file}:${step.line}` },
      before ? `${before} ` : null, sentence(step.message), " ", el("span.where", null, bidi(shortPlace(f, step.file, step.line)))) : sentence(step.message))));
  if (links.length <= MOST_STEPS) return list;
  const middle = [...list.children].slice(2, -3);
  for (const each of middle) each.hidden = true;
  const more = el("button.link", { type: "button", onclick: () => {
    for (const each of middle) each.hidden = false;
    more.parentNode.remove();
    middle[0].querySelector("a")?.focus();
  } }, `${number(middle.length)} more steps`);
  middle[0].before(el("li.more", null, more));
  return list;
}

const shortPlace = (f, file, line) => (file === f.file ? `line ${line}` : placeOf(file, line));
const place = (f, file, line) => el("a.where", { href: placeAddress(f, file, line), "data-item": true, "data-place": `${file}:${line}` }, bidi(shortPlace(f, file, line)));

const ANSWERS = ["no", "yes", "unknown"];

function factPart(f) {
  return part("Facts", [el("ul.facts", null, f.facts.map(([answer, at], i) => {
    const line = [el("span.fact", null, R.fact_names[i]), el(`span.answer.${ANSWERS[answer]}`, null, ANSWERS[answer])];
    return el("li", null, at ? el("details", null, el("summary", null, line), steps(f, at)) : el("div.flat", null, line));
  }))]);
}

function parameterCard(f, each) {
  const head = [el("span.fact.mono", null, bidi(each.name)), el("span.answer", null, each.tensor)];
  const rest = [
    each.known ? el("p.sub", null, each.known) : null,
    each.types.length ? el("ul.types", null, each.types.map((type) => el("li", null, type))) : null,
    each.literals.length ? el("p.sub", null, "Literals: ", el("code", null, each.literals.join(", ")), each.more ? ` and ${number(each.more)} more` : null) : null,
    steps(f, each.chain),
  ].filter(Boolean);
  return rest.length ? el("details.param", null, el("summary", null, head), rest) : el("div.param.flat", null, head);
}

function diffView(text) {
  const box = el("pre.diff", { tabindex: "0", role: "region", "aria-label": "Unified diff" });
  for (const line of text.split("\n").slice(0, -1)) {
    const kind = line.startsWith("@@") ? "at" : /^(\+\+\+|---) /.test(line) ? "file" : line[0] === "+" ? "add" : line[0] === "-" ? "del" : "";
    box.append(el(`span${kind ? `.${kind}` : ""}`, null, line.length > 1000 ? `${line.slice(0, 1000)} …` : line), "\n");
  }
  return box;
}

// A place is `path:line`, in an address.
function placeIn(text) {
  const at = (text || "").lastIndexOf(":");
  const file = R.fileKeys.get((text || "").slice(0, at));
  const line = Number((text || "").slice(at + 1));
  return file === undefined || !Number.isInteger(line) ? null : { file, line };
}

async function showSource(view, f, values, focus) {
  const found = placeIn(values.at);
  const file = found ? found.file : f.file;
  const box = await sourceView(f, file, found ? found.line : 0);
  view.querySelector(".source-title").replaceChildren(
    put(el("bdi"), R.files[file]),
    file === f.file || f.index < 0 ? "" : el("a.return", { href: functionAddress(f) }, "back to the function"));
  view.querySelector(".source-in").replaceChildren(box);
  for (const link of view.querySelectorAll("[data-place]")) {
    if (found && link.dataset.place === `${found.file}:${found.line}`) link.setAttribute("aria-current", "location");
    else link.removeAttribute("aria-current");
  }
  const line = box.querySelector(".here");
  if (line && focus) {
    line.focus({ preventScroll: true });
    line.scrollIntoView({ block: "center", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  }
}

function showCalls(view, f, values) {
  const box = view.querySelector(".calls-in");
  box.replaceChildren(graphView(f, box.clientWidth, values.all === "1"));
}

// A place in a file where no function is.
function placeView(values) {
  const found = placeIn(values.at);
  if (!found) return missing("There is no such place in this report.");
  return el("article.function.alone", null,
    el("div.head", null, el("p.crumbs", null, el("a", { href: address("plan") }, "‹ Plan"), " / ", el("a", { href: address("findings") }, "Findings")), title(bidi(placeOf(found.file, found.line))),
      R.repairable.filter((each) => each.file === found.file && each.line === found.line && each.diff).map((each) => [el("p", null, sentence(each.says)), el("p.sub", null, each.hint), diffView(each.diff), el("p.sub", null, DECORATOR)])),
    el("section.code", null, el("h2.source-title", null, "Source"), el("div.source-in")));
}

const NOBODY = { index: -1, file: -1, from: 0, to: -1, statuses: [], change: null };
const missing = (text) => el("div", null, title("Not here"), el("p.empty", null, text, " ", el("a", { href: address("functions") }, "All functions")));
