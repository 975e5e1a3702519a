"""HY605: functions and values that tests replace while they run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hybridize.facts.model import Evidence
from hybridize.flow.frames import Frame
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.callers.replaced import Replacement, keys_of, replaced
from hybridize.tracing.views import FunctionView, ProjectView

if TYPE_CHECKING:
    from hybridize.facts.calls.extents import Having


def scan(function: FunctionView) -> Iterator[Hit]:
    """What the function runs or reads, and some test that calls it replaces."""
    project = function.project
    if not function.facts.may_be_hybrid or not replaced(project):
        return
    extents = project.extents
    meeting: Having = project.shared("meets replaced", lambda: extents.having(lambda frame: _meets(project, frame)))
    own = extents.set_of(function.frames)
    extent = extents.without_bodies(extents.of_all(function.frames))
    for frame in sorted(extents.frames(meeting.within(extent)), key=lambda f: f.uid):
        for key in keys_of(frame, project):
            for each in replaced(project).get(key, ()) if key is not function.code else ():
                if each.test is None or extents.of(each.test) & own:
                    yield _hit(function, frame, each)
                    return


def _meets(project: ProjectView, frame: Frame) -> bool:
    found = replaced(project)
    return any(key in found for key in keys_of(frame, project))


def _hit(function: FunctionView, frame: Frame, each: Replacement) -> Hit:
    message = "runs what a test replaces while it runs: a graph keeps what it was traced with"
    here = Evidence(message, frame.code.path, frame.code.line)
    return Hit(function.code.position, message, evidence=(here, each.place))


RULE = Rule(
    code="HY605",
    name="replaced-function",
    category=Category.STATE,
    outcome=Outcome.DIFFERS,
    summary="A test replaces a function or value that this one uses: the graph keeps the one that it was traced with.",
    details="""`mock.patch`, `mock.patch.object` and `monkeypatch.setattr` put something else in the place of a
function, method or variable for a while. A graph that was traced before goes on with what was there; one that is traced
meanwhile calls the replacement once, at its trace, so that `call_count` is 1 after any number of calls, and keeps its
result. Replacing the hybrid function itself is fine.""",
    level=Level.INFO,
    root=scan,
    bad=(
        Example(
            """\
from unittest import mock
import tensorflow as tf
class Model:
    def noise(self, x):
        return x * 0.5
    def target(self, x):
        return x + self.noise(x)
model = Model()
r1 = model.target(tf.constant(1.0))
with mock.patch.object(Model, "noise", return_value=tf.constant(5.0)):
    r2 = model.target(tf.constant(1.0))
""",
            target="Model.target",
            line=6,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import math
from unittest import mock
import tensorflow as tf
def target(x):
    return x * math.sqrt(4.0)
r1 = target(tf.constant(1.0))
with mock.patch("math.sqrt", return_value=3.0):
    r2 = target(tf.constant(1.0))
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
    ),
    good=(
        Example(
            """\
from unittest import mock
import tensorflow as tf
class Model:
    def target(self, x):
        return x * 2.0
    def run(self, x):
        return self.target(x) + 1.0
model = Model()
r1 = model.run(tf.constant(1.0))
with mock.patch.object(Model, "target", return_value=tf.constant(5.0)):
    r2 = model.run(tf.constant(1.0))
""",
            target="Model.target",
        ),
        Example(
            """\
from unittest import mock
import tensorflow as tf
class Model:
    def noise(self, x):
        return x * 0.5
    def target(self, x):
        return x * 2.0
    def run(self, x):
        return self.target(x) + self.noise(x)
model = Model()
with mock.patch.object(Model, "noise", return_value=tf.constant(5.0)):
    r1 = model.run(tf.constant(1.0))
r2 = model.run(tf.constant(1.0))
""",
            target="Model.target",
        ),
    ),
    reference="",
)
