"""A plan for a file of any kind -> verified edits."""

from __future__ import annotations

from hybridize.rewrite.file_edits import plan_edits
from hybridize.rewrite.model import FilePlan, FileResult
from hybridize.rewrite.notebook_json import plan_notebook
from hybridize.rewrite.sections import Around
from hybridize.source.model import FileRef, SourceError
from hybridize.source.reading import decode_source


def plan_file(plan: FilePlan, source: bytes) -> FileResult:
    """The result of a file's plan for these bytes; a notebook's lines are those of the text of its code cells."""
    if plan.path.suffix != ".ipynb":
        return plan_edits(source, plan.changes, path=plan.path, known_names=plan.known_names, around=Around(plan.own))
    name = plan.path.as_posix()
    notebook = decode_source(FileRef(name, name), source)
    if isinstance(notebook, SourceError):
        dropped = tuple((change, notebook.message) for change in plan.changes)
        return FileResult(plan.path, source, source, (), (), (), dropped)
    return plan_notebook(notebook, plan.changes, known_names=plan.known_names, around=Around(plan.own))
