// Colours for Python: comments, texts, numbers, keywords, decorators. Shown as text whatever it makes of it.

const KEYWORDS = new Set(
  ("False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda "
    + "nonlocal not or pass raise return try while with yield match case self cls").split(" "));
const TOKEN = /#.*|[rbuftRBUFT]{0,2}("""|'''|"|')|(?<![\w.])(?:0[xXoObB][\da-fA-F_]+|\d[\d_]*(?:\.[\d_]*)?(?:[eE][+-]?\d+)?j?)|@[\w.]+|[A-Za-z_]\w*/g;
const ENDS = {
  '"""': /(?:\\[^]|[^\\])*?"""/y,
  "'''": /(?:\\[^]|[^\\])*?'''/y,
  '"': /(?:\\.|[^"\\\n])*"?/y,
  "'": /(?:\\.|[^'\\\n])*'?/y,
};

// By line of a text, its pieces: [kind, text]. It may begin within a string that ends with these quotes.
function pythonLines(text, quotes) {
  const lines = [[]];
  const add = (kind, piece) => {
    piece.split("\n").forEach((part, i) => {
      if (i) lines.push([]);
      if (part) lines[lines.length - 1].push([kind, part]);
    });
  };
  let done = 0;
  TOKEN.lastIndex = 0;
  if (quotes) {
    ENDS[quotes].lastIndex = 0;
    done = ENDS[quotes].exec(text) ? ENDS[quotes].lastIndex : text.length;
    add("t", text.slice(0, done));
    TOKEN.lastIndex = done;
  }
  for (let match = TOKEN.exec(text); match; match = TOKEN.exec(text)) {
    const start = match.index;
    const kind = kindOf(text, match);
    let end = TOKEN.lastIndex;
    if (match[1]) {
      const rest = ENDS[match[1]];
      rest.lastIndex = end;
      const found = rest.exec(text);
      end = found ? rest.lastIndex : text.length;
      TOKEN.lastIndex = end;
    }
    if (!kind) continue;
    add("", text.slice(done, start));
    add(kind, text.slice(start, end));
    done = end;
  }
  add("", text.slice(done));
  return lines;
}

function kindOf(text, match) {
  const word = match[0];
  if (match[1]) return "t";
  if (word[0] === "#") return "c";
  if (word[0] === "@") return /^[ \t]*$/.test(text.slice(text.lastIndexOf("\n", match.index - 1) + 1, match.index)) ? "d" : "";
  if (/\d/.test(word[0])) return "n";
  return KEYWORDS.has(word) ? "k" : "";
}
