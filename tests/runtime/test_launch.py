"""The user's program in a process of its own: as `python SCRIPT` would run it, with other source texts in memory."""

import json
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from hybridize.rewrite import DecoratorChange, DecoratorDialect, FileResult, plan_edits
from hybridize.runtime.launch import Ended, Launch, LaunchError, Target, launch
from hybridize.runtime.rewritten import MemoryFile, line_map, memory_file

DIALECT = DecoratorDialect(module="marks", attribute="mark", alias="marks", modules=("marks",))
MARKS = "def mark(f):\n    f.marked = True\n    return f\n"


def project(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("/py", ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return folder


def marked(root: Path, path: str, *names: str) -> MemoryFile:
    """The file with a decorator on the named functions."""
    source = (root / path).read_bytes()
    lines = source.decode().splitlines()
    changes = []
    for name in names:
        line = next(i for i, text in enumerate(lines, 1) if text.lstrip().startswith(f"def {name}("))
        column = len(lines[line - 1]) - len(lines[line - 1].lstrip()) + 1
        changes.append(DecoratorChange(Path(path), line, column, "", "add", DIALECT))
    result = plan_edits(source, changes, path=Path(path))
    assert len(result.applied) == len(names)
    return memory_file(root, result)


def run(folder: Path, target: Target, *sources: MemoryFile, **options: object) -> tuple[Ended, str, str]:
    """The end, standard output and standard error."""
    with (folder / ".out").open("w+") as out, (folder / ".err").open("w+") as err:
        ended = launch(Launch(target, sources, cwd=folder, needs=None, **options), stdout=out, stderr=err)  # type: ignore[arg-type]
        out.seek(0)
        err.seek(0)
        return ended, out.read(), err.read()


SHOW = """
import json, os, sys
def work(x):
    return x
if __name__ == "__main__":
    print(json.dumps([sys.argv, __file__, sys.path[0], os.getcwd(), open("data.txt").read(), __spec__ is None,
                      sys.modules["__main__"].work is work, sorted(set(globals()) - {"data"})]))
    sys.exit(int(sys.argv[1]))
"""


def test_a_script_sees_what_python_would_show_it(tmp_path: Path) -> None:
    project(tmp_path, sub__main__py=SHOW, marks__py=MARKS).joinpath("data.txt").write_text("d")
    arguments = ["3", "--flag", "-x"]
    plain = subprocess.run(
        [sys.executable, "sub/main.py", *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    ended, out, _ = run(tmp_path, Target.script("sub/main.py", arguments))
    assert (ended.code, ended.reason) == (3, "exit") == (plain.returncode, "exit")
    assert json.loads(out) == json.loads(plain.stdout)


def test_a_module_and_its_package(tmp_path: Path) -> None:
    project(
        tmp_path,
        pkg____init____py="",
        marks__py=MARKS,
        pkg__lib__py="def f():\n    return 1\n",
        pkg__run__py="import sys\nfrom pkg.lib import f\nprint(f.marked, sys.argv[1:], __name__, __spec__.name)\n",
    )
    ended, out, _ = run(tmp_path, Target.module("pkg.run", ["a"]), marked(tmp_path, "pkg/lib.py", "f"))
    assert (ended.code, out) == (0, "True ['a'] __main__ pkg.run\n")
    assert not [p for p in tmp_path.rglob("*.pyc") if p.name.startswith("lib")]
    assert "mark" not in (tmp_path / "pkg/lib.py").read_text()


SPAWN = """
import multiprocessing

def work(x):
    return x

def child(queue):
    queue.put(getattr(work, "marked", False))

if __name__ == "__main__":
    for method in ("spawn", "fork"):
        context = multiprocessing.get_context(method)
        queue = context.Queue()
        process = context.Process(target=child, args=(queue,))
        process.start()
        print(method, queue.get(timeout=20))
        process.join()
"""


def test_processes_of_the_program_have_the_same_sources(tmp_path: Path) -> None:
    project(tmp_path, main__py=SPAWN, marks__py=MARKS)
    ended, out, err = run(tmp_path, Target.script("main.py"), marked(tmp_path, "main.py", "work"))
    assert (ended.code, out) == (0, "spawn True\nfork True\n"), err


RAISES = '''
"""Doc."""
import os
def first(x):
    return second(x)

class C:
    @staticmethod
    def second(x):
        raise ValueError(x)
second = C.second
def lines():
    return [first.__code__.co_firstlineno, C.second.__code__.co_firstlineno]
print(lines())
first(3)
'''


def test_lines_of_tracebacks_are_those_of_the_file(tmp_path: Path) -> None:
    project(tmp_path, main__py=RAISES, marks__py=MARKS)
    plain = subprocess.run([sys.executable, "main.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    ended, out, err = run(tmp_path, Target.script("main.py"), marked(tmp_path, "main.py", "first", "second"))
    assert (ended.code, out, err) == (1, plain.stdout, plain.stderr)
    (event,) = ended.of("exception")
    assert (event["type"], event["message"], event["line"]) == ("ValueError", "3", 10)


@pytest.mark.parametrize(
    ("ending", "code"), [("os._exit(7)", 7), ("os.kill(os.getpid(), 9)", -9), ("sys.exit('why')", 1), ("1 / 0", 1)]
)
def test_however_it_ends_what_it_told_is_kept(tmp_path: Path, ending: str, code: int) -> None:
    project(tmp_path, main__py=f"import os, sys\n{ending}\n")
    ended, _, _ = run(tmp_path, Target.script("main.py"))
    assert ended.code == code
    assert ended.of("start")


def test_a_timeout_ends_all_that_was_started(tmp_path: Path) -> None:
    project(
        tmp_path,
        main__py="""
        import signal, subprocess, sys, time
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        open("pid", "w").write(str(other.pid))
        signal.signal(signal.SIGINT, signal.default_int_handler)
        time.sleep(60)
        """,
    )
    ended, _, err = run(tmp_path, Target.script("main.py"), timeout=2.0)
    assert (ended.reason, ended.code) == ("timeout", 130)
    assert "KeyboardInterrupt" in err
    status = Path("/proc", (tmp_path / "pid").read_text(), "status")
    for _ in range(50):
        if not status.exists() or "zombie" in status.read_text():
            return
        time.sleep(0.1)
    pytest.fail("the other process is alive")


def test_what_cannot_run_says_so(tmp_path: Path) -> None:
    project(tmp_path, main__py="print(1)\n")
    with pytest.raises(LaunchError, match="no-such-python"):
        run(tmp_path, Target.script("main.py"), python="/no-such-python")
    ended = launch(Launch(Target.script("main.py"), cwd=tmp_path, needs="no_such_module"))
    assert (ended.reason, ended.code) == ("missing", 2)


def test_tests_are_run_by_pytest(tmp_path: Path) -> None:
    project(
        tmp_path, test_it__py="def helper(x):\n    return x\ndef test_a():\n    assert helper.marked\n", marks__py=MARKS
    )
    arguments = ["-q", "-p", "no:cacheprovider", "test_it.py"]
    assert run(tmp_path, Target.module("pytest", arguments))[0].code == 1
    ended, out, _ = run(tmp_path, Target.module("pytest", arguments), marked(tmp_path, "test_it.py", "helper"))
    assert ended.code == 0, out


def test_lines_of_a_rewritten_text() -> None:
    source = b"import os\nimport marks\n\ndef f(x):\n    return x\n\nclass C:\n    def g(self): pass\nz = 1"
    changes = [DecoratorChange(Path("a.py"), line, column, "", "add", DIALECT) for line, column in ((4, 1), (8, 5))]
    result = plan_edits(source, changes)
    assert line_map(source, result.new, result.edits) == (1, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9)


def test_functions_that_repairs_changed_have_their_own_source(tmp_path: Path) -> None:
    text = "import inspect, linecache\n\n\ndef work(x):\n    return x\n\n\nprint(inspect.getsource(work))\n"
    new = text.replace(
        "def work(x):\n    return x\n", "def part(x):\n    return x + 1\n\n\ndef work(x):\n    return part(x)\n"
    )
    again = "linecache.updatecache(__file__, globals())\nprint(inspect.getsource(part))\n"  # as AutoGraph does
    (tmp_path / "main.py").write_text(text)
    result = FileResult(Path("main.py"), text.encode(), (new + again).encode(), (), (), (), ())
    ended, out, err = run(tmp_path, Target.script("main.py"), memory_file(tmp_path, result))
    assert ended.code == 0, err
    assert out == "def work(x):\n    return part(x)\n\ndef part(x):\n    return x + 1\n\n"
