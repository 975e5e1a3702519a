"""Code that looks at a function as an object: what Python, its libraries and Keras ask of a `def` and not of a graph.

A decorated function is an object of TensorFlow's class. Calling it, its name, documentation, signature and source,
`functools.wraps`, `functools.partial`, its place in dictionaries and its own attributes are as before; all else is
measured and stands in these tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from hybridize.domain.objects import Bound, Class, Func, Heap, Inst, Lib, Lit, Mod, Obj, Stream, Tup, Value, Wrapper
from hybridize.facts.evidence import tells
from hybridize.facts.model import Evidence, Told
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.program.operands import arguments
from hybridize.regex import regex
from hybridize.tracing.returns.results import site
from hybridize.tracing.values import argument
from hybridize.tracing.views import FrameView, ProjectView

#: Attributes of functions, and of methods bound to an object, that it does not have.
_LOST: Final = frozenset(
    "__code__ __defaults__ __kwdefaults__ __closure__ __globals__ __annotations__ __func__ __self__".split()
)
#: Functions that fail, or answer otherwise, when they are given one; by what is said of it.
_ASKING: Final[dict[str, str]] = {
    "inspect.isfunction": "asks whether it is a Python function",
    "inspect.ismethod": "asks whether it is a method",
    "inspect.getfile": "asks for its file",
    "inspect.getsourcefile": "asks for its file",
    "inspect.getclosurevars": "asks for its variables",
    "typing.get_type_hints": "asks for its type hints",
    "weakref.WeakMethod": "refers to it weakly as a method",
    "tf.autograph.to_graph": "converts it a second time",
    "tf.autograph.to_code": "converts it a second time",
    "keras.activations.serialize": "saves it by its name",
    "keras.losses.serialize": "saves it by its name",
    "keras.metrics.serialize": "saves it by its name",
    "keras.initializers.serialize": "saves it by its name",
    "keras.regularizers.serialize": "saves it by its name",
    "keras.constraints.serialize": "saves it by its name",
    "keras.saving.serialize_keras_object": "saves it by its name",
}
#: Functions that pickle what they are given, with all that it holds: a decorated function is not the one of its name.
_PICKLING: Final = frozenset(
    [
        f"{module}.{name}"
        for module in ("pickle", "dill", "cloudpickle", "joblib", "cPickle")
        for name in ("dump", "dumps")
    ]
    + [
        f"multiprocessing.pool.Pool.{name}"
        for name in "apply apply_async map map_async imap imap_unordered starmap starmap_async".split()
    ]
    + [f"concurrent.futures.ProcessPoolExecutor.{name}" for name in ("submit", "map")]
    + ["pickle.Pickler.dump"]
)
_COPYING: Final = "copy.deepcopy"
_MEMBERS: Final = "inspect.getmembers"
_KINDS: Final = frozenset({"types.FunctionType", "types.LambdaType", "types.MethodType"})
_GETTERS: Final = frozenset({"builtins.getattr", "builtins.hasattr"})
#: All functions that may look at one.
_LOOKING: Final = frozenset({*_ASKING, *_PICKLING, _COPYING, _MEMBERS, "builtins.isinstance", *_GETTERS})
#: What saves or copies a model of Keras by its configuration.
_SAVING: Final = frozenset(
    "save to_json get_config from_config clone_model save_model load_model model_from_json serialize".split()
)
#: Words without which no text looks at a function.
_WORDS: Final = regex(
    r"inspect|pickle|dill|joblib|multiprocessing|ProcessPool|deepcopy|get_type_hints|WeakMethod|FunctionType|LambdaType"
    r"|MethodType|autograph|serializ|__(?:code|defaults|kwdefaults|closure|globals|annotations|func|self)__"
)
_DEPTH: Final = 4
#: Where a model is given its loss and metrics, which it saves with its own configuration.
COMPILED: Final = "keras.Model.compile"


#: A function that is looked at, and whether it is what `tf.function` has made of it.
_Seen: TypeAlias = "tuple[Code, bool]"


def observed(project: ProjectView, *, hybrid: bool = False) -> dict[Code, list[Evidence]]:
    """The places that look at each function as an object; with `hybrid` at what `tf.function` has made of it."""
    found = project.shared("observed", lambda: _observed(project))
    wanted = ((code, places) for (code, made), places in found.items() if made is hybrid)
    return {code: list(places) for code, places in wanted}


def _observed(project: ProjectView) -> dict[_Seen, dict[Evidence, None]]:
    found: dict[_Seen, dict[Evidence, None]] = {}
    texts = {m.code.path: m.text.text for m in project.solution.program.modules.values() if m.text is not None}
    looking = {path for path, text in texts.items() if _WORDS.search(text)}
    saves = _saves(project)
    for code, frames in project.solution.frames.items():
        for frame in frames if code.path in looking or saves else ():
            view = FrameView(project, frame)
            for some, look in _looks(view, saves):
                for each in some:
                    if each[0] is not code:
                        found.setdefault(each, {})[look] = None
    for code, evidence in _tagged(project):
        found.setdefault((code, False), {})[evidence] = None
    return found


def _looks(view: FrameView, saves: bool) -> Iterator[tuple[set[_Seen], Evidence]]:
    """What a frame looks at: the functions, and where and how it does."""
    index = index_of(view.code)
    for name in index.attributes.keys() & _LOST:
        for instr in index.attributes[name]:
            yield _codes(_held_there(view, instr.owner), 0), site(view, instr, f"reads its `{name}`")
    known = view.project.shared("names that look", dict[Value, tuple[str, ...]])
    for call in index.of(ir.Call):
        callee = view.value(call.function)
        names = known.get(callee)
        if names is None:
            every = view.names(call.function)
            names = known[callee] = tuple(n for n in every if n in _LOOKING or (saves and n.startswith("keras.")))
        for name in names:
            if name in _LOOKING:
                yield from _asked(view, call, name)
            if saves and name.startswith("keras."):
                yield from _given(view, call, name)


def _asked(view: FrameView, instr: ir.Call, name: str) -> Iterator[tuple[set[_Seen], Evidence]]:
    first = _held_there(view, instr.arguments[0][0]) if instr.arguments else frozenset()
    if name in _ASKING:
        yield _codes(first, 0), site(view, instr, f"`{name}` {_ASKING[name]}")
    elif name in _PICKLING:
        yield _codes(first, _DEPTH), site(view, instr, f"`{name}` pickles it")
    elif name == _COPYING:
        yield _codes(first, _DEPTH), site(view, instr, "`copy.deepcopy` copies what holds it")
    elif name == _MEMBERS:
        wanted = view.value(argument(instr, 1, "predicate"))
        if any(isinstance(o, Lib) and o.name in _ASKING for o in wanted):
            yield _members(first), site(view, instr, "`inspect.getmembers` looks for functions or methods")
    elif name == "builtins.isinstance" and len(instr.arguments) > 1:
        kinds = view.value(instr.arguments[1][0])
        every = [o for k in kinds for o in ((i for v in k.items for i in v) if isinstance(k, Tup) else (k,))]
        if any(isinstance(o, Lib) and o.name in _KINDS for o in every):
            yield _codes(first, 0), site(view, instr, "asks whether it is a function or method by its class")
    elif name in _GETTERS and len(instr.arguments) > 1:
        wanted = view.value(instr.arguments[1][0])
        lost = sorted(str(o.const) for o in wanted if isinstance(o, Lit) and o.const in _LOST)
        if lost:
            yield _codes(first, 0), site(view, instr, f"reads its `{lost[0]}`")


def _held_there(view: FrameView, slot: int) -> Value:
    """What a slot holds: of an argument of the function around what any of its calls has, though nobody goes on there.

    A decorator's wrapper is code of each function that it is made for, and runs when that is called.
    """
    value, made, outer = view.value(slot), index_of(view.code).source(slot), view.code.parent
    while isinstance(made, ir.Cell) and outer is not None and made.name not in outer.cells:
        outer = outer.parent
    if not isinstance(made, ir.Cell) or outer is None:
        return value
    places = [i for i, param in enumerate(outer.params) if param.name == made.name]
    return value.union(*(frame.args[i] for frame in view.project.solution.frames.get(outer, ()) for i in places))


def _given(view: FrameView, instr: ir.Call, name: str) -> Iterator[tuple[set[_Seen], Evidence]]:
    """Functions that Keras is given to keep: it saves them by their class and name."""
    part = name.removeprefix("keras.").partition(".")[0]
    keeps = part in ("layers", "metrics", "initializers", "regularizers") and name.rpartition(".")[2][:1].isupper()
    slots = arguments(instr) if keeps else []
    if name == COMPILED:
        slots = [argument(instr, 1, "loss"), argument(instr, 2, "metrics")]
    for slot in slots:
        yield _codes(view.value(slot), 1), tells(Told.SAVED, view.code.path, instr.position >> 16, name)


def _saves(project: ProjectView) -> bool:
    """Whether the program saves, loads or copies a model of Keras."""
    for code, frames in project.solution.frames.items():
        if index_of(code).attributes.keys() & _SAVING:
            for frame in frames:
                view = FrameView(project, frame)
                for instr in index_of(code).of(ir.Call):
                    for name in view.names(instr.function):
                        if name.startswith("keras.") and name.rpartition(".")[2] in _SAVING:
                            return True
    return False


def _tagged(project: ProjectView) -> Iterator[tuple[Code, Evidence]]:
    """Methods that get attributes of their own: an object's method does not have them any more."""
    for code, frames in project.solution.frames.items():
        for instr in index_of(code).of(ir.SetAttr):
            for frame in frames:
                for obj in frame.vals[instr.owner] or ():
                    if isinstance(obj, Func) and obj.code.in_class:
                        said = f"sets `{instr.name}` on it, which the methods of objects then lack"
                        yield obj.code, Evidence(said, code.path, instr.position >> 16)


def _codes(value: Value, depth: int) -> set[_Seen]:
    """The functions and methods in a value, and in what it holds."""
    found: set[_Seen] = set()
    todo: list[tuple[Obj, int, bool]] = [(obj, depth, False) for obj in value]
    seen: set[tuple[Obj, bool]] = set()
    while todo:
        obj, left, hybrid = todo.pop()
        if (obj, hybrid) in seen:
            continue
        seen.add((obj, hybrid))
        if isinstance(obj, Func):
            found.add((obj.code, hybrid))
        elif isinstance(obj, Bound):
            todo += [(each, left, hybrid) for each in (obj.func,) if isinstance(each, (Func, Wrapper))]
        elif isinstance(obj, Wrapper):
            todo += [(each, left, hybrid or obj.kind == "hybrid") for each in obj.inner]
        elif left:
            todo += [(each, left - 1, hybrid) for each in _held(obj)]
    return found


def _held(obj: Obj) -> Iterator[Obj]:
    if isinstance(obj, (Class, Mod)):
        return  # these are saved and copied by name
    if isinstance(obj, Heap):
        for cell in list(obj.fields.values()):
            yield from cell.value
        if obj.rest is not None:
            yield from obj.rest.value
    elif isinstance(obj, Tup):
        for item in obj.items:
            yield from item
    elif isinstance(obj, Stream):
        yield from obj.element


def _members(value: Value) -> set[_Seen]:
    """The functions that a class, the class of an object, or a module defines."""
    found: set[_Seen] = set()
    for obj in value:
        owners = obj.cls.mro if isinstance(obj, Inst) else obj.mro if isinstance(obj, Class) else (obj,)
        for owner in owners:
            if isinstance(owner, (Class, Mod)):
                for cell in list(owner.fields.values()):
                    found |= _codes(cell.value, 0)
    return found
