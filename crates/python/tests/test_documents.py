"""The documents: their Python runs in order, and the docstrings' examples hold."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sysconfig
from pathlib import Path

import matplotlib
import pytest

from planimeter import _native, calculus, entries, program, results, switch

ROOT = Path(__file__).resolve().parents[3]
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", ["docs/python.md", "crates/python/README.md"])
def test_the_code_of_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    matplotlib.use("svg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]]))
    for folder in ("examples", "programs"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    names: dict[str, object] = {}
    text = (ROOT / page).read_text(encoding="utf-8")
    ran = 0
    for block in BLOCK.finditer(text):
        language, code = block.groups()
        if language == "python":
            line = text[: block.start(2)].count("\n")
            exec(compile("\n" * line + code, page, "exec"), names)
            ran += 1
        elif code.startswith("planimeter "):
            subprocess.run(code, shell=True, check=True, capture_output=True)
    assert ran > 0


def test_the_examples_of_docstrings_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    finder = doctest.DocTestFinder()
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    names = {"Curve": calculus.Curve, "Network": calculus.Network}
    tests = [*finder.find(calculus, extraglobs=names), *finder.find(results)]
    for module in (entries, program, switch):
        tests += finder.find(module, extraglobs={"Action": entries.Action, "Switch": switch.Switch})
    for name, method in vars(_native.Curve).items():
        tests += finder.find(method, f"Curve.{name}", module=False, globs=dict(names))
    for test in tests:
        runner.run(test)
    assert runner.summarize().failed == 0
    assert runner.tries >= 8


def test_public_names_have_docstrings_with_sections() -> None:
    """In the style of numpydoc: what takes parameters says what they are."""
    undocumented = []
    for owner in (calculus.Curve, calculus.Network, calculus.NetworkBounds, results.Result):
        for name, member in vars(owner).items():
            if name.startswith("_"):
                continue
            text = getattr(owner, name).__doc__ or ""
            signature = str(getattr(member, "__text_signature__", "") or "")
            takes = re.sub(r"\$?self|[(),/* ]", "", signature)
            if not text.strip() or (takes and "Parameters\n" not in text):
                undocumented.append(f"{owner.__name__}.{name}")
    assert undocumented == []
