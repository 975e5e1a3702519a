"""What belongs to one program of a project: a script runs its own code, never that of the script beside it."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.rules.views import FunctionView, ProjectView


def programs(project: ProjectView) -> list[int]:
    """For each module what it runs, its own body included, as a set of frames (`Extents.has`)."""
    extents = project.extents
    bodies = project.solution.world.module_frames.values()
    return project.shared("programs", lambda: [extents.of(body) | extents.set_of([body]) for body in bodies])


def programs_of(function: FunctionView) -> Iterator[int]:
    """The programs that get to a function."""
    goal = function.project.extents.set_of(function.frames)
    yield from (some for some in programs(function.project) if some & goal)
