"""The pages of codes: what `explain CODE` prints, services get, and `docs/rules/` holds, from the same source."""

from __future__ import annotations

from hybridize.decide.documentation import Doc
from hybridize.decide.examples import EXAMPLES, OPTIONS
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
    said, bad, good = _OF_PROGRAMS if is_of_programs(rule) else _OF_FUNCTIONS
    lines = [rule.details.strip(), "", f"{said}, the program {_OUTCOMES[rule.outcome.value]}."]
    lines += [f"Blocks: {blocked}."] if blocked else []
    lines += [f"Source: {rule.reference.replace('semantics.md', 'docs/semantics.md')}."] if rule.reference else []
    lines += ["", "## Known problems", "", rule.known_problems] if rule.known_problems else []
    lines += _fixes(rule.code)
    lines += ["", "## Examples"]
    for title, examples in ((bad, rule.bad), (good, rule.good)):
        for example in examples:
            lines += ["", f"{title}{_restriction(example)}:", "", "```python", example.source.rstrip(), "```"]
    return "\n".join(lines)


def is_of_programs(rule: Rule) -> bool:
    """Whether a rule is about a program as it is, and not about what happens to a function as a graph."""
    return rule.project is not None and not rule.blocks


#: How pages speak of outcomes, of bad and of good examples.
_OF_FUNCTIONS = "Traced", "Misbehaves as a graph", "Behaves the same"
_OF_PROGRAMS = "With it", "Is reported", "Is not reported"
_OUTCOMES = {
    "raises": "raises",
    "differs silently": "silently computes something else",
    "retraces": "is traced again and again",
    "slows": "becomes slower",
}


def decision_page(code: str, doc: Doc) -> str:
    """A precondition or status in Markdown, without its title and summary."""
    lines = [doc.details, *_fixes(code)]
    if code in EXAMPLES:
        given = ", ".join(f"`{name} = {_toml(value)}`" for name, value in OPTIONS.get(code, {}).items())
        said = f"`check` says {code} here{f', with {given}' if given else ''}:"
        lines += ["", "## Example", "", said, "", "```python", EXAMPLES[code].rstrip(), "```"]
    return "\n".join(lines).strip()


def _toml(value: bool | str) -> str:
    return str(value).lower() if isinstance(value, bool) else f'"{value}"'


def _fixes(code: str) -> list[str]:
    """The repairs that answer a code, each with how safe it is."""
    fixes = [f"- {repair.code} {repair.name}: {_inline(repair.safety)}" for repair in repairs_for(code)]
    return ["", "## Fix safety", "", *fixes] if fixes else []


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
        (f"It answers {codes}. " if codes else "")
        + f"`hybridize fix --unsafe-fixes --select {repair.code}` applies it alone.",
        f"## Fix safety\n\n{repair.safety}",
        "## Examples",
    ]
    parts += [_program(example) for example in repair.examples]
    return "\n\n".join(parts)


def _program(example: RepairExample) -> str:
    return f"Before:\n\n```python\n{example.before}```\n\nAfter `fix --unsafe-fixes`:\n\n```python\n{example.after}```"
