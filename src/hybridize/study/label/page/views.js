// What raters read: changesets side by side, issue threads, the raters side by side, the keys.

import { FACETS, h } from "/form.js";

// Characters that make text look other than it is: directions, zero widths, controls.
const ODD = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

export function visible(text) {
  const parts = [];
  let last = 0;
  text = text.replace(/\r\n/g, "\n");
  for (const match of text.matchAll(ODD)) {
    parts.push(text.slice(last, match.index));
    const code = match[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
    parts.push(h("span", { class: "odd", title: "invisible character" }, `U+${code}`));
    last = match.index + 1;
  }
  parts.push(text.slice(last));
  return parts;
}

function marked(text, marks) {
  const parts = [];
  let last = 0;
  for (const [start, end] of marks) {
    parts.push(...visible(text.slice(last, start)), h("mark", {}, visible(text.slice(start, end))));
    last = end;
  }
  parts.push(...visible(text.slice(last)));
  return parts;
}

// Python counts code points, JavaScript code units.
function codePoints(text, marks) {
  if (!marks.length || !/[\ud800-\udfff]/.test(text)) return marks;
  const at = [0];
  for (const point of text) at.push(at[at.length - 1] + point.length);
  return marks.map(([start, end]) => [at[start] ?? text.length, at[end] ?? text.length]);
}

function cells(cell, kind, side) {
  if (cell === null) return [h("td", { class: "n" }), h("td", { class: "c none" })];
  const changed = kind === "~" || (kind === "-" && side === "l") || (kind === "+" && side === "r");
  const look = changed ? (side === "l" ? " del" : " add") : "";
  const f = cell.f ? " f" : "";
  const sign = h("span", { class: "sign", "aria-hidden": "true" }, changed ? (side === "l" ? "-" : "+") : " ");
  return [
    h("td", { class: `n${f}` }, String(cell.n)),
    h("td", { class: `c${look}${f}${cell.u ? " u" : ""}` }, sign, marked(cell.s, codePoints(cell.s, cell.m))),
  ];
}

function fileView(file, number) {
  const renamed = file.before && file.after && file.before !== file.after;
  const path = renamed ? `${file.before} → ${file.after}` : file.after || file.before || "";
  const words = { A: "added", D: "deleted", R: "renamed", C: "copied", T: "type changed" }[file.status];
  const chips = file.functions.map((f) =>
    h("button", { type: "button", class: "chip", "data-line": f.line, onclick: (event) => jump(event.target, f.line) },
      visible(`${f.name} ${f.added ? `+${f.added}` : ""}${f.removed ? ` −${f.removed}` : ""}`)));
  const body = file.missing
    ? h("p", { class: "note" }, "The contents of this file could not be read, or do not have the keyword.")
    : h("table", { class: "diff" }, h("colgroup", {}, h("col", { class: "n" }), h("col"), h("col", { class: "n" }), h("col")),
        h("tbody", {}, file.rows.map((row) =>
          row.t === "gap"
            ? h("tr", { class: "gap" }, h("td", { colspan: "4" }, `… ${row.count} equal lines …`))
            : h("tr", { class: row.t === "=" ? "same" : "change", "data-right": row.r && row.r.n, "data-left": row.l && row.l.n }, cells(row.l, row.t, "l"), cells(row.r, row.t, "r")))));
  return h("section", { class: "file", id: `file-${number}` },
    h("header", {}, h("span", { class: "path" }, visible(path)), words && h("span", { class: "meta" }, words), file.test && h("span", { class: "meta" }, "test"), chips), body);
}

function jump(button, line) {
  const rows = button.closest(".file").querySelectorAll("tr[data-right], tr[data-left]");
  const found = [...rows].find((row) => Number(row.dataset.right || row.dataset.left) >= line);
  found?.scrollIntoView({ block: "center" });
}

function suggestions(item, book, take) {
  if (!item.suggestions.length) return null;
  const rows = item.suggestions.map((one) => {
    const code = book.codes.find((c) => c.facet === "fix" && c.suggestion === one.kind);
    return h("li", {}, `${one.kind}${one.is_primary ? " (the likeliest)" : ""}`,
      one.category && `; perhaps ${one.category}`, one.rules.length > 0 && `; rules that no longer fire: ${one.rules.join(", ")}`,
      code && take && [" ", h("button", { type: "button", onclick: () => take(code.name) }, "use as fix")],
      h("ul", {}, one.evidence.map((e) => h("li", { class: "meta" }, visible(`${e.message} (${e.path}:${e.line})`)))));
  });
  return h("details", { class: "note", id: "suggestion" }, h("summary", {}, "Suggestion by the tool, no rating; decide for yourself first ", h("kbd", {}, "H")), h("ul", {}, rows));
}

export function itemView(item, book, take, all, showAll) {
  const link = item.url && h("a", { href: item.url, target: "_blank", rel: "noopener noreferrer" }, "open ↗");
  const facts = [item.project, item.at, item.author, item.sha && item.sha.slice(0, 12), item.number && `#${item.number}`, item.state, item.pull && "pull request"];
  const head = [
    h("h1", {}, visible(item.title)),
    h("p", { class: "meta" }, visible(facts.filter(Boolean).join(" · ")), " ", link),
    item.partial && h("p", { class: "note" }, "Some of this changeset could not be read when it was mined."),
  ];
  if (item.kind === "issue") {
    return [...head, suggestions(item, book, take), thread({ author: item.author, created_at: item.at, body: item.message }),
      item.comments.map((comment) => comment.is_social
        ? h("details", { class: "meta" }, h("summary", {}, `social comment by ${comment.author || "?"}`), thread(comment))
        : thread(comment))];
  }
  const gaps = item.files.some((file) => file.rows.some((row) => row.t === "gap"));
  return [...head, h("pre", { class: "message" }, visible(item.message)), suggestions(item, book, take),
    h("p", { class: "meta" }, "Left before, right after. Blue bars: the functions whose uses changed. Yellow bars: uses. ",
      (gaps || all) && h("button", { type: "button", id: "all", onclick: showAll }, all ? "fold equal lines " : "show all lines ", h("kbd", {}, "E"))),
    item.files.map(fileView), !item.files.length && h("p", { class: "note" }, "No file of this changeset is in the database.")];
}

// Code fences become blocks; everything stays text.
function thread(comment) {
  const parts = comment.body.split(/^[ \t]*```[^\n]*$/m);
  return h("section", { class: "file" }, h("header", {}, h("span", { class: "path" }, visible(comment.author || "?")), h("span", { class: "meta" }, comment.created_at || "")),
    h("div", {}, parts.map((part, place) => h("pre", { class: place % 2 ? "note" : "message" }, visible(part.trim())))));
}

const words = (form, field) => {
  if (field === "is_fix") return form.is_fix ? "fix / problem" : "not a fix";
  if (field === "discuss") return form.discuss ? "to be discussed" : "";
  if (field === "comment") return form.comment;
  return form[field].choice || (form.is_fix ? "(none)" : "–");
};

export function sides(ratings, take) {
  const fields = ["is_fix", ...FACETS, "comment", "discuss"];
  const rows = fields.map((field) => {
    const said = ratings.map((one) => words(one.form, field));
    if (["comment", "discuss"].includes(field) && said.every((one) => !one)) return null;
    const differs = !["comment", "discuss"].includes(field) && new Set(said).size > 1;
    return h("tr", { class: differs && "differs" }, h("th", { scope: "row" }, field === "is_fix" ? "decision" : field, differs && " ≠"),
      ratings.map((one, place) => h("td", {}, visible(said[place]),
        FACETS.includes(field) && one.form[field].comment && h("p", { class: "definition" }, visible(one.form[field].comment)))));
  });
  return h("table", { class: "sides", id: "sides" },
    h("thead", {}, h("tr", {}, h("th", {}), ratings.map((one) => h("th", { scope: "col" }, visible(one.rater), " ", h("button", { type: "button", onclick: () => take(one.form) }, "take"))))),
    h("tbody", {}, rows));
}

export const KEYS = [
  ["J / K", "next / previous item"], ["U", "next item without my rating"], ["Y / N", "fix or problem / not a fix"],
  ["C A S X", "go to category, cause, symptom, fix"], ["M", "go to the comment"], ["D", "mark to be discussed"],
  ["Ctrl+Enter", "submit (or save the reconciled answer)"], ["W", "withdraw my submitted rating"],
  ["Z / Shift+Z", "undo / redo, also after a reload"], ["R", "compare the raters, once all have submitted"],
  ["] / [", "next / previous change in the diff"], ["E", "show all lines"], ["H", "show the tool's suggestion"],
  ["G", "agreement so far"], ["Esc", "leave a field, so that letters are keys again"], ["?", "these keys"],
];
