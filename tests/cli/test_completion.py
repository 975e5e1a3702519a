"""`hybridize completion SHELL` in the shells themselves: what Tab offers; and the manual page, as man shows it."""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hybridize.cli import main

ROOT = Path(__file__).parents[2]
pytest.importorskip("shtab")

#: What is typed, some of what Tab offers, and what it does not.
TYPED = [
    ("hybridize ch", {"check"}, {"fix", "explain"}),
    ("hybridize check --output-f", {"--output-format", "--output-file"}, {"--all"}),
    ("hybridize check --output-format j", {"json", "json-lines", "junit"}, {"sarif"}),
    ("hybridize check --select HY10", {"HY101", "HY107"}, {"HY201"}),
    ("hybridize fix --unsafe-f", {"--unsafe-fixes"}, set()),
    ("hybridize study ta", {"tables"}, {"mine"}),
    ("hybridize evaluate si", {"simulate"}, {"init", "fixes"}),
    ("hybridize evaluate corpus --ru", {"--runs"}, {"--reading"}),
    ("hybridize completion f", {"fish"}, {"zsh"}),
]


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("completion")
    for shell in ("bash", "zsh", "fish"):
        made = subprocess.run(
            [sys.executable, "-m", "hybridize", "completion", shell], capture_output=True, text=True, check=True
        )
        (folder / {"zsh": "_hybridize"}.get(shell, shell)).write_text(made.stdout, encoding="utf-8")
    return folder


def bash(scripts: Path, typed: str) -> set[str]:
    """bash calls the function that `complete` names, and reads COMPREPLY."""
    ask = """
        source "$1"; read -ra COMP_WORDS <<< "$2"; COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        by="$(complete -p hybridize)"; [[ "$by" =~ -F\\ ([a-z_]+) ]] && "${BASH_REMATCH[1]}"
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    done = subprocess.run(
        ["bash", "-c", ask, "bash", scripts / "bash", typed], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def fish(scripts: Path, typed: str) -> set[str]:
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source '{scripts / 'fish'}'; complete -C '{typed}'"],
        capture_output=True,
        text=True,
        check=True,
    )
    return {line.partition("\t")[0] for line in done.stdout.splitlines()}


#: zsh completes only in its line editor: a key that notes what completion would add, and ends the shell.
ZSHRC = """
fpath=("$SCRIPTS" $fpath); autoload -Uz compinit; compinit -u -D
compadd() {
    [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]] && { builtin compadd "$@"; return }
    typeset -a hits; builtin compadd -A hits "$@"; print -rl -- $hits >> $FOUND
}
noted() { zle complete-word; exit 0 }
zle -N noted; bindkey '^X' noted
zle-line-init() { print ready }
zle -N zle-line-init
"""


def zsh(scripts: Path, typed: str) -> set[str]:
    folder = scripts / re.sub(r"\W+", "_", typed)
    folder.mkdir()
    (folder / ".zshrc").write_text(ZSHRC)
    found = folder / "found"
    found.touch()
    environ = {
        **os.environ,
        "ZDOTDIR": str(folder),
        "SCRIPTS": str(scripts),
        "FOUND": str(found),
        "TERM": "dumb",
    }
    pid, terminal = pty.fork()
    if not pid:
        os.execvpe("zsh", ["zsh", "-i"], environ)
    said = b""
    try:
        while b"ready" not in said:
            said += os.read(terminal, 1000)
        os.write(terminal, f"{typed}\x18".encode())
        while os.read(terminal, 1000):  # until it ends
            pass
    except OSError:  # so Linux says that the terminal is closed
        pass
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)
    return set(found.read_text().split())


@pytest.mark.parametrize("shell", [bash, zsh, fish], ids=lambda shell: shell.__name__)
@pytest.mark.parametrize(("typed", "offered", "not_offered"), TYPED, ids=lambda v: v if isinstance(v, str) else "")
def test_tab(shell, typed: str, offered: set[str], not_offered: set[str], scripts: Path) -> None:
    if shutil.which(shell.__name__) is None:
        pytest.skip(f"{shell.__name__} is not installed")
    found = shell(scripts, typed)
    assert offered <= found
    assert not not_offered & found


def test_what_is_no_shell_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bsh"]) == 2
    assert "did you mean `bash`?" in capsys.readouterr().err


def test_without_shtab_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 2
    assert capsys.readouterr().err.strip().endswith('install it with `pip install "hybridize[completion]"`')


@pytest.mark.skipif(shutil.which("man") is None, reason="man is not installed")
def test_the_manual_page_is_what_man_can_show() -> None:
    environ = {**os.environ, "MANROFFSEQ": "", "MANWIDTH": "80", "LC_ALL": "C.UTF-8"}
    command = ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", str(ROOT / "man" / "hybridize.1")]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    text = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", done.stdout)
    assert "hybridize check [OPTION...] [PATH...]" in text
    assert "--unsafe-fixes" in text
