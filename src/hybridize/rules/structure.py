"""The control structure of a function: what stands inside which branch or loop."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from hybridize.program.index import index_of
from hybridize.program.ir import Block, Code, Handler, Instr, Loop, Op, Try
from hybridize.records import dataclass

#: The operation codes whose instructions hold blocks.
_NESTED: Final = frozenset({Op.IF, Op.LOOP, Op.TRY})


@dataclass(slots=True, eq=False)
class Site:
    """Where an instruction stands: the branch, loop or `try` around it, the part of that, and its place in the block.

    `part` is `then`, `else`, `test`, `body`, `orelse`, `handler` or `final`; empty at the top of the function.
    """

    instr: Instr
    parent: Site | None
    part: str
    block: Block
    index: int

    def around(self) -> Iterator[tuple[Site, str]]:
        """The sites that hold this one, inside out, each with the part of it that does."""
        site = self
        while site.parent is not None:
            yield site.parent, site.part
            site = site.parent

    def joins(self) -> Iterator[Instr]:
        """The PHI instructions that join what a branch or loop did to variables."""
        for instr in self.block[self.index + 1 :]:
            if instr[0] != Op.PHI:
                return
            yield instr


class Structure:
    """The sites of a code, in order; most codes are never asked for them."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self._index = index_of(code)
        self._first: dict[int, int] = {}  # of the sites inside one that holds others: the first, and where they end
        self._end: dict[int, int] = {}

    @cached_property
    def sites(self) -> list[Site]:
        """All sites."""
        found: list[Site] = []
        self._collect(self.code.body, None, "", found)
        return found

    @cached_property
    def read(self) -> frozenset[int]:
        """The slots that something other than a join reads in the end."""
        return self._index.read

    @cached_property
    def branches(self) -> list[Site]:
        """The sites of conditions."""
        return self.of(Op.IF)

    @cached_property
    def loops(self) -> list[Site]:
        """The sites of loops."""
        return self.of(Op.LOOP)

    @cached_property
    def breaks(self) -> set[int]:
        """The edges of `break` statements."""
        return {edge for s in self.loops for edge in s.instr[2].breaks}

    def of(self, *ops: Op) -> list[Site]:
        """The sites of some operations."""
        if self._index.by_op.keys().isdisjoint(ops):
            return []
        return [site for site in self.sites if site.instr[0] in ops]

    @cached_property
    def _by_instr(self) -> dict[int, Site]:
        return {id(site.instr): site for site in reversed(self.sites)}

    def at(self, instr: Instr) -> Site:
        """The site of an instruction of the code."""
        return self._by_instr[id(instr)]

    def within(self, site: Site) -> Iterator[Site]:
        """The sites inside a site."""
        sites = self.sites
        first = self._first.get(id(site))
        if first is not None:
            yield from sites[first : self._end[id(site)]]

    def _collect(self, block: Block, parent: Site | None, part: str, found: list[Site]) -> None:
        for index, instr in enumerate(block):
            site = Site(instr, parent, part, block, index)
            found.append(site)
            if instr[0] in _NESTED:
                self._first[id(site)] = len(found)
                for name, inner in _parts(instr):
                    self._collect(inner, site, name, found)
                self._end[id(site)] = len(found)


def _parts(instr: Instr) -> Iterator[tuple[str, Block]]:
    if instr[0] == Op.IF:
        yield "then", instr[3]
        yield "else", instr[4]
    elif instr[0] == Op.LOOP:
        loop: Loop = instr[2]
        yield "head", loop.phis
        yield "test", loop.test
        yield "body", loop.body
        yield "orelse", loop.orelse
    else:
        statement: Try = instr[2]
        yield "body", statement.body
        for handler in statement.handlers:
            for block in _handler_blocks(handler):
                yield "handler", block
        yield "orelse", statement.orelse
        yield "join", statement.join
        yield "final", statement.final


def _handler_blocks(handler: Handler) -> tuple[Block, Block, Block]:
    return handler.phis, handler.catches, handler.body
