"""HY358: what is done with an argument of unknown kind, where an array among the arguments would break it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Bound, Container, Func, Inst, Lib, LibInst, Lit, Tensor, Tup, Unknown, Value
from hybridize.domain.tensors import NDARRAY, SYMBOLIC
from hybridize.domain.words import VIEWS
from hybridize.facts.model import Ternary
from hybridize.facts.symbolic import OPERATION, parameter_bit
from hybridize.facts.unknown.derived import trained
from hybridize.flow.docstrings import Docstrings, is_described
from hybridize.library.defaults import holds_tensors
from hybridize.library.on_host import on_host
from hybridize.program import ir
from hybridize.program.index import Index, index_of
from hybridize.program.ir import NO_SLOT
from hybridize.program.operands import arguments, operands
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule, Where, attributes
from hybridize.tracing.control import control
from hybridize.tracing.returns.results import returns
from hybridize.tracing.shapes.classes import kinds_of, only_converts, tells
from hybridize.tracing.shapes.passed_arrays import (
    ANSWERED,
    OF_ARRAYS,
    OF_DTYPES,
    Asked,
    asked_by_attribute,
    asked_by_call,
)
from hybridize.tracing.shapes.unified import answers_for_tensors
from hybridize.tracing.values import argument, uses
from hybridize.tracing.views import FrameView, FunctionView, ProjectView

#: What gives values that come from others, whole or in part.
_DERIVES: Final = (ir.Passing, ir.Operator, ir.Unary, ir.Part, ir.Sequence)
_FAR: Final = 24
#: Built-in functions that go through what they are given in Python.
_ITERATE: Final = frozenset(
    f"builtins.{name}" for name in "list tuple set frozenset sorted zip enumerate map filter reversed dict".split()
)
_ITERATE_ONE: Final = frozenset(f"builtins.{name}" for name in "sum min max any all".split())
#: Classes that no array and no tensor is of, and whose objects a graph gets as they are (structures: in another shell).
_PYTHONS_OWN: Final = frozenset(f"builtins.{name}" for name in "dict list tuple str bytes".split())
#: What gives the elements on as they are, and where those of its first argument are in what it gives.
_DEALT: Final = {
    **dict.fromkeys(("builtins.zip", "builtins.list", "builtins.tuple", "builtins.reversed"), 0),
    "builtins.enumerate": 1,
}
_ASKED: Final = frozenset(f"builtins.{name}" for name in "callable isinstance hasattr getattr type".split())
_QUESTIONS: Final = frozenset({"builtins.isinstance", "tf.is_tensor"})
_LOOKS: Final = frozenset({"builtins.hasattr", "builtins.getattr"})
_EAGER: Final = frozenset({"numpy", "_numpy"})
#: Packages whose functions compute nothing.
_FOR_PEOPLE: Final = ("typing", "abc")
#: Questions that do not tell a tuple from an array: an array of more than one element has no truth.
_OF_ALL: Final = frozenset({"truth", "none"})
#: What is assumed of an argument that is taken apart into names: rows of an array have none.
_TAKEN_APART: Final = "assumed that what is taken apart into names is a tuple or list"
#: What is assumed of an argument whose elements are called, or given as keywords: no array is one of such.
_OF_OBJECTS: Final = "assumed that what holds functions or mappings is a list or tuple"
#: What is assumed of an argument whose elements stand beside variables: no array holds gradients of several.
_OF_GRADIENTS: Final = "assumed that what is paired with trainable variables is a list of gradients"
_MAY_BE_ARRAY: Final = "an argument of unknown kind, which may be an array"


def _may_be(value: Value) -> bool:
    """Whether a value may be what nobody knows, or a tensor where a caller that nobody knows may pass an array."""
    return any(
        (isinstance(o, Unknown) and not holds_tensors(o))
        or (isinstance(o, Tensor) and o.kind not in (NDARRAY, SYMBOLIC))
        for o in value
    )


def _derived(view: FrameView, slot: int, *, whole: bool = False) -> int:
    """The parameters that a slot's value comes from by operators, items and names (`whole`: by names alone)."""
    known: dict[tuple[int, bool], int] = view.project.shared(("derived", view.frame), dict)
    if (slot, whole) not in known:
        known[slot, whole] = _bits(view, slot, whole=whole)
    return known[slot, whole]


def _bits(view: FrameView, slot: int, *, whole: bool) -> int:
    if slot < 0 or not _may_be(view.value(slot)):
        return 0
    index = index_of(view.code)
    places = {param.slot: i for i, param in enumerate(view.code.params) if not param.is_starred}
    found, todo, seen = 0, [slot], set[int]()
    while todo and len(seen) < _FAR:
        each = todo.pop()
        if each in seen:
            continue
        seen.add(each)
        if each in places:
            found |= 0 if _is_mapping(index, each) else parameter_bit(places[each])
            continue
        made = index.definitions.get(each)
        if made is not None and whole and isinstance(made, ir.Refine) and _is_shown_other(view, made):
            continue
        if made is not None and isinstance(made, ir.Passing if whole else _DERIVES) and _may_be(view.value(each)):
            todo += [made.source] if isinstance(made, ir.Item) else operands(made)
    return found


def _is_mapping(index: Index, slot: int) -> bool:
    """Whether an argument is asked for what only mappings have: in a graph it stays one."""
    reads = [read for name in sorted(VIEWS) for read in index.attributes.get(name, ())]
    asked = {read.target for read in reads if index.original(read.owner) == slot}
    return any(index.original(call.function) in asked for call in index.of(ir.Call)) if asked else False


def _is_shown_other(view: FrameView, made: ir.Refine) -> bool:
    """Whether the code has asked what a value is, and it is one of Python's own: no array, and it stays what it is."""
    if made.kind != "isinstance" or not made.holds or made.classes == NO_SLOT:
        return False
    kinds = kinds_of(view.value(made.classes))
    return bool(kinds) and _PYTHONS_OWN.issuperset(kinds)


def call(view: FrameView, instr: ir.Call) -> Iterator[Hit]:
    """A call that an array would break once it is a tensor."""
    yield from _of_dtype(view, instr, asked_by_call(view, instr))
    names = view.names(instr.function)
    for name in names:
        if on_host(name):
            yield from _given(view, instr, f"gives {_MAY_BE_ARRAY}, to `{name}`")
        elif name in _ITERATE or (name in _ITERATE_ONE and len(instr.arguments) == 1):
            yield from _iterated(view, instr, name)
        elif name in _QUESTIONS:
            yield from _class(view, instr, name)
        elif name == "builtins.type" and len(instr.arguments) == 1 and tells(view, instr.target, instr.arguments[0][0]):
            yield from _asked(view, instr, "asks for the class of")
        elif name in _LOOKS and _looks(view, instr):
            yield from _asked(view, instr, "looks for what only eager tensors have in")
        else:
            continue
        return
    if _is_foreign(view, instr):
        yield from _given(view, instr, f"gives {_MAY_BE_ARRAY}, to code that is not known")


def _of_dtype(view: FrameView, instr: ir.Instr, asked: Iterator[Asked]) -> Iterator[Hit]:
    """What only the dtype of an array answers."""
    for slot, said, raises in asked:
        needs = _derived(view, slot) if any(isinstance(o, Unknown) for o in view.value(slot)) else 0
        if needs:
            outcome = Outcome.RAISES if raises else Outcome.DIFFERS
            yield Hit(instr.position, f"{said} {_MAY_BE_ARRAY} and becomes a tensor", needs, outcome=outcome)


def _given(view: FrameView, instr: ir.Call, said: str) -> Iterator[Hit]:
    needs = 0
    for slot in arguments(instr):
        needs |= _derived(view, slot)
    if needs:
        yield Hit(instr.position, f"{said}: tracing makes a tensor of it", needs)


def _iterated(view: FrameView, instr: ir.Call, name: str) -> Iterator[Hit]:
    needs = others = gradients = 0
    for place, slot in enumerate(arguments(instr)):
        through = _gone_through(view, slot)
        if through and trained(index_of(view.code), instr, slot):
            gradients |= through
        elif name in _DEALT and _holds_others(view, instr.target, _DEALT[name] + place):
            others |= through
        else:
            needs |= through
    said = f"goes through {_MAY_BE_ARRAY}, with `{name.removeprefix('builtins.')}`"
    for mask, unless in ((needs, ""), (others & ~needs, _OF_OBJECTS), (gradients & ~needs & ~others, _OF_GRADIENTS)):
        if mask:
            yield Hit(instr.position, f"{said}: Python cannot go through a tensor of a graph", mask, unless=unless)


def _holds_others(view: FrameView, slot: int, place: int) -> bool:
    """Whether what is gone through gives something that is called or given as keywords, itself or at a place of it.

    Not where the code asks first what it is: then it may be another thing.
    """
    index = index_of(view.code)
    given = {each.target for each in index.of(ir.Iter) if index.original(each.source) == slot}
    given |= {
        each.targets[place]
        for each in index.of(ir.Unpack)
        if index.original(each.source) in given and each.star < 0 and place < len(each.targets)
    }
    used: set[int] = set()
    for call in index.of(ir.Call):
        if not _ASKED.isdisjoint(view.names(call.function)):
            given.difference_update(index.original(each) for each in arguments(call))
        used.add(index.original(call.function))
        used.update(index.original(each) for key, each in call.keywords if key is None)
    return not used.isdisjoint(given)


def _gone_through(view: FrameView, slot: int) -> int:
    """The parameters that a slot holds whole and that may be arrays: none that the docstring calls a tuple is one."""
    needs = _derived(view, slot, whole=True)
    docs: Docstrings = view.project.shared("docstrings", Docstrings)
    for i, param in enumerate(view.code.params):
        if needs & parameter_bit(i) and docs.is_structure(view.code, param.name):
            needs &= ~parameter_bit(i)
    return needs


def _class(view: FrameView, instr: ir.Call, name: str) -> Iterator[Hit]:
    """A question for classes that arrays have and tensors have not, or the other way round."""
    kinds = kinds_of(view.value(argument(instr, 1))) if name != "tf.is_tensor" else ["tf.Tensor"]
    arrays = any(kind.startswith("np.") for kind in kinds)
    needs = _derived(view, argument(instr, 0), whole=True)
    same = arrays is answers_for_tensors(kinds)
    if not needs or same or not uses(view, instr.target) or only_converts(view, instr, kinds):
        return
    yield Hit(
        instr.position, f"asks for the class of {_MAY_BE_ARRAY} and becomes a tensor", needs, outcome=Outcome.DIFFERS
    )


def _asked(view: FrameView, instr: ir.Call, said: str) -> Iterator[Hit]:
    needs = _derived(view, argument(instr, 0), whole=True)
    if needs and uses(view, instr.target):
        yield Hit(instr.position, f"{said} {_MAY_BE_ARRAY} or an eager tensor", needs, outcome=Outcome.DIFFERS)


def _looks(view: FrameView, instr: ir.Call) -> bool:
    return any(isinstance(o, Lit) and o.const in _EAGER | OF_ARRAYS for o in view.value(argument(instr, 1)))


def _is_foreign(view: FrameView, call: ir.Call) -> bool:
    """Whether a call goes to a library that nothing is known about and that does not compute with TensorFlow."""
    called = [e for e in view.frame.effects.values() if e.kind == "foreign_call" and e.position == call.position]
    foreign = view.project.effects.foreign
    return any(not effect.detail.startswith(_FOR_PEOPLE) and not foreign.computes(effect.detail) for effect in called)


def attribute(view: FrameView, instr: ir.Attr) -> Iterator[Hit]:
    """`x.mean()`, `x.T`, `x[0].item()`, `x.numpy()` of what may be an array or a part of one, or an eager tensor."""
    yield from _of_dtype(view, instr, asked_by_attribute(view, instr))
    known = not any(isinstance(o, Unknown) for o in view.value(instr.owner))
    if instr.name not in _EAGER and (known or instr.name not in OF_ARRAYS):
        return
    needs = _derived(view, instr.owner)
    if needs:
        yield Hit(instr.position, f"uses `.{instr.name}` of {_MAY_BE_ARRAY}: the tensor made of it has none", needs)


def loop(view: FrameView, instr: ir.Loop) -> Iterator[Hit]:
    """A comprehension over what may be an array."""
    if not instr.is_for:
        return
    needs = _gone_through(view, instr.iterable)
    if not needs or not any(isinstance(o, Unknown) for o in view.value(instr.iterable)):
        return
    flow = control(view)
    site = next((s for s in flow.structure.loops if s.instr is instr), None)
    if site is not None and flow.is_comprehension(site):
        unless = _OF_OBJECTS if _holds_others(view, index_of(view.code).original(instr.iterable), 0) else ""
        yield Hit(
            instr.position, f"a comprehension goes through {_MAY_BE_ARRAY} and becomes a tensor", needs, unless=unless
        )


def unpack(view: FrameView, instr: ir.Unpack) -> Iterator[Hit]:
    """`a, b = x` of what may be an array."""
    needs = _gone_through(view, instr.source)
    unknown = any(isinstance(o, Unknown) and not holds_tensors(o) for o in view.value(instr.source))
    if needs and unknown and not _are_structures(view, needs):
        said = f"takes {_MAY_BE_ARRAY}, apart: Python cannot go through a tensor of a graph"
        yield Hit(instr.position, said, needs, unless="" if _is_told_of(view, instr.source, needs) else _TAKEN_APART)


def _is_told_of(view: FrameView, slot: int, needs: int) -> bool:
    """Whether something says that an argument may be no tuple: a question, a call, an entry in the docstring."""
    places = [i for i in range(len(view.code.params)) if needs & parameter_bit(i)]
    frames = view.project.solution.frames.get(view.code, ())
    passed = any(isinstance(o, Tensor) for frame in frames for i in places for o in frame.args[i])
    made = view.definition(slot)
    asked = isinstance(made, ir.Refine) and made.kind not in _OF_ALL
    return asked or passed or any(is_described(view.code, view.code.params[i].name) for i in places)


def _are_structures(view: FrameView, needs: int) -> bool:
    """Whether all that is known of what callers pass for a parameter are tuples or lists: so is the rest, then."""
    places = [i for i in range(len(view.code.params)) if needs & parameter_bit(i)]
    frames = view.project.solution.frames.get(view.code, ())
    passed = [[o for frame in frames for o in frame.args[i] if not isinstance(o, Unknown)] for i in places]
    return all(found and all(isinstance(o, (Container, Tup)) for o in found) for found in passed)


def result(function: FunctionView) -> Iterator[Hit]:
    """An argument of unknown kind that comes back: an object cannot, a number or array does as a tensor."""
    if function.code.is_generator or function.is_hybrid:
        return
    seen: set[int] = set()
    for view in function.views():
        for instr in returns(view.frame, view):
            made = view.definition(instr.value)
            shown = [slot for slot, _ in made.elements] if isinstance(made, ir.Sequence) else []
            for slot in (instr.value, *shown):
                needs = _derived(view, slot, whole=True) & ~OPERATION
                unknown = any(isinstance(o, Unknown) for o in view.value(slot))
                if needs and unknown and instr.position not in seen and function.opens(view.frame, needs):
                    seen.add(instr.position)
                    said = "returns an argument of unknown kind: a number or array comes back as a tensor"
                    unless = "assumed that an argument that comes back is a tensor" if _takes(function, needs) else ""
                    yield Hit(instr.position, f"{said}, an object raises", unless=unless)


def _takes(function: FunctionView, needs: int) -> bool:
    """Whether hints or uses say that all of some parameters take tensors, or that tensors are given back."""
    return function.facts.gives_tensors or all(
        p.tensor is Ternary.YES for p in function.facts.parameters if needs & parameter_bit(p.index)
    )


_CALLED: Final = _QUESTIONS | _LOOKS | _ITERATE | _ITERATE_ONE | ANSWERED | {"builtins.type"}


def _called(_: ProjectView, value: Value) -> bool:
    """Whether a call may go to a library that is not known."""
    return any(isinstance(o, (Lib, LibInst)) for o in value) and not any(
        isinstance(o, (Func, Bound, Inst)) for o in value
    )


RULE = Rule(
    code="HY358",
    name="open-argument",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="Does with an argument of unknown kind what fails or differs where that is an array.",
    details="""What nobody is seen to pass may be a tensor, an array, a number, a list or an object. Arrays and NumPy
scalars become tensors of the graph: NumPy, `math` and libraries that are not known cannot compute with them, Python
cannot go through them (`zip`, `enumerate`, `list`, comprehensions, `a, b = x`), `isinstance(x, np.ndarray)` and
`tf.is_tensor(x)` answer differently, and what is returned as it came is another thing. Say what the argument is: a
type hint (`tf.Tensor`, `float`), a call that passes it, or `tf.convert_to_tensor(x)` before all else.""",
    level=None,
    triggers={
        ir.Call: Where(call, names=lambda name: on_host(name) or name in _CALLED, values=_called),
        ir.Attr: attributes(attribute, OF_ARRAYS | OF_DTYPES | _EAGER),
        ir.Loop: loop,
        ir.Unpack: unpack,
    },
    root=result,
    opens=True,
    bad=(
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(x: tf.Tensor, scale):
    return tf.tanh(x) * np.mean(scale)
r1 = eval("target")(tf.constant(2.0), np.ones(2, np.float32))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(x: tf.Tensor, scale):
    return tf.tanh(x) * (2.0 if isinstance(scale, np.ndarray) else 3.0)
r1 = eval("target")(tf.constant(2.0), np.ones(2, np.float32))
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(x: tf.Tensor, scales):
    return tf.stack([tf.tanh(x) * scale for scale in scales])
r1 = eval("target")(tf.constant(2.0), np.ones(2, np.float32))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
class State:
    pass
def target(x: tf.Tensor, state):
    return tf.tanh(x), state
r1 = eval("target")(tf.constant(2.0), State())[0]
""",
            line=5,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(x: tf.Tensor, scale: float):
    return tf.tanh(x) * np.float32(np.sqrt(scale))
r1 = eval("target")(tf.constant(2.0), 4.0)
"""
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(x: tf.Tensor, scale):
    if not tf.is_tensor(scale):
        scale = tf.convert_to_tensor(scale)
    return tf.tanh(x) * scale[0] * scale.shape[0]
r1 = eval("target")(tf.constant(2.0), np.ones(2, np.float32))
"""
        ),
    ),
    known_problems="""It keeps a function eager that only tensors ever reach where nobody is seen to pass one: a
library whose callers are elsewhere. A type hint on the parameter takes it away. So does a docstring
that calls it a tuple or a dictionary, where it is gone through or taken apart.""",
    reference="semantics.md R8, R9, R10",
)
