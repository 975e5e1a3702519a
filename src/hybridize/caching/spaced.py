"""Answers for parts of which only the space has changed: from what was found for the same code, with other lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hybridize.caching.packing import pack, unpacked
from hybridize.decide.model import PartReport
from hybridize.source.spacing import Moved, Spacing

if TYPE_CHECKING:
    from hybridize.caching.keys import Keys
    from hybridize.caching.store import Store
    from hybridize.source import Part


class Spaced:
    """What is kept by the code of parts.

    Args:
        store: where it is kept.
        keys: of the project.
        spacings: of its files, by path.
        fresh: takes what is to be kept.
    """

    def __init__(
        self, store: Store, keys: Keys, spacings: Mapping[str, Spacing | None], fresh: dict[bytes, bytes]
    ) -> None:
        self._store, self._keys, self._spacings, self._fresh = store, keys, spacings, fresh

    def report(self, part: Part, beside: object, name: bytes) -> PartReport | None:
        """What is found in a part, from what was found in another spacing; None where it is to be found anew.

        Whatever is going to be found is the next one's to begin with: the part's spacing is kept for its key, `name`.
        """
        spacings = {ref.relative: self._spacings.get(ref.relative) for ref in part.files}
        code = self._keys.code(part, beside, spacings)
        self._fresh[code] = pack((name, spacings))
        last = unpacked(self._store.get([code]).get(code))
        if not isinstance(last, tuple):
            return None
        known, before = last
        report = unpacked(self._store.get([known]).get(known))
        moved = _moved(report, before, spacings) if isinstance(report, PartReport) else None
        if moved is not None:
            self._fresh[name] = pack(moved)
        return moved


def _moved(report: PartReport, before: dict[str, Spacing | None], now: dict[str, Spacing | None]) -> PartReport | None:
    from hybridize.caching.shifting import Mover

    moves = {}
    for path, new in now.items():
        old = before.get(path)
        if old is not None and new is not None and old != new:
            moves[path] = Moved(old, new)
    return Mover(moves).part(report)
