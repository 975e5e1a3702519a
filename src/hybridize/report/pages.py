"""The pages of rules and repairs: what `explain CODE` prints and `docs/rules/` holds, from the same source."""

from __future__ import annotations

from hybridize.repairs.model import Repair, RepairExample
from hybridize.repairs.registry import repairs_for
from hybridize.rules.model import Blocks, Example, Rule

_BLOCKED = {
    Blocks.TO_HYBRID: "conversion to hybrid",
    Blocks.TO_EAGER: "conversion to eager",
    Blocks.SIGNATURE: "an inferred input signature",
    Blocks.JIT_COMPILE: "`jit_compile`",
}


def rule_page(rule: Rule) -> str:
    """A rule in Markdown, without its title."""
    blocked = ", ".join(_BLOCKED[b] for b in Blocks if b in rule.blocks)
    lines = [rule.details.strip(), "", f"Traced, the program {_OUTCOMES[rule.outcome.value]}."]
    lines += [f"Blocks: {blocked}."] if blocked else []
    lines += [f"Source: {rule.reference.replace('semantics.md', 'docs/semantics.md')}."] if rule.reference else []
    lines += ["", "## Known problems", "", rule.known_problems] if rule.known_problems else []
    fixes = [f"- {repair.code} {repair.name}: {_inline(repair.safety)}" for repair in repairs_for(rule.code)]
    lines += ["", "## Fix safety", "", *fixes] if fixes else []
    lines += ["", "## Examples"]
    for title, examples in (("Misbehaves as a graph", rule.bad), ("Behaves the same", rule.good)):
        for example in examples:
            lines += ["", f"{title}{_restriction(example)}:", "", "```python", example.source.rstrip(), "```"]
    return "\n".join(lines)


_OUTCOMES = {
    "raises": "raises",
    "differs silently": "silently computes something else",
    "retraces": "is traced again and again",
    "slows": "becomes slower",
}


def _restriction(example: Example) -> str:
    return f" ({example.needs})" if example.needs else ""


def _inline(text: str) -> str:
    """A text that goes on in a line: its first word in small letters, on one line."""
    return " ".join((text[0].lower() + text[1:]).split())


def repair_page(repair: Repair) -> str:
    """A repair in Markdown, without its title and summary."""
    codes = ", ".join(sorted(repair.removes))
    parts = [
        repair.details,
        f"It answers {codes}. `hybridize fix --unsafe-fixes --select {repair.code}` applies it alone.",
        f"## Fix safety\n\n{repair.safety}",
        "## Examples",
    ]
    parts += [_program(example) for example in repair.examples]
    return "\n\n".join(parts)


def _program(example: RepairExample) -> str:
    return f"Before:\n\n```python\n{example.before}```\n\nAfter `fix --unsafe-fixes`:\n\n```python\n{example.after}```"
