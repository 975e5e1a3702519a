"""A new import stands where isort and ruff would put it: ruff, asked before and after, finds nothing new."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from hybridize.rewrite import FilePlan, plan_file
from hybridize.rewrite.imports import import_edit
from hybridize.rewrite.model import apply_edits
from hybridize.rewrite.sections import first_party
from hybridize.rewrite.text import SourceText

from .helpers import change

DEF = "\n\ndef f():\n    pass\n"

SORTED = {
    "the standard library alone": "import os\nimport sys\n",
    "others before and after": "import os\n\nimport numpy as np\nimport tensorboard\nimport xarray\n",
    "from imports come later": "import os\n\nimport numpy as np\nfrom keras import layers\n",
    "the library itself, from": "import os\n\nfrom tensorflow import keras\nfrom tensorflow.keras import layers\n",
    "its own package follows": "import os\n\nfrom mine.layers import Dense\n",
    "its own package alone": "from mine.layers import Dense\n",
    "relative imports follow": "import os\n\nfrom . import layers\nfrom .deep import Net\n",
    "relative imports alone": "from .deep import Net\n",
    "all sections": "from __future__ import division\n\nimport os\n\nimport numpy\n\nimport mine\n\nfrom . import x\n",
    "the future alone": "from __future__ import annotations\n",
    "a docstring": '"""Says what."""\n\nimport os\n\nimport mine.layers\n',
    "comments": "# Licence\n\nimport os  # noqa\n\n# ours\nimport mine.layers\n",
    "a comment above the first of its section": "import os\n\n# arrays\nimport zarr\n",
    "lines in parentheses": "import os\n\nfrom numpy import (\n    array,  # one\n    zeros,\n)\n",
    "a wildcard": "from mine.common import *\n",
    "a second block": "import os\n\nos.environ['A'] = '1'\n\nfrom tensorflow import keras\n",
    "nothing but a docstring": '"""Says what."""\n',
    "nothing": "",
}


def finds(source: bytes, folder: Path) -> list[str]:
    """The lines that ruff's I001 has something to say of."""
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--select", "I001"]
    command += ["--output-format", "concise", "--stdin-filename", str(folder / "model.py"), "-"]
    said = subprocess.run(command, input=source, capture_output=True, cwd=folder, check=False)
    assert said.returncode in (0, 1), said.stderr
    return [line for line in said.stdout.decode().splitlines() if "I001" in line]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "mine").mkdir()
    for name in ("__init__", "common", "layers"):
        (tmp_path / "mine" / f"{name}.py").write_text("")
    return tmp_path


@pytest.mark.parametrize("name", SORTED)
def test_what_was_sorted_is_sorted_still(name: str, project: Path) -> None:
    source = (SORTED[name] + DEF).lstrip("\n").encode()
    assert not finds(source, project)
    result = plan_file(FilePlan(Path("model.py"), (change(source, "f"),), own=first_party(project)), source)
    assert b"tensorflow as " in result.new
    assert not finds(result.new, project), result.new.decode()


@pytest.mark.parametrize("name", [name for name in SORTED if name not in ("nothing", "nothing but a docstring")])
def test_an_import_that_a_repair_needs_too(name: str, project: Path) -> None:
    source = (SORTED[name] + DEF).encode()
    tree = ast.parse(source)
    edit = import_edit(SourceText(source), tree, "math", ["math"], len(tree.body) - 1)
    new = apply_edits(source, [edit])
    assert b"import math\n" in new
    assert not finds(new, project), new.decode()


def test_what_is_in_no_order_stays_so_and_the_import_joins_its_like(project: Path) -> None:
    source = b"import xarray\nimport os\nfrom keras import layers\n\n\ndef f():\n    pass\n"
    result = plan_file(FilePlan(Path("model.py"), (change(source, "f"),)), source)
    assert result.new.startswith(b"import xarray\nimport os\nfrom keras import layers\nimport tensorflow as tf\n")
    assert len(finds(result.new, project)) == len(finds(source, project)) == 1
