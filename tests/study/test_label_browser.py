"""The labelling page in a real headless browser: two raters, disagreement, reconciling; hostile diffs; kill -9.

Needs Debian's `chromium` and `chromium-driver` (or any Chrome with its driver) and the Python package `selenium`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hybridize.study import agree
from hybridize.study.label import ratings
from hybridize.study.store import connect

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
CTRL_ENTER = "\ue009\ue007\ue000"
START = (
    "import argparse,sys; from hybridize.study import cli_label; p=argparse.ArgumentParser();"
    "cli_label.add_parser(p.add_subparsers()); a=p.parse_args(['label',*sys.argv[1:]]); sys.exit(a.study_run(a))"
)


class Service:
    """The real command in a process of its own, so that it can be killed."""

    def __init__(self, database: Path, port: int = 0) -> None:
        command = [sys.executable, "-c", START, str(database), "--no-browser", "--port", str(port)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().split()[0]
        self.port = int(self.url.partition("#")[0].rstrip("/").rpartition(":")[2])

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


class Page:
    """One browser tab with a rater in it."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def all(self, css: str) -> list[Any]:
        return list(self.driver.find_elements("css selector", css))

    def texts(self, css: str) -> list[str]:
        """What elements say, all at one moment: the page may draw them anew."""
        return list(
            self.driver.execute_script("return [...document.querySelectorAll(arguments[0])].map(e => e.innerText)", css)
        )

    def one(self, css: str) -> Any:
        return self.until(lambda: next((found for found in self.all(css) if found.is_displayed()), None), css)

    def until(self, ready: Callable[[], Any], what: str = "", seconds: float = 10) -> Any:
        deadline = time.monotonic() + seconds
        while True:
            with contextlib.suppress(Exception):
                value = ready()
                if value:
                    return value
            assert time.monotonic() < deadline, f"waited in vain for {what}; log: {self.driver.get_log('browser')}"
            time.sleep(0.03)

    def open(self, url: str, rater: str) -> None:
        self.driver.get(url)
        self.one("#name").send_keys(rater)
        self.one("#enter").click()
        self.one("#submit")

    def keys(self, *keys: str) -> None:
        for key in keys:
            self.until(lambda key=key: self._press(key), f"an element that takes {key!r}")

    def _press(self, key: str) -> bool:
        """Whether the key was taken: a dialog that is about to close takes none."""
        self.driver.switch_to.active_element.send_keys(key)
        return True

    def choose(self, field: str, name: str) -> None:
        from selenium.webdriver.support.ui import Select

        Select(self.one(f"#f-{field}")).select_by_value(name)

    def saved(self) -> None:
        self.until(lambda: self.one("#saved").text == "saved", "saving")

    def status(self, text: str) -> None:
        self.until(lambda: self.one("#saved").text.startswith(text), text)

    def fill(self, category: str, cause: str, symptom: str, fix: str) -> None:
        self.one("#f-yes").click()
        for field, name in (("category", category), ("cause", cause), ("symptom", symptom), ("fix", fix)):
            self.choose(field, name)


@pytest.fixture
def service(study_file: Path) -> Iterator[Service]:
    running = Service(study_file)
    yield running
    if running.process.poll() is None:
        running.kill()


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Callable[[], Page]]:
    drivers: list[Any] = []

    def start() -> Page:
        options = webdriver.ChromeOptions()
        options.binary_location = BROWSER
        for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1500,950"):
            options.add_argument(argument)
        options.add_argument(f"--user-data-dir={tmp_path / f'profile{len(drivers)}'}")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        drivers.append(webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER)))
        return Page(drivers[-1])

    yield start
    for driver in drivers:
        with contextlib.suppress(Exception):
            driver.quit()


def shot(page: Page, name: str) -> None:
    """Keep a picture for a person to look at, if HYBRIDIZE_SCREENSHOTS names a folder."""
    folder = os.environ.get("HYBRIDIZE_SCREENSHOTS")
    if folder:
        page.driver.save_screenshot(str(Path(folder) / f"{name}.png"))


def rows(database: Path, query: str, *values: str) -> list[tuple[Any, ...]]:
    with contextlib.closing(sqlite3.connect(database)) as db:
        return [tuple(row) for row in db.execute(query, values)]


def errors(page: Page) -> list[str]:
    """What the browser complained about, its notes on our own 4xx answers aside."""
    return [
        entry["message"]
        for entry in page.driver.get_log("browser")
        if "Failed to load resource" not in entry["message"]
    ]


def test_two_raters_a_disagreement_reconciliation_and_kappa(
    service: Service, browser: Callable[[], Page], study_file: Path, items: list[str]
) -> None:
    ana, bo = browser(), browser()
    ana.open(service.url, "ana")
    bo.open(service.url, "bo")
    # Ana calls the first a performance fix, by keyboard and menus; the page goes on to the next item by itself.
    ana.keys("y")
    ana.fill("Performance", "Missing tf.function", "Lower performance", "Add tf.function decorator")
    ana.saved()
    shot(ana, "rating")
    ana.one("#submit").click()
    ana.status("submitted")
    ana.until(lambda: ana.one("#queue [aria-current=true]").get_attribute("data-id") == items[1], "the next item")
    assert not ana.all("#compare")
    # Bo is blind: the queue says that somebody rated, nothing more.
    bo.until(lambda: "1 other rating" in bo.one("#queue li:first-child").text, "Ana's count in the queue", 15)
    assert "Missing tf.function" not in bo.texts("#queue li")
    bo.fill("API misuse", "API confusion", "Lower performance", "Add tf.function decorator")
    bo.saved()
    bo.keys(CTRL_ENTER)
    bo.status("submitted")
    # They agree on the next two.
    for page in (ana, bo):
        for item in items[1:3]:
            page.until(lambda p=page, i=item: p.one("#queue [aria-current=true]").get_attribute("data-id") == i, item)
            page.one("#f-no").click()
            page.saved()
            page.one("#submit").click()
            page.status("submitted")
    # Ana compares the first.
    ana.until(lambda: "⇄" in ana.one("#queue li:first-child").text, "the item to be ready", 15)
    ana.one("#queue li:first-child button").click()
    ana.one("#compare").click()
    table = ana.one("#sides").text
    assert "ana" in table
    assert "bo" in table
    assert [one.text.split()[0] for one in ana.all("#sides tr.differs th")] == ["category", "cause"]
    ana.choose("r1-category", "API misuse")
    shot(ana, "reconciling")
    ana.one("#save-final").click()
    ana.until(lambda: "A fix needs a cause" in ana.one("#f-r1-cause-problem").text, "the rule")
    ana.choose("r1-cause", "API confusion")
    ana.one("#save-final").click()
    ana.status("reconciled")
    ana.one("#accept").click()
    ana.status("2 reconciled")
    ana.one("#agreement").click()
    ana.one("#kappa")
    kappa = ana.texts("#kappa tr:nth-child(2) td")
    assert kappa[:6] == ["identification", "all", "Cohen's kappa", "ana × bo", "3", "1.000"]
    shot(ana, "agreement")
    final = rows(study_file, "SELECT item, is_fix, category, cause FROM reconciled_named ORDER BY item")
    assert final == [(items[0], 1, "API misuse", "API confusion"), (items[1], 0, None, None), (items[2], 0, None, None)]
    with contextlib.closing(connect(study_file)) as db:
        made = agree.report(db, resamples=0).coefficients
    found = {(c.question, c.classes): c.value for c in made if c.statistic == "Cohen's kappa"}
    assert found["identification", "all"] == 1
    # Two of three agree; by chance they do in 2/3 * 2/3, for "not a fix".
    assert found["category", "all"] == pytest.approx((2 / 3 - 4 / 9) / (1 - 4 / 9))
    assert errors(ana) == errors(bo) == []


def test_a_hostile_diff_is_shown_and_does_nothing(
    service: Service, browser: Callable[[], Page], items: list[str]
) -> None:
    page = browser()
    page.open(service.url, "ana")
    for item in (items[1], items[4]):
        page.one(f'#queue button[data-id="{item}"]').click()
        page.until(lambda: "window.pwned" in page.one("#item").text, "the hostile text")
        time.sleep(0.2)
        assert page.driver.execute_script("return window.pwned") is None
        assert page.all("#item script") == page.all("#item img") == []
    page.one(f'#queue button[data-id="{items[1]}"]').click()
    page.until(lambda: "<script>" in page.one("h1").text, "the title")
    assert page.one("#item .odd").text == "U+202E"
    assert [cell.text.strip() for cell in page.all("td.add.u")] == ["+@tf.function"]
    shot(page, "hostile")
    assert errors(page) == []


def test_a_kill_in_the_middle_of_a_rating_loses_nothing(
    service: Service, browser: Callable[[], Page], study_file: Path, items: list[str]
) -> None:
    page = browser()
    page.open(service.url, "ana")
    page.one("#f-yes").click()
    page.choose("category", "Performance")
    page.one("#f-comment").send_keys("before the kill")
    page.saved()
    service.kill()
    # Typing goes on without a server, and even the page is left.
    page.one("#f-comment").send_keys(", after the kill")
    page.one("#f-cause-new").send_keys("Half a na")
    page.status("not saved yet")
    shot(page, "killed")
    again = Service(study_file, service.port)
    try:
        page.driver.get("about:blank")
        page.driver.get(again.url)
        page.until(
            lambda: page.one("#f-comment").get_attribute("value") == "before the kill, after the kill", "the text"
        )
        assert page.one("#f-cause-new").get_attribute("value") == "Half a na"
        assert page.one("#f-category").get_attribute("value") == "Performance"
        page.until(
            lambda: rows(study_file, "SELECT comment FROM rating") == [("before the kill, after the kill",)],
            "the recovered rating in the database",
        )
        # A server that dies right after the last key stroke was saved: the database alone has it all.
        again.kill()
        with contextlib.closing(connect(study_file)) as db:
            stored = ratings.load(db, items[0], "ana")
        assert stored is not None
        assert (stored.form.is_fix, stored.form.answers["cause"].new, stored.state) == (True, "Half a na", "draft")
    finally:
        if again.process.poll() is None:
            again.kill()


def test_a_browser_killed_in_the_middle_of_a_rating_finds_it_in_the_database(
    service: Service, browser: Callable[[], Page], study_file: Path
) -> None:
    page = browser()
    page.open(service.url, "ana")
    page.one("#f-comment").send_keys("typed and gone")
    page.until(lambda: rows(study_file, "SELECT comment FROM rating") == [("typed and gone",)], "the save")
    driver = page.driver.service.process.pid
    browsers = [
        pid for task in Path(f"/proc/{driver}/task").iterdir() for pid in (task / "children").read_text().split()
    ]
    assert browsers  # the driver's death alone would leave them running
    for pid in (*map(int, browsers), driver):
        os.kill(pid, signal.SIGKILL)
    fresh = browser()
    fresh.driver.get(service.url)
    fresh.one("button.person").click()
    fresh.until(lambda: fresh.one("#f-comment").get_attribute("value") == "typed and gone", "the comment")


def test_undo_goes_back_step_by_step_also_after_a_reload(service: Service, browser: Callable[[], Page]) -> None:
    page = browser()
    page.open(service.url, "ana")
    page.keys("y")
    page.saved()
    page.choose("category", "Test")
    page.saved()
    page.driver.refresh()
    page.until(lambda: page.one("#f-category").get_attribute("value") == "Test", "the category after the reload")
    page.driver.execute_script("document.activeElement.blur()")
    page.keys("z")
    page.until(lambda: page.one("#f-category").get_attribute("value") == "", "the first undo")
    page.keys("z")
    page.until(lambda: page.one("#f-yes").get_attribute("aria-pressed") == "false", "the second undo")
    page.keys("Z")
    page.until(lambda: page.one("#f-yes").get_attribute("aria-pressed") == "true", "the redo")


def test_two_tabs_of_one_rater_get_a_choice_and_not_a_silent_loss(
    service: Service, browser: Callable[[], Page], study_file: Path
) -> None:
    first, second = browser(), browser()
    first.open(service.url, "ana")
    second.open(service.url, "ana")
    first.one("#f-comment").send_keys("first")
    first.saved()
    second.one("#f-comment").send_keys("second")
    second.one("#keep-mine")
    shot(second, "conflict")
    assert rows(study_file, "SELECT comment FROM rating") == [("first",)]
    second.one("#keep-mine").click()
    second.until(lambda: rows(study_file, "SELECT comment FROM rating") == [("second",)], "the choice")
    first.one("#f-comment").send_keys("!")
    first.one("#take-stored").click()
    first.until(lambda: first.one("#f-comment").get_attribute("value") == "second", "the stored text")


def test_rules_are_shown_at_their_fields_and_keys_reach_everything(
    service: Service, browser: Callable[[], Page], study_file: Path, items: list[str]
) -> None:
    page = browser()
    page.open(service.url, "ana")
    page.keys("y", CTRL_ENTER)
    page.until(lambda: "A fix needs a category" in page.one("#f-category-problem").text, "the rule")
    page.status("not submitted")
    page.keys("\ue00c")
    page.keys("m")
    page.driver.switch_to.active_element.send_keys("njk is text here")
    page.keys("\ue00c")
    page.keys("c")
    assert page.driver.switch_to.active_element.get_attribute("id") == "f-category"
    page.driver.switch_to.active_element.send_keys("Test")
    page.keys("\ue00c")
    page.keys("d", "h")
    assert page.one("#suggestion").get_attribute("open") is not None
    assert "add_decorator" in page.one("#suggestion").text
    page.saved()
    page.keys("?")
    assert "submit" in page.one("#dialog").text
    shot(page, "keys")
    page.keys("\ue00c")
    page.keys(CTRL_ENTER)
    page.status("submitted")
    stored = rows(study_file, "SELECT state, category, comment, discuss FROM rating_named")
    assert stored == [("submitted", "Test", "njk is text here", 1)]
    page.until(lambda: page.one("#queue [aria-current=true]").get_attribute("data-id") == items[1], "the next item")
    page.keys("k")
    page.one("#withdraw")
    page.keys("w")
    page.one("#submit")
    assert rows(study_file, "SELECT state FROM rating") == [("draft",)]
    assert errors(page) == []
