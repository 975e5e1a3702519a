"""The pages about rules say what the rules say, and the taxonomy's table names every code and no other."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from hybridize.decide.documentation import STATUS_DOCS
from hybridize.repairs.registry import all_repairs
from hybridize.report.pages import rule_page
from hybridize.rules.registry import all_rules

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("script", ["build_rule_pages.py", "build_taxonomy.py"])
def test_the_pages_are_up_to_date(script: str) -> None:
    command = [sys.executable, str(ROOT / "scripts" / script), "--check"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert result.returncode == 0, result.stdout + result.stderr + f"\nrun python scripts/{script}"


def test_what_rules_cite_is_there() -> None:
    """A section of docs/semantics.md is cited by its heading."""
    headings = set(re.findall(r"^#+ (.+)$", (ROOT / "docs" / "semantics.md").read_text(encoding="utf-8"), re.MULTILINE))
    for rule in all_rules():
        for source in rule.reference.split("; "):
            if source.startswith("semantics.md"):
                sections = source.removeprefix("semantics.md").strip(", ").split(", ")
                assert set(sections) <= headings, (rule.code, sections)
            else:
                assert ".md" not in source, rule.code


def test_pages_say_what_is_known_and_how_safe_a_fix_is() -> None:
    """In whole sentences, and not where there is nothing to say."""
    for rule in all_rules():
        page = rule_page(rule)
        assert ("## Known problems" in page) == bool(rule.known_problems), rule.code
        assert not rule.known_problems or rule.known_problems.endswith("."), rule.code
        assert ("## Fix safety" in page) == any(rule.code in repair.removes for repair in all_repairs()), rule.code
    for repair in all_repairs():
        assert repair.safety.startswith(("Safe", "Always safe", "Never safe")), repair.code
        assert repair.safety.endswith("."), repair.code


def test_every_code_has_its_place_in_the_taxonomy() -> None:
    named = set(re.findall(r"HY\d{3}", (ROOT / "docs" / "taxonomy.md").read_text()))
    assert named == {rule.code for rule in all_rules()} | {r.code for r in all_repairs()} | set(STATUS_DOCS)
