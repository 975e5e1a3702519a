"""Which triggers look at which instruction: most instructions are of no interest to any rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from hybridize.domain.objects import Value
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code, Instr
from hybridize.program.operands import members
from hybridize.rules.model import Rule, Trigger, Where
from hybridize.tracing.views import ProjectView

#: A rule with one of its triggers.
Watcher: TypeAlias = "tuple[Rule, Trigger]"


class Dispatch:
    """The watchers of the instructions of a solved program. What is asked of codes and callees is asked once."""

    def __init__(self, project: ProjectView, rules: Sequence[Rule]) -> None:
        self.project = project
        self._always: dict[type[Instr], list[Watcher]] = {}
        self._by_form: dict[type[Instr], list[tuple[Watcher, Where]]] = {}
        self._by_callee: list[tuple[Watcher, Where]] = []
        for rule in rules:
            for wanted, trigger in rule.triggers.items():
                for op in members(wanted):
                    self._add(rule, op, trigger)
        self._codes: dict[Code, list[tuple[Instr, list[Watcher]]]] = {}
        self._frame_rules = [rule for rule in rules if rule.frame is not None]
        self._scanning: dict[Code, list[Rule]] = {}
        self._callees: dict[Value, list[Watcher]] = {}
        self._names: dict[str, list[Watcher]] = {}

    def _add(self, rule: Rule, op: type[Instr], trigger: Trigger | Where) -> None:
        if not isinstance(trigger, Where):
            self._always.setdefault(op, []).append((rule, trigger))
            return
        watcher = (rule, trigger.trigger)
        if trigger.form is not None:
            self._by_form.setdefault(op, []).append((watcher, trigger))
        if trigger.names is not None or trigger.values is not None:
            assert op == ir.Call, "only calls have a callee"
            self._by_callee.append((watcher, trigger))

    def watched(self, code: Code) -> list[tuple[Instr, list[Watcher]]]:
        """The instructions of a code that some rule looks at, in order, with the watchers that do in every frame.

        All calls are among them: who else looks depends on what is called.
        """
        found = self._codes.get(code)
        if found is None:
            index = index_of(code)
            found = self._codes[code] = []
            some = self._always.keys() | self._by_form.keys() | {ir.Call}
            for instr in index.flat:
                op = type(instr)
                if op not in some:
                    continue
                watchers = list(self._always.get(op, ()))
                for watcher, where in self._by_form.get(op, ()):
                    if where.form is not None and where.form(index, instr):
                        watchers.append(watcher)
                if watchers or isinstance(instr, ir.Call):
                    found.append((instr, watchers))
        return found

    def scanning(self, code: Code) -> list[Rule]:
        """The rules that scan the frames of a code as a whole."""
        found = self._scanning.get(code)
        if found is None:
            found = [rule for rule in self._frame_rules if rule.codes is None or rule.codes(code)]
            self._scanning[code] = found
        return found

    def called(self, callee: Value) -> list[Watcher]:
        """The watchers of the calls of what a slot holds."""
        found = self._callees.get(callee)
        if found is None:
            chosen: dict[int, Watcher] = {}
            for name in self.project.names(callee):
                chosen.update((id(watcher), watcher) for watcher in self._named(name))
            for watcher, where in self._by_callee:
                if where.values is not None and where.values(self.project, callee):
                    chosen[id(watcher)] = watcher
            found = self._callees[callee] = list(chosen.values())
        return found

    def _named(self, name: str) -> list[Watcher]:
        found = self._names.get(name)
        if found is None:
            found = [watcher for watcher, where in self._by_callee if where.names is not None and where.names(name)]
            self._names[name] = found
        return found
