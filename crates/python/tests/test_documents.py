"""The documents: their Python runs in order, and the docstrings' examples hold."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import matplotlib
import pages
import pytest

from planimeter import _native, attached, calculus, device, entries, program, results, running, switch

ROOT = pages.ROOT


@pytest.mark.parametrize("page", ["docs/python.md", "docs/ten-minutes.md", "crates/python/README.md"])
def test_the_code_of_a_page_runs(page: str, tmp_path: Path) -> None:
    matplotlib.use("svg")
    assert pages.run(ROOT / page, tmp_path).blocks > 0


def test_the_examples_of_docstrings_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    finder = doctest.DocTestFinder()
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    names = {"Curve": calculus.Curve, "Network": calculus.Network}
    tests = [*finder.find(calculus, extraglobs=names), *finder.find(results)]
    names_of_switches = {"Action": entries.Action, "Switch": switch.Switch}
    for module in (attached, device, entries, program, running, switch):
        tests += finder.find(module, extraglobs=names_of_switches)
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
