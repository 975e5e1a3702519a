// Elements are built, never parsed: whatever a name or a source holds, it stays text.

const byId = (id) => document.getElementById(id);

// Characters that nobody sees, or that change how others are seen: shown by their number.
const ODD = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/gu;
const ODD_ONE = new RegExp(ODD.source, "u");

function put(parent, text) {
  if (!ODD_ONE.test(text)) {
    parent.append(text);
    return parent;
  }
  let done = 0;
  for (const match of text.matchAll(ODD)) {
    parent.append(text.slice(done, match.index));
    const number = match[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    const odd = document.createElement("span");
    odd.className = "odd";
    odd.textContent = `U+${number}`;
    parent.append(odd);
    done = match.index + match[0].length;
  }
  parent.append(text.slice(done));
  return parent;
}

// el("a.cls", {href: "#", "aria-label": "x"}, "text", child, ...): text goes through `put`.
function el(kind, attributes, ...children) {
  const [tag, ...classes] = kind.split(".");
  const made = document.createElement(tag);
  if (classes.length) made.className = classes.join(" ");
  return fill(made, attributes, children);
}

function svg(kind, attributes, ...children) {
  const [tag, ...classes] = kind.split(".");
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  if (classes.length) made.setAttribute("class", classes.join(" "));
  return fill(made, attributes, children);
}

function fill(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    if (child instanceof Node) made.append(child);
    else put(made, String(child));
  }
  return made;
}

// A sentence: what stands between backticks is code.
function sentence(text) {
  const pieces = text.split("`");
  if (pieces.length % 2 === 0) return [text];
  return pieces.map((piece, i) => (i % 2 ? el("code", null, piece) : piece));
}

const number = (value) => value.toLocaleString("en-US");
const counted = (value, noun) => `${number(value)} ${noun}${value === 1 ? "" : "s"}`;
const bidi = (text) => el("bdi", null, text);
const say = (text) => { byId("live").textContent = text; };
const well = (text) => (text.toWellFormed ? text.toWellFormed() : text.replace(new RegExp(ODD.source, "gu"), (c) => (/[\ud800-\udfff]/.test(c) ? "\ufffd" : c)));

// Addresses: `#/functions?q=loss&sort=-gain`.
function address(view, values) {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(values || {})) {
    if (value !== "" && value !== null && value !== undefined) query.set(key, value);
  }
  const text = query.toString();
  return `#/${view}${text ? `?${text}` : ""}`;
}

function here() {
  const [view, query] = location.hash.replace(/^#\/?/, "").split("?");
  return { view: view || "overview", values: Object.fromEntries(new URLSearchParams(query || "")) };
}
