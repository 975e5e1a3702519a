"""Where a new import goes."""

# ruff: noqa: E501 (before and after stand side by side)

from __future__ import annotations

import pytest

from .helpers import check

DEF = "def f(): pass\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "import tensorflow as tf\n\n\n"),
        ("x = 1\n", "import tensorflow as tf\n\nx = 1\n"),
        ("#!/usr/bin/env python\n", "#!/usr/bin/env python\nimport tensorflow as tf\n\n\n"),
        ("\n# coding: utf-8\n", "\n# coding: utf-8\nimport tensorflow as tf\n\n\n"),
        ("# says what f does\n", "import tensorflow as tf\n\n\n# says what f does\n"),
        ("# Licence\n# of this file.\n\n\n", "# Licence\n# of this file.\n\nimport tensorflow as tf\n\n\n"),
        ('"""Doc."""\n\n\n', '"""Doc."""\n\nimport tensorflow as tf\n\n\n'),
        ('"""Doc."""\n', '"""Doc."""\n\nimport tensorflow as tf\n\n'),
        ("from __future__ import annotations\n\n", "from __future__ import annotations\n\nimport tensorflow as tf\n\n"),
        ('"""D"""; x = 1\n\n', '"""D"""; x = 1\n\nimport tensorflow as tf\n\n'),
        ("import os\nimport sys\n\n", "import os\nimport sys\n\nimport tensorflow as tf\n\n"),
        ("import os\n\nimport numpy  # big\n\n", "import os\n\nimport numpy  # big\nimport tensorflow as tf\n\n"),
        ("import os\nx = 1\nimport sys\n\n", "import os\n\nimport tensorflow as tf\n\nx = 1\nimport sys\n\n"),
        ("from a import (\n  b,\n  c,\n)\n\n", "import tensorflow as tf\nfrom a import (\n  b,\n  c,\n)\n\n"),
        ("from a import b, \\\n  c\n\n", "import tensorflow as tf\nfrom a import b, \\\n  c\n\n"),
        ("import os; import sys; x = 1\n\n", "import os; import sys; x = 1\nimport tensorflow as tf\n\n"),
        ("import os;\n\n", "import os;\nimport tensorflow as tf\n\n"),
        ("import os\nfrom . import a\n\n", "import os\n\nimport tensorflow as tf\n\nfrom . import a\n\n"),
        ("from . import a\n\n", "import tensorflow as tf\n\nfrom . import a\n\n"),
        (
            "import os\nos.environ['A'] = '1'\nfrom tensorflow import keras\n\n",
            "import os\nos.environ['A'] = '1'\nimport tensorflow as tf\nfrom tensorflow import keras\n\n",
        ),
        (
            "import os\n# the network\nfrom tensorflow import keras\n\n",
            "import os\n\nimport tensorflow as tf\n\n# the network\nfrom tensorflow import keras\n\n",
        ),
        ("import a; from tensorflow import nn\n\n", "import a; from tensorflow import nn\nimport tensorflow as tf\n\n"),
        ('"""D"""\nfrom __future__ import division\nimport os\n\n', '"""D"""\nfrom __future__ import division\nimport os\n\nimport tensorflow as tf\n\n'),
    ],
)  # fmt: skip
def test_the_import_joins_those_that_are_there(before: str, after: str) -> None:
    check(before + DEF, f"{after}@tf.function\n{DEF}", "f")
    check((before + DEF).replace("\n", "\r\n"), f"{after}@tf.function\n{DEF}".replace("\n", "\r\n"), "f")


def test_one_import_serves_all_functions_from_the_first_on() -> None:
    check(
        "def f(): pass\nimport os\ndef g(): pass\n",
        "import tensorflow as tf\n\n\n@tf.function\ndef f(): pass\nimport os\n@tf.function\ndef g(): pass\n",
        "f",
        "g",
    )


def test_an_import_below_the_function_does_not_serve_it() -> None:
    check(
        "def f(): pass\nimport tensorflow as tf\n",
        "import tensorflow as tf\n\n\n@tf.function\ndef f(): pass\nimport tensorflow as tf\n",
        "f",
    )
