"""Every rule's examples under TensorFlow: a bad one misbehaves as a graph in the way it says, a good one does not."""

from __future__ import annotations

import ast
from collections.abc import Iterable

import pytest

from harness import ForkServer, Kind, Program
from hybridize.rules.model import Example, Outcome, Rule
from hybridize.rules.registry import all_rules

pytestmark = [pytest.mark.tensorflow, pytest.mark.slow]

KINDS = {Outcome.RAISES: Kind.RAISES, Outcome.DIFFERS: Kind.DIFFERS, Outcome.RETRACES: Kind.RETRACES}


def program(example: Example) -> Program:
    """The example with its target made hybrid, or as it is where the source says `tf.function` itself."""
    tree = ast.parse(example.source)
    says = any(isinstance(n, ast.Attribute) and n.attr == "function" for n in ast.walk(tree))
    return Program.single(example.source, None if says else example.target)


def applies(example: Example, server: ForkServer) -> bool:
    """Whether the installed releases are those that the example is about."""
    for part in example.needs.split(","):
        name, _, wanted = part.strip().partition(">=")
        if wanted:
            have = tuple(int(n) for n in server.versions[name].split(".")[:2])
            if have < tuple(int(n) for n in wanted.split(".")):
                return False
        name, _, wanted = part.strip().partition("<")
        if wanted and "=" not in part:
            have = tuple(int(n) for n in server.versions[name].split(".")[:2])
            if have >= tuple(int(n) for n in wanted.split(".")):
                return False
    return True


def wrong(examples: Iterable[tuple[Example, Kind]], server: ForkServer) -> str:
    """What examples do that they should not, each with the kind that it should be of."""
    chosen = [(example, kind) for example, kind in examples if applies(example, server)]
    outcomes = server.prove_all(program(example) for example, _ in chosen)
    found = zip(chosen, outcomes, strict=True)
    return "\n".join(f"is {o}, not {kind}\n{example.source}" for (example, kind), o in found if o.kind is not kind)


by_rule = pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)


@by_rule
def test_bad_examples_misbehave(rule: Rule, server: ForkServer) -> None:
    said = wrong(((e, KINDS[e.outcome]) for e in rule.bad if e.outcome in KINDS), server)
    assert not said, said


@by_rule
def test_good_examples_behave(rule: Rule, server: ForkServer) -> None:
    said = wrong(((e, Kind.SAFE) for e in rule.good), server)
    assert not said, said
