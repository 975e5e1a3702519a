"""The page in a real headless browser: reading, keys, addresses, hostile sources, accessibility, a phone.

Needs Debian's `chromium` and `chromium-driver` (or any Chrome with its driver) and the Python packages `selenium` and
`axe-core-python`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from importlib import util
from pathlib import Path
from typing import Any

import pytest

from hybridize import check
from hybridize.config import Config
from hybridize.fixing.previews import previews
from hybridize.report.documentation import load_docs
from hybridize.report.html.page import render

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
BROWSER = next((found for name in ("chromium", "google-chrome", "chrome") if (found := shutil.which(name))), None)
DRIVER = shutil.which("chromedriver")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.skipif(
        not (BROWSER and DRIVER), reason="no chromium with chromedriver: apt-get install chromium chromium-driver"
    ),
]
EXAMPLE = Path(__file__).parents[3] / "examples" / "image_classifier"
ENTER, ESCAPE, DOWN, TAB = "\ue007", "\ue00c", "\ue015", "\ue004"
SIZES = {"phone": (360, 740), "tablet": (820, 1180), "desk": (1440, 900)}
#: A program that wants to be more than text, in every place that the page shows.
HOSTILE = '''import tensorflow as tf

LINE = "%s"


@tf.function
def step(images, flag="</script><script>window.pwned=1</script>"):
    """<img src=x onerror="window.pwned=1"> `</style>` &lt; \u202egnp.exe \u2028 \x0c"""
    print(f"<b>{flag}</b>")
    return images * 2 if flag else images


step(tf.ones([2]), "'\\"><svg onload=window.pwned=1>")
step(tf.ones([2]), "<!--<script>")
'''


def written(project: Path, folder: Path) -> Path:
    """The page of a project, in a folder."""
    report = check(project, Config(cache=False))
    page = folder / "report.html"
    text = render(report, previews(report), load_docs(), "1.0")
    page.write_bytes(text.encode("utf-8", "backslashreplace"))
    return page


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(EXAMPLE, tmp_path_factory.mktemp("example"))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = tmp_path_factory.mktemp("hostile")
    source = HOSTILE % ("x" * 1_000_000)
    (project / "a&quot;'<b>\u202e`${x}`.py").write_text(source, encoding="utf-8")
    with open(os.fsencode(project) + b"/odd\xff.py", "w", encoding="utf-8") as stream:
        stream.write(HOSTILE % "short")
    return written(project, project)


class Page:
    """One browser window with a report in it."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver
        self.url = ""

    def open(self, page: Path, address: str = "#/", size: str = "desk", scheme: str = "light") -> None:
        width, height = SIZES[size]
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == "phone"}
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        self.url = page.as_uri()
        self.driver.get("about:blank")
        self.driver.get(self.url + address)
        self.until(lambda: self.js("return document.documentElement.dataset.ready"), "the page to be ready")

    def go(self, address: str) -> None:
        self.js("location.hash = arguments[0]", address)
        time.sleep(0.1)

    def js(self, script: str, *values: Any) -> Any:
        return self.driver.execute_script(script, *values)

    def all(self, css: str) -> list[Any]:
        return list(self.driver.find_elements("css selector", css))

    def one(self, css: str) -> Any:
        return self.until(lambda: next((found for found in self.all(css) if found.is_displayed()), None), css)

    def texts(self, css: str) -> list[str]:
        return [str(found.text) for found in self.all(css)]

    def until(self, ready: Callable[[], Any], what: str = "", seconds: float = 10) -> Any:
        deadline = time.monotonic() + seconds
        while True:
            with contextlib.suppress(Exception):
                value = ready()
                if value:
                    return value
            assert time.monotonic() < deadline, f"waited in vain for {what}; log: {self.driver.get_log('browser')}"
            time.sleep(0.03)

    def keys(self, *keys: str) -> None:
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)
            time.sleep(0.05)

    def choose(self, css: str, value: str) -> None:
        from selenium.webdriver.support.ui import Select

        Select(self.one(css)).select_by_value(value)

    def focused(self) -> str:
        return str(self.js("return document.activeElement.textContent"))

    def address(self) -> str:
        return str(self.js("return location.hash"))

    def complaints(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser")]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield started
    with contextlib.suppress(Exception):
        started.quit()


@pytest.fixture
def page(driver: Any) -> Page:
    driver.get_log("browser")
    return Page(driver)


def shot(page: Page, name: str) -> None:
    """Keep a picture for a person to look at, if HYBRIDIZE_SCREENSHOTS names a folder."""
    folder = os.environ.get("HYBRIDIZE_SCREENSHOTS")
    if folder:
        page.driver.save_screenshot(str(Path(folder) / f"report-{name}.png"))


def test_the_project_at_a_glance(page: Page, example: Path) -> None:
    page.open(example)
    tiles = page.texts(".tile")
    assert tiles[0] == "40\nfunctions"
    assert "2\nto change\n1 to hybrid, 1 to eager" in tiles
    assert "TensorFlow 2.21, any from 2.15 to 2.21 (requirements.txt:1)" in page.one(".head").text
    assert page.texts(".plan .name") == ["Trainer.train_step", "fade_in"]
    assert page.texts(".bars .label")[0] == "HY003 python-side-effects"
    page.one(".bars a").click()
    assert "reason=HY003" in page.address()
    assert len(page.all("tbody tr")) == 6
    assert page.complaints() == []


def test_search_filters_and_order_are_in_the_address_and_back_undoes_them(page: Page, example: Path) -> None:
    page.open(example, "#/functions")
    page.one("#search").send_keys("train_step classifier")
    page.until(lambda: page.texts("tbody th a") == ["Trainer.train_step"], "the search")
    assert page.address() == "#/functions?q=train_step+classifier"
    page.go("#/functions")
    page.one("[data-sort=name]").click()
    page.until(lambda: page.all("[aria-sort=ascending] [data-sort=name]"), "the order")
    names = page.texts("tbody th a")
    assert names == sorted(names, key=str.lower)
    page.choose("#filter-verdict", "keep hybrid")
    page.until(lambda: page.texts("tbody th a") == ["Trainer.test_step"], "the filter")
    assert page.address() == "#/functions?sort=name&verdict=keep+hybrid"
    page.driver.back()
    page.until(lambda: len(page.all("tbody tr")) == 40, "all functions again")
    assert page.one("#filter-verdict").get_attribute("value") == ""
    page.go("#/functions?sort=gain")
    page.one("[aria-sort=descending] [data-sort=gain]")
    gains = [float(text.removesuffix("×")) for text in page.texts("tbody .num") if text]
    assert gains == sorted(gains, reverse=True) != []
    page.go("#/functions?q=nobody")
    page.until(lambda: "No function is like that" in page.one("main").text, "the empty state")


def test_a_function_has_its_verdict_its_reasons_and_its_source_with_notes(page: Page, example: Path) -> None:
    page.open(example, "#/function?id=classifier.metrics%3Aconfusion")
    page.one(".source .ln")
    assert page.one("h1").text == "confusion"
    assert page.one(".verdict-bar .pill").text == "keep eager"
    assert "HY301 eager-only-call" in page.one(".aside .card").text
    assert page.one(".ln[data-line='14'] .pill").text == "keep eager"
    assert page.one(".ln[data-line='17'] code").text == "    guesses = tf.argmax(scores, axis=1).numpy()"
    assert (
        page.one(".ln[data-line='17'] + .note").text == "HY301 eager-only-call uses .numpy(), which works only eagerly"
    )
    page.go("#/function?id=classifier.train%3ATrainer.train_step")
    assert "+    @tf.function" in page.one(".diff .add").text
    assert page.texts(".gap")[0] == "22 lines not shown Show lines 1 to 22"
    page.one(".gap button").click()
    page.one(".ln[data-line='1']")


def test_evidence_leads_to_its_place_in_another_file_and_back(page: Page, example: Path) -> None:
    page.open(example, "#/function?id=classifier.metrics%3Aconfusion")
    link = page.one('.aside a[data-place][href*="__main__"]')
    link.click()
    line = page.one(".ln.here")
    assert line.get_attribute("data-line") == "28"
    assert "confusion" in line.text
    assert page.one(".source-title bdi").text == "classifier/__main__.py"
    page.until(lambda: page.driver.switch_to.active_element == line, "the focus on the line")
    assert page.one("a[aria-current=location]") == link
    page.driver.back()
    page.until(lambda: page.one(".source-title bdi").text == "classifier/metrics.py", "the function's own file")
    assert page.address() == "#/function?id=classifier.metrics%3Aconfusion"


def test_the_call_graph_is_a_picture_to_walk_through(page: Page, example: Path) -> None:
    page.open(example, "#/function?id=classifier.train%3ATrainer.train_step")
    assert page.one("svg.graph").get_attribute("aria-label") == "1 caller and 1 callee of Trainer.train_step"
    assert page.texts("svg a .name") == ["Trainer.logged_step", "Trainer.compute_loss"]
    caller, callee, me = (found.location["x"] for found in page.all("svg .node"))
    assert caller < me < callee
    page.all("svg a")[1].send_keys(ENTER)
    page.until(lambda: page.one("h1").text == "Trainer.compute_loss", "the callee")
    page.open(example, "#/function?id=classifier.augment%3Ashrink")
    assert "recursive" in page.one("svg .me").text


def test_everything_goes_by_keyboard(page: Page, example: Path) -> None:
    page.open(example)
    page.keys(TAB)
    assert page.focused() == "Skip to the content"
    page.keys(ENTER)
    assert page.js("return document.activeElement.id") == "main"
    assert page.address() in ("", "#/")
    page.keys("/")
    page.until(lambda: page.js("return document.activeElement.id") == "search", "the search")
    page.keys("confusion")
    page.until(lambda: len(page.all("tbody tr")) == 1, "the search")
    page.keys(DOWN)
    assert page.focused() == "confusion"
    page.keys(ENTER)
    page.until(lambda: page.one("h1").text == "confusion", "the function")
    page.keys("j", "j", "k")
    assert page.js("return document.activeElement.matches('[data-item]')")
    page.keys(ESCAPE)
    page.until(lambda: page.address() == "#/functions?q=confusion", "the list again")
    page.until(lambda: page.focused() == "confusion", "the entry that was open")
    page.go("#/plan")
    page.keys("j", ENTER)
    page.until(lambda: page.one("h1").text == "Trainer.train_step", "the first of the plan")
    page.keys("n")
    page.until(lambda: page.one("h1").text == "fade_in", "the next of the list")
    page.keys("?")
    assert "next, previous entry" in page.one("dialog").text
    page.keys(ESCAPE)
    page.until(lambda: not page.js("return document.getElementById('help').open"), "the dialog to close")


def test_the_theme_follows_the_system_until_one_is_chosen(page: Page, example: Path) -> None:
    background = "return getComputedStyle(document.body).backgroundColor"
    page.open(example, scheme="dark")
    dark = page.js(background)
    page.open(example, scheme="light")
    light = page.js(background)
    assert dark != light
    page.one("#theme").click()
    assert page.js(background) == dark
    assert page.one("#theme").text == "Light"
    page.one("#theme").click()
    assert page.js(background) == light
    page.js("localStorage.clear()")


def test_hostile_names_and_sources_stay_text(page: Page, hostile: Path) -> None:
    page.open(hostile, "#/functions")
    files = page.texts("td.file")
    assert "a&quot;'<b>U+202E`${x}`.py:7" in files
    assert any(name.startswith("oddU+DCFF.py") for name in files)
    for number in range(len(page.all("tbody a"))):
        page.go("#/functions")
        page.until(lambda n=number: page.all("tbody a")[n], "the table")
        page.all("tbody a")[number].click()
        page.one(".source .ln")
        assert page.js("return document.querySelectorAll('main script, main img, main b b').length") == 0
        assert "</script><script>window.pwned=1</script>" in page.one(".source").text
        assert "U+202E" in page.texts(".source .odd")
        for link in page.all(".aside a[data-place]"):
            page.js("arguments[0].click()", link)
            page.one(".source .ln")
    page.go("#/findings")
    assert page.js("return window.pwned") is None
    assert page.complaints() == []


def test_an_endless_line_costs_nothing(page: Page, hostile: Path) -> None:
    assert hostile.stat().st_size < 150_000
    page.open(hostile, "#/functions")
    page.one("tbody a").click()
    page.one(".source .ln")
    assert page.js("return document.querySelector('main').textContent.length") < 20_000
    shot(page, "hostile")


def test_addresses_that_mean_nothing_say_so(page: Page, example: Path) -> None:
    for address in ("#/nowhere", "#/function?id=gone%3Af", "#/place?at=gone.py%3A3"):
        page.open(example, address)
        assert page.one("h1").text == "Not here"
    page.open(example, "#/function?id=classifier.metrics%3Aconfusion&at=gone.py%3A9")
    assert page.one(".source-title bdi").text == "classifier/metrics.py"


def test_a_file_that_is_cut_off_says_so(page: Page, example: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.html"
    text = example.read_text("utf-8")
    start = text.index('id="data">') + 200
    broken.write_text(text[:start] + text[start + 500 :], "utf-8")
    page.driver.get(broken.as_uri())
    page.until(lambda: "cannot be unpacked" in page.one("main").text, "the message")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.skipif(util.find_spec("axe_core_python") is None, reason="axe-core-python is not installed")
def test_axe_finds_nothing_and_nothing_is_wider_than_the_window(
    page: Page, example: Path, size: str, scheme: str
) -> None:
    from axe_core_python.selenium import Axe

    views = {
        "overview": "#/",
        "plan": "#/plan",
        "findings": "#/findings",
        "functions": "#/functions",
        "function": "#/function?id=classifier.metrics%3Aconfusion&at=classifier%2F__main__.py%3A28",
        "change": "#/function?id=classifier.train%3ATrainer.train_step",
    }
    for name, address in views.items():
        page.open(example, address, size, scheme)
        if name in ("function", "change"):
            page.one(".source .ln")
        time.sleep(0.4)  # colours that change slowly are judged at their end
        shot(page, f"{name}-{size}-{scheme}")
        found = Axe().run(page.driver)["violations"]
        told = [(each["id"], each["impact"], each["nodes"][0]["html"][:200]) for each in found]
        assert told == [], f"{name} {size} {scheme}"
        assert page.js("return document.documentElement.scrollWidth") <= SIZES[size][0], name
    assert page.complaints() == []


def test_a_project_without_functions_has_a_page_too(page: Page, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def f(:\n")
    empty = written(tmp_path, tmp_path)
    page.open(empty)
    assert "There are no functions here." in page.one("main").text
    for address in ("#/plan", "#/functions", "#/findings"):
        page.open(empty, address)
        page.one("h1")
    assert "broken.py:1: cannot be parsed: " in page.one(".errors").text
    assert page.complaints() == []
