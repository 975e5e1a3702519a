"""Decisions become edits, edits become files: minimal, verified, atomic, idempotent."""

from hybridize.rewrite.any_file import plan_file
from hybridize.rewrite.diff import unified_diff
from hybridize.rewrite.file_edits import plan_edits
from hybridize.rewrite.files import apply
from hybridize.rewrite.model import DecoratorChange, DecoratorDialect, Edit, FilePlan, FileResult, WriteOutcome
from hybridize.rewrite.post_condition import verify

__all__ = [
    "DecoratorChange",
    "DecoratorDialect",
    "Edit",
    "FilePlan",
    "FileResult",
    "WriteOutcome",
    "apply",
    "plan_edits",
    "plan_file",
    "unified_diff",
    "verify",
]
