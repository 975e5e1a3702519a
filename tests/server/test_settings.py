"""What clients send as settings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("lsprotocol", reason='needs lsprotocol: pip install "hybridize[lsp]"')

from hybridize.config import ConfigError
from hybridize.server.client_settings import DEFAULT, Settings, read_settings


@pytest.mark.parametrize(
    "given",
    [{"delay": 5}, {"hybridize": {"delay": 5}}, {"settings": {"delay": 5}}, {"settings": {"hybridize": {"delay": 5}}}],
)
def test_settings_may_be_in_a_table_of_ours(given: object) -> None:
    assert read_settings(given) == (Settings({}, delay=5), ())


@pytest.mark.parametrize("given", [None, [], "", {}, {"path": "/usr/bin/hybridize", "config": "", "delay": None}])
def test_nothing_and_what_is_not_for_the_server_change_nothing(given: object) -> None:
    assert read_settings(given) == (DEFAULT, ())


def test_the_later_wins() -> None:
    assert read_settings({"delay": 5, "codeLens": False}, {"delay": 7}) == (Settings({}, delay=7, codeLens=False), ())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"delay": -1}, "hybridize.delay must be a number of milliseconds"),
        ({"delay": True}, "hybridize.delay must be a number of milliseconds"),
        ({"diagnostics": "all"}, 'hybridize.diagnostics must be "workspace" or "open"'),
        ({"inlayHints": 1}, "hybridize.inlayHints must be true or false"),
        ({"options": ["P1"]}, "hybridize.options must be a table of options"),
    ],
)
def test_what_cannot_be_used_is_said_and_left_out(given: object, said: str) -> None:
    assert read_settings(given) == (DEFAULT, (said,))


def test_options_win_over_the_file_and_paths_are_from_the_project(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.hybridize]\nworld = "open"\nconfidence = "declared"\n')
    config = read_settings({"options": {"world": "closed", "src": ["lib"]}})[0].load(tmp_path)
    assert (config.world, config.confidence, config.src) == ("closed", "declared", (str(tmp_path / "lib"),))


def test_an_option_that_is_none_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unknown option"):
        read_settings({"options": {"wrold": "closed"}})[0].load(tmp_path)


def test_every_setting_is_documented_and_in_the_extension() -> None:
    root = Path(__file__).parents[2]
    page = (root / "docs" / "editors.md").read_text(encoding="utf-8")
    extension = json.loads((root / "editors" / "vscode" / "package.json").read_text(encoding="utf-8"))
    properties = extension["contributes"]["configuration"]["properties"]
    for name in Settings.__slots__:
        assert f"| `{name}` | " in page
        default = properties[f"hybridize.{name}"]["default"]
        assert (default or None) == (getattr(DEFAULT, name) or None)
