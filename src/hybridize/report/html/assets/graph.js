// The call graph around a function: who calls it on the left, whom it calls on the right; one above the other where narrow.

const MOST = 8; // callers or callees, before all are asked for
const NODE = { width: 216, height: 42, gap: 10 };

function neighbours(f, which) {
  return f[which].map(({ at, file, line }) => ({ f: at < 0 ? null : R.functions[at], file, line }));
}

function graphView(f, width, all) {
  const callers = neighbours(f, "callers");
  const callees = neighbours(f, "callees");
  if (!callers.length && !callees.length) return el("p.empty.small", null, "Nothing in the project is seen to call it, and it calls no function of the project.");
  const cut = (list) => (all || list.length <= MOST + 1 ? [list, 0] : [list.slice(0, MOST), list.length - MOST]);
  const [left, lessLeft] = cut(callers);
  const [right, lessRight] = cut(callees);
  const wide = width >= 3 * NODE.width + 72;
  const layout = wide ? across(left.length + Boolean(lessLeft), right.length + Boolean(lessRight), width)
    : upright(left.length + Boolean(lessLeft), right.length + Boolean(lessRight), width);
  const picture = svg("svg.graph", {
    viewBox: `0 0 ${layout.width} ${layout.height}`, width: layout.width, height: layout.height, role: "group",
    "aria-label": `${counted(callers.length, "caller")} and ${counted(callees.length, "callee")} of ${f.name}`,
  });
  const edges = svg("g", { "aria-hidden": "true" });
  const nodes = svg("g");
  const recursive = callees.some((each) => each.f === f);
  left.forEach((each, i) => join(each, layout.left[i], true));
  if (lessLeft) more(lessLeft, "caller", layout.left[left.length]);
  right.forEach((each, i) => join(each, layout.right[i], false));
  if (lessRight) more(lessRight, "callee", layout.right[right.length]);
  nodes.append(node(f, layout.me, null, true, recursive));
  picture.append(edges, nodes);

  function join(each, box, isCaller) {
    const graph = isCaller ? f.hybrid : each.f && each.f.hybrid;
    edges.append(svg(`path.edge${graph ? ".hybrid" : ""}`, { d: isCaller ? layout.path(box, layout.me) : layout.path(layout.me, box) }));
    nodes.append(node(each.f, box, each, false, false));
  }
  function more(count, noun, box) {
    edges.append(svg("path.edge.more", { d: noun === "caller" ? layout.path(box, layout.me) : layout.path(layout.me, box) }));
    const { view, values } = here();
    nodes.append(svg("a.node.more", { href: address(view, { ...values, all: "1" }), "data-item": true },
      svg("rect", { x: box.x, y: box.y, width: box.width, height: NODE.height, rx: 6 }),
      label(box, 26, `+ ${counted(count, `more ${noun}`)}`, "name")));
  }
  return el("div.graph-box", null, picture, legend(f));
}

function node(f, box, call, isMe, recursive) {
  const name = f ? f.name : "module";
  const place = f ? R.files[f.file] : R.files[call.file];
  const kind = f ? `${ACTIONS[f.action]}${f.hybrid ? ".hybrid" : ""}` : "keep";
  const at = call && call.line ? `, line ${call.line}` : "";
  const title = `${name}, ${place}${f ? `: ${f.verdict}` : ""}${at ? `; called in ${R.files[call.file]}${at}` : ""}${recursive ? "; calls itself" : ""}`;
  const inner = [
    svg("title", null, title),
    svg("rect", { x: box.x, y: box.y, width: box.width, height: NODE.height, rx: 6 }),
    svg("rect.side", { x: box.x, y: box.y + 6, width: 4, height: NODE.height - 12, rx: 2 }),
    label(box, 18, fit(name, box.width - 24, 7.3), "name"),
    label(box, 34, whereabouts(f, place, box.width - 24, recursive), "where"),
  ];
  if (!f || isMe) return svg(`g.node.${kind}${isMe ? ".me" : ""}`, null, inner);
  return svg(`a.node.${kind}`, { href: functionAddress(f), "data-item": true, "aria-label": title }, inner);
}

const label = (box, y, text, kind) => svg(`text.${kind}`, { x: box.x + 14, y: box.y + y }, text);

function whereabouts(f, place, width, recursive) {
  const said = f ? `${f.verdict}${recursive ? ", recursive" : ""} · ` : "";
  return said + fit(place, width - said.length * 6, 6);
}

// A text that fits: the end of a name tells more than its beginning.
function fit(text, width, each) {
  const room = Math.floor(width / each);
  return text.length <= room ? text : `${text.slice(0, Math.floor(room * 0.4))}…${text.slice(text.length - Math.ceil(room * 0.6) + 1)}`;
}

function column(count, x, width, middle) {
  const height = count * NODE.height + Math.max(0, count - 1) * NODE.gap;
  return Array.from({ length: count }, (_, i) => ({ x, y: middle - height / 2 + i * (NODE.height + NODE.gap), width }));
}

function across(left, right, width) {
  const rows = Math.max(left, right, 1);
  const height = rows * (NODE.height + NODE.gap) + 6;
  const each = Math.min(280, (width - 120) / 3);
  const space = Math.min(120, (width - 3 * each) / 2);
  const path = (a, b) => {
    const [x1, y1, x2, y2] = [a.x + a.width, a.y + NODE.height / 2, b.x, b.y + NODE.height / 2];
    return `M${x1} ${y1}C${x1 + space / 2} ${y1} ${x2 - space / 2} ${y2} ${x2 - 5} ${y2}m-5 -4l6 4l-6 4`;
  };
  return {
    width: 3 * each + 2 * space, height, path,
    left: column(left, 1, each, height / 2), right: column(right, 2 * (each + space) - 1, each, height / 2),
    me: { x: each + space, y: height / 2 - NODE.height / 2, width: each },
  };
}

function upright(left, right, width) {
  const each = Math.min(420, width - 44);
  const row = NODE.height + NODE.gap;
  const top = left * row;
  const path = (a, b) => {
    const x = (a.x < b.x ? a.x : b.x) + 12;
    const fromY = a.y + NODE.height;
    return `M${x} ${fromY}V${b.y + NODE.height / 2 - 8}q0 8 8 8H${b.x - 3}m-5 -4l6 4l-6 4`;
  };
  return {
    width: each + 42, height: top + (1 + right) * row, path,
    left: Array.from({ length: left }, (_, i) => ({ x: 1, y: i * row + 1, width: each })),
    me: { x: 21, y: top + 1, width: each },
    right: Array.from({ length: right }, (_, i) => ({ x: 41, y: top + (i + 1) * row, width: each })),
  };
}

function legend(f) {
  const kinds = [["keep hybrid", "hybrid"], ["keep", "eager"], ["to-hybrid", "to be changed"]];
  return el("p.legend", null, kinds.map(([kind, text]) => el("span.item", null, el("span", { class: `key ${kind}`, "aria-hidden": "true" }), text)),
    f.callers.some(({ at }) => at < 0) ? el("span.item", null, "module: code outside of functions") : null);
}
