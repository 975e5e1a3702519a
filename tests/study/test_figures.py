"""Figures: what stands where, and that every form comes out; that they look right, a person has to see."""

from __future__ import annotations

import itertools
import subprocess
import sys
import xml.dom.minidom

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridize.study import codebook, figures
from hybridize.study.published import published
from hybridize.study.tally import Problem, Tally


def test_the_sunburst_goes_once_round_and_children_stay_over_their_parents() -> None:
    wedges = figures.layout(published())
    tops = [wedge for wedge in wedges if wedge.ring == 0]
    assert sum(wedge.end - wedge.start for wedge in tops) == pytest.approx(1)
    assert sum(wedge.total for wedge in tops) == 280
    for ring in range(1, 4):
        parents = [wedge for wedge in wedges if wedge.ring == ring - 1]
        for wedge in (wedge for wedge in wedges if wedge.ring == ring):
            assert any(p.start - 1e-9 <= wedge.start and wedge.end <= p.end + 1e-9 for p in parents), wedge
    for first, second in itertools.pairwise(sorted(tops, key=lambda wedge: wedge.start)):
        assert first.end <= second.start + 1e-9


def test_own_counts_of_the_papers_figure_1() -> None:
    own = {wedge.name: wedge.own for wedge in figures.layout(published())}
    assert (own["Performance"], own["API misuse"], own["Incompatibility"], own["TensorFlow bug"]) == (90, 25, 48, 20)
    assert sum(own.values()) == 280


@given(st.lists(st.floats(-1.4, 1.4), max_size=14), st.floats(0.01, 0.2))
def test_labels_keep_their_distance_their_order_and_their_place(wanted: list[float], step: float) -> None:
    placed = figures.spread(sorted(wanted), step, 1.5)
    assert len(placed) == len(wanted)
    assert all(second - first >= step - 1e-9 for first, second in itertools.pairwise(placed))
    assert all(-1.5 - 1e-9 <= value <= 1.5 + 1e-9 for value in placed)


def test_labels_with_room_stay_where_they_want() -> None:
    assert figures.spread([-1.0, 0.0, 1.0], 0.2, 1.5) == pytest.approx([-1.0, 0.0, 1.0])


def test_a_figure_says_in_words_what_it_shows() -> None:
    second, third = (figure for figure in figures.all_figures(published()) if figure.name in ("figure2", "figure3"))
    assert "Runtime error 28 (52.83%)" in second.text
    assert "Runtime error or Unexpected behavior 40 (81.63%)" in third.text
    assert any("81.63%" in mark for mark in third.marks)


def test_every_figure_in_every_form() -> None:
    pytest.importorskip("matplotlib")
    drawn = figures.all_figures(published())
    assert [figure.name for figure in drawn] == ["figure1", "figure2", "figure3", "figure4"]
    for figure in drawn:
        assert figures.render(figure, "png").startswith(b"\x89PNG")
        drawing = figures.render(figure, "svg")
        xml.dom.minidom.parseString(drawing)
        assert drawing == figures.render(figure, "svg")
    page = figures.render(drawn[0], "html").decode()
    assert "Graph overly specified" in page
    assert "http" not in page.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons.org", ""
    ).replace("https://matplotlib.org", "")


def test_hostile_names_stay_text_in_the_page() -> None:
    pytest.importorskip("matplotlib")
    book = codebook.Codebook("x", "f", (codebook.Code("category", "<script>alert(1)</script> $\\frac{$"),))
    tally = Tally("x", book, (Problem("1", "commit", "p", book.codes[0].name, None, None, None),), ())
    for figure in figures.all_figures(tally):
        assert "<script>" not in figures.render(figure, "html").decode()


def test_nothing_to_show_gives_no_figure() -> None:
    assert figures.all_figures(Tally("x", codebook.built_in(), (), ())) == ()


def test_matplotlib_is_not_imported_before_a_figure_is_drawn() -> None:
    code = (
        "import sys; from hybridize.study import figures; from hybridize.study.published import published;"
        "figures.all_figures(published()); sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
