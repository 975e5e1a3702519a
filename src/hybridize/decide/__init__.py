"""Facts -> decisions: the preconditions of the two refactorings as a table (the paper, Tables I and II)."""

from hybridize.decide.documentation import PRECONDITION_DOCS, STATUS_DOCS

__all__ = ["PRECONDITION_DOCS", "STATUS_DOCS"]
