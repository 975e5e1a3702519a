"""HY101: Python values that differ from call to call, given to a hybrid function."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from functools import cache
from typing import Final

from hybridize.domain.calls import BY_CODE, BY_PROGRAM
from hybridize.domain.objects import BOTTOM, NONE, Container, Inst, LibInst, Lit, Obj, Prim, Tup, Value
from hybridize.facts.model import Evidence, Ternary, Told
from hybridize.facts.state.guards import parts
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.source import is_test_path
from hybridize.tracing.retraced.comparing import compared
from hybridize.tracing.retraced.each_call import elements, held_by, new_each_call
from hybridize.tracing.retraced.lifetimes import FEW, PAYS, lifetimes
from hybridize.tracing.retraced.moving import Moving, moving
from hybridize.tracing.retraced.spans import values_of
from hybridize.tracing.state.parts import constants
from hybridize.tracing.state.writes import writes_of
from hybridize.tracing.views import FunctionView

#: So deeply a container is looked into: one may hold itself.
_DEPTH: Final = 4
#: So many graphs of one function are kept that all pay.
_MANY: Final = 32.0
#: So many constants are seen one by one.
_KNOWN: Final = 8
#: Python values of which each is a trace of its own; two truth values are few.
_PLAIN: Final = frozenset({"int", "float", "complex", "str", "bytes"})
_TEXT: Final = "a Python str"


def scan(function: FunctionView) -> Iterator[Hit]:
    """The fact that decides P3, seen from the caller's side."""
    facts = function.facts
    if function.is_hybrid and facts.covered_by_hybrid_callers.value is Ternary.YES:
        return  # a graph calls it while it is traced, and no more
    if facts.hybridization is not None and facts.hybridization.says("input_signature"):
        return  # a signature makes tensors of numbers, and lets nothing else in
    if facts.retraces.value is not Ternary.YES:
        changed = list(_changed(function))
        if function.is_hybrid:
            yield from changed or list(_new(function)) or list(_moved(function)) or _declared(function)
        else:
            yield from changed or list(_moved(function)) or _made_with(function)
    if function.is_hybrid and facts.retraces.value is Ternary.YES:
        cause = facts.retraces.evidence[-1] if facts.retraces.evidence else None
        path, line = (cause.path, cause.line) if cause is not None else (facts.path, facts.line)
        what = cause.message if cause is not None else "a literal differs from call to call"
        # A few constants are as many graphs, each traced once.
        one_place = len({(e.path, e.line) for e in facts.retraces.evidence}) == 1
        constants = len(facts.retraces.evidence) > 1
        repeated = cause is not None and one_place and _is_repeated(function, cause, looped=constants)
        level = None if cause is not None and repeated and not _picks(function, cause) else Level.INFO
        said = f"{what}: each new value is traced anew. Pass a tensor"
        calls = [at for caller, at, _ in function.called_by() if (caller.code.path, at >> 16) == (path, line)]
        about = cause.subject if cause is not None and cause.told is Told.RECEIVES else ""
        at = min(calls, default=line << 16)
        yield Hit(at, said, path=path, evidence=facts.retraces.evidence, level=level, about=about)


def _is_repeated(function: FunctionView, cause: Evidence, *, looped: bool) -> bool:
    """Whether the program, outside of graphs and tests, makes a call again and again, each time with another value.

    Keras passes tensors. With `looped` only in a loop of the caller itself, which is what makes the values then.
    """
    return any(
        how in BY_CODE
        and _is_looped(function, caller, pos)
        and any(_is_varied(function, (caller, pos, frame), i, cause) for i in range(len(frame.code.params)))
        for caller, pos, frame, how in function.callers()
        if pos >> 16 == cause.line
        and caller.code.path == cause.path
        and (not looped or pos in index_of(caller.code).looped)
    )


def _picks(function: FunctionView, cause: Evidence) -> bool:
    """Whether a number picks an element of a Python list: no tensor can, and each element has a graph of its own."""
    for frame in function.frames:
        index = index_of(frame.code)
        for item in index.of(ir.Item):
            place = frame.code.place_of(index.original(item.index)) if item.index >= 0 else -1
            held = frame.vals[item.source] or frozenset()
            picked = bool(held) and all(isinstance(o, (Container, Tup)) and not _are_numbers(o) for o in held)
            if picked and place >= 0 and frame.code.params[place].name == cause.subject:
                return True
    return False


def _are_numbers(obj: Container | Tup) -> bool:
    """Whether a list or tuple holds Python numbers alone, of which a tensor could be made."""
    return all(isinstance(o, (Lit, Prim)) for part in parts(obj) for o in part)


def _is_varied(function: FunctionView, site: tuple[Frame, int, Frame], index: int, cause: Evidence) -> bool:
    """Whether a call passes for the parameter that is meant a Python value, and another one each time."""
    caller, pos, frame = site
    args = frame.incoming.get((caller, pos), ())
    named = cause.told is Told.RECEIVES and cause.subject == frame.code.params[index].name
    if not named or index >= len(args) or not _is_python(args[index]) or _are_constants(args[index]):
        return False
    answers = moving(function.project)
    slot = answers.argument(caller, pos, frame, index)
    moves = slot >= 0 and answers.moves(caller, pos, slot) and not _are_few(function, caller, pos, slot)
    return moves and not _is_beside_new(function, (caller, pos, frame), slot)


def _is_beside_new(function: FunctionView, site: tuple[Frame, int, Frame], slot: int) -> bool:
    """Whether a loop, or a call of the caller, that brings another value makes another object, too, which the function
    gets: a model for each number has a graph of its own in any case.
    """
    caller, pos, frame = site
    index, answers = index_of(caller.code), moving(function.project)
    loops, made = index.loops, index.source(slot)
    own = loops.get(pos, ())
    turn = loops.get(made.position, ()) if made is not None else ()
    for i in range(len(frame.code.params)):
        given = index.source(answers.argument(caller, pos, frame, i))
        if not isinstance(given, ir.Call):
            continue
        nest = loops.get(given.position, ())
        if (nest or made is None) and nest == own[: len(nest)] and len(nest) >= len(turn):
            makers = {caller.code, *(callee.code for at, callee in caller.calls if at == given.position)}
            value = caller.vals[given.target] or ()
            if value and all(isinstance(o, (Inst, LibInst)) and o.site[0] in makers for o in value):
                return True
    return False


def _are_few(function: FunctionView, caller: Frame, pos: int, slot: int) -> bool:
    """Whether a call passes so few values so often that their traces are none too many: the graphs of hundreds of
    epochs are too many to keep, however long each is used.
    """
    number = values_of(caller, slot)
    pays = number <= _MANY and number * PAYS <= lifetimes(function.project).seen([(caller, pos)])
    return number <= FEW or pays


def _is_looped(function: FunctionView, caller: Frame, pos: int) -> bool:
    """Whether a loop of the program, outside of graphs and tests, makes a call more than a few times."""
    known = lifetimes(function.project)
    if caller.code in function.project.solution.world.hybrids or is_test_path(caller.code.path):
        return False
    return known.seen([(caller, pos)]) >= FEW and known.is_looped(caller, pos)


def _are_constants(value: Value) -> bool:
    """Whether a value is one of a few that are known: as many graphs, each traced once."""
    return len(value) <= _KNOWN and all(isinstance(o, Lit) and not o.varies for o in value)


def _is_python(value: Value) -> bool:
    """Whether a value is a Python number or text, or holds one, and never a tensor, as merged calls make it seem."""

    @cache  # what holds the same things in many places is asked once
    def is_(value: Value, depth: int) -> bool:
        some = [o for o in value if o is not NONE]
        return bool(some) and all(of(obj, depth) for obj in some)

    def of(obj: Obj, depth: int) -> bool:
        if isinstance(obj, (Lit, Prim)):
            return obj.kind in _PLAIN
        return depth > 0 and any(is_(part, depth - 1) for part in parts(obj))

    return is_(value, _DEPTH)


def _new(function: FunctionView) -> Iterator[Hit]:
    """A value of its own at each of a few calls: not without bound, and yet no trace is used twice."""
    found = new_each_call(function)
    if found is not None:
        name, places = found
        said = f"each call passes another `{name}`, and is traced anew"
        path, pos = places[0]
        evidence = tuple(Evidence(said, p, at >> 16) for p, at in places)
        yield Hit(pos, said, path=path, evidence=evidence, level=Level.INFO)


def _moved(function: FunctionView) -> Iterator[Hit]:
    """A number or text of which flow does not know that it varies, made anew for each call.

    Calls of a hybrid function by graphs count as often as those are traced: not here.
    """
    answers = moving(function.project)
    graphs = function.project.solution.world.hybrids if function.is_hybrid else {}
    seen: set[tuple[str, int]] = set()
    for caller, pos, frame in function.called_by(BY_PROGRAM):
        if (caller.code.path, pos) in seen or is_test_path(caller.code.path):
            continue
        if caller.code in graphs:
            continue
        args = frame.incoming.get((caller, pos))
        if args is None or not answers.is_repeated(caller, pos):
            continue
        for index, value in enumerate(args):
            what = _open(value) or ("a size" if NONE in value else "")
            slot = answers.argument(caller, pos, frame, index) if what else -1
            if what == "a size":
                slot = _measured(caller, slot)
            if what == _TEXT and answers.is_used_again(caller, pos, slot):
                continue  # a name of each of the things that a loop goes through
            if slot >= 0 and answers.moves(caller, pos, slot):
                seen.add((caller.code.path, pos))
                name = frame.code.params[index].name
                # Where calls were merged it may be none of these: a warning is of numbers and texts that a loop makes.
                plain = _is_python(value) and not any(isinstance(o, Tup) for o in value)  # equal tuples share a trace
                verb = "receives" if _is_python(value) else "may receive"
                said = f"`{name}` {verb} {what}, made anew for each call: every new one is traced"
                loud = plain and _is_looped(function, caller, pos) and not _are_few(function, caller, pos, slot)
                loud = loud and not _is_beside_new(function, (caller, pos, frame), slot)
                seen_so = not function.is_hybrid or loud
                level = None if seen_so else Level.INFO
                sure = function.is_hybrid or _is_python(value)
                yield Hit(pos, said, path=caller.code.path, level=level, about=name, sure=sure)
                break


def _declared(function: FunctionView) -> Iterator[Hit]:
    """What a library exports takes numbers as well as tensors, by its hints: its callers are elsewhere."""
    made = function.facts.hybridization
    if made is None or made.says("input_signature") or not function.project.public.has(function.code):
        return
    for param, facts in zip(function.code.params, function.facts.parameters, strict=False):
        kinds = _numbers(param.annotation) if facts.tensor is Ternary.YES and param.annotation is not None else set()
        if kinds:
            said = f"`{param.name}` may be a Python {' or '.join(sorted(kinds))} by its hint: each new one is traced"
            yield Hit(function.facts.line << 16, f"{said}. Pass a tensor", level=Level.INFO)
            return


def _numbers(hint: ast.expr) -> set[str]:
    """The kinds of Python numbers that a hint lets in beside something else, by `Union` or `|`."""
    if isinstance(hint, ast.BinOp) and isinstance(hint.op, ast.BitOr):
        ways = [hint.left, hint.right]
    elif isinstance(hint, ast.Subscript) and ast.unparse(hint.value).rpartition(".")[2] in ("Union", "Optional"):
        ways = hint.slice.elts if isinstance(hint.slice, ast.Tuple) else [hint.slice]
    else:
        return set()
    inner = {name for way in ways for name in _numbers(way)}
    return inner | {way.id for way in ways if isinstance(way, ast.Name) and way.id in ("int", "float")}


def _open(value: Value) -> str:
    """What in a value chooses a trace by its content and is not known; empty where nothing does."""
    for obj in sorted(value, key=repr):
        if isinstance(obj, Prim) and obj.kind in _PLAIN:
            return f"a Python {obj.kind}"
        if isinstance(obj, Tup) and any(_open(item) for item in obj.items):
            return "a tuple of Python values"
        if isinstance(obj, Inst) and _is_by_value(obj):
            return f"a `{obj.cls.name}` of Python values"
    return ""


def _measured(caller: Frame, slot: int) -> int:
    """The tensor x of which a call passes `x.shape[i]`, a number in eager code; -1 if it passes none."""
    index = index_of(caller.code)
    item = index.source(slot)
    made = index.source(item.source) if isinstance(item, ir.Item) else None
    return int(made.owner) if isinstance(made, ir.Attr) and made.name == "shape" else -1


def _is_by_value(obj: Inst) -> bool:
    """Whether an object is compared by what it holds, and holds a number or text."""
    fields = compared(obj.cls)
    names = fields[0] if fields is not None else frozenset()
    held = (o for name in names if name in obj.fields for o in obj.fields[name].value)
    return any(isinstance(o, (Prim, Lit)) and o.kind in _PLAIN for o in held)


def _changed(function: FunctionView) -> Iterator[Hit]:
    """A list or dictionary whose Python values the program changes again and again, and that it passes at each call."""
    known, answers = writes_of(function.project), moving(function.project)
    seen: set[tuple[str, int]] = set()
    for frame in function.frames:
        for caller, pos, args in frame.seen_calls():
            if (caller.code.path, pos) in seen:
                continue
            seen.add((caller.code.path, pos))
            for obj in held_by(caller, pos, args):
                writes = known.at(obj)
                if _is_plain(obj) and _often(_moving(writes, caller), caller, pos):
                    said = f"a {obj.kind} of Python values that changes between calls: each content makes a new graph"
                    yield Hit(pos, said, path=caller.code.path)
                elif writes and answers.is_repeated(caller, pos) and any(_counts(answers, *at) for at in writes):
                    said = f"a {obj.kind} holds a Python number that changes between calls: each one makes a new graph"
                    yield Hit(pos, said, path=caller.code.path)


def _made_with(function: FunctionView) -> Iterator[Hit]:
    """A list or dictionary that is made for each call, with another Python number among what it holds."""
    answers = moving(function.project)
    for caller, pos, frame in function.called_by(BY_PROGRAM):
        args = frame.incoming.get((caller, pos))
        if args is None or is_test_path(caller.code.path) or not answers.is_repeated(caller, pos):
            continue
        for index, value in enumerate(args):
            holds = any(isinstance(o, Container) for o in value)
            slot = answers.argument(caller, pos, frame, index) if holds else -1
            for each in set(elements(caller, slot)) if slot >= 0 else ():
                held = caller.vals[each] or BOTTOM
                if _is_python(held) and _open(held) and answers.moves(caller, pos, each):
                    name = frame.code.params[index].name
                    said = f"`{name}` holds {_open(held)}, made anew for each call: every new one is traced"
                    yield Hit(pos, said, path=caller.code.path, about=name)
                    return


def _counts(answers: Moving, frame: Frame, pos: int) -> bool:
    """Whether a place writes a Python number or text among what a container holds, again and again and another one."""
    written = [i.value for i in index_of(frame.code).at(pos) if isinstance(i, ir.SetItem)]
    plain = [slot for slot in written if _open(frame.vals[slot] or BOTTOM) and _is_python(frame.vals[slot] or BOTTOM)]
    again = plain and not is_test_path(frame.code.path) and answers.is_repeated(frame, pos)
    return bool(again) and any(answers.moves(frame, pos, slot) for slot in plain)


def _is_plain(obj: Container) -> bool:
    """Whether what is in a list or dictionary are Python numbers and strings."""
    values = [cell.value for cell in obj.fields.values()] + ([obj.rest.value] if obj.rest is not None else [])
    found = [o for value in values for o in value]
    return obj.kind in ("list", "dict") and bool(found) and all(isinstance(o, (Lit, Prim)) for o in found)


def _moving(writes: Collection[tuple[Frame, int]], caller: Frame) -> set[int]:
    """Where a caller changes a container; not where it gives a key the one constant that it ever gives it."""
    own = {at for frame, at in writes if frame is caller}
    given: dict[object, set[object]] = {}
    settled: dict[int, object] = {}
    for at in own:
        for item in index_of(caller.code).at(at):
            keys = constants(caller, item.index) if isinstance(item, ir.SetItem) else None
            if isinstance(item, ir.SetItem) and keys is not None and len(keys) == 1:
                settled[at] = next(iter(keys))
                value = constants(caller, item.value)
                given.setdefault(settled[at], set()).update((item, at) if value is None else value)
    return {at for at in own if at not in settled or len(given[settled[at]]) > 1}


def _often(own: set[int], caller: Frame, pos: int) -> bool:
    """Whether what calls a function also changes what it passes: in the same loop, or several times."""
    looped = index_of(caller.code).looped
    return len(own) > 1 or (pos in looped and bool(own & looped))


RULE = Rule(
    code="HY101",
    name="retracing-argument",
    category=Category.PERFORMANCE,
    outcome=Outcome.RETRACES,
    summary="A hybrid function receives Python values that differ from call to call.",
    details="""Each distinct Python number, string, list or object among the arguments is traced anew, which costs some
hundred times an eager call. Pass a tensor (`tf.constant(step)`), or loop with `tf.range`. `reduce_retracing` helps
for shapes, not for Python values. An eager function is left eager where a loop or a repeated function makes such a
value anew for each call: from a counter, a list or field that changes, a file, a clock. What the program reads once
and passes on stays the same, and costs one trace. It is a warning where a loop is seen to make the call again and
again, each time with another value; a few constants, a number that takes a few values however far is counted (`step %
3`, `min(step, 2)`), one beside an object that is made anew with it (a model for each number), one that picks an element
of a Python list (`variables[i]`: no tensor can), a call from within a graph or from a test are information, and so is a
hint that lets numbers in beside tensors, where a library exports the function.""",
    level=Level.WARNING,
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
@tf.function
def target(x, rate):
    return x * rate
r1 = target(tf.constant(2.0), 0.1)
r2 = target(tf.constant(2.0), 0.2)
r3 = target(tf.constant(2.0), 0.3)
""",
            line=5,
            outcome=Outcome.RETRACES,
        ),
        Example(
            """\
import tensorflow as tf
@tf.function
def target(x, step):
    return x * step
for i in range(5):
    r = target(tf.constant(2), i)
""",
            line=6,
            outcome=Outcome.RETRACES,
        ),
        Example(
            """\
import tensorflow as tf
@tf.function
def target(x, rate):
    return x * rate
rate = 1.0
while rate > 0.2:
    r = target(tf.constant(2.0), rate)
    rate = rate * 0.5
""",
            line=7,
            outcome=Outcome.RETRACES,
        ),
        Example(
            """\
import tensorflow as tf
@tf.function
def target(x, use):
    return x * 2.0 if use[0] else (x * 3.0 if use[1] else x)
r1 = target(tf.constant(1.0), (True, False))
r2 = target(tf.constant(1.0), (False, True))
r3 = target(tf.constant(1.0), (False, False))
""",
            line=7,
            outcome=Outcome.RETRACES,
        ),
        Example(
            """\
import tensorflow as tf
@tf.function
def target(x, items):
    return x * float(len(items))
items = [1]
r1 = target(tf.constant(1.0), items)
items.append(2)
r2 = target(tf.constant(1.0), items)
items.append(3)
r3 = target(tf.constant(1.0), items)
""",
            line=6,
            outcome=Outcome.RETRACES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
@tf.function
def target(x, mode):
    return x * 2.0 if mode == "a" else x
for mode in ["a", "b", "c"]:
    for i in range(3):  # three traces, nine calls
        r = target(tf.constant(2.0), mode)
"""
        ),
        Example(
            """\
import tensorflow as tf
@tf.function
def target(x, step):
    return x * step
for i in tf.range(5):
    r = target(tf.constant(2), i)
"""
        ),
        Example(
            """\
import tensorflow as tf
@tf.function
def target(x, rate):
    return x * rate
for i in range(5):
    r = target(tf.constant(2.0), 0.5)  # always the same: one trace
"""
        ),
    ),
    known_problems="""Values that callers outside of the project look up in a list or table are not seen to differ.
Where nothing in the project makes the call in a loop it is information, however often a user of the library may do
so. What a graph gives back is a tensor when it is passed again, and no Python value; in a list or dictionary that the
graph returns it is still taken for one.""",
    reference="semantics.md R18; the study's Listing on Python arguments",
)
