// The labelling page. Every input goes to this browser's storage at once and to the database a moment later, so neither a
// reload nor a crash of browser or server loses anything.

import { FACETS, FormView, clone, emptyForm, h, same } from "/form.js";
import { KEYS, itemView, sides, visible } from "/views.js";

const $ = (id) => document.getElementById(id);
const SAVE_AFTER = 250;
const S = { info: null, rater: null, round: "", queue: [], at: null, all: false, compare: null };

// The token comes behind the address's #, which browsers send to nobody; it goes with each request and out of sight.
const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given) {
  sessionStorage.setItem("token", given);
  history.replaceState(null, "", location.pathname);
}
const token = sessionStorage.getItem("token") ?? "";

async function call(path, data) {
  const headers = { "X-Token": token };
  const init = data === undefined ? { headers } : { method: "POST", headers: { ...headers, "Content-Type": "application/json" }, body: JSON.stringify(data) };
  let answer;
  try {
    answer = await fetch(path, init);
  } catch (error) {
    throw { status: 0, error: "The server does not answer." };
  }
  const body = await answer.json().catch(() => ({ error: `The server said ${answer.status}.` }));
  if (!answer.ok) throw { status: answer.status, ...body };
  return body;
}
const get = (path, query) => call(`${path}?${new URLSearchParams(query)}`);

function status(text, bad = false) {
  $("saved").textContent = text;
  $("saved").className = bad ? "bad" : "";
}

function alertBar(...children) {
  $("alert").replaceChildren(...children);
  $("alert").hidden = children.length === 0;
}
const failed = (error) => alertBar(error.error || String(error), h("button", { type: "button", onclick: () => alertBar() }, "OK"));

// ---- what this browser keeps -------------------------------------------------------------------------------------

const slot = (kind, item) => `hybridize:${S.info.study}:${S.rater}:${kind}:${item}`;
function keep(key, value) {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, JSON.stringify(value));
  } catch (error) {
    /* storage full or forbidden: the database still gets every change */
  }
}
function kept(key) {
  try {
    return JSON.parse(localStorage.getItem(key));
  } catch (error) {
    return null;
  }
}

// ---- one rating being edited --------------------------------------------------------------------------------------

class Editing {
  constructor(item, rating, history) {
    this.item = item;
    this.form = rating ? rating.form : emptyForm();
    this.stored = clone(this.form);
    this.revision = rating ? rating.revision : 0;
    this.state = rating ? rating.state : "new";
    this.locked = Boolean(rating && rating.locked);
    this.undo = [emptyForm(), ...history].filter((form, place, all) => place === all.length - 1 || !same(form, all[place + 1]));
    if (this.undo.length && same(this.undo[this.undo.length - 1], this.form)) this.undo.pop();
    this.redo = [];
    this.timer = null;
    this.busy = null;
    this.lastField = null;
  }

  get dirty() {
    return !same(this.form, this.stored);
  }

  get editable() {
    return this.state !== "submitted" && !this.locked;
  }

  set(form, field, kind) {
    if (same(form, this.form)) return;
    // Typing in one field is one step of undo, until there is a pause.
    const together = kind === "typing" && this.lastField === field && Date.now() - this.lastTime < 1500;
    if (!together) this.undo.push(clone(this.form));
    this.redo = [];
    this.lastField = field;
    this.lastTime = Date.now();
    this.#now(form);
  }

  #now(form) {
    this.form = form;
    this.remember();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.save(), SAVE_AFTER);
    status("…");
  }

  step(from, to) {
    if (!from.length || !this.editable) return false;
    to.push(clone(this.form));
    this.lastField = null;
    this.#now(from.pop());
    return true;
  }

  remember() {
    keep(slot("draft", this.item), this.dirty ? { form: this.form, revision: this.revision } : null);
  }

  async save() {
    clearTimeout(this.timer);
    if (this.busy) {
      await this.busy;
      if (this.busy) return this.busy;
    }
    if (!this.dirty || !this.editable) return;
    this.busy = this.#send().finally(() => (this.busy = null));
    await this.busy;
    if (this.dirty && !this.conflict && !this.offline) await this.save();
  }

  async #send() {
    const sent = clone(this.form);
    try {
      const answer = await call("/api/draft", { item: this.item, rater: S.rater, form: sent, revision: this.revision });
      this.#took(answer, sent);
      this.offline = false;
      status("saved");
      if (S.editing === this) S.view.complain(this.asked ? answer.problems : answer.problems.filter((one) => /not both|exists already/.test(one.message)));
      await refreshQueue();
    } catch (error) {
      if (error.status === 409) this.#conflict(error.current);
      else {
        this.offline = true;
        status(`not saved yet, kept in this browser: ${error.error}`, true);
        clearTimeout(this.timer);
        if (error.status === 0 || error.status >= 500) this.timer = setTimeout(() => { this.offline = false; this.save(); }, 1500);
        else failed(error);
      }
    }
  }

  #took(rating, sent) {
    this.stored = sent;
    this.revision = rating.revision;
    this.state = rating.state;
    this.remember();
  }

  #conflict(current) {
    this.conflict = true;
    status("not saved: changed elsewhere", true);
    if (S.editing !== this) return;
    const mine = () => { this.conflict = false; this.#adopt(current, false); this.save(); alertBar(); show(); };
    const theirs = () => { this.conflict = false; this.undo.push(clone(this.form)); this.#adopt(current, true); alertBar(); show(); };
    alertBar("This rating was changed elsewhere in the meantime (another tab?). ",
      h("button", { type: "button", id: "keep-mine", onclick: mine }, "Keep what is here"), h("button", { type: "button", id: "take-stored", onclick: theirs }, "Take what is stored"));
  }

  #adopt(current, take) {
    this.stored = current ? current.form : emptyForm();
    this.revision = current ? current.revision : 0;
    this.state = current ? current.state : "new";
    this.locked = Boolean(current && current.locked);
    if (take) this.form = clone(this.stored);
    this.remember();
  }

  // What this browser kept because it could not be saved: it goes on from there, unless the database has moved on.
  recover() {
    const left = kept(slot("draft", this.item));
    if (!left || same(left.form, this.form)) return keep(slot("draft", this.item), null);
    if (!this.editable) return undefined;
    const current = { form: clone(this.stored), revision: this.revision, state: this.state, locked: this.locked };
    this.undo.push(clone(this.form));
    this.form = left.form;
    if (left.revision === this.revision) {
      this.save();
      return status("recovered what was not saved yet");
    }
    return this.#conflict(this.revision ? current : null);
  }
}

// ---- queue --------------------------------------------------------------------------------------------------------

const GLYPHS = { todo: "○", draft: "◐", submitted: "●", ready: "⇄", done: "✓" };
function standing(row) {
  if (row.reconciled) return "done";
  if (row.ready) return "ready";
  return row.own || "todo";
}
const FILTERS = {
  all: () => true,
  todo: (row) => row.own !== "submitted" && !row.reconciled,
  discuss: (row) => row.discuss === 1,
  ready: (row) => row.ready && !row.reconciled,
  done: (row) => row.reconciled,
};
const listed = () => S.queue.filter((row) => FILTERS[$("filter").value](row) || row.id === S.at);

async function refreshQueue() {
  if (!S.rater) return;
  try {
    S.queue = await get("/api/queue", { rater: S.rater, round: S.round });
  } catch (error) {
    return;
  }
  drawQueue();
}

function drawQueue() {
  const done = S.queue.filter((row) => row.own === "submitted").length;
  const settled = S.queue.filter((row) => row.reconciled).length;
  $("progress").textContent = `${done} of ${S.queue.length} rated by me, ${settled} reconciled`;
  $("queue").replaceChildren(...listed().map((row) => {
    const state = standing(row);
    const others = row.submitted - (row.own === "submitted" ? 1 : 0);
    const about = `${row.project}${row.discuss ? " · discuss" : ""}${others > 0 ? ` · ${others} other rating${others > 1 ? "s" : ""}` : ""}`;
    return h("li", {}, h("button", { type: "button", "data-id": row.id, "aria-current": String(row.id === S.at), onclick: () => open(row.id) },
      h("span", { class: `glyph ${state}`, title: state }, GLYPHS[state]), h("span", { class: "t" }, visible(row.title)), h("span"), h("span", { class: "p" }, visible(about))));
  }));
}

function move(step, only = () => true) {
  const rows = listed();
  let place = rows.findIndex((row) => row.id === S.at);
  for (let count = 0; count < rows.length; count += 1) {
    place = (place + step + rows.length) % rows.length;
    if (only(rows[place])) return open(rows[place].id);
  }
  return status("there is no other");
}
const nextUndone = () => move(1, (row) => row.own !== "submitted" && !row.reconciled);

// ---- item ---------------------------------------------------------------------------------------------------------

async function open(id) {
  S.editing?.save();
  S.compare = null;
  S.at = id;
  S.all = false;
  alertBar();
  location.hash = new URLSearchParams({ round: S.round, item: id }).toString();
  await load();
  $("item").scrollTop = 0;
  document.querySelector("#queue [aria-current=true]")?.scrollIntoView({ block: "nearest" });
}

async function load() {
  const id = S.at;
  try {
    const answer = await get("/api/item", { id, rater: S.rater, all: S.all ? "1" : "0" });
    if (id !== S.at) return;
    S.item = answer.item;
    S.editing = new Editing(id, answer.rating, answer.history);
    S.view = new FormView(S.info.book, (field, kind) => S.editing.set(S.view.read(), field, kind));
    status(answer.rating ? "saved" : "");
    S.editing.recover();
    drawItem();
    show();
    drawQueue();
  } catch (error) {
    failed(error);
  }
}

function drawItem() {
  const take = (name) => {
    if (!S.editing.editable) return;
    S.editing.set({ ...S.editing.form, fix: { ...S.editing.form.fix, choice: name, new: "" } }, "fix", "choice");
    show();
  };
  $("item").replaceChildren(...itemView(S.item, S.info.book, take, S.all, showAll).flat(9).filter(Boolean));
}

async function showAll() {
  S.all = !S.all;
  try {
    S.item = (await get("/api/item", { id: S.at, rater: S.rater, all: S.all ? "1" : "0" })).item;
    drawItem();
  } catch (error) {
    failed(error);
  }
}

function show() {
  document.querySelector("main").classList.toggle("comparing", Boolean(S.compare));
  if (S.compare) return drawCompare();
  const editing = S.editing;
  const row = S.queue.find((one) => one.id === S.at);
  S.view.show(editing.form);
  S.view.enable(editing.editable);
  const words = editing.locked ? "Compared with the others: only the reconciled answer can change now."
    : editing.state === "submitted" ? "Submitted. The others stay hidden until all have rated." : null;
  $("rating").replaceChildren(...[
    words && h("p", { class: "state", id: "state" }, words),
    S.view.element,
    h("div", { class: "row actions" },
      editing.editable && h("button", { type: "button", class: "main", id: "submit", onclick: submit }, "Submit ", h("kbd", {}, "Ctrl+Enter")),
      editing.state === "submitted" && !editing.locked && h("button", { type: "button", id: "withdraw", onclick: withdraw }, "Withdraw to change ", h("kbd", {}, "W")),
      editing.editable && h("button", { type: "button", id: "undo", onclick: undo }, "Undo ", h("kbd", {}, "Z")),
      row && row.ready && h("button", { type: "button", id: "compare", onclick: compare }, "Compare ", h("kbd", {}, "R"))),
  ].filter(Boolean));
  return undefined;
}

function undo() {
  if (S.compare) return;
  if (S.editing.step(S.editing.undo, S.editing.redo)) show();
  else status("nothing to undo");
}

function redo() {
  if (!S.compare && S.editing.step(S.editing.redo, S.editing.undo)) show();
}

async function submit() {
  if (S.compare) return saveFinal();
  const editing = S.editing;
  if (!editing.editable) return undefined;
  editing.asked = true;
  const focused = document.activeElement;
  await editing.save();
  if (editing.conflict) return undefined;
  try {
    const answer = await call("/api/submit", { item: editing.item, rater: S.rater, form: editing.form, revision: editing.revision });
    keep(slot("draft", editing.item), null);
    S.info.book = answer.book;
    await refreshQueue();
    if (S.at === editing.item) {
      const left = S.queue.some((row) => row.own !== "submitted" && !row.reconciled);
      if (left) await nextUndone();
      else await load();
    }
    status("submitted");
  } catch (error) {
    if (error.problems) {
      S.view.complain(error.problems);
      status("not submitted: something is missing", true);
      const first = error.problems[0].field;
      // Whoever has gone on elsewhere in the meantime must not be pulled away from there.
      if (document.activeElement === focused) S.view.focus(first === "is_fix" ? "yes" : first);
    } else if (error.status === 409) {
      await load();
      alertBar("This rating was changed elsewhere in the meantime; here is what is stored.");
    } else failed(error);
  }
  return undefined;
}

async function withdraw() {
  const editing = S.editing;
  if (editing.state !== "submitted" || editing.locked) return;
  try {
    await call("/api/withdraw", { item: editing.item, rater: S.rater, revision: editing.revision });
  } catch (error) {
    failed(error);
  }
  await refreshQueue();
  await load();
}

// ---- comparing and reconciling ------------------------------------------------------------------------------------

async function compare() {
  try {
    await S.editing?.save();
    const answer = await call("/api/compare", { item: S.at, rater: S.rater });
    S.compare = { ...answer, item: S.at, rows: [] };
    const left = kept(slot("final", S.at));
    const forms = left && left.tag === answer.tag ? left.forms : answer.final.length ? answer.final : [common(answer.ratings)];
    S.compare.rows = forms.map(clone);
    drawCompare();
  } catch (error) {
    failed(error);
  }
}

// Where all agree the answer is filled in; the rest is for the meeting to decide.
function common(ratings) {
  const form = emptyForm();
  const first = ratings[0].form;
  const agreed = (read) => ratings.every((one) => read(one.form) === read(first));
  if (agreed((one) => one.is_fix)) form.is_fix = first.is_fix;
  for (const facet of FACETS) if (agreed((one) => one[facet].choice)) form[facet].choice = first[facet].choice;
  return form;
}

const plain = (form) => ({ ...emptyForm(), is_fix: form.is_fix, ...Object.fromEntries(FACETS.map((f) => [f, { choice: form[f].choice, new: form[f].new || "", comment: "" }])), comment: form.comment });

function drawCompare() {
  const c = S.compare;
  document.querySelector("main").classList.add("comparing");
  const remember = () => {
    c.rows = c.views.map((view) => view.read());
    keep(slot("final", c.item), { tag: c.tag, forms: c.rows });
    status("not saved yet: kept in this browser");
  };
  c.views = c.rows.map((form, place) => {
    const view = new FormView(S.info.book, remember, { prefix: `r${place + 1}-`, keys: false, comments: false });
    view.show(form);
    return view;
  });
  const take = (form) => { c.rows = [{ ...plain(form), comment: "" }]; keep(slot("final", c.item), { tag: c.tag, forms: c.rows }); drawCompare(); };
  const add = () => { c.rows.push({ ...emptyForm(), is_fix: true }); drawCompare(); };
  const drop = (place) => { c.rows.splice(place, 1); drawCompare(); };
  $("rating").replaceChildren(
    h("h2", {}, "The raters side by side"), sides(c.ratings, take),
    h("h2", {}, "Final answer"),
    h("p", { class: "meta" }, c.reconciler ? `Reconciled by ${c.reconciler}.` : "Not reconciled yet."),
    ...c.views.map((view, place) => h("section", { class: "note" }, c.views.length > 1 && h("strong", {}, `Problem ${place + 1} `),
      c.views.length > 1 && h("button", { type: "button", onclick: () => drop(place) }, "remove"), view.element)),
    h("div", { class: "row actions" }, h("button", { type: "button", class: "main", id: "save-final", onclick: saveFinal }, "Save final answer ", h("kbd", {}, "Ctrl+Enter")),
      h("button", { type: "button", id: "add-problem", onclick: add }, "Another problem"),
      h("button", { type: "button", id: "leave", onclick: () => { S.compare = null; load(); } }, "Back")));
}

async function saveFinal() {
  const c = S.compare;
  c.rows = c.views.map((view) => view.read());
  try {
    const answer = await call("/api/reconcile", { item: c.item, rater: S.rater, forms: c.rows.map(plain), tag: c.tag });
    keep(slot("final", c.item), null);
    S.info.book = answer.book;
    Object.assign(c, { tag: answer.tag, reconciler: answer.reconciler, rows: answer.final.map(clone) });
    drawCompare();
    status("reconciled");
    await refreshQueue();
  } catch (error) {
    if (error.problems) {
      c.views.forEach((view, place) => view.complain(error.problems.filter((one) => one.field.startsWith(`${place + 1}.`)).map((one) => ({ ...one, field: one.field.slice(2) }))));
      status("not saved: something is missing", true);
    } else if (error.status === 409) {
      alertBar("Somebody else reconciled this in the meantime. ", h("button", { type: "button", onclick: () => { keep(slot("final", c.item), null); alertBar(); compare(); } }, "Look at it"));
    } else failed(error);
  }
}

async function acceptAgreed() {
  try {
    const answer = await call("/api/accept-agreed", { rater: S.rater, round: S.round });
    await refreshQueue();
    if (S.at) await load();
    status(`${answer.reconciled} reconciled`);
  } catch (error) {
    failed(error);
  }
}

// ---- dialogs ------------------------------------------------------------------------------------------------------

function dialog(...children) {
  $("dialog").replaceChildren(...children, h("div", { class: "row" }, h("button", { type: "button", onclick: () => $("dialog").close() }, "Close")));
  if (!$("dialog").open) $("dialog").showModal();
}

const help = () => dialog(h("h1", {}, "Keys"), h("table", {}, KEYS.map(([key, what]) => h("tr", {}, h("td", {}, h("kbd", {}, key)), h("td", {}, what)))),
  h("p", { class: "meta" }, "In a field, letters are letters: Esc leaves it. In a menu, typing finds a name."));

async function agreement() {
  try {
    const found = await get("/api/agreement", { round: S.round });
    const number = (value) => (value === null ? "undefined" : value.toFixed(3));
    dialog(h("h1", {}, "Agreement so far"), h("p", {}, `${found.ratings} submitted ratings of ${found.items} items.`),
      h("table", { id: "kappa" }, h("tr", {}, ["question", "classes", "statistic", "raters", "items", "value", "95% interval", ""].map((name) => h("th", {}, name))),
        found.coefficients.map((one) => h("tr", {}, h("td", {}, one.question), h("td", {}, one.classes), h("td", {}, one.statistic), h("td", {}, one.raters.join(" × ")),
          h("td", { class: "number" }, String(one.items)), h("td", { class: "number" }, number(one.value)), h("td", {}, one.low === null ? "" : `${number(one.low)} to ${number(one.high)}`), h("td", {}, one.word)))),
      h("p", { class: "meta" }, "“all”: “not a fix” is a class of its own. `study agree` lists the disagreements."));
  } catch (error) {
    failed(error);
  }
}

function chooseRater() {
  const name = h("input", { id: "name", maxlength: "60", placeholder: "your name", autocomplete: "off" });
  const role = h("select", { id: "role" }, h("option", { value: "rater" }, "rater"), h("option", { value: "reconciler" }, "reconciler (rates nothing)"));
  const enter = async (chosen, as) => {
    try {
      const info = await call("/api/raters", { name: chosen, role: as });
      S.info = info;
      S.editing?.save();
      S.rater = chosen.trim().split(/\s+/).join(" ");
      sessionStorage.setItem("rater", S.rater);
      $("dialog").close();
      await start();
    } catch (error) {
      $("name-problem").textContent = error.error;
    }
  };
  $("dialog").replaceChildren(h("h1", {}, "Who rates?"), h("p", { class: "meta" }, "No account: everybody on this machine who opens this page may choose any name. You see nobody else's answers before you have given your own."),
    h("div", { class: "row" }, S.info.raters.map((one) => h("button", { type: "button", class: "person", onclick: () => enter(one.name, one.role) }, visible(one.name), one.role === "rater" ? "" : ` (${one.role})`))),
    h("form", { class: "row", onsubmit: (event) => { event.preventDefault(); enter(name.value, role.value); } }, name, role, h("button", { class: "main", id: "enter" }, "Enter")),
    h("p", { class: "problem", id: "name-problem" }));
  if (!$("dialog").open) $("dialog").showModal();
  name.focus();
}

// ---- keys ---------------------------------------------------------------------------------------------------------

function nextChange(step) {
  const changed = [...document.querySelectorAll("tr.change")].filter((row) => !row.previousElementSibling || !row.previousElementSibling.matches("tr.change"));
  const middle = window.innerHeight / 2;
  const tops = changed.map((row) => row.getBoundingClientRect().top);
  const place = step > 0 ? tops.findIndex((top) => top > middle + 20) : tops.findLastIndex((top) => top < middle - 20);
  changed[place]?.scrollIntoView({ block: "center" });
}

const ACTIONS = {
  j: () => move(1), k: () => move(-1), u: nextUndone, y: () => ours((view) => view.decide(true)), n: () => ours((view) => view.decide(false)),
  c: () => ours((view) => view.focus("category")), a: () => ours((view) => view.focus("cause")), s: () => ours((view) => view.focus("symptom")),
  x: () => ours((view) => view.focus("fix")), m: () => ours((view) => view.focus("comment")), d: () => ours((view) => view.toggleDiscuss()),
  w: withdraw, z: undo, Z: redo, r: () => S.queue.find((row) => row.id === S.at)?.ready && compare(), e: showAll, "]": () => nextChange(1), "[": () => nextChange(-1),
  h: () => { const box = $("suggestion"); if (box) box.open = !box.open; }, g: agreement, "?": help,
};
function ours(action) {
  if (S.compare) action(S.compare.views[0]);
  else if (S.editing?.editable) action(S.view);
}

document.addEventListener("keydown", (event) => {
  if ($("dialog").open) return;
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    submit();
    return;
  }
  const field = event.target.closest("input:not([type=checkbox]), textarea, select");
  if (event.key === "Escape") event.target.blur();
  if (field || event.altKey || event.isComposing || !S.editing) return;
  if (event.ctrlKey || event.metaKey) {
    if (event.key === "z" || event.key === "Z" || event.key === "y") {
      event.preventDefault();
      if (event.key === "z") undo();
      else redo();
    }
    return;
  }
  const action = ACTIONS[event.key] || (event.key === "Z" ? null : ACTIONS[event.key.toLowerCase()]);
  if (action) {
    event.preventDefault();
    action();
  }
});

// ---- start --------------------------------------------------------------------------------------------------------

async function start() {
  const place = new URLSearchParams(location.hash.slice(1));
  const rounds = S.info.rounds.map((one) => one.name);
  S.round = rounds.includes(place.get("round")) ? place.get("round") : rounds[0] ?? "";
  $("title").textContent = `${S.info.book.title} — ${S.info.file}`;
  $("who").textContent = S.rater;
  $("round").replaceChildren(...S.info.rounds.map((one) => h("option", { value: one.name }, `${one.name || "(no round)"} · ${one.items}`)));
  $("round").value = S.round;
  await refreshQueue();
  const wanted = place.get("item");
  if (S.queue.some((row) => row.id === wanted)) await open(wanted);
  else if (S.queue.length) {
    S.at = S.queue[S.queue.length - 1].id;
    const first = S.queue.find((row) => row.own !== "submitted" && !row.reconciled);
    await open((first || S.queue[0]).id);
  } else $("item").replaceChildren(h("p", { class: "note" }, "There is nothing to rate in this database yet: run `hybridize study mine` or `study issues` first."));
}

$("round").addEventListener("change", async () => {
  S.editing?.save();
  location.hash = new URLSearchParams({ round: $("round").value }).toString();
  await start();
});
$("filter").addEventListener("change", drawQueue);
$("accept").addEventListener("click", acceptAgreed);
$("help").addEventListener("click", help);
$("agreement").addEventListener("click", agreement);
$("who").addEventListener("click", chooseRater);
document.addEventListener("visibilitychange", () => { if (document.hidden) S.editing?.save(); else refreshQueue(); });
setInterval(refreshQueue, 8000);

try {
  S.info = await call("/api/state");
  const known = sessionStorage.getItem("rater");
  if (known && S.info.raters.some((one) => one.name === known)) {
    S.rater = known;
    await start();
  } else chooseRater();
} catch (error) {
  failed(error);
}
