"""The operations by which control branches, loops and comes together: they hold blocks, or lead along edges.

Each walk that follows control says what their parts mean to it; all others take them as `program.operands` gives them.
"""

from __future__ import annotations

from typing import TypeAlias

from hybridize.program.instruction import (
    NO_SLOT,
    Block,
    Edge,
    Edges,
    Ending,
    Incoming,
    Instr,
    Mention,
    Passing,
    Slot,
    record,
)

Joins: TypeAlias = "tuple[Phi, ...]"
Handlers: TypeAlias = "tuple[Handler, ...]"


@record
class Phi(Passing):
    """Joins versions of a variable: those whose edge was executed (`ALWAYS`: any path may bring it)."""

    incoming: Incoming


@record
class Jump(Ending):
    """`break` and `continue`."""

    edge: Edge


@record
class If(Instr):
    """Branches; each edge counts where its block is left at the end."""

    condition: Slot
    then: Block
    orelse: Block
    then_edge: Edge
    else_edge: Edge


@record
class Loop(Instr):
    """A `for` or `while`. `phis` join the entry edge with back edges; the `test` block ends in slot `condition`.

    A `for` loop has `condition` NO_SLOT: it may end at any time; its test block fetches the next element.
    """

    phis: Joins
    test: Block
    condition: Slot
    body: Block
    orelse: Block
    entry: Edge
    back: Edge
    exhausted: Edge
    done: Edge
    is_for: bool
    iterable: Slot = NO_SLOT
    breaks: Edges = ()
    continues: Edges = ()
    fills: Mention = NO_SLOT  # the list that a comprehension gives one element in each turn, by the last instruction
    nests: bool = False  # a loop inside this one does so
    within: bool = False  # this one stands in another of the same comprehension


@record
class Handler:
    """An `except` clause: its phis join what the body may have assigned before the exception."""

    phis: Joins
    catches: Block
    type_slot: Slot
    caught: Mention  # where the exception arrives
    body: Block
    fallthrough: Edge


@record
class Try(Instr):
    """A `try` statement."""

    body: Block
    handlers: Handlers
    orelse: Block
    fallthrough: Edge
    join: Block
    final: Block
