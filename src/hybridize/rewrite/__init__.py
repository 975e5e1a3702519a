"""Decisions become edits, edits become files: minimal, verified, atomic, idempotent."""

from hybridize.rewrite.diff import unified_diff
from hybridize.rewrite.files import apply
from hybridize.rewrite.kinds import plan_file
from hybridize.rewrite.model import DecoratorChange, DecoratorDialect, Edit, FilePlan, FileResult, WriteOutcome
from hybridize.rewrite.plan import plan_edits
from hybridize.rewrite.verify import verify

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
