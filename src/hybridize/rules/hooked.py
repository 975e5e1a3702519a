"""What callbacks of Keras change under the graph of a step, told as hits."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.facts.model import Evidence
from hybridize.records import replace
from hybridize.rules.model import Hit, Level
from hybridize.rules.optional import conditional
from hybridize.tracing.keras.keras_hooks import changed_by_callbacks
from hybridize.tracing.views import ProjectView


def of_callbacks(project: ProjectView) -> Iterator[Hit]:
    """State that callbacks change in `fit`: of steps that Keras makes graphs of, though nobody has decorated them."""
    doubtful = conditional(project)
    for each in changed_by_callbacks(project):
        at = Evidence("trained here, by one graph", each.trainer.code.path, each.trained >> 16)
        by = Evidence(f"is changed here, by `{each.writer.code.name}`", each.writer.code.path, each.written >> 16)
        open_ = any(step.line in doubtful.get(step.path, ()) for step in (at, by))
        message = f"{each.read.message} (`{each.writer.code.name}` of a callback changes it in `fit`)"
        level = Level.WARNING if open_ else None
        yield replace(each.read, message=message, path=each.path, evidence=(*each.read.evidence, at, by), level=level)
