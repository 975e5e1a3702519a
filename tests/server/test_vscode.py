"""The extension in VS Code itself: code-server with a headless Chromium shows it, and does what a click asks for.

Needs Debian's `chromium` and `chromium-driver`, the Python package `selenium`, `npm`, and code-server: on `PATH`, or
named by `HYBRIDIZE_CODE_SERVER` (`scripts/install_code_server.sh` gets it from npm). Screenshots are left where
`HYBRIDIZE_SCREENSHOTS` says.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pytest

import hybridize

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
stale = pytest.importorskip("selenium.common.exceptions").StaleElementReferenceException
NEEDED = {
    name: shutil.which(name)
    for name in ("chromium", "chromedriver", "npm", os.environ.get("HYBRIDIZE_CODE_SERVER", "code-server"))
}
pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.skipif(not all(NEEDED.values()), reason=f"one of these is not here: {', '.join(NEEDED)}"),
]
ROOT = Path(__file__).parents[2]
EXAMPLE, EXTENSION = ROOT / "examples" / "image_classifier", ROOT / "editors" / "vscode"
#: Seconds that the editor has for anything.
PATIENCE: Final = 120
SETTINGS: Final = {
    "security.workspace.trust.enabled": False,
    "workbench.startupEditor": "none",
    "telemetry.telemetryLevel": "off",
    "editor.minimap.enabled": False,
    "files.autoSave": "off",
    "git.enabled": False,
}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The extension as users install it."""
    folder = tmp_path_factory.mktemp("extension") / "vscode"
    shutil.copytree(EXTENSION, folder, ignore=shutil.ignore_patterns("node_modules", "dist"))
    for command in (["npm", "install", "--no-audit", "--no-fund"], ["npm", "run", "package"]):
        ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
        if ended.returncode:
            pytest.skip(f"npm cannot build the extension here: {ended.stderr[-300:]}")
    return folder / "hybridize.vsix"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLE, tmp_path / "project"))


@pytest.fixture
def served(tmp_path: Path, package: Path) -> Iterator[str]:
    """The address of an editor that has the extension, and our `hybridize` for it."""
    command = tmp_path / "hybridize"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m hybridize "$@"\n')
    command.chmod(0o755)
    user = tmp_path / "data" / "User"
    user.mkdir(parents=True)
    (user / "settings.json").write_text(json.dumps({**SETTINGS, "hybridize.path": str(command)}))
    server = [str(list(NEEDED.values())[-1]), "--user-data-dir", str(tmp_path / "data")]
    server += ["--extensions-dir", str(tmp_path / "extensions"), "--config", str(tmp_path / "config.yaml")]
    subprocess.run([*server, "--install-extension", str(package)], capture_output=True, timeout=PATIENCE, check=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server += ["--auth", "none", "--bind-addr", f"127.0.0.1:{port}", "--disable-telemetry", "--disable-update-check"]
    with (tmp_path / "server.log").open("w") as log:
        running = subprocess.Popen(server, stdout=log, stderr=log, start_new_session=True)
    try:
        until(lambda: _answers(f"http://127.0.0.1:{port}/healthz"))
        yield f"http://127.0.0.1:{port}/"
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5):
            return True
    except OSError:
        return False


def until(ready: Callable[[], Any]) -> Any:
    """What something gives once that is anything."""
    ends = time.monotonic() + PATIENCE
    while not (found := ready()):
        assert time.monotonic() < ends, "waited in vain"
        time.sleep(0.2)
    return found


class Window:
    """A window of the editor."""

    def __init__(self, driver: Any, shots: Path) -> None:
        self.driver, self.shots = driver, shots

    def open(self, address: str, folder: Path, file: str) -> None:
        """Opens a folder with one of its files."""
        host = address.removeprefix("http://").rstrip("/")
        payload = json.dumps([["openFile", f"vscode-remote://{host}{folder / file}"]])
        self.driver.get(f"{address}?folder={quote(str(folder))}&payload={quote(payload)}")

    def all(self, selector: str, text: str = "") -> list[Any]:
        """The elements that hold a text."""
        return list(self.driver.execute_script(_FIND, selector, text))

    def one(self, selector: str, text: str = "") -> Any:
        """The first of them, once it is there."""
        return until(lambda: self.all(selector, text))[0]

    def point_at(self, selector: str, text: str = "", *, click: bool = False) -> None:
        """Moves the mouse to an element, which the editor may draw anew at any time."""

        def move() -> bool:
            try:
                actions = self.actions().move_to_element(self.one(selector, text))
                (actions.click() if click else actions).perform()
            except stale:
                return False
            return True

        until(move)

    def press(self, *keys: str) -> None:
        """Presses keys at once."""
        actions = self.actions()
        for key in keys:
            actions.key_down(key)
        for key in reversed(keys):
            actions.key_up(key)
        actions.perform()

    def run(self, command: str) -> None:
        """Runs a command of the palette."""
        self.press(F1)
        self.one(".quick-input-widget input")
        self.actions().send_keys(command).perform()
        self.one(".quick-input-list .monaco-list-row.focused", command)
        self.press(ENTER)

    def actions(self) -> Any:
        return webdriver.ActionChains(self.driver)

    def shoot(self, name: str) -> None:
        time.sleep(1)  # what fades in or slides is there
        self.driver.save_screenshot(str(self.shots / f"{name}.png"))


F1, ENTER, ESCAPE, CONTROL = "\ue031", "\ue007", "\ue00c", "\ue009"
_FIND: Final = """
const [selector, text] = arguments;
return [...document.querySelectorAll(selector)].filter(e => e.textContent.replaceAll("\\u00a0", " ").includes(text));
"""


@pytest.fixture
def window(tmp_path: Path) -> Iterator[Window]:
    options = webdriver.ChromeOptions()
    options.binary_location = NEEDED["chromium"]
    for each in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "disable-gpu", "window-size=1400,900"):
        options.add_argument(f"--{each}")
    shots = Path(os.environ.get("HYBRIDIZE_SCREENSHOTS", tmp_path / "shots"))
    shots.mkdir(parents=True, exist_ok=True)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(NEEDED["chromedriver"]))
    try:
        yield Window(driver, shots)
    finally:
        driver.quit()


def test_it_shows_what_is_found_and_does_what_is_clicked(window: Window, served: str, project: Path) -> None:
    file = project / "classifier" / "train.py"
    window.open(served, project, "classifier/train.py")
    window.one(".codelens-decoration a", "times as fast as eager code")
    window.one(".squiggly-info")
    window.shoot("lens")

    window.point_at(".view-line span span", "train_step")
    window.one(".monaco-hover", "takes tensors (images, labels)")  # the diagnostic
    window.one(".monaco-hover", "hybridize: to hybrid")  # and the hover
    window.shoot("hover")
    window.point_at(".part.titlebar")

    window.run("View: Focus Problems")
    window.one(".markers-panel .monaco-list-row", "HY101")
    window.one(".markers-panel .monaco-list-row", "convert `fade_in` to eager")
    window.shoot("problems")
    window.run("View: Toggle Panel Visibility")

    window.run("View: Focus Active Editor Group")
    window.press(CONTROL, "g")
    window.one(".quick-input-widget input")
    window.actions().send_keys(":50:34", ENTER).perform()
    window.one(".squiggly-warning")
    window.press(CONTROL, ".")
    window.one(".action-widget", "Convert `fade_in` to eager")
    window.one(".action-widget", "Ignore HY101 here, with a reason")
    window.shoot("actions")
    window.press(ESCAPE)

    window.press(CONTROL, "g")
    window.one(".quick-input-widget input")
    window.actions().send_keys(":26", ENTER).perform()
    window.point_at(".codelens-decoration a", "add `@tf.function`", click=True)
    until(lambda: not window.all(".codelens-decoration a", "add `@tf.function`"))
    window.shoot("fixed")
    window.press(CONTROL, "s")
    before = (EXAMPLE / "classifier" / "train.py").read_text()
    found = until(lambda: file.read_text() != before and file.read_text())
    file.write_text(before)
    hybridize.fix(project, only=["Trainer.train_step"])
    assert found == file.read_text()
