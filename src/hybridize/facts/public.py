"""Which functions other programs may call: what a library exports is there to be called."""

from __future__ import annotations

from hybridize.domain.objects import Bound, Func
from hybridize.domain.words import SETTING_UP
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
        while at is not None and at.kind != "module":
            private = at.name.startswith("_") and not at.name.endswith("__")
            if private or (at is not code and at.kind != "class"):
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
        self._handed = {func.code for func in handed if isinstance(func, Func)}

    def handed(self, code: Code, within: frozenset[Code] = frozenset()) -> bool:
        """Whether unknown code got hold of a function, or of what calls it: a route, a callback, which runs again."""
        if code in self._handed and not self._roles.is_test(code.path):
            return True
        inside = within | {code}
        callers = {
            caller.code for frame in self._frames.get(code, ()) for caller, _ in frame.incoming if caller is not None
        }
        return any(self.handed(each, inside) for each in callers - inside)

    def may_call(self, code: Code, *, shared: bool, within: frozenset[Code] = frozenset()) -> bool:
        """Whether such a caller may run a function, directly or by what calls it.

        Not module bodies and tests. With `shared` also by making objects: else those are set up once, each before any
        other call. Of what nobody else can name (private, nested, of a script) all callers are known, if there are any.
        """
        if code.kind in ("module", "class") or self._roles.is_test(code.path):
            return False
        if within and code.name in SETTING_UP:
            return shared
        callers = {
            caller.code
            for frame in self._frames.get(code, ())
            for caller, pos in frame.incoming
            if caller is not None and not frame.started_by(caller, pos)
        } - {code}
        if not callers or code in self._handed or self._public.has(code):
            return True
        inside = within | {code}
        return any(self.may_call(each, shared=shared, within=inside) for each in callers - within)
