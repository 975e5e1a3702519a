"""HY270: an `input_signature` that rejects calls of the program, or is at odds with the function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeGuard

from hybridize.domain.calls import DIRECT
from hybridize.domain.objects import NONE, Container, Func, LibInst, Lit, Obj, Prim, Tensor, Tup, Value, Wrapper
from hybridize.domain.tensors import DENSE, NDARRAY, RAGGED, SPARSE, VARIABLE, Shape, is_batch
from hybridize.facts.origins import calls_at
from hybridize.flow.frames import Frame
from hybridize.library.tensorflow.specs import is_spec, signature_items, spec_dtype, spec_shape
from hybridize.program import ir
from hybridize.program.code import Code, Param
from hybridize.program.index import index_of
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.retraced.moving import moving
from hybridize.tracing.running.replicas import is_distributed, replicated
from hybridize.tracing.views import FunctionView

_SHORT: Final = "except in the last batch, which may be smaller (see `drop_remainder`)"
_SOMETIMES: Final = "in some iteration"
_REPLICAS: Final = "holds a value for each replica where a strategy has several"
#: What may happen, and does in some runs only.
_MAYBE: Final = (_SHORT, _SOMETIMES, _REPLICAS)
_AXIS: Final = " along axis 0"
#: Specs of what is not dense.
_COMPOSITE: Final = {RAGGED: "tf.RaggedTensorSpec", SPARSE: "tf.SparseTensorSpec"}
_NUMBER: Final = "is a Python number, and comes out as a tensor"
#: A call: the caller, the position, the frame that is called, how.
_Site = tuple[Frame, int, Frame, str]


def scan(function: FunctionView) -> Iterator[Hit]:
    """The entries of each signature against the parameters, then against what the calls of that graph pass."""
    made = function.project.solution.world.hybrids.get(function.code, {}) if function.is_hybrid else {}
    for place, options in sorted(made.items(), key=lambda entry: (entry[0][0].path, entry[0][1])):
        if options.get("input_signature"):
            yield from _signed(function, place, options["input_signature"])


def _signed(function: FunctionView, place: tuple[Code, int], signature: Value) -> Iterator[Hit]:
    """What is wrong with the signature that a function gets at one place."""
    path, here = place[0].path, place[1]
    items = signature_items(signature)
    if items is None:
        if all(isinstance(o, LibInst) and o.cls.endswith("TensorSpec") for o in signature):
            yield Hit(here, "the signature must be a list or tuple of specs", path=path)
        return
    params = [p for p in function.code.params if p.by_place]
    if function.facts.kind.value == "method" and params:
        params = params[1:]
    required = [p for p in params[len(items) :] if not p.has_default]
    required += [p for p in function.code.params if p.by_name and not p.has_default]
    if required:
        yield Hit(here, f"the signature says nothing of the required parameter `{required[0].name}`", path=path)
        return
    if len(items) > len(params) and not any(p.is_varargs for p in function.code.params):
        yield Hit(here, f"the signature has {len(items)} entries, the function takes {len(params)}", path=path)
        return
    specs = dict(zip([p.name for p in params], items, strict=False))
    calls = [each for each in function.callers() if _reaches(each[0], each[1], here)]
    yield from _calls(function, calls, specs, params + [p for p in function.code.params if p.by_name])
    yield from _surplus(function, calls, len(items))
    yield from _assignments(function, specs)


def _reaches(caller: Frame, pos: int, place: int) -> bool:
    """Whether a call may call the graph that is made at a place, and not another graph of the same function."""
    called = [obj for call in calls_at(caller.code, pos) for obj in caller.vals[call.function] or ()]
    made = {obj.extra[0] for obj in called if isinstance(obj, Wrapper) and obj.kind == "hybrid"}
    return not made or place in made


def _calls(
    function: FunctionView, calls: Sequence[_Site], specs: dict[str, Value], params: list[Param]
) -> Iterator[Hit]:
    seen: set[tuple[str, int]] = set()
    index = {p.name: i for i, p in enumerate(function.code.params)}
    for caller, pos, frame, how in calls:
        if (caller.code.path, pos) in seen or how not in DIRECT:
            continue
        given = frame.incoming.get((caller, pos))
        for param in params if given is not None else ():
            assert given is not None
            value = _passed(caller, pos, params.index(param), param.name) or given[index[param.name]]
            wrong = _mismatch(caller, param, specs.get(param.name), value)
            wrong = wrong or _distributed(function, (caller, pos, frame), index[param.name], specs.get(param.name))
            if not wrong and param.name not in specs and frame.func is not None:
                wrong = _other_than_default(param, frame.func, value)
            if wrong:
                seen.add((caller.code.path, pos))
                # Arrays and Python numbers are converted where that can be done.
                level = _level_of(value, wrong, frame)
                if _has_signature(function, caller):
                    level = Level.INFO  # whatever defaults it has, its own signature makes tensors of what it passes on
                said = "converts what this call passes" if level else "rejects this call"
                said = "may reject this call" if wrong.endswith(_MAYBE) else said
                yield Hit(pos, f"the signature {said}: {wrong}", path=caller.code.path, level=level)
                break


def _distributed(function: FunctionView, site: tuple[Frame, int, Frame], place: int, spec: Value | None) -> str:
    """Whether what a dataset of a strategy gives goes to a spec of one tensor: its `element_spec` has one for each."""
    caller, pos, frame = site
    param = frame.code.params[place]
    if (
        spec is None
        or not is_spec(spec)
        or not any(param.slot in replicated(function.project, f) for f in function.frames)
    ):
        return ""
    slot = moving(function.project).argument(caller, pos, frame, place)
    return f"`{param.name}` {_REPLICAS}" if slot >= 0 and is_distributed(function.project, caller, slot) else ""


def _has_signature(function: FunctionView, caller: Frame) -> bool:
    """Whether a caller is hybrid with a signature of its own."""
    made = function.project.solution.world.hybrids.get(caller.code, {})
    return any(options.get("input_signature") for options in made.values())


def _passed(caller: Frame, pos: int, place: int, name: str) -> Value | None:
    """What a call passes for a parameter, before the signature has converted it; None where that cannot be told."""
    calls = calls_at(caller.code, pos)
    if len(calls) != 1 or any(starred for _, starred in calls[0].arguments):
        return None
    given = calls[0].arguments
    slot = dict(calls[0].keywords).get(name, given[place][0] if place < len(given) else -1)
    return caller.vals[slot] if slot >= 0 else None


def _assignments(function: FunctionView, specs: dict[str, Value]) -> Iterator[Hit]:
    """Variables that the signature turns into tensors, and that the function assigns to."""
    slots = {p.slot: p.name for p in function.code.params if is_spec(specs.get(p.name, frozenset()))}
    seen: set[int] = set()
    for view in function.views():
        for instr in index_of(view.code).of(ir.Attr):
            is_call = instr.owner in slots and instr.name.startswith("assign")
            if not is_call or instr.position in seen or not _is_variable(view.value(instr.owner)):
                continue
            seen.add(instr.position)
            yield Hit(instr.position, f"the signature makes a tensor of `{slots[instr.owner]}`: it cannot be assigned")


def _is_variable(value: Value) -> bool:
    return any(isinstance(o, Tensor) and o.kind == VARIABLE for o in value)


def _mismatch(caller: Frame, param: Param, spec: Value | None, given: Value) -> str:
    if spec is None or len(spec) != 1 or not given:
        return ""
    composite = next((kind for kind, name in _COMPOSITE.items() if _is_instance(spec, name)), "")
    if composite:
        dense = all(isinstance(o, Tensor) and o.kind in (DENSE, VARIABLE, NDARRAY) for o in given)
        return f"`{param.name}` is a dense tensor, not a {composite} one" if dense else ""
    if not is_spec(spec):
        reasons = [_structure_mismatch(next(iter(spec)), obj) for obj in given]
        return f"`{param.name}` {reasons[0]}" if all(reasons) else ""
    (expected,) = spec
    assert isinstance(expected, LibInst)
    shape, dtype = spec_shape(expected), spec_dtype(expected)
    reasons = [_object_mismatch(obj, shape, dtype) for obj in given]
    if any(_AXIS in reason for reason in reasons) and all(not r or _AXIS in r for r in reasons) and not all(reasons):
        return f"`{param.name}` {next(filter(None, reasons))} {_SOMETIMES}"
    return f"`{param.name}` {reasons[0]}" if all(reasons) else ""


def _is_instance(value: Value, name: str) -> bool:
    return all(isinstance(o, LibInst) and o.cls == name for o in value)


def _surplus(function: FunctionView, sites: Sequence[_Site], items: int) -> Iterator[Hit]:
    """Calls that fill `*args` or `**kwargs` with more than the signature has entries for."""
    star, stars = (any(p.stars == s for p in function.code.params) for s in ("*", "**"))
    names = {p.name for p in function.code.params}
    for caller, pos, _, how in sites if star or stars else ():
        calls = calls_at(caller.code, pos) if how in DIRECT else ()
        for call in calls if len(calls) == 1 else ():
            plain = not any(starred for _, starred in call.arguments)
            more = star and plain and len(call.arguments) > items
            other = stars and any(key is not None and key not in names for key, _ in call.keywords)
            if more or other:
                said = "an argument of `*`" if more else "a keyword of `**`"
                yield Hit(
                    pos, f"the signature rejects this call: {said} that it has no entry for", path=caller.code.path
                )


def _other_than_default(param: Param, func: Func, given: Value) -> str:
    """What the signature leaves out always has its default."""
    default = func.defaults.get(param.name)
    if not default or not given or default & given or not all(isinstance(o, (Lit, Tensor)) for o in default | given):
        return ""
    return f"it leaves out `{param.name}`, which only its default fits"


def _structure_mismatch(spec: Obj, given: Obj) -> str:
    """Why a list, tuple or dictionary does not fit the one of specs: their kinds, or how many entries they have."""
    wanted, got = _kind(spec), _kind(given)
    if not wanted or not got:
        return ""
    if wanted != got:
        return f"is a {got}, not a {wanted}"
    if wanted == "dict" and all(isinstance(o, Container) and o.exact and o.rest is None for o in (spec, given)):
        keys = [{*o.fields} for o in (spec, given) if isinstance(o, Container)]
        return "has other keys than the signature" if keys[0] != keys[1] else ""
    sizes = [len(o.items) if isinstance(o, Tup) else len(o.fields) for o in (spec, given) if _is_exact(o)]
    return f"has {sizes[1]} entries, not {sizes[0]}" if len(set(sizes)) > 1 else ""


def _kind(obj: Obj) -> str:
    return obj.kind if isinstance(obj, (Tup, Container)) and obj.kind in ("list", "tuple", "dict") else ""


def _is_exact(obj: Obj) -> TypeGuard[Tup | Container]:
    return isinstance(obj, Tup) or (isinstance(obj, Container) and obj.exact)


def _level_of(given: Value, wrong: str, frame: Frame) -> Level | None:
    if wrong.endswith(_MAYBE):
        return Level.WARNING
    if wrong.endswith(_NUMBER):  # what is made of it comes back as a tensor too
        numbers = any(isinstance(o, (Lit, Prim)) and o.kind in ("int", "float") for o in frame.ret)
        return Level.WARNING if numbers else Level.INFO
    is_array = any(isinstance(o, Tensor) and o.kind == NDARRAY for o in given)
    return Level.WARNING if is_array and " is " in wrong else None


def _object_mismatch(obj: object, shape: Shape, dtype: str | None) -> str:
    if obj is NONE:
        return "is None, not a tensor"
    text = isinstance(obj, (Lit, Prim)) and obj.kind in ("str", "bytes")
    if dtype is not None and isinstance(obj, (Lit, Prim)) and text != (dtype == "string"):
        return f"is a {'text' if text else 'number'}, not {dtype}"
    if (
        isinstance(obj, Lit)
        and isinstance(obj.const, float)
        and dtype is not None
        and dtype.startswith(("int", "uint"))
    ):
        return f"is a float, not {dtype}"
    if isinstance(obj, Lit) and isinstance(obj.const, (bool, int, float)) and shape is not None and len(shape) > 0:
        return f"is a number, not of rank {len(shape)}"
    if isinstance(obj, Lit) and isinstance(obj.const, (int, float)):
        return _NUMBER
    if isinstance(obj, Tensor) and obj.kind in (RAGGED, SPARSE):
        return f"is a {obj.kind} tensor, not a dense one"
    if not isinstance(obj, Tensor) or obj.kind not in (DENSE, VARIABLE, NDARRAY):
        return ""
    if dtype is not None and obj.dtype is not None and dtype != obj.dtype:
        return f"is {obj.dtype}, not {dtype}"
    if shape is None or obj.shape is None:
        return ""
    if len(shape) != len(obj.shape):
        return f"has rank {len(obj.shape)}, not {len(shape)}"
    for axis, (want, have) in enumerate(zip(shape, obj.shape, strict=True)):
        if want >= 0 and have >= 0 and want != have:
            return f"has {have} along axis {axis}, not {want}"
        if want >= 0 and is_batch(have) and axis == 0:
            return f"has {want} along axis 0 {_SHORT}"
    return ""


RULE = Rule(
    code="HY270",
    name="signature-mismatch",
    category=Category.MISUSE,
    outcome=Outcome.RAISES,
    act="correct the signature, or what is passed",
    summary="An `input_signature` rejects calls that the program makes, or does not fit the function.",
    details="""With an `input_signature` a hybrid function takes what fits it and raises for the rest: another
dtype, another rank, a ragged or sparse tensor for a dense one,
another size along a fixed axis, None, a
required parameter that it does not mention. Use None for an axis that varies, or leave the signature
out. The last batch of a dataset is smaller where the examples
do not divide evenly (`drop_remainder=True` drops it). What the dataset of a strategy gives
holds a tensor for each replica where there are several: its `element_spec` is a signature for that.""",
    blocks=frozenset(),
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
@tf.function(input_signature=[tf.TensorSpec([], tf.float32), tf.TensorSpec([], tf.float32)])
def target(x, mode):
    return x * 2 if mode == "double" else x
r1 = target(tf.constant(1.0), "double")
""",
            line=5,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
@tf.function(input_signature=tf.TensorSpec([None], tf.float32))
def target(x):
    return x * 2
r1 = target(tf.constant([1.0]))
""",
            line=2,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
@tf.function(input_signature=[{"a": tf.TensorSpec([None], tf.float32)}])
def target(d):
    return sum(d.values())
r1 = target({"b": tf.constant([1.0])})
""",
            line=5,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
@tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
def target(x, **options):
    return x * options.get("scale", 1.0)
r1 = target(tf.constant([1.0]), scale=2.0)
""",
            line=5,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
@tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
def target(x):
    return x * 2
r1 = target(tf.constant([1.0]))
r2 = target(tf.constant([1]))
""",
            line=6,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
@tf.function(input_signature=[tf.TensorSpec([2, 3], tf.float32)])
def target(x):
    return x * 2
r1 = target(tf.ones((2, 3)))
r2 = target(tf.ones((4, 3)))
""",
            line=6,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
@tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
def target(x, y):
    return x + y
r1 = target(tf.constant(1.0), tf.constant(2.0))
""",
            line=2,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
data = tf.data.Dataset.from_tensor_slices(tf.ones([10, 2])).batch(4)
@tf.function(input_signature=[tf.TensorSpec([4, 2], tf.float32)])
def target(x):
    return tf.reduce_sum(x)
for batch in data:
    r = target(batch)
""",
            line=7,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
data = tf.data.Dataset.from_tensor_slices(tf.ones([10, 2])).batch(4, drop_remainder=True)
@tf.function(input_signature=[tf.TensorSpec([4, 2], tf.float32)])
def target(x):
    return tf.reduce_sum(x)
for batch in data:
    r = target(batch)
"""
        ),
        Example(
            """\
import tensorflow as tf
@tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
def target(x):
    return x * 2
r1 = target(tf.ones((2, 3)))
r2 = target(tf.ones((4, 3)))
"""
        ),
        Example(
            """\
import tensorflow as tf
class Model:
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def target(self, x, scale=2.0):
        return x * scale
model = Model()
r1 = model.target(tf.constant([1.0]))
""",
            target="Model.target",
        ),
    ),
    reference="semantics.md R19, Issue threads",
)
