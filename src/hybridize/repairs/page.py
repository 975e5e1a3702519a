"""A repair's page: what `explain CODE` prints, and what docs/rules shows."""

from __future__ import annotations

from hybridize.repairs.model import Repair, RepairExample


def repair_page(repair: Repair) -> str:
    """The page below its heading and summary, in Markdown."""
    codes = ", ".join(sorted(repair.removes))
    parts = [
        repair.details,
        f"It answers {codes}. `hybridize fix --unsafe-fixes --select {repair.code}` applies it alone.",
    ]
    parts += [_example(example) for example in repair.examples]
    return "\n\n".join(parts)


def _example(example: RepairExample) -> str:
    return f"Before:\n\n```python\n{example.before}```\n\nAfter `fix --unsafe-fixes`:\n\n```python\n{example.after}```"
