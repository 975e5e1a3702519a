// The data of the page, unpacked: columns become rows, numbers what they stand for.

const R = {}; // the report
const ACTIONS = ["to-hybrid", "to-eager", "reconfigure", "keep"];
const SEVERITIES = ["error", "warning", "info"];
const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%:()*+-;,=.?@^_`{|}~";

function bytesOf(text) {
  const value = new Uint8Array(128);
  for (let i = 0; i < ALPHABET.length; i++) value[ALPHABET.charCodeAt(i)] = i;
  const missing = (5 - (text.length % 5)) % 5;
  const whole = text + "~".repeat(missing);
  const bytes = new Uint8Array((whole.length / 5) * 4);
  for (let i = 0, at = 0; i < whole.length; i += 5) {
    let word = 0;
    for (let j = 0; j < 5; j++) word = word * 85 + value[whole.charCodeAt(i + j)];
    bytes[at++] = word / 16777216;
    bytes[at++] = word >>> 16;
    bytes[at++] = word >>> 8;
    bytes[at++] = word;
  }
  return bytes.subarray(0, bytes.length - missing);
}

async function unpack(id) {
  const packed = byId(id);
  const stream = new Blob([bytesOf(packed.textContent)]).stream().pipeThrough(new DecompressionStream("deflate"));
  packed.remove();
  return new Response(stream).json();
}

function rows(columns) {
  const names = Object.keys(columns);
  if (!names.length) return [];
  return columns[names[0]].map((_, i) => Object.fromEntries(names.map((name) => [name, columns[name][i]])));
}

function take(data) {
  Object.assign(R, data);
  R.functions = rows(data.functions);
  R.findings = rows(data.findings);
  const statuses = rows(data.statuses);
  const parameters = rows(data.parameters);
  takeChains(data);
  for (const each of statuses) {
    const steps = chain(each.chain);
    if (steps.length) each.message = each.message.replaceAll("\u0001", () => steps[steps.length - 1].message);
  }
  let status = 0;
  let parameter = 0;
  R.keys = new Map();
  R.functions.forEach((f, i) => {
    f.index = i;
    const [module, rest] = [f.id.slice(0, f.id.indexOf(":")), f.id.slice(f.id.indexOf(":") + 1)];
    f.module = module;
    f.name = rest.replace(/#\d+$/, "");
    f.statuses = statuses.slice(status, (status += f.statuses));
    f.parameters = parameters.slice(parameter, (parameter += f.parameters));
    f.findings = [];
    f.callers = [];
    f.callees = [];
    f.first = f.why >= 0 ? f.statuses[f.why] : null;
    f.told = f.first ? f.first.message : f.change || f.rests;
    f.key = keyOf(R.keys, f.id, i);
  });
  R.findings.forEach((each, i) => {
    each.index = i;
    if (each.function !== null) R.functions[each.function].findings.push(each);
  });
  let caller = 0;
  R.calls[0].forEach((difference, i) => {
    caller += difference;
    const callee = caller + R.calls[1][i];
    const line = R.calls[2][i];
    const file = caller < 0 ? -1 - caller : R.functions[caller].file;
    R.functions[callee].callers.push({ at: caller, file, line });
    if (caller >= 0) R.functions[caller].callees.push({ at: callee, file, line });
  });
  R.fileKeys = new Map();
  R.fileNames = R.files.map((path, i) => keyOf(R.fileKeys, path, i));
  R.inFile = R.files.map(() => []);
  R.functions.forEach((f) => R.inFile[f.file].push(f));
  R.rank = new Map(R.plan.map((f, i) => [f, i]));
}

// Names for addresses: what an address cannot hold is replaced, and what is there twice gets a number.
function keyOf(keys, text, index) {
  let key = well(text);
  for (let i = 2; keys.has(key); i++) key = `${well(text)}~${i}`;
  keys.set(key, index);
  return key;
}

function takeChains(data) {
  const [steps, others] = data.chains;
  R.links = [null];
  let step = 0;
  steps.forEach((difference, i) => {
    step += difference;
    R.links.push([step, i + 1 - others[i]]);
  });
}

// The steps of a chain: what is said, and where.
function chain(at) {
  const found = [];
  const [messages, files, lines] = R.steps;
  for (let number = at; number; number = R.links[number][1]) {
    const step = R.links[number][0];
    found.push({ message: messages[step], file: files[step], line: lines[step] });
  }
  return found;
}

const codeName = (code) => (R.codes[code] ? R.codes[code][0] : "");
const codeSays = (code) => (R.codes[code] ? R.codes[code][2] : "");
const placeOf = (file, line) => `${R.files[file]}:${line}`;
const functionAddress = (f, values) => address("function", { id: f.key, ...values });
const placeAddress = (f, file, line) => functionAddress(f, { at: `${R.fileNames[file]}:${line}` });

// The innermost function around a line.
function functionAt(file, line) {
  let best = null;
  for (const f of R.inFile[file]) {
    if (f.from <= line && line <= f.to && (!best || f.from >= best.from)) best = f;
  }
  return best;
}
