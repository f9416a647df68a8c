"""The notebooks of examples/notebooks run, and their exact outputs are those in the files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import matplotlib
import pytest

import notebooks

FOLDER = notebooks.ROOT / "examples" / "notebooks"


def made(folder: Path, *cells: tuple[str, list[str]], output: str = "") -> Path:
    """Writes a notebook of cells, each with its tags, and with the same output."""
    stream: list[dict[str, Any]] = [{"output_type": "stream", "name": "stdout", "text": [output]}]
    code = [
        {"cell_type": "code", "metadata": {"tags": tags}, "source": [source], "outputs": stream if output else []}
        for source, tags in cells
    ]
    path = folder / "made.ipynb"
    path.write_text(json.dumps({"cells": code}))
    return path


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: str(path.stem))
def test_a_notebook_runs(path: Path) -> None:
    matplotlib.use("svg")
    notebooks.run(path)


def test_there_are_five_with_small_outputs() -> None:
    found = sorted(FOLDER.glob("*.ipynb"))
    assert len(found) == 5
    for path in found:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        assert any(cell["cell_type"] == "markdown" and "## Exercise" in "".join(cell["source"]) for cell in cells)
        outputs = [cell["outputs"] for cell in cells if cell["cell_type"] == "code"]
        assert sum(map(bool, outputs)) >= 4, f"{path.name}: {notebooks.__name__} --update writes outputs"
        for output in outputs:
            assert len(json.dumps(output)) < notebooks.LARGEST_OUTPUT_BYTES, path.name


def test_names_pass_from_cell_to_cell_and_outputs_are_gathered(tmp_path: Path) -> None:
    here = os.getcwd()
    path = made(tmp_path, ("x = 6", []), ("print('x is', x)\nx * 7", []))
    notebooks.update(path)
    first, second = json.loads(path.read_text())["cells"]
    assert first["outputs"] == []
    assert [one["output_type"] for one in second["outputs"]] == ["stream", "execute_result"]
    assert second["outputs"][0]["text"] == ["x is 6\n"]
    assert second["outputs"][1]["data"]["text/plain"] == ["42"]
    assert os.getcwd() == here


def test_a_failed_assertion_names_the_cell(tmp_path: Path) -> None:
    with pytest.raises(notebooks.NotebookError, match="made.ipynb, cell 2"):
        notebooks.run(made(tmp_path, ("x = 1", []), ("assert x == 2", [])))


def test_an_exact_output_that_differs_is_an_error(tmp_path: Path) -> None:
    path = made(tmp_path, ("print(1 + 1)", ["exact"]), output="3\n")
    with pytest.raises(notebooks.NotebookError, match="the file has\n3"):
        notebooks.run(path)
    notebooks.run(made(tmp_path, ("print(1 + 1)", []), output="3\n"))
    notebooks.run(made(tmp_path, ("print(1 + 1)", ["exact"]), output="2\n"))
