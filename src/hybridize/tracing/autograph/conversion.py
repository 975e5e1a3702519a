"""Where AutoGraph is off: functions that it cannot convert, and calls that it does not follow.

A function that is not converted runs as plain Python while it is traced, and so does all that it calls: a condition
on a symbolic tensor then raises. A call of a hybrid function switches AutoGraph on again.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from hybridize.domain.calls import NOT_TRACED, How
from hybridize.domain.objects import Bound, Func, Inst
from hybridize.domain.places import line_words
from hybridize.facts.state.guards import is_applied
from hybridize.flow.frames import Frame
from hybridize.library.builtin_names import BUILTINS
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.records import dataclass
from hybridize.regex import regex
from hybridize.source.syntax import walk
from hybridize.tracing.control import Control, control
from hybridize.tracing.receivers import decorator_names, is_property
from hybridize.tracing.values import own as owned
from hybridize.tracing.views import FrameView, ProjectView

#: Library functions that convert the functions they are given; all others call them as they are.
CONVERTS: Final = frozenset(
    f"tf.{name}"
    for name in "map_fn cond case switch_case while_loop vectorized_map function custom_gradient recompute_grad "
    "py_function numpy_function autograph.to_graph autograph.experimental.do_not_convert".split()
) | frozenset({"functools.partial", "functools.wraps", "functools.update_wrapper"})
_APART: Final = NOT_TRACED | {How.HYBRID}
#: Decorators below which a function's own body is not converted.
_UNCONVERTED: Final = frozenset({"do_not_convert", "custom_gradient", "lru_cache", "cache"})
#: The first TensorFlow release whose AutoGraph refuses `:=`.
_WALRUS: Final = (2, 16)
_MOST: Final = 6
#: What leaves annotations as texts.
_LATER: Final = regex(r"^from __future__ import .*\bannotations\b", re.MULTILINE)
#: Built-in functions that only AutoGraph turns into operations.
_ASKING: Final = frozenset(f"builtins.{name}" for name in "int float range len".split())


@dataclass(frozen=True, slots=True)
class Plain:
    """A condition on a symbolic tensor in code that Python runs: where, what, and the calls (path, position, name)."""

    path: str
    position: int
    message: str
    needs: int
    calls: tuple[tuple[str, int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Apart:
    """Why AutoGraph does not convert a callee; `keras_3` where only that release of Keras calls it as it is."""

    said: str
    keras_3: bool = False


#: The `call` of its layers is no part of what AutoGraph converts.
_BY_KERAS_3: Final = Apart("Keras 3 calls it as it is", keras_3=True)


def refused(project: ProjectView, code: Code) -> str | None:
    """The construct for which AutoGraph gives a function up, nested functions included; None if there is none."""
    found: str | None = project.shared(("refused", code), lambda: _refused(project, code))
    return found


def _refused(project: ProjectView, code: Code) -> str | None:
    if code.is_async:
        return "it is a coroutine"
    if code.is_generator:
        return "it is a generator"
    if code.is_lambda and _is_ambiguous(project, code):
        return "another lambda with the same parameters stands on its line"
    lost = _lost_annotation(project, code)
    if lost is not None:
        return f"its annotation names `{lost}`, which only the code around it knows"
    lines = project.shared(("lines", code.path), lambda: project.text(code.path).split("\n"))
    text = "\n".join(lines[code.line - 1 : code.end_line])
    if not any(word in text for word in ("match", "else", ":=", "yield", "async", "__")):
        return None
    node = project.node(code)
    for each in walk(node) if node is not None else ():
        reason = _refusal(project, each)
        if reason is not None:
            return f"{reason} ({line_words(getattr(each, 'lineno', code.line), cells=project.cells(code.path))})"
    return None


def _lost_annotation(project: ProjectView, code: Code) -> str | None:
    """A name in an annotation, neither of the module nor captured: AutoGraph evaluates it away from its scope."""
    if code.parent is None or code.parent.is_module:
        return None
    written = [param.annotation for param in code.params] + [code.returns]
    parts = [part for hint in written if hint is not None for part in walk(hint)]
    names = [part.id for part in parts if isinstance(part, ast.Name)]
    module = code.parent
    while module.parent is not None:
        module = module.parent
    known = module.bound | code.free | BUILTINS
    lost = next((name for name in names if name not in known), None)
    if lost is None or index_of(module).of(ir.ImportStar) or _LATER.search(project.text(code.path)):
        return None
    return lost


def _is_ambiguous(project: ProjectView, code: Code) -> bool:
    """Whether AutoGraph cannot tell the source of a lambda: those of a converted function come with its source."""
    if code.parent is None or (code.parent.is_function and code.parent.name != "__init__"):
        return False
    names = tuple(param.name for param in code.params)
    alike = [c for c in code.parent.children if c.is_lambda and c.line == code.line]
    return sum(1 for c in alike if tuple(param.name for param in c.params) == names) > 1


def _refusal(project: ProjectView, node: ast.AST) -> str | None:
    match node:
        case ast.Match():
            return "of `match`"
        case ast.For(orelse=[_, *_]):
            return "of `else` on a `for` loop"
        case ast.While(orelse=[_, *_]):
            return "of `else` on a `while` loop"
        case ast.NamedExpr():
            return "of `:=`" if project.versions.newest >= _WALRUS else None
        case ast.Yield() | ast.YieldFrom():
            return "of `yield`"
        case ast.Attribute(attr=name) | ast.Name(id=name) if name.startswith("__") and not name.endswith("__"):
            return f"of the private name `{name}`"
        case ast.AsyncFunctionDef() | ast.AsyncFor() | ast.AsyncWith() | ast.Await():
            return "of `async`"
    return None


def follows(view: FrameView, pos: int, callee: Frame, how: How) -> Apart | None:
    """None where AutoGraph converts the callee of a call too; else why it does not."""
    if how in _APART:
        return None
    decorator = _unconverting(callee.code)
    if decorator is not None:
        return Apart(f"`{decorator}` switches AutoGraph off")
    if _is_within(callee.code, view.code):
        return None  # its text is converted with that of the function around it, whoever calls it
    if how is How.KERAS:
        return _BY_KERAS_3 if view.project.versions.may_have_keras(3) else None
    if how in (How.OPERATOR, How.CONSTRUCTION):
        return Apart("AutoGraph does not convert what an operator runs")
    calls = _calls_at(view, pos)
    if not calls or is_property(callee.code):
        return Apart("AutoGraph does not convert properties")
    if any(_is_direct(view, call, callee) for call in calls):
        return None
    known = [n for call in calls for n in view.names(call.function) if "." in n]
    name = callee.code.name
    if name == "__init__" and not known:
        return Apart("AutoGraph does not convert constructors")
    if name.startswith("__") and name.endswith("__") and name != "__call__":
        return Apart(f"AutoGraph does not convert `{name}`")
    if known and not any(n in CONVERTS or n.startswith(("tf.data.", "tf.distribute.")) for n in known):
        return Apart(f"`{known[0].removeprefix('builtins.')}` calls it as it is")
    return None


def _is_within(code: Code, outer: Code) -> bool:
    """Whether a function or lambda stands in the text of another function, not of a class in it."""
    while code.parent is not None and not code.is_body:
        if code.parent is outer:
            return not outer.is_body
        code = code.parent
    return False


def _calls_at(view: FrameView, pos: int) -> list[ir.Call]:
    """The calls at a position: those of a chain (`f(a)(b)`, `super().m(x)`) share it."""
    made: dict[int, list[ir.Call]] = view.project.shared(("calls", view.code), dict)
    if not made:
        for instr in view.instructions():
            if isinstance(instr, ir.Call):
                made.setdefault(instr.position, []).append(instr)
    return made.get(pos, [])


def _is_direct(view: FrameView, call: ir.Call, callee: Frame) -> bool:
    """Whether a call names the function itself, not something that calls it."""
    for obj in view.value(call.function):
        func = obj.func if isinstance(obj, Bound) else obj
        if isinstance(func, Func) and func.code is callee.code:
            return True
        if isinstance(obj, Inst) and callee.code.name == "__call__" and callee.code.parent is not None:
            return True  # an object of the project, whatever else the call may run in other contexts
    return False


def _unconverting(code: Code) -> str | None:
    found = next((name for name in decorator_names(code) if name in _UNCONVERTED), None)
    return found or ("lru_cache" if is_applied(code) else None)


def plain(project: ProjectView, frame: Frame) -> tuple[Plain, ...]:
    """The conditions on symbolic tensors in the extent of a frame that is not converted, nearest first."""
    key = ("plain", frame)
    found: tuple[Plain, ...] | None = project.known.get(key)
    if found is None:
        project.known[key] = ()  # of a call that comes back to it
        nearest = sorted(_plain(project, frame), key=lambda p: (len(p.calls), p.path, p.position))
        found = project.known[key] = tuple(nearest[:_MOST])
    return found


def _plain(project: ProjectView, frame: Frame) -> Iterator[Plain]:
    view = FrameView(project, frame)
    yield from own(view, control(view))
    for pos, callee, how in project.extents.calls(frame):
        if how in _APART or callee is frame:
            continue
        for inner in plain(project, callee):
            needs = 1 if inner.needs & 1 else project.symbolic.lift(frame, pos, callee, inner.needs)
            if needs:
                step = (frame.code.path, pos, callee.code.name)
                yield Plain(inner.path, inner.position, inner.message, needs, (step, *inner.calls))


def own(view: FrameView, flow: Control) -> tuple[Plain, ...]:
    """The conditions and loops of one frame that would need AutoGraph."""
    key = ("own conditions", view.frame)
    found: tuple[Plain, ...] | None = view.project.known.get(key)
    if found is None:
        found = view.project.known[key] = tuple(_own(view, flow))
    return found


def _own(view: FrameView, flow: Control) -> Iterator[Plain]:
    path = view.code.path
    for site, mask in flow.branches:
        yield Plain(path, site.instr.position, "a condition on a symbolic tensor", mask)
    for turning, mask in flow.loops:
        yield Plain(path, turning.instr.position, "a loop over or while a symbolic tensor", mask)
    for instr in index_of(flow.view.code).of(ir.Unary):
        if instr.operator == "not" and flow.runs(flow.structure.at(instr)):
            mask = flow.tensor(instr.operand)
            if mask:
                yield Plain(path, instr.position, "`not` of a symbolic tensor", mask)
    for call in view.project.shared(("asking calls", view.code), lambda: _asking_calls(view.code)):
        asking = next((n for n in view.names(call.function) if n in _ASKING), None)
        mask = owned(view, call.arguments[0][0]) if asking is not None else 0
        if mask:
            yield Plain(path, call.position, f"`{str(asking)[9:]}` of a symbolic tensor", mask)


def _asking_calls(code: Code) -> list[ir.Call]:
    """The calls of one argument whose function may be one of the built-in ones, as its name says."""
    index = index_of(code)
    names = {
        slot for slot, i in index.definitions.items() if isinstance(i, ir.Global) and f"builtins.{i.name}" in _ASKING
    }
    return [call for call in index.of(ir.Call) if call.function in names and len(call.arguments) == 1] if names else []
