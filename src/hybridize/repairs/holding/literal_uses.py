"""What a function does with a number that it is given: whether a tensor would do, and of which dtype, for HY806."""

from __future__ import annotations

import ast
from typing import Final

from hybridize.domain.objects import Tensor, Value
from hybridize.domain.tensors import DENSE, VARIABLE
from hybridize.library.dialect import ASSIGNS
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.records import dataclass, field
from hybridize.repairs.model import NotOffered
from hybridize.repairs.source.bench import Bench
from hybridize.repairs.source.edits import TextEdit
from hybridize.repairs.source.log_setup import LEVELS
from hybridize.repairs.source.text import FunctionNode, SourceFile
from hybridize.source.syntax import walk
from hybridize.tracing.views import position_of

#: Functions of TensorFlow that take a number and a scalar tensor alike, whatever the dtype.
_TAKERS: Final = ("cast", "summary.", "debugging.")
#: The same, and what they show is the number itself.
_SHOWERS: Final = ("print", "strings.as_string")
#: Those that do the same with one number and with a scalar tensor of the dtype of the others.
_ELEMENTWISE: Final = frozenset(
    "abs add clip_by_norm clip_by_value cos divide exp log maximum minimum multiply negative pow sigmoid sin sqrt "
    "square subtract tanh".split()
)
#: Python's own that HY805 turns into TensorFlow's: with floats.
_MATH: Final = frozenset("sqrt exp log cos sin tanh pow".split())
#: Parameters of TensorFlow functions that take a whole number and an int32 tensor alike: names and places.
_COUNTS: Final = {
    "gather": ("indices", 1),
    "one_hot": ("indices", 0),
    "roll": ("shift", 1),
    "range": ("limit", 0),
    "repeat": ("repeats", 1),
    "eye": ("num_rows", 0),
    "sequence_mask": ("lengths", 0),
}
#: Parameters that take a shape or a list of sizes, in which numbers and tensors may stand side by side.
_SIZES: Final = {
    "reshape": ("shape", 1),
    "zeros": ("shape", 0),
    "ones": ("shape", 0),
    "fill": ("dims", 0),
    "tile": ("multiples", 1),
    "broadcast_to": ("shape", 1),
    "random.normal": ("shape", 0),
    "random.uniform": ("shape", 0),
    "stack": ("values", 0),
}
_ARITHMETIC: Final = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Mod, ast.FloorDiv, ast.Pow)
#: What whole numbers stay whole under, in Python and TensorFlow alike.
_WHOLE: Final = (ast.Add, ast.Sub, ast.Mult, ast.Mod, ast.FloorDiv)
_NUMERIC: Final = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)


@dataclass(eq=False, slots=True)
class Uses:
    """The uses of a parameter that holds a number, `whole` or not; each is followed to the tensors that it meets."""

    bench: Bench
    file: SourceFile
    own: FunctionNode
    name: str
    whole: bool
    _dtypes: set[str] = field(default_factory=set)  # of the tensors that it meets as a number of any dtype
    _floats: list[ast.Name] = field(default_factory=list)  # the uses that must be floats, where the number is whole
    _whole_uses: int = 0  # those that must stay whole
    _arrays: bool = False  # whether it meets what is no tensor of TensorFlow's
    _plain: set[ast.Name] = field(default_factory=set)  # those that TensorFlow itself makes the same tensor of
    _edits: list[TextEdit] = field(default_factory=list)

    def answer(self) -> tuple[str, list[TextEdit]]:
        """The dtype that every use takes, and what must be edited in the function for it.

        Raises:
            NotOffered: where a tensor would not do.
        """
        if any(isinstance(n, ast.Name) and n.id == self.name and not _is_read(n) for n in walk(self.own)):
            raise NotOffered(f"`{self.name}` is assigned anew")
        for use in _reads(self.own, self.name):
            if use.lineno >= self.own.body[0].lineno:
                self._follow(use, use, whole=self.whole)
        if len(self._dtypes) > 1:
            raise NotOffered(f"`{self.name}` meets tensors of several dtypes")
        met = next(iter(self._dtypes), "")
        if not self.whole or not self._floats or not self._whole_uses:
            plain = "float32" if self._floats or not self.whole else "int32"
            return met or plain, self._edits
        tf = self.file.tensorflow
        dtype = met or "float32"
        casts = [self.file.replace(use, f"{tf}.cast({self.name}, {tf}.{dtype})") for use in self._floats]
        return "int32", [*self._edits, *casts]

    def are_same(self) -> bool:
        """Whether every use makes at once the very tensor of the number that a call passes.

        It meets tensors of a floating dtype by itself, or is cast, or the step of a summary. Asked after `answer`.
        """
        uses = [use for use in _reads(self.own, self.name) if use.lineno >= self.own.body[0].lineno]
        plain = all(use in self._plain or self._is_taken(use) for use in uses)
        return bool(uses) and plain and not self._arrays and not self._edits

    def _is_taken(self, use: ast.Name) -> bool:
        match self.file.parents[use]:
            case ast.keyword(arg="step"):
                return True
            case ast.Call(func=func, args=[first, *_]) if first is use:
                return ast.unparse(func) == f"{self.file.tensorflow}.cast"
        return False

    def _follow(self, use: ast.expr, origin: ast.Name, *, whole: bool) -> None:
        """Follows a number, or what is computed of it and constants, to what takes it."""
        parent = self.file.parents[use]
        match parent:
            case ast.Compare(ops=ops) if all(isinstance(o, _NUMERIC) for o in ops):
                return
            case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
                return self._follow(parent, origin, whole=whole)
            case ast.BinOp(op=op) if isinstance(op, _ARITHMETIC):
                return self._operand(parent, use, origin, whole=whole)
            case ast.FormattedValue():
                return self._stays(origin)
            case ast.Call() if use in parent.args:
                return self._argument(parent, use, origin, parent.args.index(use), whole=whole)
            case ast.keyword(arg=str(name)):
                call = self.file.parents[parent]
                if name == "step":
                    return self._stays(origin)
                if isinstance(call, ast.Call):
                    return self._argument(call, use, origin, name, whole=whole)
            case ast.List() | ast.Tuple() if whole and self._is_sizes(parent):
                return self._stays(origin)
            case ast.Subscript() | ast.Slice() | ast.Tuple() if whole and self._is_index(parent, use):
                return self._stays(origin)
            case ast.AugAssign(value=value) if value is use and isinstance(parent.op, _ARITHMETIC):
                return self._meets(self._target_dtype(parent), use, origin, whole=whole)
            case ast.Assign(targets=[ast.Name(id=name)]) if parent.value is use:
                return self._named(parent, name, origin, whole=whole)
        raise self._refused()

    def _refused(self) -> NotOffered:
        return NotOffered(f"`{self.name}` is used where only a Python number will do")

    def _stays(self, origin: ast.Name) -> None:
        """A use that wants the number as it is: shown, or as a place or size."""
        self._whole_uses += self.whole and origin not in self._floats

    def _meets(self, dtypes: set[str] | None, use: ast.expr, origin: ast.Name, *, whole: bool) -> None:
        """A use that meets tensors of some dtypes, as a number of any kind."""
        if not dtypes:
            raise self._refused()
        self._dtypes |= dtypes
        if use is origin and all(d.startswith(("float", "bfloat")) for d in dtypes):
            self._plain.add(origin)
        if self.whole and whole and any(d.startswith(("float", "bfloat")) for d in dtypes):
            self._floating(origin)

    def _floating(self, origin: ast.Name) -> None:
        if origin not in self._floats:
            self._floats.append(origin)

    def _operand(self, parent: ast.BinOp, use: ast.expr, origin: ast.Name, *, whole: bool) -> None:
        other = parent.right if parent.left is use else parent.left
        if not all(_is_number(n, self.name, whole=False) for n in walk(other)):
            self._meets(self._dtype_of(other), use, origin, whole=whole)
            return
        if whole and not (all(_is_number(n, self.name, whole=True) for n in walk(other)) and _is_whole(parent)):
            if not isinstance(parent.op, (*_WHOLE, ast.Div, ast.Pow)):
                raise self._refused()
            whole = False
            self._floating(origin)
        self._follow(parent, origin, whole=whole)

    def _argument(self, call: ast.Call, use: ast.expr, origin: ast.Name, place: int | str, *, whole: bool) -> None:
        """What a call asks of the number."""
        name, tf = ast.unparse(call.func), self.file.tensorflow
        if name in ("float", "int"):
            return None
        if name == "print" or (whole and name == "range" and len(call.args) == 1):
            return self._stays(origin)
        if name in ("min", "max") and len(call.args) == 2 and not call.keywords and name not in self.file.bound:
            return self._extreme(call, use, origin, whole=whole)
        module, _, last = name.rpartition(".")
        if module == "math" and last in _MATH:
            if self.whole:
                self._floating(origin)
            return None
        if last in ASSIGNS and isinstance(call.func, ast.Attribute) and place == 0:
            return self._meets(self._dtype_of(call.func.value), use, origin, whole=whole)
        if last in LEVELS and any("logging." in each for each in self.bench.names(self.file, call)):
            return self._stays(origin)  # a message becomes `tf.print`
        if tf is None or not name.startswith(f"{tf}."):
            raise self._refused()
        asked = name.removeprefix(f"{tf}.")
        if asked.startswith(_SHOWERS):
            return self._stays(origin)
        if asked.startswith(_TAKERS):
            return None
        if whole and place in _COUNTS.get(asked, ()):
            return self._stays(origin)
        if asked == "fill" and place in (1, "value"):
            return self._stays(origin) if whole else None
        return self._elementwise(call, asked, origin, whole=whole)

    def _elementwise(self, call: ast.Call, asked: str, origin: ast.Name, *, whole: bool) -> None:
        if asked.removeprefix("math.") not in _ELEMENTWISE or call.keywords:
            raise self._refused()
        for other in call.args:
            # Beside a float, what is a whole number becomes one.
            if whole and any(isinstance(n, ast.Constant) and isinstance(n.value, float) for n in walk(other)):
                self._floating(origin)
            elif not all(_is_number(n, self.name, whole=False) for n in walk(other)):
                self._meets(self._dtype_of(other), call, origin, whole=whole)

    def _extreme(self, call: ast.Call, use: ast.expr, origin: ast.Name, *, whole: bool) -> None:
        """`min(1.0, number)`, which Python decides at once: TensorFlow's function with the same meaning."""
        other = next(a for a in call.args if a is not use)
        if self.file.tensorflow is None or not all(_is_number(n, self.name, whole=False) for n in walk(other)):
            raise self._refused()
        if whole and not all(_is_number(n, self.name, whole=True) for n in walk(other)):
            whole = False
            self._floating(origin)
        name = "minimum" if ast.unparse(call.func) == "min" else "maximum"
        self._edits.append(self.file.replace(call.func, f"{self.file.tensorflow}.{name}"))
        self._follow(call, origin, whole=whole)

    def _named(self, statement: ast.Assign, name: str, origin: ast.Name, *, whole: bool) -> None:
        """A variable that holds what is computed of the number."""
        stores = [n for n in walk(self.own) if isinstance(n, ast.Name) and n.id == name and not _is_read(n)]
        if len(stores) != 1 or self.file.function(statement) is not self.own or name == self.name:
            raise self._refused()
        for use in _reads(self.own, name):
            self._follow(use, origin, whole=whole)

    def _is_sizes(self, node: ast.List | ast.Tuple) -> bool:
        """Whether a list of whole numbers goes where TensorFlow packs tensors and numbers alike: shapes, seeds."""
        parent = self.file.parents[node]
        call = self.file.parents[parent] if isinstance(parent, ast.keyword) else parent
        if not isinstance(call, ast.Call) or self.file.tensorflow is None:
            return False
        name = ast.unparse(call.func).removeprefix(f"{self.file.tensorflow}.")
        place = parent.arg if isinstance(parent, ast.keyword) else call.args.index(node)
        if name.startswith("random.stateless_"):
            sized = place in ("seed", 1)
        else:
            sized = place in _SIZES.get(name, ())
        return sized and all(self._is_size(each) for each in node.elts)

    def _is_size(self, node: ast.expr) -> bool:
        if any(isinstance(n, ast.Name) and n.id == self.name for n in walk(node)):
            return True
        match node:
            case ast.Constant(value=int()) | ast.Name() | ast.UnaryOp(operand=ast.Constant(value=int())):
                return True
            case ast.Subscript(value=ast.Attribute(attr="shape")):
                return True
        return False

    def _is_index(self, parent: ast.AST, use: ast.expr) -> bool:
        """Whether a number is an index, or an end of a slice, of what is surely a tensor."""
        node: ast.AST = parent
        inner: ast.AST = use
        while isinstance(node, (ast.Slice, ast.Tuple)):
            node, inner = self.file.parents[node], node
        if not isinstance(node, ast.Subscript) or node.slice is not inner or not isinstance(node.ctx, ast.Load):
            return False
        return self._dtype_of(node.value, known=False) is not None

    def _target_dtype(self, statement: ast.AugAssign) -> set[str] | None:
        """The dtype of the tensor that a statement like `x *= number` changes."""
        code = self.bench.code_around(self.file, statement)
        for instr in index_of(code).at(position_of(statement)) if code is not None else ():
            if code is not None and isinstance(instr, ir.Inplace):
                return self._known(self.bench.values(code, instr.left), known=True)
        return None

    def _dtype_of(self, node: ast.expr, *, known: bool = True) -> set[str] | None:
        """The dtype of what is surely a tensor; None where it is something else, or not `known` though it must be."""
        return self._known(self.bench.operand(self.file, node), known=known)

    def _known(self, met: Value, *, known: bool) -> set[str] | None:
        found = {o.dtype for o in met if isinstance(o, Tensor)}
        self._arrays |= any(isinstance(o, Tensor) and o.kind not in (DENSE, VARIABLE) for o in met)
        if not met or not all(isinstance(o, Tensor) for o in met) or (known and (len(found) != 1 or None in found)):
            return None
        return {str(d) for d in found}


def _is_read(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


def _reads(own: FunctionNode, name: str) -> list[ast.Name]:
    return [n for n in walk(own) if isinstance(n, ast.Name) and n.id == name and _is_read(n)]


def _is_whole(node: ast.BinOp) -> bool:
    """Whether all operators in an expression keep whole numbers whole."""
    return all(isinstance(n.op, _WHOLE) for n in walk(node) if isinstance(n, ast.BinOp))


def _is_number(node: ast.AST, given: str, *, whole: bool) -> bool:
    """Whether a part of an expression is made of nothing but a number of that name, and constants."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int if whole else int | float)
    if isinstance(node, ast.Name):
        return node.id == given
    return isinstance(node, (ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop, ast.expr_context))
