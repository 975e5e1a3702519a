"""The page of a rule: what `explain CODE` prints and `docs/rules/` holds, from the same source."""

from __future__ import annotations

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
    lines += [f"Fix: {rule.fix}."] if rule.fix else []
    lines += [f"Source: {rule.reference}."] if rule.reference else []
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
