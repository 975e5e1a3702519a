"""What is silenced, by comments and by a baseline: for formats that tell services of it as such."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from hybridize.config import Config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hybridize.decide.model import Report
    from hybridize.report.identity import Identity
    from hybridize.report.items import Item
    from hybridize.report.sarif import Silenced

_MARK, _NO_MARK = b"hybridize:", b"hybridize;"


def by_comments(
    paths: Sequence[str], config: Config, report: Report, narrow: Callable[[Report], Report]
) -> list[Silenced]:
    """What would be reported without `# hybridize: ignore`, and what each comment says.

    The project is analyzed a second time, as if the comments said nothing, and only if it has any. `narrow` leaves out
    what is not asked for, as it was left out of the report.
    """
    from hybridize.api import inputs_of
    from hybridize.cli.session import analyze_again
    from hybridize.decide.suppress import Suppressions
    from hybridize.report.items import Kind
    from hybridize.report.sarif import Silenced
    from hybridize.report.select import selected
    from hybridize.source import SourceText

    inputs = inputs_of([Path(path) for path in paths], config)
    texts = {path: read.text for path, read in inputs.read.items() if isinstance(read, SourceText)}
    comments = Suppressions(texts)
    if not comments.any:
        return []
    contents = {}
    for ref in inputs.files:
        if "hybridize:" in texts.get(ref.relative, ""):
            with open(ref.path, "rb") as file:
                contents[os.path.abspath(ref.path)] = file.read().replace(_MARK, _NO_MARK)
    bare = narrow(selected(analyze_again(paths, config, contents, repairs=False), config))
    lines = {function.facts.id: function.facts.line for function in bare.functions}
    found = []
    for item in _more(bare, report):
        if item.kind is not Kind.ERROR:
            places = (item.line, lines.get(item.function or "", item.line))
            reasons = [comments.reason(item.path, line, item.code, item.name) for line in places]
            said = next((reason for reason in reasons if reason is not None), None)
            if said is not None:
                found.append(Silenced(item, "inSource", said))
    return found


def by_baseline(report: Report, narrowed: Report) -> list[Silenced]:
    """What a report has that a baseline took from it."""
    from hybridize.report.sarif import Silenced

    return [Silenced(item, "external", "") for item in _more(report, narrowed)]


def _more(one: Report, other: Report) -> Iterator[Item]:
    """The items that one report has and the other does not, by what they are."""
    from hybridize.report.identity import Lines, identity_of
    from hybridize.report.items import items

    lines, root = Lines(one.project.root), one.project.root

    def identity(item: Item) -> tuple[Identity, int]:
        return identity_of(item, lines, root), item.line

    left = Counter(identity(item) for item in items(other))
    for item in items(one):
        left[identity(item)] -= 1
        if left[identity(item)] < 0:
            yield item
