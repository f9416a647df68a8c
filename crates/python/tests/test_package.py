"""The package as it is installed: its command, its import, and its version."""

from __future__ import annotations

import ast
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import planimeter
from planimeter import errors

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = Path(sysconfig.get_path("scripts")) / "planimeter"


def command(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    call = [str(SCRIPT), *words]
    return subprocess.run(call, capture_output=True, text=True, timeout=120, cwd=ROOT, **options)  # type: ignore[call-overload,no-any-return]


def test_the_package_and_its_command_have_one_version() -> None:
    version = importlib.metadata.version("planimeter")
    assert command("--version").stdout.startswith(f"planimeter {version}")


def test_the_package_has_its_licence_and_links_that_work_elsewhere() -> None:
    distribution = importlib.metadata.distribution("planimeter")
    [licence] = [one for one in distribution.files or [] if one.name == "LICENSE"]
    assert licence.read_text() == (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert distribution.metadata["License-Expression"] == "Apache-2.0"
    text = distribution.read_text("METADATA") or ""
    assert "Project-URL: Documentation" in text and "](../" not in text


def test_the_sources_are_written_in_python_3_9() -> None:
    folder = Path(planimeter.__file__).parent
    sources = list(folder.glob("*.py*"))
    assert len(sources) > 20
    for path in sources:
        if path.suffix in (".py", ".pyi"):
            ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=(3, 9))


def test_importing_the_package_loads_nothing_large() -> None:
    """Neither numpy nor the native module is needed before a name is used."""
    code = "import sys, planimeter; print([m for m in ('numpy', 'planimeter._native') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


def test_the_names_of_the_package_are_found() -> None:
    assert set(planimeter.__all__) <= set(dir(planimeter))
    for name in planimeter.__all__:
        assert getattr(planimeter, name) is not None
    with pytest.raises(AttributeError):
        planimeter.nothing


def test_the_command_bounds_a_network() -> None:
    done = command("bound", "examples/networks/two-hops.toml", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["flows"][0]["bounds"][0]["delay"]["exact"]
    # The command line that the result records is that of the script.
    assert result["command"][0].endswith("planimeter") and result["command"][1] == "bound"


def test_the_command_has_its_exit_statuses() -> None:
    assert command().returncode == 2
    assert command("--help").returncode == 0
    wrong = command("bound", "none.toml")
    assert (wrong.returncode, wrong.stdout) == (2, "") and "none.toml" in wrong.stderr


def test_the_command_ends_with_its_reader() -> None:
    """As shells report it for programs that a closed pipe ends."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as closed:
        call = [str(SCRIPT), "bound", "examples/networks/two-hops.toml"]
        done = subprocess.run(call, stdout=closed, stderr=subprocess.PIPE, cwd=ROOT, timeout=120)
    assert done.returncode == 141 and done.stderr == b""


def test_the_command_starts_processes_of_its_own() -> None:
    """A switch loads a pushed pipeline in a child process first, which is the script again."""
    switch = subprocess.Popen(
        [str(SCRIPT), "switch", "--no-p4", "--grpc-server-addr", "127.0.0.1:0"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
    )
    try:
        assert switch.stdout is not None
        ready = switch.stdout.readline()
        [address] = [word.strip(",;.") for word in ready.split() if word.startswith("127.0.0.1:")][:1]
        pushed = command("ctl", address, "pipeline", "push", "programs/router.p4")
        assert pushed.returncode == 0, pushed.stderr
        assert "routes" in command("ctl", address, "tables").stdout
    finally:
        switch.terminate()
        switch.wait(timeout=60)


def test_a_module_is_the_command_too() -> None:
    done = subprocess.run([sys.executable, "-m", "planimeter", "--version"], capture_output=True, text=True)
    assert done.stdout == command("--version").stdout


def test_each_error_is_one_of_python() -> None:
    builtin = {
        "InputError": ValueError, "SettingError": ValueError, "NotFoundError": KeyError,
        "UnreachableError": ConnectionError, "ThresholdError": AssertionError,
        "SystemFault": OSError, "MissingPackageError": ImportError,
        "InternalError": RuntimeError,
    }
    for name in errors.__all__:
        kind = getattr(errors, name)
        assert issubclass(kind, errors.PlanimeterError)
        error = kind("what", "where", "remedy")
        assert (error.what, error.where, error.remedy) == ("what", "where", "remedy")
        assert str(error) == "where: what; remedy" and kind.__doc__
    for name, base in builtin.items():
        assert issubclass(getattr(errors, name), base)


def test_a_missing_package_is_an_error_with_the_command_that_installs_it() -> None:
    code = """
import sys
sys.modules["matplotlib"] = None
sys.modules["matplotlib.pyplot"] = None
from planimeter.calculus import Curve
from planimeter.errors import MissingPackageError
try:
    Curve.zero().plot()
except MissingPackageError as error:
    print(error.remedy)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.stdout == "install it: pip install 'planimeter[plot]'\n", found.stderr


def test_the_script_is_on_the_path_of_its_environment() -> None:
    assert shutil.which("planimeter", path=sysconfig.get_path("scripts")) == str(SCRIPT)
