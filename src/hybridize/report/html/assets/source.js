// A source with what is said of it: verdicts in the margin at each `def`, statuses and findings under their lines.

let SOURCES = null;
const sources = () => (SOURCES ??= unpack("sources"));

// The ranges of lines to show: a function, and a place elsewhere with the function around it.
const FEW = 400; // lines of a function that are shown at once
const STEP = 100; // lines that are shown in addition

function ranges(shown, file, wanted) {
  const parts = [];
  for (const [first, text] of shown.parts) parts.push([first, first + text.split("\n").length - 1]);
  const found = [];
  for (const [from, to] of wanted) {
    for (const [a, b] of parts) {
      const first = Math.max(a, from - 3);
      const last = Math.min(b, to + 3);
      if (first <= last) found.push([first, last]);
    }
  }
  found.sort((x, y) => x[0] - y[0]);
  const merged = [];
  for (const each of found) {
    const before = merged[merged.length - 1];
    if (before && each[0] <= before[1] + 4 && each[0] > 0) before[1] = Math.max(before[1], each[1]);
    else merged.push([...each]);
  }
  return merged;
}

function wantedLines(f, file, line) {
  const wanted = [];
  if (f.file === file) wanted.push(f.to - f.from > FEW ? [f.from, f.from + FEW] : [f.from, f.to]);
  if (line) {
    const around = functionAt(file, line);
    if (around && around.to - around.from <= FEW) wanted.push([around.from, around.to]);
    wanted.push([line - 3, line + 3]);
  }
  return wanted;
}

// What is said of the lines of a file: by line, [severity, code, message].
function notesOf(f, file) {
  const notes = new Map();
  const add = (line, note) => {
    if (!notes.has(line)) notes.set(line, []);
    if (!notes.get(line).some((other) => other.text === note.text && other.code === note.code)) notes.get(line).push(note);
  };
  if (f.file === file && f.change) add(f.line, { severity: ACTIONS[f.action], code: f.pre || f.verdict, text: f.change });
  for (const status of f.statuses) {
    const steps = chain(status.chain);
    const cause = steps[steps.length - 1] || status;
    if (cause.file === file && cause.line) add(cause.line, { severity: status.severity, code: status.code, text: cause.message });
  }
  for (const each of R.findings) {
    if (each.file === file) add(each.line, { severity: each.severity, code: each.code, text: each.message });
  }
  return notes;
}

async function sourceView(f, file, line) {
  const all = await sources();
  const shown = all[file];
  const box = el("div.source", { role: "region", tabindex: "0", "aria-label": `Source of ${R.files[file]}` });
  if (!shown) {
    box.append(el("p.empty", null, "The source could not be read when this page was written."));
    return box;
  }
  const lines = linesOf(shown);
  const notes = notesOf(f, file);
  const defs = new Map(R.inFile[file].map((each) => [each.line, each]));
  const cells = new Map(shown.cells || []);
  const draw = (wanted) => {
    box.replaceChildren();
    let before = 0;
    for (const [first, last] of ranges(shown, file, wanted)) {
      if (first > before + 1) box.append(gap(before + 1, first - 1, shown, (range) => draw([...wanted, range])));
      for (let at = first; at <= last; at++) {
        if (cells.has(at)) box.append(el("div.cell", null, `Cell ${cells.get(at)}`));
        box.append(sourceLine(f, file, at, lines.get(at) || [], defs.get(at), notes.get(at), at === line));
        const cut = (shown.cut || {})[at];
        if (cut) box.append(el("div.cell", null, `… ${counted(cut, "more character")} in line ${at}`));
        for (const note of notes.get(at) || []) box.append(noteRow(note));
      }
      before = last;
    }
    if (before < shown.lines) box.append(gap(before + 1, shown.lines, shown, (range) => draw([...wanted, range])));
  };
  draw(wantedLines(f, file, line));
  return box;
}

const CACHE = new WeakMap();
function linesOf(shown) {
  if (!CACHE.has(shown)) {
    const lines = new Map();
    for (const [first, text, quotes] of shown.parts) pythonLines(text, quotes).forEach((pieces, i) => lines.set(first + i, pieces));
    CACHE.set(shown, lines);
  }
  return CACHE.get(shown);
}

function sourceLine(f, file, at, pieces, def, notes, isHere) {
  const gutter = el("span.gutter");
  if (def) {
    gutter.append(
      def === f
        ? el(`span.pill.${ACTIONS[def.action]}${def.hybrid ? ".hybrid" : ""}`, null, def.verdict)
        : el(`a.pill.${ACTIONS[def.action]}${def.hybrid ? ".hybrid" : ""}`, { href: functionAddress(def), title: def.name, tabindex: "-1" }, def.verdict));
  } else if (notes) {
    gutter.append(el(`span.chip.${notes[0].severity}`, null, notes[0].code));
  }
  const code = el("code");
  for (const [kind, text] of pieces) {
    if (kind) code.append(put(el(`span.${kind}`), text));
    else put(code, text);
  }
  const row = el(`div.ln${isHere ? ".here" : ""}${f.file === file && at >= f.from && at <= f.to ? ".mine" : ""}`, { "data-line": at });
  row.append(gutter, el("span.no", { "aria-hidden": "true" }, String(at)), code);
  if (isHere) row.setAttribute("tabindex", "-1");
  return row;
}

function noteRow(note) {
  return el(`div.note.${note.severity}`, null, el("span.chip", { class: `chip ${note.severity}` }, note.code), " ",
    codeName(note.code) ? [el("b", null, codeName(note.code)), " "] : null, sentence(note.text));
}

// Lines that are not shown: buttons for those next to what is, where the page has them.
function gap(first, last, shown, open) {
  const held = shown.parts.map(([at, text]) => [Math.max(at, first), Math.min(at + text.split("\n").length - 1, last)]).filter(([a, b]) => a <= b);
  const offered = [];
  if (held.length && first > 1) offered.push([held[0][0], Math.min(held[0][1], held[0][0] + STEP - 1)]);
  if (held.length && last < shown.lines) offered.push([Math.max(held[held.length - 1][0], held[held.length - 1][1] - STEP + 1), held[held.length - 1][1]]);
  if (offered.length === 2 && offered[0][1] >= offered[1][0] - 1) offered.splice(0, 2, [offered[0][0], offered[1][1]]);
  return el("div.gap", null, `${counted(last - first + 1, "line")} not shown `,
    offered.map(([a, b]) => [el("button.link", { type: "button", onclick: () => open([a + 3, b - 3]) }, a === b ? `Show line ${a}` : `Show lines ${a} to ${b}`), " "]));
}
