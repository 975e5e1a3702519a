"""JUnit's XML, for services that show tests and nothing else (Jenkins, Azure, CircleCI, GitLab's test tab)."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from hybridize.decide.model import Report
from hybridize.regex import regex
from hybridize.report.items import Item, Kind, items
from hybridize.report.positions import Display, Positions

#: What XML 1.0 has no way to write.
_UNWRITABLE = regex("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(report: Report, display: Display) -> str:
    """A test suite with a failed test per place, or with one that passed where there is nothing to report.

    A file that cannot be read or parsed is an error, not a failure. Services refuse a report without any test.
    """
    found = list(items(report, display=display))
    broken = sum(item.kind is Kind.ERROR for item in found)
    counts = {
        "tests": str(max(len(found), 1)),
        "failures": str(len(found) - broken),
        "errors": str(broken),
        "time": f"{report.project.seconds:.3f}",
    }
    places = Positions(report, display)
    suites = ET.Element("testsuites", {"name": "hybridize", **counts})
    suite = ET.SubElement(suites, "testsuite", {"name": "hybridize", **counts})
    for item in found:
        _add_case(suite, item, places)
    if not found:
        ET.SubElement(suite, "testcase", {"classname": "hybridize", "name": "nothing to report", "time": "0"})
    ET.indent(suites, " ")
    # Everything else than ASCII becomes a reference: no stream's encoding can break the document.
    text = ET.tostring(suites, encoding="us-ascii").decode("ascii")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _add_case(suite: ET.Element, item: Item, places: Positions) -> None:
    path, (line, column) = places(item.path), places.start(item)
    place = f"{path}:{line}:{column}"
    name = f"{item.code} {item.name} ({place})"
    # Dots separate the folders in the trees that services show.
    attributes = {"classname": path.removesuffix(".py").replace("/", "."), "name": name, "file": path}
    case = ET.SubElement(suite, "testcase", _writable({**attributes, "line": str(line), "time": "0"}))
    said = {"message": item.message, "type": item.severity.value}
    verdict = ET.SubElement(case, "error" if item.kind is Kind.ERROR else "failure", _writable(said))
    steps = [f"{places(step.path)}:{places.at(step.path, step.line)[0]}: {step.message}" for step in item.evidence]
    verdict.text = _visible("\n".join([f"{place}: {item.code} {item.message}", *steps]))


def _writable(attributes: dict[str, str]) -> dict[str, str]:
    return {key: _visible(value) for key, value in attributes.items()}


def _visible(text: str) -> str:
    """Characters that XML cannot hold as `\\x..`, as the other formats write control characters."""
    return _UNWRITABLE.sub(lambda match: f"\\x{ord(match.group()):02x}", text)
