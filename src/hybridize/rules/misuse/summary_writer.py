"""HY254: the default summary writer differs between calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from hybridize.domain.objects import LibInst
from hybridize.facts.model import Evidence
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.records import dataclass
from hybridize.rules.model import Category, Confirmed, Doubt, Example, Hit, Outcome, Rule, Where
from hybridize.source.syntax import walk
from hybridize.tracing.running.processes import programs_of
from hybridize.tracing.views import FrameView, ProjectView

_SUMMARIES: Final = frozenset(
    f"tf.summary.{name}" for name in ("scalar", "image", "histogram", "text", "audio", "write", "graph")
)
_WRITER: Final = "tf.summary.SummaryWriter"
_DEFAULTS: Final = frozenset({"as_default", "set_as_default"})


def scan(view: FrameView, instr: ir.Call) -> Iterator[Hit]:
    """A summary that goes to whatever writer is in force."""
    if not _SUMMARIES.isdisjoint(view.names(instr.function)):
        yield Hit(instr.position, "writes to the summary writer that was in force when the function was traced")


def confirm(project: ProjectView, doubts: Sequence[Doubt]) -> list[dict[Hit, Confirmed]]:
    """The summaries of functions that are called under more than one writer, and set none themselves."""
    places = list(_every(project))
    set_by = project.extents.without_bodies(project.extents.set_of(place.frame for place in places))
    answers: list[dict[Hit, Confirmed]] = []
    for doubt in doubts:
        sets = set_by & project.extents.of_all(doubt.function.frames)
        shown = () if sets else _writers(project, doubt, places)
        answers.append(dict.fromkeys(doubt.hits, Confirmed(shown)) if shown else {})
    return answers


@dataclass(frozen=True, slots=True)
class _Place:
    """A place that makes a writer the default; `last`: the last line for which it does, None: from then on.

    `made` says which it is: where it is made, or all such places, if one call of the function chooses one of them.
    """

    frame: Frame
    writer: LibInst
    made: object
    line: int
    last: int | None


def _writers(project: ProjectView, doubt: Doubt, places: list[_Place]) -> tuple[Evidence, ...]:
    """Where the writers are set that are in force when a function is called; empty where there is only one."""
    goal = project.extents.set_of(doubt.function.frames)
    called = doubt.function.is_called
    found: dict[object, Evidence] = {}  # by where they are made: contexts have objects of their own
    if doubt.function.is_hybrid:
        return _in_one_program(project, doubt, [p for p in places if p.last is None or _reaches(project, p, goal)])
    runs = list(programs_of(doubt.function))
    for place in places:
        if runs and not any(project.extents.has(run, place.frame) for run in runs):
            continue  # another program's
        if not called or place.last is None or _reaches(project, place, goal):
            said = Evidence("another writer is in force here", place.frame.code.path, place.line)
            found.setdefault(place.made, said)
    return tuple(found.values())[:3] if len(found) > 1 else ()


def _in_one_program(project: ProjectView, doubt: Doubt, places: list[_Place]) -> tuple[Evidence, ...]:
    """The places that set writers one after the other; several writers at one place are alternatives."""
    for some in programs_of(doubt.function):
        own = [place for place in places if project.extents.has(some, place.frame)]
        at = {(place.frame.code.path, place.line): place for place in own}
        if len(at) > 1 and len({place.writer.site for place in own}) > 1:
            return tuple(Evidence("another writer is in force here", *where) for where in sorted(at))[:3]
    return ()


def _reaches(project: ProjectView, place: _Place, goal: int) -> bool:
    """Whether what is called under a writer may run one of some frames."""
    assert place.last is not None
    for pos, callee, _ in project.extents.calls(place.frame):
        if place.line <= pos >> 16 <= place.last and project.extents.of(callee) & goal:
            return True
    return False


def _every(project: ProjectView) -> Iterator[_Place]:
    """The places where some frame makes a writer the default."""
    for frames in project.solution.frames.values():
        for frame in frames:
            for writer, made, line in _set(frame):
                yield _Place(frame, writer, made, line, _last_line(project, frame.code.path, line))


def _last_line(project: ProjectView, path: str, line: int) -> int | None:
    """The last line of the `with` statement whose head stands at a line; None where there is none."""
    ends: dict[int, int | None] = project.shared(("ends of with", path), lambda: _ends(project.module(path)))
    return ends.get(line)


def _ends(module: ast.Module | None) -> dict[int, int | None]:
    """The last lines of the `with` statements of a file, by the lines of their heads; of several the outermost."""
    found: dict[int, int | None] = {}
    for node in walk(module) if module is not None else ():
        if isinstance(node, ast.With):
            for item in node.items:
                found.setdefault(item.context_expr.lineno, node.end_lineno)
    return found


def _set(frame: Frame) -> Iterator[tuple[LibInst, object, int]]:
    """The writers that a frame makes the default, with what says which it is, and the line."""
    index = index_of(frame.code)
    if _DEFAULTS.isdisjoint(index.attributes):
        return
    for instr in index.of(ir.Call):
        made = index.definitions.get(instr.function)
        if isinstance(made, ir.Attr) and made.name in _DEFAULTS:
            writers = [o for o in frame.vals[made.owner] or () if isinstance(o, LibInst) and o.cls == _WRITER]
            here = writers if _runs_once(frame) else []
            own = frozenset(o.site for o in here if o.site[0] is frame.code and o.site[1] not in index.looped)
            for writer in writers:
                yield writer, own if writer.site in own else writer.site, instr.position >> 16


def _runs_once(frame: Frame) -> bool:
    """Whether a module is run, or at one place calls the function, outside of loops."""
    sites = {(caller.code, at) for caller in frame.callers for at, callee in caller.calls if callee is frame}
    return len(sites) <= 1 and all(code.is_module and at not in index_of(code).looped for code, at in sites)


RULE = Rule(
    code="HY254",
    name="summary-writer",
    category=Category.MISUSE,
    outcome=Outcome.DIFFERS,
    once=True,
    act="set the writer within the function, or make a hybrid function for each writer",
    summary="Summaries keep going to the writer that was in force when the function was traced.",
    details="""`tf.summary.scalar` and its like write to the default writer. A graph remembers the writer of its trace:
called under `writer2.as_default()` it still writes to the first one. Set the writer within the function, or use one
writer for both.""",
    triggers={ir.Call: Where(scan, names=_SUMMARIES.__contains__)},
    confirm=confirm,
    bad=(
        Example(
            """\
import glob, tempfile
import tensorflow as tf
_d1, _d2 = tempfile.mkdtemp(), tempfile.mkdtemp()
_w1 = tf.summary.create_file_writer(_d1)
_w2 = tf.summary.create_file_writer(_d2)
def target(x):
    tf.summary.write("x", x, step=1)
    return x + 1
with _w1.as_default():
    r1 = target(tf.constant(1.0))
with _w2.as_default():
    r2 = target(tf.constant(2.0))
_w1.close()
_w2.close()
def _size(d):
    return sum(len(open(f, "rb").read()) for f in glob.glob(d + "/*"))
same = _size(_d1) == _size(_d2)
""",
            line=7,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import glob, tempfile
import tensorflow as tf
_d1, _d2 = tempfile.mkdtemp(), tempfile.mkdtemp()
_w1 = tf.summary.create_file_writer(_d1)
_w2 = tf.summary.create_file_writer(_d2)
def log(x):
    tf.summary.write("x", x, step=1)
def target(x):
    log(x)
    return x + 1
_w1.set_as_default()
r1 = target(tf.constant(1.0))
_w2.set_as_default()
r2 = target(tf.constant(2.0))
_w1.close()
_w2.close()
def _size(d):
    return sum(len(open(f, "rb").read()) for f in glob.glob(d + "/*"))
same = _size(_d1) == _size(_d2)
""",
            line=7,
            outcome=Outcome.DIFFERS,
        ),
    ),
    good=(
        Example(
            """\
import glob, tempfile
import tensorflow as tf
_d1, _d2 = tempfile.mkdtemp(), tempfile.mkdtemp()
_w1 = tf.summary.create_file_writer(_d1)
_w2 = tf.summary.create_file_writer(_d2)
def target(x):
    tf.summary.write("x", x, step=1)
    return x + 1
def train():
    return [target(tf.constant(1.0)), target(tf.constant(2.0))]
with _w1.as_default():
    r1 = train()
with _w2.as_default():
    tf.summary.write("done", tf.constant(1.0), step=1)
_w1.close()
_w2.close()
same = len(glob.glob(_d1 + "/*")) == len(glob.glob(_d2 + "/*"))
"""
        ),
        Example(
            """\
import tempfile
import tensorflow as tf
_w1 = tf.summary.create_file_writer(tempfile.mkdtemp())
def target(x):
    tf.summary.write("x", x, step=1)
    return x + 1
with _w1.as_default():
    r1 = target(tf.constant(1.0))
    r2 = target(tf.constant(2.0))
"""
        ),
        Example(
            """\
import tempfile
import tensorflow as tf
_w1 = tf.summary.create_file_writer(tempfile.mkdtemp())
_w2 = tf.summary.create_file_writer(tempfile.mkdtemp())
def target(x):
    with _w1.as_default():
        tf.summary.write("x", x, step=1)
    return x + 1
with _w2.as_default():
    r1 = target(tf.constant(1.0))
"""
        ),
        Example(
            """\
import os, tempfile
import tensorflow as tf
def target(x):
    tf.summary.write("x", x, step=1)
    return x + 1
def main():
    if "QUIET" in os.environ:
        _writer = tf.summary.create_noop_writer()
    else:
        _writer = tf.summary.create_file_writer(tempfile.mkdtemp())
    with _writer.as_default():
        return [target(tf.constant(1.0)), target(tf.constant(2.0))]
r1 = main()
"""
        ),
    ),
    reference="semantics.md R21",
)
