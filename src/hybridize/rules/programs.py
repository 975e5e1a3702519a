"""What belongs to one program of a project: a script runs its own code, never that of the script beside it."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.rules.views import FunctionView, ProjectView


def programs_of(function: FunctionView) -> Iterator[int]:
    """What each module that gets to a function runs, as a set of frames (`Extents.has`)."""
    goal = function.project.extents.set_of(function.frames)
    for some in function.project.shared("programs", lambda: list(_every(function.project))):
        if some & goal:
            yield some


def _every(project: ProjectView) -> Iterator[int]:
    """For each module what it runs, its own body included."""
    extents = project.extents
    for body in project.solution.world.module_frames.values():
        yield extents.of(body) | extents.set_of([body])
