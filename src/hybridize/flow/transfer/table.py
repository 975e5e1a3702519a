"""The transfer functions of the instructions: one function per operation, found in one table."""

from __future__ import annotations

from typing import Final

from hybridize.flow.engine import Handler
from hybridize.flow.transfer import control, names, values
from hybridize.program.ir import Instr

HANDLERS: Final[dict[type[Instr], Handler]] = {**names.STEPS, **values.STEPS, **control.STEPS}
