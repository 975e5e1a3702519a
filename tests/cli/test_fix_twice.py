"""`hybridize fix`, and once more: the second run changes nothing, and no name is imported twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.cli import main

OPTIONS: tuple[list[str], ...] = ([], ["--all-safe"], ["--unsafe-fixes"], ["--all-safe", "--unsafe-fixes"])

#: `outer` calls `inner` and `Net.part`: with `--all-safe` all become graphs, and then nobody but graphs calls these.
NESTED = """\
import tensorflow as tf


def inner(x):
    return tf.nn.relu(tf.matmul(x, x)) + 1.0


class Net(tf.Module):
    @staticmethod
    def part(x):
        return tf.exp(x) * inner(x)

    @tf.function(experimental_relax_shapes=True)
    def step(self, x):
        return self.part(x) + inner(x)


def outer(net, x):
    return tf.reduce_sum(net.step(x)) + tf.reduce_mean(inner(x))


net = Net()
for _ in range(100):
    outer(net, tf.ones([4, 4]))
"""


def tree(folder: Path) -> dict[str, bytes]:
    """All files of a folder."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def fix(*options: str) -> None:
    assert main(["fix", "--no-cache", *options]) in (0, 1)


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_a_second_run_changes_nothing(project: Path, options: list[str]) -> None:
    (project / "model.py").write_text(NESTED)
    fix(*options)
    once = tree(project)
    assert once["model.py"] != NESTED.encode()
    fix(*options)
    assert tree(project) == once


#: Each way in which a project has TensorFlow, with the decorator that follows from it.
HAD = {
    "import tensorflow as tf": "@tf.function",
    "import tensorflow": "@tensorflow.function",
    "import tensorflow.compat.v2 as tf": "@tf.function",
    "from tensorflow import function": "@function",
    "from tensorflow import function as graph": "@graph",
    "from tensorflow import keras\nimport tensorflow as T": "@T.function",
    "try:\n    import tensorflow as tf\nexcept ImportError:\n    raise SystemExit": "@tf.function",
    "from common import tf": "@tf.function",
    "from common import tf as lib": "@lib.function",
    "from common import *": "@tf.function",
    "from again import *": "@tf.function",
    "from package import tf": "@tf.function",
}


@pytest.mark.parametrize("imported", HAD)
def test_what_is_imported_in_any_form_is_used(project: Path, imported: str) -> None:
    (project / "common.py").write_text("import tensorflow as tf\n")
    (project / "again.py").write_text("from common import *\n")
    (project / "package").mkdir()
    (project / "package" / "__init__.py").write_text("import os\nfrom .deep import tf\n")
    (project / "package" / "deep.py").write_text("import tensorflow as tf\n")
    source = f"""\
{imported}
from tensorflow import exp, matmul, ones, reduce_sum


def step(x):
    return reduce_sum(exp(x) * matmul(x, x) + exp(-x))


for _ in range(1000):
    step(ones([4, 4]))
"""
    (project / "main.py").write_text(source)
    fix("--all-safe")
    assert (project / "main.py").read_text() == source.replace("def step", f"{HAD[imported]}\ndef step")


def test_a_name_that_the_other_module_may_not_have_is_not_used(project: Path) -> None:
    (project / "common.py").write_text("try:\n    import tensorflow as tf\nexcept ImportError:\n    tf = None\n")
    source = NESTED.replace("import tensorflow as tf", "from common import tf")
    (project / "model.py").write_text(source)
    fix("--all-safe")
    assert "@_tf.function\ndef outer" in (project / "model.py").read_text()
    assert "import tensorflow as _tf\n" in (project / "model.py").read_text()
