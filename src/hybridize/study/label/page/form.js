// The form of one rating, and the safe building of elements. Texts go into the page as text nodes only, never as HTML.

export const FACETS = ["category", "cause", "symptom", "fix"];
const KEYS = { category: "C", cause: "A", symptom: "S", fix: "X" };

export function h(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (["value", "disabled", "checked", "hidden"].includes(name)) element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}

export const emptyForm = () => ({
  is_fix: null,
  ...Object.fromEntries(FACETS.map((facet) => [facet, { choice: null, new: "", comment: "" }])),
  comment: "",
  discuss: false,
});

export const clone = (form) => JSON.parse(JSON.stringify(form));
export const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

function options(book, facet, chosen) {
  const found = [h("option", { value: "" }, "– choose –")];
  for (const code of book.codes.filter((one) => one.facet === facet)) {
    const indent = "\u2003".repeat(code.depth || 0);
    const name = code.abbreviation ? `${code.name} (${code.abbreviation})` : code.name;
    found.push(h("option", { value: code.name, disabled: code.abstract, title: code.definition }, indent + name));
  }
  const known = chosen === null || book.codes.some((one) => one.facet === facet && one.name === chosen);
  if (!known) found.push(h("option", { value: chosen }, `${chosen} (retired)`));
  return found;
}

// A form in the page: `read` and `show` move between it and plain data; `change(field, kind)` is called on every input.
export class FormView {
  constructor(book, change, { prefix = "", keys = true, comments = true } = {}) {
    this.book = book;
    this.change = change;
    this.prefix = prefix;
    this.comments = comments;
    this.inputs = {};
    this.problems = {};
    this.element = h("div", { class: "form" }, this.#decision(keys), FACETS.map((facet) => this.#facet(facet, keys)), this.#rest(keys));
  }

  #id(name) {
    return `f-${this.prefix}${name}`;
  }

  #problem(name) {
    return (this.problems[name] = h("p", { class: "problem", id: this.#id(`${name}-problem`), role: "status" }));
  }

  #decision(keys) {
    const button = (value, text, key) =>
      h("button", { type: "button", id: this.#id(value ? "yes" : "no"), "aria-pressed": "false", onclick: () => this.decide(value) }, text, keys && [" ", h("kbd", {}, key)]);
    this.inputs.yes = button(true, "Fix / problem", "Y");
    this.inputs.no = button(false, "Not a fix", "N");
    return h("fieldset", {}, h("legend", {}, "Is it about a hybridization problem?"), h("div", { class: "yesno" }, this.inputs.yes, this.inputs.no), this.#problem("is_fix"));
  }

  #facet(facet, keys) {
    const select = h("select", { id: this.#id(facet), onchange: () => { this.#define(facet); this.change(facet, "choice"); } });
    const fresh = h("input", { id: this.#id(`${facet}-new`), placeholder: `… or a new ${facet}`, maxlength: "120", "aria-label": `new ${facet}`, oninput: () => this.change(facet, "typing") });
    const comment = h("textarea", { id: this.#id(`${facet}-comment`), rows: "1", placeholder: "comment", "aria-label": `comment on the ${facet}`, oninput: () => this.change(facet, "typing") });
    const definition = h("p", { class: "definition" });
    Object.assign(this.inputs, { [facet]: select, [`${facet}-new`]: fresh, [`${facet}-comment`]: comment, [`${facet}-definition`]: definition });
    const label = h("label", { class: "label", for: this.#id(facet) }, facet[0].toUpperCase() + facet.slice(1), keys && h("kbd", {}, KEYS[facet]));
    return h("fieldset", { class: "field" }, label, select, definition, this.comments ? h("div", { class: "pair" }, fresh, comment) : fresh, this.#problem(facet));
  }

  #rest(keys) {
    this.inputs.comment = h("textarea", { id: this.#id("comment"), rows: "2", "aria-label": "comment", oninput: () => this.change("comment", "typing") });
    this.inputs.discuss = h("input", { type: "checkbox", id: this.#id("discuss"), onchange: () => this.change("discuss", "choice") });
    return h("fieldset", { class: "field" },
      h("label", { class: "label", for: this.#id("comment") }, "Comment", keys && h("kbd", {}, "M")), this.inputs.comment,
      h("label", { class: "row", for: this.#id("discuss") }, this.inputs.discuss, "to be discussed", keys && h("kbd", {}, "D")));
  }

  #define(facet) {
    const code = this.book.codes.find((one) => one.facet === facet && one.name === this.inputs[facet].value);
    this.inputs[`${facet}-definition`].textContent = code ? code.definition : "";
  }

  decide(value) {
    this.#press(value);
    this.change("is_fix", "choice");
  }

  #press(value) {
    this.inputs.yes.setAttribute("aria-pressed", String(value === true));
    this.inputs.no.setAttribute("aria-pressed", String(value === false));
  }

  toggleDiscuss() {
    this.inputs.discuss.checked = !this.inputs.discuss.checked;
    this.change("discuss", "choice");
  }

  show(form) {
    this.#press(form.is_fix);
    for (const facet of FACETS) {
      const answer = form[facet];
      this.inputs[facet].replaceChildren(...options(this.book, facet, answer.choice));
      this.inputs[facet].value = answer.choice ?? "";
      // Setting a field that has this text already would move the caret.
      if (this.inputs[`${facet}-new`].value !== answer.new) this.inputs[`${facet}-new`].value = answer.new;
      if (this.inputs[`${facet}-comment`].value !== answer.comment) this.inputs[`${facet}-comment`].value = answer.comment;
      this.#define(facet);
    }
    if (this.inputs.comment.value !== form.comment) this.inputs.comment.value = form.comment;
    this.inputs.discuss.checked = form.discuss;
  }

  read() {
    const yes = this.inputs.yes.getAttribute("aria-pressed") === "true";
    const no = this.inputs.no.getAttribute("aria-pressed") === "true";
    const form = { is_fix: yes ? true : no ? false : null };
    for (const facet of FACETS) {
      form[facet] = { choice: this.inputs[facet].value || null, new: this.inputs[`${facet}-new`].value, comment: this.inputs[`${facet}-comment`].value };
    }
    return { ...form, comment: this.inputs.comment.value, discuss: this.inputs.discuss.checked };
  }

  complain(problems) {
    for (const element of Object.values(this.problems)) element.textContent = "";
    for (const { field, message } of problems) {
      if (this.problems[field]) this.problems[field].textContent = message;
    }
  }

  enable(on) {
    for (const element of Object.values(this.inputs)) if ("disabled" in element) element.disabled = !on;
  }

  focus(name) {
    this.inputs[name]?.focus();
  }
}
