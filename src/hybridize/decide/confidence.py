"""How sure a conversion is: what it rests on, in three levels, of which the default applies the first.

`seen`: code of the program that is no test calls the function, each such call passes known values, and nothing is
assumed. `declared`: type hints or tests say what it accepts. `assumed`: the analysis had to guess, and says where.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from hybridize.decide.backends import Backends
from hybridize.decide.model import Confidence
from hybridize.domain.objects import Unknown, Value
from hybridize.facts.model import DECLARED, Evidence, FunctionFacts, Source, Ternary, Told
from hybridize.flow.frames import Frame
from hybridize.library.defaults import holds_tensors
from hybridize.program.ir import Code
from hybridize.records import dataclass
from hybridize.rules.dormant import broken_argument, broken_setting
from hybridize.rules.scan import Scanner
from hybridize.source import Role
from hybridize.tracing.callers.contract import open_contract, open_outcome
from hybridize.tracing.views import FunctionView


@dataclass(frozen=True, slots=True)
class Grounds:
    """What a conversion rests on: its level, and the weakest of its grounds in words."""

    level: Confidence
    evidence: tuple[Evidence, ...]


#: Dtypes of arrays that are those of tensors beside them.
_NARROW: Final = frozenset({"float32", "bool", "string", "uint8"})
#: The levels from the surest to the least sure.
_LEVELS: Final = tuple(Confidence)


def suffices(level: Confidence, wanted: Confidence) -> bool:
    """Whether a level is as sure as another, or surer."""
    return _LEVELS.index(level) <= _LEVELS.index(wanted)


class Confidences:
    """The grounds of conversions over a solved program."""

    def __init__(self, scanner: Scanner) -> None:
        solution = scanner.solution
        self.scanner = scanner
        self.frames: Mapping[Code, Sequence[Frame]] = solution.frames
        self.roles = scanner.project.roles
        self.contracts = scanner.project.contracts
        self._broken: dict[Code, Evidence | None] = {}
        self.backends = Backends(scanner.project)

    def of(self, code: Code, facts: FunctionFacts) -> Grounds:
        """What the conversion of a function rests on."""
        assumed = tuple(each for each in facts.assumptions if each not in facts.vouched)
        if assumed:
            return Grounds(Confidence.ASSUMED, assumed)
        guessed = [p for p in facts.parameters if p.tensor is Ternary.YES and p.source is Source.SPECULATION]
        if guessed:
            return Grounds(Confidence.ASSUMED, guessed[0].evidence)
        neutral = self.neutral(code)
        if neutral is not None:
            return Grounds(Confidence.ASSUMED, (neutral,))
        frames = list(self.frames.get(code, ()))
        unproven = self.contracts.unproven(code, frames)
        if unproven is not None:
            return Grounds(Confidence.ASSUMED, (unproven,))
        if facts.on_state.value is Ternary.YES and facts.updates_variables.value is not Ternary.YES:
            said = "it takes no tensor: what it reads besides variables is taken to stay the same"
            return Grounds(Confidence.DECLARED, (Evidence(said, code.path, code.line),))
        function = self.scanner.view(code, frames, facts)
        setting = broken_setting(self.scanner, function)
        if setting is not None:
            return Grounds(Confidence.ASSUMED, (setting,))
        grounds = self._of_calls(code, facts)
        if grounds.level is Confidence.SEEN and self.roles.of(code.path) is Role.LIBRARY:
            told = open_contract(function) or _arrays(code, facts) or self._of_others(function)
            if told is not None:
                return Grounds(Confidence.DECLARED, (told,))
        return grounds

    def on_any_backend(self, code: Code) -> Evidence | None:
        """That a library's file uses Keras, by itself or by others, and no TensorFlow that a graph would need."""
        if code.path not in self.backends.neutral or self.roles.of(code.path) is not Role.LIBRARY:
            return None
        return self.neutral(code)

    def outcome(self, code: Code, facts: FunctionFacts) -> Evidence | None:
        """How a call of a library's function ends otherwise as a graph, for callers that are not seen."""
        if self.roles.of(code.path) is not Role.LIBRARY:
            return None
        function = self.scanner.view(code, list(self.frames.get(code, ())), facts)
        return _left_behind(facts) or open_outcome(function) or self._of_others(function)

    def _of_others(self, function: FunctionView) -> Evidence | None:
        """What breaks for arguments that nobody is seen to pass: asked of what is told and of what is converted."""
        if function.code not in self._broken:
            self._broken[function.code] = broken_argument(self.scanner, function)
        return self._broken[function.code]

    def neutral(self, code: Code) -> Evidence | None:
        """That a function's file may run without TensorFlow."""
        if code.path in self.backends.tensorflow:
            return None
        said = "its file does not use TensorFlow by name: Keras may run it on another backend"
        return Evidence(said, code.path, code.line)

    def _of_calls(self, code: Code, facts: FunctionFacts) -> Grounds:
        """What is known of the calls of a function."""
        calls = list(self._calls(code))
        hinted = [p for p in facts.parameters if p.tensor is Ternary.YES and p.source in DECLARED]
        if not calls or not facts.reached:
            return self._uncalled(code, facts, tested=bool(calls))
        seen = [(caller, pos, args) for caller, pos, args in calls if not self.roles.is_test(caller.code.path)]
        if not seen:
            caller, pos, _ = min(calls, key=_place)
            said = Evidence("only tests call it: they show what it accepts", caller.code.path, pos >> 16)
            return Grounds(Confidence.DECLARED, (said,))
        seen = [call for call in seen if self._may_run(call[0].code)] or seen
        unknown = _unknown(code, seen)
        if unknown is not None:
            return Grounds(Confidence.DECLARED if hinted else Confidence.ASSUMED, (unknown,))
        caller, pos, _ = min(seen, key=_place)
        said = Evidence(f"`{caller.code.qualname}` calls it with known values", caller.code.path, pos >> 16)
        return Grounds(Confidence.SEEN, (said,))

    def _may_run(self, caller: Code) -> bool:
        """Whether a caller is run by the program itself, or by others elsewhere; in a program nobody else is there."""
        return caller in self.scanner.solution.reached or self.roles.of(caller.path) is Role.LIBRARY

    def _calls(self, code: Code) -> Iterator[tuple[Frame, int, list[Value]]]:
        """The calls of a function but those by the unknown caller."""
        for frame in self.frames.get(code, ()):
            yield from (call for call in frame.seen_calls() if not call[0].gone)

    def _uncalled(self, code: Code, facts: FunctionFacts, *, tested: bool) -> Grounds:
        """Of a function that the program itself never comes to: what its hints say, or nothing."""
        here = (code.path, code.line)
        if all(p.source in DECLARED for p in facts.parameters if p.tensor is Ternary.YES):
            return Grounds(
                Confidence.DECLARED, (Evidence("its type hints or docstring alone say what it receives", *here),)
            )
        said = "only code that nothing calls itself is seen to call it" if tested else "nothing is seen to call it"
        return Grounds(Confidence.ASSUMED, (Evidence(said, *here),))


def _left_behind(facts: FunctionFacts) -> Evidence | None:
    """A public field in which a graph leaves a tensor of its trace: who is not seen may read it after a call."""
    for each in facts.assumptions:
        if each.told is Told.LEFT and not each.subject.startswith("_"):
            return Evidence(f"others may read `{each.subject}` after a call: a graph leaves it", each.path, each.line)
    return None


def _arrays(code: Code, facts: FunctionFacts) -> Evidence | None:
    """An argument that may be an array of wide numbers: eagerly those give way to the dtype of what they meet."""
    for param in facts.parameters:
        if any(type_.kind == "ndarray" and type_.dtype not in _NARROW for type_ in param.tensor_types):
            said = f"`{param.name}` may be an array whose dtype gives way eagerly, and not in a graph"
            return Evidence(said, code.path, code.line)
    return None


def _unknown(code: Code, calls: Sequence[tuple[Frame, int, list[Value]]]) -> Evidence | None:
    """The first call that passes something that is not known."""
    for caller, pos, args in sorted(calls, key=_place):
        for param, value in zip(code.params, args, strict=True):
            held = next((o for o in value if isinstance(o, Unknown) and not holds_tensors(o)), None)
            if held is not None:
                said = f"`{param.name}` receives something that is not known: {held.reason}"
                return Evidence(said, caller.code.path, pos >> 16)
    return None


def _place(call: tuple[Frame, int, list[Value]]) -> tuple[str, int]:
    return call[0].code.path, call[1]
