"""HY254: the default summary writer differs between calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from hybridize.domain.objects import LibInst
from hybridize.facts.model import Evidence
from hybridize.flow.frames import Frame
from hybridize.flow.solve import Solution
from hybridize.program.index import index_of
from hybridize.program.ir import Instr, Op
from hybridize.rules.model import Category, Doubt, Example, Hit, Outcome, Rule, Where
from hybridize.rules.views import FrameView, ProjectView

_SUMMARIES: Final = frozenset(
    f"tf.summary.{name}" for name in ("scalar", "image", "histogram", "text", "audio", "write", "graph")
)
_WRITER: Final = "tf.summary.SummaryWriter"
_DEFAULTS: Final = frozenset({"as_default", "set_as_default"})


def scan(view: FrameView, instr: Instr) -> Iterator[Hit]:
    """A summary that goes to whatever writer is in force."""
    if not _SUMMARIES.isdisjoint(view.names(instr[2])):
        yield Hit(instr[-1], "writes to the summary writer that was in force when the function was traced")


def confirm(project: ProjectView, doubts: Sequence[Doubt]) -> list[dict[Hit, tuple[Evidence, ...]]]:
    """The summaries of functions that are called under more than one writer, and set none themselves."""
    places = _every(project.solution)
    set_by = project.extents.without_bodies(project.extents.set_of(frame for frame, _, _ in places))
    writers: dict[LibInst, Evidence] = {}
    for frame, writer, line in places:
        writers.setdefault(writer, Evidence("another writer is in force here", frame.code.path, line))
    shown = tuple(writers.values())[:3]
    answers: list[dict[Hit, tuple[Evidence, ...]]] = []
    for doubt in doubts:
        sets = set_by & project.extents.of_all(doubt.function.frames)
        answers.append(dict.fromkeys(doubt.hits, shown) if len(writers) > 1 and not sets else {})
    return answers


def _every(solution: Solution) -> list[tuple[Frame, LibInst, int]]:
    """The places where some frame makes a writer the default."""
    frames = [frame for frames in solution.frames.values() for frame in frames]
    return [(frame, writer, line) for frame in frames for writer, line in _set(frame)]


def _set(frame: Frame) -> Iterator[tuple[LibInst, int]]:
    """The writers that a frame makes the default."""
    index = index_of(frame.code)
    if _DEFAULTS.isdisjoint(index.attributes):
        return
    for instr in index.of(Op.CALL):
        made = index.definitions.get(instr[2])
        if made is not None and made[0] == Op.ATTR and made[3] in _DEFAULTS:
            for obj in frame.vals[made[2]] or ():
                if isinstance(obj, LibInst) and obj.cls == _WRITER:
                    yield obj, instr[-1] >> 16


RULE = Rule(
    code="HY254",
    name="summary-writer",
    category=Category.MISUSE,
    outcome=Outcome.DIFFERS,
    summary="Summaries keep going to the writer that was in force when the function was traced.",
    details="""`tf.summary.scalar` and its like write to the default writer. A graph remembers the writer of its trace:
called under `writer2.as_default()` it still writes to the first one. Set the writer within the function, or use one
writer for both.""",
    triggers={Op.CALL: Where(scan, names=_SUMMARIES.__contains__)},
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
    ),
    reference="semantics.md R21",
)
