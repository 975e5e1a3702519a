"""The control structure of a function: what stands inside which branch or loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Final

from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Block, Code, Instr
from hybridize.program.operands import blocks_of
from hybridize.records import dataclass

#: The operations whose instructions hold blocks.
_NESTED: Final = (ir.If, ir.Loop, ir.Try)


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

    def joins(self) -> Iterator[ir.Phi]:
        """The PHI instructions that join what a branch or loop did to variables."""
        for instr in self.block[self.index + 1 :]:
            if not isinstance(instr, ir.Phi):
                return
            yield instr


@dataclass(slots=True, eq=False)
class Branch(Site):
    """The site of a condition."""

    instr: ir.If


@dataclass(slots=True, eq=False)
class Turning(Site):
    """The site of a loop."""

    instr: ir.Loop


_KINDS: Final[dict[type[Instr], Callable[..., Site]]] = {ir.If: Branch, ir.Loop: Turning}


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
    def branches(self) -> list[Branch]:
        """The sites of conditions."""
        return [site for site in self.of(ir.If) if isinstance(site, Branch)]

    @cached_property
    def loops(self) -> list[Turning]:
        """The sites of loops."""
        return [site for site in self.of(ir.Loop) if isinstance(site, Turning)]

    @cached_property
    def breaks(self) -> set[int]:
        """The edges of `break` statements."""
        return {edge for site in self.loops for edge in site.instr.breaks}

    def of(self, *ops: type[Instr]) -> list[Site]:
        """The sites of some operations."""
        if self._index.by_operation.keys().isdisjoint(ops):
            return []
        return [site for site in self.sites if type(site.instr) in ops]

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
            site = _KINDS.get(type(instr), Site)(instr, parent, part, block, index)
            found.append(site)
            if isinstance(instr, _NESTED):
                self._first[id(site)] = len(found)
                for name, inner in _parts(instr):
                    self._collect(inner, site, name, found)
                self._end[id(site)] = len(found)


def _parts(instr: ir.If | ir.Loop | ir.Try) -> Iterator[tuple[str, Block]]:
    if isinstance(instr, ir.If):
        yield "then", instr.then
        yield "else", instr.orelse
    elif isinstance(instr, ir.Loop):
        yield "head", instr.phis
        yield "test", instr.test
        yield "body", instr.body
        yield "orelse", instr.orelse
    else:
        yield "body", instr.body
        for handler in instr.handlers:
            for block in blocks_of(handler):
                yield "handler", block
        yield "orelse", instr.orelse
        yield "join", instr.join
        yield "final", instr.final
