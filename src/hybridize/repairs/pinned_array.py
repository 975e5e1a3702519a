"""HY821: an array that gives way to the dtype of tensors -> one that is converted where it is passed, for HY348."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.objects import Lit, Prim, Tensor, Value
from hybridize.domain.tensors import DENSE, NDARRAY, VARIABLE
from hybridize.facts.origins import passed_slots
from hybridize.library.arithmetic import FAMILIES
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.program.operands import arguments
from hybridize.records import dataclass, field
from hybridize.repairs.model import Cause, Change, NotOffered, Repair, RepairExample
from hybridize.repairs.source.bench import Bench
from hybridize.repairs.source.edits import NewImport, Place, TextEdit
from hybridize.repairs.source.text import SourceFile
from hybridize.tracing.shapes.meetings import clash, met
from hybridize.tracing.views import FrameView

#: A parameter: its function, and its place there.
_Parameter = tuple[Code, int]
#: Dtypes that arrays of any numbers are converted to.
_FLOATS: Final = frozenset({"float16", "float32", "float64"})
_NUMBERS: Final = tuple(each for each in FAMILIES if each != "complex")
#: The types of indices that mean the same to arrays and tensors.
_INDICES: Final = frozenset({"int", "None", "ellipsis"})
_MEETS: Final = (ir.TwoSided, ir.Call)


def propose(bench: Bench, cause: Cause) -> Iterator[Change]:
    """Parameters whose every use is to meet tensors of one dtype, and whose callers are all seen."""
    file = bench.file(cause.path)
    nodes = file.at(cause.place) if file is not None else []
    code = bench.code_around(file, nodes[0]) if file is not None and nodes else None
    if code is None:
        return
    pinned = _settled(bench, code, cause.position, every=True) or _settled(bench, code, cause.position, every=False)
    if pinned is None or not pinned.edits:
        return
    names = [f"`{name}`" for name in sorted({each.params[index].name for each, index in pinned.dtypes})]
    one = len(names) == 1
    said = (
        f"{', '.join(names)} {'is' if one else 'are'} passed in the dtype of what {'it meets' if one else 'they meet'}"
    )
    edits = tuple(sorted(pinned.edits.values()))
    yield Change(edits, said, None, imports=tuple(sorted(pinned.imports)), spans=tuple(sorted(pinned.spans)))


def _settled(bench: Bench, code: Code, position: int, *, every: bool) -> _Pinned | None:
    """What is to be edited; with `every` also for what may clash in the functions, None where that does not go.

    Raises:
        NotOffered: without `every`, where a use or a call is in the way.
    """
    pinned = _Pinned(bench, every)
    try:
        pinned.meeting(code, position)
        while pinned.todo:
            pinned.visit(*pinned.todo.pop())
    except NotOffered:
        if every:
            return None
        raise
    return pinned


@dataclass(eq=False)
class _Pinned:
    """The parameters that share meetings and calls with those of one place, and what is edited for them."""

    bench: Bench
    every: bool
    todo: list[_Parameter] = field(default_factory=list)
    dtypes: dict[_Parameter, str] = field(default_factory=dict)
    edits: dict[tuple[str, Place], TextEdit] = field(default_factory=dict)
    imports: set[NewImport] = field(default_factory=set)
    spans: set[tuple[str, Place, Place]] = field(default_factory=set)
    _met: set[tuple[Code, int]] = field(default_factory=set)

    def meeting(self, code: Code, position: int) -> None:
        """Takes up the parameters that clash at a place."""
        if (code, position) in self._met:
            return
        self._met.add((code, position))
        for view in self.bench.views(code):
            for instr in index_of(code).at(position):
                for each in met(view, instr) if isinstance(instr, _MEETS) else ():
                    found = clash(view, each)
                    if found is not None and (found.certain or self.every):
                        root = _root(code, each.slot)
                        if root is None:
                            raise NotOffered("the array is computed in the function")
                        place = (position >> 16, position & 0xFFFF)
                        self.spans.add((code.path, place, (place[0], place[1] + 1)))
                        self._take(code, root)

    def _take(self, code: Code, index: int) -> None:
        if (code, index) not in self.dtypes:
            self.dtypes[code, index] = ""
            self.todo.append((code, index))

    def visit(self, code: Code, index: int) -> None:
        """Sees that every use is a meeting, and converts the array where it comes from."""
        for each in index_of(code).flat:
            if isinstance(each, _MEETS):
                self.meeting(code, each.position)
        node = self.bench.function_node(code)
        if node is None or node.decorator_list or code.params[index].is_starred:
            raise NotOffered("decorators or stars stand between the calls and the parameter")
        found = _Uses(self, code).of(index)
        if len(found) != 1 or not found <= _FLOATS:
            raise NotOffered(f"`{code.params[index].name}` meets tensors of several dtypes, or none")
        (dtype,) = found
        self.dtypes[code, index] = dtype
        sites = self.bench.call_sites(code)
        if sites is None:
            raise NotOffered("not all calls of the function are known")
        for site, position in sites:
            self._at_call(site, position, code, index, dtype)

    def _at_call(self, site: Code, position: int, code: Code, index: int, dtype: str) -> None:
        """Converts what one call passes, or takes up the parameter that it hands on."""
        name = code.params[index].name
        found = self.bench.call_node(site, position, code)
        slot = self._passed(site, position, code, index)
        if found is None or slot is None:
            raise NotOffered(f"not every call says what `{name}` receives")
        value = self.bench.values(site, slot)
        if _is_of(value, dtype):
            return
        if not _is_array(value):
            raise NotOffered(f"`{name}` does not always receive an array of numbers")
        handed = site.place_of(index_of(site).original(slot))
        if handed >= 0:
            return self._take(site, handed)
        file, call = found
        arguments = self.bench.argument_slots(file, call)
        given = [e for e, each in arguments[1].items() if each == slot] if arguments is not None else []
        if len(given) != 1 or isinstance(given[0], ast.Starred):
            raise NotOffered(f"not every call says what `{name}` receives")
        tf = self._tensorflow(file)
        edit = file.replace(given[0], f"{tf}.convert_to_tensor({file.source(given[0])}, {tf}.{dtype})")
        if self.edits.setdefault((edit.path, edit.start), edit) != edit:
            raise NotOffered("one array is to be of two dtypes")

    def _passed(self, site: Code, position: int, code: Code, index: int) -> int | None:
        slots: set[int | None] = set()
        for caller in self.bench.frames(site):
            for pos, callee in caller.calls:
                if pos == position and callee.code is code:
                    passed = passed_slots(caller, pos, callee, index)
                    slots.add(passed[0] if passed is not None and len(passed) == 1 else None)
        return slots.pop() if len(slots) == 1 else None

    def _tensorflow(self, file: SourceFile) -> str:
        name = file.tensorflow
        if name is None:
            if "tf" in file.used:
                raise NotOffered("`tf` is not TensorFlow where it is called")
            self.imports.add(NewImport(file.path, "tensorflow", "tf"))
        return name or "tf"


@dataclass(eq=False)
class _Uses:
    """The uses of one parameter: it, and items of it, meet tensors that make it give way."""

    pinned: _Pinned
    code: Code
    _dtypes: set[str] = field(default_factory=set)
    _seen: set[tuple[Code, int]] = field(default_factory=set)

    def of(self, index: int) -> set[str]:
        """The dtypes that it meets.

        Raises:
            NotOffered: where something else is done with it, which another dtype may change.
        """
        self._follow(self.code, self.code.params[index].slot)
        return self._dtypes

    def _follow(self, code: Code, slot: int) -> None:
        if (code, slot) in self._seen:
            return
        self._seen.add((code, slot))
        for instr in index_of(code).uses.get(slot, ()):
            if isinstance(instr, ir.Passing) or (
                isinstance(instr, ir.Item) and instr.source == slot and self._is_plain(code, instr.index)
            ):
                self._follow(code, instr.target)
            elif isinstance(instr, _MEETS):
                self._meets(code, slot, instr, _operands(instr))
            elif isinstance(instr, ir.Sequence):
                self._listed(code, slot, instr)
            elif not isinstance(instr, ir.Attr) or not self._is_size(code, instr):
                raise _refused()

    def _is_plain(self, code: Code, slot: int) -> bool:
        """Whether an index takes the same of a tensor as of an array: numbers and slices."""
        made = index_of(code).source(slot)
        if isinstance(made, ir.Slice):
            return True
        if isinstance(made, ir.Tuple):
            return all(not starred and self._is_plain(code, part) for part, starred in made.elements)
        value = self.pinned.bench.values(code, slot)
        return bool(value) and all(isinstance(o, (Lit, Prim)) and o.kind in _INDICES for o in value)

    def _is_size(self, code: Code, read: ir.Attr) -> bool:
        """Whether it is asked for its rank, or for a size: `x.shape[0]`."""
        sizes = index_of(code).uses.get(read.target, ())
        return read.name == "ndim" or (
            read.name == "shape" and all(isinstance(i, ir.Item) and i.source == read.target for i in sizes)
        )

    def _listed(self, code: Code, slot: int, made: ir.Sequence) -> None:
        """Elements of a list that functions of lists are given (`tf.concat([x, y], 0)`)."""
        for each in index_of(code).uses.get(made.target, ()):
            if not isinstance(each, ir.Call) or made.target not in _operands(each):
                raise _refused()
            self._meets(code, slot, each, [part for part, _ in made.elements])

    def _meets(self, code: Code, slot: int, instr: ir.TwoSided | ir.Call, operands: list[int]) -> None:
        for view in self.pinned.bench.views(code):
            if not view.value(slot) or (instr.target >= 0 and view.frame.vals[instr.target] is None):
                continue  # control never gets there
            if isinstance(instr, ir.Call) and self._is_handed(view, slot, instr):
                continue
            self._joined(view, slot, instr, operands)
            self.pinned.meeting(code, instr.position)

    def _joined(self, view: FrameView, slot: int, instr: ir.TwoSided | ir.Call, operands: list[int]) -> None:
        """A tensor beside it makes it give way."""
        meetings = [each for each in met(view, instr) if each.slot == slot]
        if operands.count(slot) != 1 or len(meetings) != 1 or (isinstance(instr, ir.Inplace) and instr.left == slot):
            raise _refused()
        each = meetings[0]
        others = frozenset[object]().union(*[view.value(other) for other in each.others])
        kinds = {o.kind if isinstance(o, Tensor) else "" for o in others}
        dtypes = {o.dtype for o in others if isinstance(o, Tensor)} | each.dtypes
        if not each.yields or not kinds <= {DENSE, VARIABLE} or len(dtypes) != 1 or None in dtypes:
            raise NotOffered("what the array meets does not surely make it give way")
        self._dtypes |= {dtype for dtype in dtypes if dtype}

    def _is_handed(self, view: FrameView, slot: int, call: ir.Call) -> bool:
        """Whether a call asks only for its length, or gives it to functions of the project, which are followed."""
        if view.names(call.function) == ("builtins.len",):
            return True
        callees = view.callees(call.position)
        if view.names(call.function) or not callees or slot not in _operands(call):
            return False
        for callee, how in callees:
            places = [i for i in range(len(callee.code.params)) if slot in self._given(view, call, callee, i)]
            if how is not How.CALL or len(places) != 1 or callee.code.params[places[0]].is_starred:
                return False
            self._follow(callee.code, callee.code.params[places[0]].slot)
        return True

    @staticmethod
    def _given(view: FrameView, call: ir.Call, callee: object, index: int) -> Sequence[int]:
        return passed_slots(view.frame, call.position, callee, index) or ()  # type: ignore[arg-type]  # a frame


def _refused() -> NotOffered:
    return NotOffered("more is done with the array than to meet tensors")


def _operands(instr: ir.TwoSided | ir.Call) -> list[int]:
    if not isinstance(instr, ir.Call):
        return [instr.left, instr.right]
    return arguments(instr)


def _root(code: Code, slot: int) -> int | None:
    """The parameter that a slot holds, or an item of which."""
    index = index_of(code)
    todo, seen, roots = [slot], set[int](), set[int | None]()
    while todo:
        each = index.original(todo.pop())
        if each in seen:
            continue
        seen.add(each)
        made = index.definitions.get(each)
        parameter = code.place_of(each)
        if parameter >= 0 or made is None:
            roots.add(parameter if parameter >= 0 else None)
        elif isinstance(made, ir.Phi):
            todo += [source for _, source in made.incoming]
        elif isinstance(made, ir.Item):
            todo.append(made.source)
        else:
            roots.add(None)
    return roots.pop() if len(roots) == 1 else None


def _is_array(value: Value) -> bool:
    """Whether a value is surely an array: of numbers, or eager code could not convert it."""
    numbers = [
        o for o in value if isinstance(o, Tensor) and o.kind == NDARRAY and (o.dtype or "int").startswith(_NUMBERS)
    ]
    return bool(value) and len(numbers) == len(value)


def _is_of(value: Value, dtype: str) -> bool:
    """Whether a value is surely a tensor or array of a dtype."""
    kinds = (DENSE, VARIABLE, NDARRAY)
    return bool(value) and all(isinstance(o, Tensor) and o.kind in kinds and o.dtype == dtype for o in value)


REPAIR = Repair(
    code="HY821",
    name="array-of-one-dtype",
    removes=frozenset({"HY348"}),
    summary="An array that gives way to tensors is converted to their dtype where it is passed.",
    details="""In eager code `tensor * array` converts the array to the tensor's dtype, each time; a graph refuses
it. `tf.convert_to_tensor(array, tf.float32)` at the calls is the very conversion that eager code makes (`tf.cast`
makes zero of what is smaller than 1e-38). Offered where every call is seen and passes an array, and where all that
the function, and those that it hands the array to, do with it is to meet tensors of one dtype at places that
convert it eagerly, to take items of it, and to ask for its shape. So the program is the same. An `input_signature`
would convert alike, but wants to know the shapes of all arguments.""",
    safety="Always safe: it is the very conversion that eager code makes at each of these places.",
    propose=propose,
    examples=(
        RepairExample(
            """\
import numpy as np
import tensorflow as tf
w = tf.Variable([0.5, 0.25, 1.0])
optimizer = tf.keras.optimizers.SGD(0.125)
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(x * w - y))
    optimizer.apply_gradients([(tape.gradient(loss, w), w)])
    return loss
targets = np.array([1, 2, 3])
for _ in range(300):
    r = step(np.ones(3), targets)
""",
            """\
import numpy as np
import tensorflow as tf
w = tf.Variable([0.5, 0.25, 1.0])
optimizer = tf.keras.optimizers.SGD(0.125)
@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(x * w - y))
    optimizer.apply_gradients([(tape.gradient(loss, w), w)])
    return loss
targets = np.array([1, 2, 3])
for _ in range(300):
    r = step(tf.convert_to_tensor(np.ones(3), tf.float32), tf.convert_to_tensor(targets, tf.float32))
""",
            function="step",
            output=True,
        ),
        RepairExample(
            """\
import numpy as np
import tensorflow as tf
class Model:
    def __init__(self):
        self.k = tf.Variable(1.0)
    def loss(self, found, wanted):
        return tf.reduce_mean(tf.square(found - wanted))
    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = self.loss(self.k * x, y)
            for _ in range(20):
                loss = tf.sqrt(loss + 1.0)
        self.k.assign_sub(0.01 * tape.gradient(loss, self.k))
        return loss
model = Model()
for i in range(300):
    r = model.step(tf.ones(2), y=np.array([i, 2]))
""",
            """\
import numpy as np
import tensorflow as tf
class Model:
    def __init__(self):
        self.k = tf.Variable(1.0)
    def loss(self, found, wanted):
        return tf.reduce_mean(tf.square(found - wanted))
    @tf.function
    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = self.loss(self.k * x, y)
            for _ in range(20):
                loss = tf.sqrt(loss + 1.0)
        self.k.assign_sub(0.01 * tape.gradient(loss, self.k))
        return loss
model = Model()
for i in range(300):
    r = model.step(tf.ones(2), y=tf.convert_to_tensor(np.array([i, 2]), tf.float32))
""",
            function="Model.step",
            output=True,
        ),
    ),
)
