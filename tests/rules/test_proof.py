"""Every rule's examples under TensorFlow: a bad one misbehaves as a graph in the way it says, a good one does not."""

from __future__ import annotations

import ast

import pytest

from harness import ForkServer, Kind, Program
from hybridize.rules.model import Example, Outcome, Rule
from hybridize.rules.registry import all_rules

pytestmark = pytest.mark.tensorflow

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


def cases(server: ForkServer, kind: str) -> list[tuple[Rule, Example]]:
    return [
        (rule, example)
        for rule in all_rules()
        for example in (rule.bad if kind == "bad" else rule.good)
        if applies(example, server)
    ]


def test_bad_examples_misbehave(server: ForkServer) -> None:
    chosen = [(r, e) for r, e in cases(server, "bad") if e.outcome in KINDS]
    outcomes = server.prove_all(program(e) for _, e in chosen)
    wrong = [
        f"{rule.code} {rule.name}: says {example.outcome}, is {outcome}\n{example.source}"
        for (rule, example), outcome in zip(chosen, outcomes, strict=True)
        if outcome.kind is not KINDS[example.outcome or Outcome.RAISES]
    ]
    assert not wrong, "\n".join(wrong)


def test_good_examples_behave(server: ForkServer) -> None:
    chosen = cases(server, "good")
    outcomes = server.prove_all(program(e) for _, e in chosen)
    wrong = [
        f"{rule.code} {rule.name}: is {outcome}\n{example.source}"
        for (rule, example), outcome in zip(chosen, outcomes, strict=True)
        if outcome.kind is not Kind.SAFE
    ]
    assert not wrong, "\n".join(wrong)
