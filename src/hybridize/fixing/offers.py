"""What would mend each thing that is reported, as edits of the files as they are: for formats that carry fixes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from hybridize.decide.model import FunctionReport, Report
from hybridize.fixing.changes import file_plan
from hybridize.repairs.model import Bundle, Proposed
from hybridize.report.items import Item, Kind
from hybridize.report.sarif import Offer
from hybridize.report.words import change
from hybridize.rewrite import plan_file
from hybridize.rewrite.compose import compose, edits_between

_MAY_DIFFER = "the last digits of floating-point results may differ"


class Offered:
    """The fixes of the items of one report, each planned when it is asked for.

    A decision has the change of its decorator, anything else the repairs that take it away, one by one. What the
    rewriting room refuses has none.
    """

    def __init__(self, report: Report, contents: Mapping[str, bytes] = MappingProxyType({})) -> None:
        """`contents` are bytes by path from the project's root that stand for those on disk."""
        self._report, self._root = report, Path(report.project.root)
        self._functions = {function.facts.id: function for function in report.functions}
        self._repairs: dict[tuple[str, str, int, int], list[tuple[Bundle, Proposed]]] = {}
        for bundle in report.repairs:
            for repair in bundle.repairs if bundle.hybrid or bundle.complete else ():
                for cause in repair.causes:
                    self._repairs.setdefault(cause, []).append((bundle, repair))
        self._made: dict[int, Offer | None] = {}
        self._files = dict(contents)

    def __call__(self, item: Item) -> Sequence[Offer]:
        """The fixes of an item."""
        if item.kind is Kind.ERROR:
            return ()
        try:
            if item.kind is Kind.DECISION:
                offer = self._of_decision(self._functions[item.function or ""])
                return () if offer is None else (offer,)
            found = self._repairs.get((item.code, item.path, item.line, item.column), ())
            offers = [self._of_repair(bundle, repair) for bundle, repair in found]
        except OSError:  # gone since it was analyzed
            return ()
        return list(dict.fromkeys(offer for offer in offers if offer is not None))

    def _read(self, path: str) -> bytes:
        if path not in self._files:
            self._files[path] = (self._root / path).read_bytes()
        return self._files[path]

    def _of_decision(self, function: FunctionReport) -> Offer | None:
        facts, says = function.facts, change(self._report, function)
        if says is None or (facts.hybridization is not None and not facts.hybridization.is_decorator):
            return None
        data = self._read(facts.path)
        result = plan_file(file_plan(facts.path, [function]), data)
        if not result.edits:
            return None
        given = dict(facts.hybridization.arguments) if facts.hybridization else {}
        compiles = "jit_compile" in dict(function.decision.arguments) and "jit_compile" not in given
        return Offer(says[0].upper() + says[1:], _MAY_DIFFER if compiles else None, ((facts.path, data, result.edits),))

    def _of_repair(self, bundle: Bundle, repair: Proposed) -> Offer | None:
        """One repair without the others of its bundle."""
        if id(repair) not in self._made:
            alone = Bundle(bundle.function, bundle.path, bundle.line, bundle.qualname, (repair,))
            new = compose([alone], self._read).files
            files = tuple(
                (path, self._read(path), edits_between(self._read(path), data)) for path, data in sorted(new.items())
            )
            self._made[id(repair)] = Offer(repair.says, repair.doubt, files) if files else None
        return self._made[id(repair)]
