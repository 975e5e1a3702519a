"""What only TensorFlow 1 has, asked of the release that is installed."""

from __future__ import annotations

import pytest

from hybridize.library.tensorflow.first_release import FIRST_ONLY


@pytest.mark.tensorflow
def test_no_release_of_the_second_has_these_names() -> None:
    tf = pytest.importorskip("tensorflow")
    assert {name for name in FIRST_ONLY if hasattr(tf, name)} == set()
    assert {name for name in dir(tf.compat.v1) if not name.startswith("_")} - set(dir(tf)) <= FIRST_ONLY | {"AttrValue"}
