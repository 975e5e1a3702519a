"""Stubs: one line says what functions, methods and classes of plain libraries give and do."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.domain.objects import INT_V, NONE_V, STR_V, Value
from hybridize.library import stubs
from hybridize.library.spec import Call, ClassSpec, Spec

LINES = """
# A package, two that are alike, and names of any.
[shop]
open close -> None !io
[json_a json_b]
loads -> Parsed
[]
shop.tax.rate shop.tax.base -> \\
    int | None

class shop.Basket Bag(shop.Box) !io
    parameters size colour
    add -> None !mutate
    new() -> _made
    () => str
    .total -> int
class shop.Sack
    like shop.Basket
    add -> int !mutate
[north south]
class .Bank Shop(shop.Box)
"""


def _made(call: Call) -> Value:
    return STR_V


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Spec], dict[str, ClassSpec]]:
    monkeypatch.setattr(stubs, "_HERE", tmp_path)
    (tmp_path / "shop.stub").write_text(LINES, encoding="utf-8")
    return stubs.read("shop", {"_made": _made})


def test_functions_stand_below_their_packages(read: tuple[dict[str, Spec], dict[str, ClassSpec]]) -> None:
    functions, _ = read
    assert list(functions) == [
        "shop.open", "shop.close", "json_a.loads", "json_b.loads", "shop.tax.rate", "shop.tax.base",
    ]  # fmt: skip
    assert functions["shop.open"].effects == ("io",)
    assert functions["shop.open"].rule is not None
    assert functions["shop.open"].rule(None) is NONE_V  # type: ignore[arg-type]
    assert functions["shop.tax.rate"].rule(None) == NONE_V | INT_V  # type: ignore[arg-type, misc]


def test_a_class_has_methods_properties_and_what_making_and_calling_gives(
    read: tuple[dict[str, Spec], dict[str, ClassSpec]],
) -> None:
    basket = read[1]["shop.Basket"]
    assert read[1]["shop.Bag"] is basket
    assert (basket.bases, basket.parameters, basket.effects) == (("shop.Box",), ("size", "colour"), ("io",))
    assert (list(basket.methods), list(basket.properties), basket.make) == (["add"], ["total"], _made)
    assert basket.call is not None
    assert (basket.call.op, basket.methods["add"].op) == (True, False)


def test_a_class_may_be_of_all_packages_of_its_section(read: tuple[dict[str, Spec], dict[str, ClassSpec]]) -> None:
    assert {"north.Bank", "south.Bank", "north.Shop", "south.Shop"} <= read[1].keys()


def test_a_class_like_another_has_its_rows_unless_it_says_otherwise(
    read: tuple[dict[str, Spec], dict[str, ClassSpec]],
) -> None:
    sack = read[1]["shop.Sack"]
    assert (list(sack.methods), list(sack.properties), sack.make) == (["add"], ["total"], None)
    assert sack.methods["add"].rule(None) is INT_V  # type: ignore[arg-type, misc]


@pytest.mark.parametrize("result", ["Int", "[int]", "tuple[int", "list[]"])
def test_what_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, result: str) -> None:
    monkeypatch.setattr(stubs, "_HERE", tmp_path)
    (tmp_path / "shop.stub").write_text(f"[shop]\nopen -> {result}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"shop\.stub, below '\[shop\]'"):
        stubs.read("shop", {})
