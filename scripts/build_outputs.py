"""Writes what commands print into the documentation, between marks.

python scripts/build_outputs.py           # write
python scripts/build_outputs.py --check   # exit with 1 if something is not as it is printed

    <!-- output of the command above: begin -->        the whole output
    <!-- first 10 lines of the command above: begin -->

The command is the last `$ hybridize ...` before the mark. It is run in the root of the repository, for a terminal of 80
columns, without colours and without what earlier runs have kept.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
_BLOCK = re.compile(
    r"(?P<begin><!-- (?:output|first (?P<lines>\d+) lines) of the command above: begin -->\n)"
    r".*?"
    r"(?P<end><!-- (?:output|first \d+ lines) of the command above: end -->)",
    re.DOTALL,
)
_COMMAND = re.compile(r"^\$ hybridize (.*)$", re.MULTILINE)


def documents() -> list[Path]:
    """The files that may have marks."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def rewritten(text: str) -> str:
    """A document with each marked output as it is printed now."""

    def replace(match: re.Match[str]) -> str:
        command = _COMMAND.findall(text, 0, match.start())[-1]
        lines = printed(command).rstrip("\n").split("\n")
        shown = "\n".join(lines[: int(match["lines"])] if match["lines"] else lines)
        return f"{match['begin']}```text\n{shown}\n```\n{match['end']}"

    return _BLOCK.sub(replace, text)


@cache
def printed(command: str) -> str:
    """What a command of hybridize writes to stdout, the arguments as in a shell."""
    environ = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}
    run = [sys.executable, "-m", "hybridize", *shlex.split(command), "--no-cache"]
    done = subprocess.run(run, cwd=ROOT, env=environ, capture_output=True, text=True, encoding="utf-8")
    if done.returncode > 1:
        raise SystemExit(f"`hybridize {command}` failed: {done.stderr.strip()}")
    return done.stdout


def main() -> int:
    """Rewrite, or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if something would be written")
    check = parser.parse_args().check
    stale = []
    for path in documents():
        old = path.read_text(encoding="utf-8")
        new = rewritten(old)
        if new != old:
            stale.append(path)
            if not check:
                path.write_text(new, encoding="utf-8")
    for path in stale:
        print(f"{path.relative_to(ROOT)}: {'is not' if check else 'now is'} what the commands print")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
