"""Functions that data sets trace: `Dataset.map(f)` makes a graph of `f`, once, though nobody has decorated it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.objects import BOTTOM, Bound, Stream
from hybridize.facts.origins import calls_at, calls_of
from hybridize.flow.frames import Frame
from hybridize.tracing.running.switches import switches
from hybridize.tracing.views import ProjectView

#: What has data sets run their functions line by line; the switch of hybrid functions leaves them alone.
_DEBUG: Final = "tf.data.experimental.enable_debug_mode"


def given_to_data_sets(project: ProjectView) -> Iterator[tuple[Frame, Frame, int]]:
    """What a run of the program, and no test, gives to a data set: the function, who gives it, and where."""
    on, _ = switches(project)
    if any(name == _DEBUG for places in on.values() for _, _, name in places):
        return
    reached = project.solution.reached
    for code, frames in project.solution.frames.items():
        for caller in frames if not project.roles.is_test(code.path) else ():
            for pos, frame in calls_of(caller, (How.GRAPH,)) if not caller.gone else ():
                if (
                    (frame.code.is_function or frame.code.is_lambda)
                    and frame.code in reached
                    and is_given_to_data(caller, pos)
                ):
                    yield frame, caller, pos


def is_given_to_data(caller: Frame, position: int) -> bool:
    """Whether what is called at a position is a method of a data set, which runs what it is given for each element."""
    called = (o for call in calls_at(caller.code, position) for o in caller.vals[call.function] or BOTTOM)
    return any(isinstance(o, Bound) and isinstance(o.receiver, Stream) for o in called)
