"""Which functions other programs may call: what a library exports is there to be called."""

from __future__ import annotations

from functools import cached_property

from hybridize.closure import closure
from hybridize.domain.calls import How
from hybridize.domain.objects import Bound, Func
from hybridize.domain.words import SETTING_UP
from hybridize.facts.origins import edges_to, starts_program
from hybridize.flow.solve import Solution
from hybridize.program.ir import Code
from hybridize.source import Role, Roles


class Public:
    """The public functions of a program: what its files are there for says which may be called from elsewhere."""

    def __init__(self, roles: Roles) -> None:
        self._roles = roles

    def has(self, code: Code) -> bool:
        """Whether a function is in a file that others import, and neither it nor what it stands in is private."""
        if self._roles.of(code.path) is not Role.LIBRARY:
            return False
        at: Code | None = code
        while at is not None and not at.is_module:
            private = at.name.startswith("_") and not at.name.endswith("__")
            if private or (at is not code and not at.is_class):
                return False
            at = at.parent
        return True


class Strangers:
    """Which functions a caller whom nobody knows may cause to run."""

    def __init__(self, solution: Solution, roles: Roles) -> None:
        self._roles = roles
        self._public = Public(roles)
        self._frames = solution.frames
        handed = (o.func if isinstance(o, Bound) else o for o in solution.world.escaped)
        self._handed = {func.code for func in handed if isinstance(func, Func) and not self._starts(func.code)}

    def _starts(self, code: Code) -> bool:
        """Whether a function is handed out as the whole program: `app.run(main)` calls it once."""
        every = [(how, caller, pos) for frame in self._frames.get(code, ()) for caller, pos, how in edges_to(frame)]
        handed = [starts_program(caller, pos) for how, caller, pos in every if how is How.CALLBACK]
        return bool(handed) and all(handed)

    @cached_property
    def _run_again(self) -> frozenset[Code]:
        """The functions that unknown code got hold of, and all that these call."""
        called: dict[Code, set[Code]] = {}
        for code, frames in self._frames.items():
            for caller in {caller.code for frame in frames for caller, _ in frame.incoming if caller is not None}:
                called.setdefault(caller, set()).add(code)
        starts = (code for code in self._handed if not self._roles.is_test(code.path))
        return frozenset(closure(starts, lambda code: called.get(code, ())))

    def handed(self, code: Code) -> bool:
        """Whether unknown code got hold of a function, or of what calls it: a route, a callback, which runs again."""
        return code in self._run_again

    def serves(self, code: Code) -> bool:
        """Whether a public function runs one, directly or by what it calls, and not to set up an object."""
        around = closure([code], lambda each: self._callers(each) if self._goes_on(each) else ())
        return any(self._goes_on(each) and self._public.has(each) for each in around)

    def _goes_on(self, code: Code) -> bool:
        return not (code.is_body or code.name in SETTING_UP or self._roles.is_test(code.path))

    def may_call(self, code: Code, *, shared: bool) -> bool:
        """Whether such a caller may run a function, directly or by what calls it.

        Not module bodies and tests. With `shared` also by making objects: else those are set up once, each before any
        other call. Of what nobody else can name (private, nested, of a script) all callers are known, if there are any.
        """
        todo, seen = [code], {code}
        for each in todo:  # grows while it is read
            if each.is_body or self._roles.is_test(each.path):
                continue
            if each is not code and each.name in SETTING_UP:
                if shared:
                    return True
                continue
            callers = self._callers(each)
            if not callers or each in self._handed or self._public.has(each):
                return True
            todo += callers - seen
            seen |= callers
        return False

    def _callers(self, code: Code) -> set[Code]:
        """The functions that call one, as far as they are known."""
        frames = self._frames.get(code, ())
        return {caller.code for frame in frames for caller, _, _ in frame.seen_calls()} - {code}
