"""What becomes of the reads of a flag or number once a `tf.Variable` holds it, for HY802."""

from __future__ import annotations

import ast
from typing import Final

from hybridize.domain.objects import Bound, Class, Func, Inst, LibInst, Lit, Tensor
from hybridize.facts.origins import callees_at
from hybridize.program.ir import Code
from hybridize.records import dataclass
from hybridize.repairs.holding.fields import Use
from hybridize.repairs.model import NotOffered
from hybridize.repairs.source.bench import Bench
from hybridize.repairs.source.edits import TextEdit
from hybridize.repairs.source.text import FunctionNode, SourceFile, end, start
from hybridize.source.syntax import walk

_ORDERED: Final = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
#: Layers of Keras 2 whose `training` may be a tensor; Keras 3 asks Python for its truth.
_TRAINING: Final = frozenset(
    "keras.layers.Dropout keras.layers.SpatialDropout1D keras.layers.SpatialDropout2D keras.layers.SpatialDropout3D "
    "keras.layers.GaussianNoise keras.layers.GaussianDropout keras.layers.AlphaDropout".split()
)
_MOST: Final = 3


@dataclass(frozen=True, slots=True)
class Lazy:
    """A function that gives a variable its first value when it is first asked for it, and the edits that spare it."""

    use: Use
    default: str
    edits: tuple[TextEdit, ...]

    def covers(self, use: Use) -> bool:
        """Whether a use is within what the edits replace."""
        return use.file is self.use.file and use.function is self.use.function


def lazy_default(uses: list[Use]) -> Lazy | None:
    """`if FLAG is not None: return FLAG`, `FLAG = True`, `return FLAG`: all reads of a variable that begins as None."""
    functions = {use.function for use in uses if use.kind == "read"}
    own = functions.pop() if len(functions) == 1 else None
    if not isinstance(own, ast.FunctionDef) or own.args.args or own.decorator_list or len(own.body) < 3:
        return None
    use = next(use for use in uses if use.function is own and use.kind == "read")
    name, file = getattr(use.node, "id", ""), use.file
    rest = [n for n in own.body if not isinstance(n, (ast.Global, ast.Expr))]
    match rest:
        case [
            ast.If(
                test=ast.Compare(left=ast.Name(id=asked), ops=[op], comparators=[ast.Constant(value=None)]),
                body=[inner],
                orelse=[],
            ) as guard,
            *others,
        ] if asked == name:
            if isinstance(op, ast.Is) and len(others) == 1:
                made, returned = inner, [others[0]]
            elif isinstance(op, ast.IsNot) and len(others) == 2:
                made, returned = others[0], [inner, others[1]]
            else:
                return None
        case _:
            return None
    match made:
        case ast.Assign(targets=[ast.Name(id=target)], value=ast.Constant(value=bool() | int() | float())) if (
            target == name
        ):
            default = file.source(made.value)
        case _:
            return None
    if not all(isinstance(r, ast.Return) and isinstance(r.value, ast.Name) and r.value.id == name for r in returned):
        return None
    edit = TextEdit(file.path, start(guard), end(rest[-1]), f"return {name}")
    return Lazy(use, default, (edit,))


@dataclass(frozen=True, slots=True)
class Reads:
    """The reads of one setting. `kind` is the Python type, `traced` are the functions that become graphs."""

    bench: Bench
    name: str
    kind: str
    traced: set[Code]

    def served(self, use: Use) -> list[TextEdit]:
        """The edits at one read; raises NotOffered where a `tf.Variable` will not do."""
        return self._expression(use.file, use.node, use.code, 0)

    def _expression(self, file: SourceFile, node: ast.expr, code: Code, depth: int) -> list[TextEdit]:
        if depth == 0 and file.source(node) != ast.unparse(node):
            raise NotOffered(f"a read of `{self.name}` is spread over lines")
        edits = self._flag(file, node, depth) if self.kind == "bool" else self._number(file, node)
        if edits is not None:
            return edits
        if isinstance(file.parents[node], ast.Return) and self._is_getter(file, node):
            return self.returned(Use(file, node, code, "read"), depth)  # type: ignore[arg-type]  # or a call
        if code in self.traced:
            raise NotOffered(f"line {node.lineno} of {file.path} wants `{self.name}` as a Python {self.kind}")
        return [file.replace(node, f"{self.kind}({file.source(node)})")]

    # Flags -----------------------------------------------------------------------------------------------------------

    def _flag(self, file: SourceFile, node: ast.expr, depth: int) -> list[TextEdit] | None:
        """No edit where code only asks whether it is true; None where it asks for more."""
        parent = file.parents[node]
        if isinstance(parent, (ast.If, ast.IfExp)) and parent.test is node:
            return [] if self._may_be_graph(file, parent) else None
        if isinstance(parent, ast.BoolOp) or (isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)):
            return self._flag(file, parent, depth)
        call = file.parents[parent] if isinstance(parent, ast.keyword) else parent
        if isinstance(call, ast.Call) and node is not call.func:
            place = parent.arg if isinstance(parent, ast.keyword) else call.args.index(node)
            if place is not None and self._is_taken(file, call, place, depth):
                return []
        return None

    def _may_be_graph(self, file: SourceFile, node: ast.If | ast.IfExp) -> bool:
        """Whether a graph can hold both branches: they write no fields, and choose between no texts or objects."""
        arms = [node.body, node.orelse] if isinstance(node, ast.IfExp) else [*node.body, *node.orelse]
        inner = [n for arm in arms for n in walk(arm)]
        if any(isinstance(n, ast.Attribute) and not isinstance(n.ctx, ast.Load) for n in inner):
            return False
        chosen = list(arms) if isinstance(node, ast.IfExp) else []
        chosen += [n.value for n in inner if isinstance(n, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) and n.value]
        return all(self._is_plain(file, each) for each in chosen if isinstance(each, ast.expr))

    def _is_plain(self, file: SourceFile, node: ast.expr) -> bool:
        """Whether nothing tells that a value is other than a tensor or number, or a variable that is assigned to."""
        if isinstance(node, ast.Constant):
            return isinstance(node.value, (int, float))
        found = self.bench.operand(file, node)
        texts = any(isinstance(o, Lit) and not isinstance(o.const, (int, float)) for o in found)
        objects = any(isinstance(o, (Inst, LibInst, Func, Class, Bound)) for o in found)
        return not texts and not objects and not any(isinstance(o, Tensor) and o.kind == "variable" for o in found)

    def _is_taken(self, file: SourceFile, call: ast.Call, place: str | int, depth: int) -> bool:
        """Whether what is called does with a tensor what it does with a flag."""
        found = self.bench.call(file, call)
        if found is None or any(isinstance(a, ast.Starred) for a in call.args):
            return False
        code, instr = found
        called = self.bench.values(code, instr.function)
        if called and all(isinstance(o, LibInst) for o in called):
            known = all(isinstance(o, LibInst) and o.cls in _TRAINING for o in called)
            return known and place in (1, "training") and not self.bench.versions.may_have_keras(3)
        callees = {callee.code for f in self.bench.frames(code) for callee, _ in callees_at(f, instr.position)}
        return depth < _MOST and bool(callees) and all(self._parameter(each, place, depth) for each in callees)

    def _parameter(self, code: Code, place: str | int, depth: int) -> bool:
        """Whether a function of the project only asks whether an argument is true."""
        own, file = self.bench.function_node(code), self.bench.file(code.path)
        if own is None or file is None or own.name in ("call", "build") or own.decorator_list:
            return False
        method = code.in_class
        names = [a.arg for a in own.args.args]
        name = place if isinstance(place, str) else next(iter(names[place + method : place + method + 1]), "")
        mentions = [n for n in walk(own) if isinstance(n, ast.Name) and n.id == name]
        if name not in names or not all(isinstance(n.ctx, ast.Load) for n in mentions):
            return False
        return all(self._flag(file, each, depth + 1) is not None for each in mentions)

    # Numbers ---------------------------------------------------------------------------------------------------------

    def _number(self, file: SourceFile, node: ast.expr) -> list[TextEdit] | None:
        """The edit where what is computed of a number meets a tensor; None where it does not."""
        parent = file.parents[node]
        steps = (ast.Add, ast.Sub, ast.Mult, *((ast.Div,) if self.kind == "float" else ()))
        if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.USub):
            return self._number(file, parent)
        if isinstance(parent, ast.Compare) and all(isinstance(o, _ORDERED) for o in parent.ops):
            others = [n for n in (parent.left, *parent.comparators) if n is not node]
            truth = file.parents[parent]
            asked = isinstance(truth, (ast.If, ast.IfExp)) and truth.test is parent
            fit = asked and all(isinstance(n, ast.Constant) for n in others)
            return [] if fit and isinstance(truth, (ast.If, ast.IfExp)) and self._may_be_graph(file, truth) else None
        if not isinstance(parent, ast.BinOp) or file.tensorflow is None:
            return None
        other = parent.right if parent.left is node else parent.left
        if isinstance(other, ast.Constant):
            whole = isinstance(other.value, int) or self.kind == "float"
            return self._number(file, parent) if isinstance(parent.op, steps) and whole else None
        met = self.bench.operand(file, other)
        dtypes = {o.dtype for o in met if isinstance(o, Tensor)}
        if not met or not all(isinstance(o, Tensor) for o in met) or len(dtypes) != 1 or None in dtypes:
            return None
        dtype = str(dtypes.pop())
        if not dtype.startswith("float") and (self.kind == "float" or not dtype.startswith("int")):
            return None
        tf = file.tensorflow
        first, last = start(node), end(node)
        before, behind = file.lines[first[0] - 1][: first[1]], file.lines[last[0] - 1][last[1] :]
        if before.endswith(b"(") and behind.startswith(b")") and isinstance(node, (ast.BinOp, ast.UnaryOp)):
            first, last = (first[0], first[1] - 1), (last[0], last[1] + 1)  # parentheses that only held it together
        return [TextEdit(file.path, first, last, f"{tf}.cast({file.source(node)}, {tf}.{dtype})")]

    # Functions that hand it out --------------------------------------------------------------------------------------

    def _is_getter(self, file: SourceFile, node: ast.expr) -> bool:
        own = file.function(node)
        if not isinstance(own, ast.FunctionDef) or own.decorator_list:
            return False
        body = [n for n in own.body if not isinstance(n, (ast.Global, ast.Expr))]
        return len(body) == 1 and isinstance(body[0], ast.Return) and body[0].value is node

    def returned(self, use: Use, depth: int = 0) -> list[TextEdit]:
        """The edits at the calls of a function that hands the setting out."""
        own = use.function
        code = self.bench.code(use.file.path, own) if isinstance(own, FunctionNode) else None
        sites = self.bench.call_sites(code) if code is not None and depth < _MOST else None
        if sites is None or code is None:
            raise NotOffered(f"not all calls of what hands out `{self.name}` are known")
        edits: list[TextEdit] = []
        for site, pos in sites:
            found = self.bench.call_node(site, pos, code)
            if found is None:
                raise NotOffered(f"a call of what hands out `{self.name}` is not clear")
            edits += self._expression(*found, site, depth + 1)
        return edits
