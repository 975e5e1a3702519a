"""Which functions other programs may call: what stands in a package is there to be imported."""

from __future__ import annotations

from hybridize.flow.testing import is_test_path
from hybridize.program.build import Program
from hybridize.program.ir import Code


class Public:
    """The public functions of a program."""

    def __init__(self, program: Program) -> None:
        names = program.modules.keys()
        self._packaged = {
            module.code.path
            for name, module in program.modules.items()
            if module.info.is_package or name.rpartition(".")[0] in names
        }

    def has(self, code: Code) -> bool:
        """Whether a function is in a module of a package, and neither it nor what it stands in is private."""
        if code.path not in self._packaged or is_test_path(code.path):
            return False
        at: Code | None = code
        while at is not None and at.kind != "module":
            private = at.name.startswith("_") and not at.name.endswith("__")
            if private or (at is not code and at.kind != "class"):
                return False
            at = at.parent
        return True
