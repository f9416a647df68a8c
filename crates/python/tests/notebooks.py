"""Runs notebooks without Jupyter, and writes their outputs back.

    python crates/python/tests/notebooks.py [--update] examples/notebooks/*.ipynb

Cells run in order, in a directory beside which `programs` and `examples` lie as in the repository.
The output of a cell with the tag ``exact`` must be that in the file; other outputs may vary with
the machine, and only errors and failed assertions count.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import sys
import sysconfig
import tempfile
import traceback
from pathlib import Path
from typing import Any, Iterator

ROOT = Path(__file__).resolve().parents[3]
# The largest output of a cell in the file, so that a change of it can be read.
LARGEST_OUTPUT_BYTES = 40_000


class NotebookError(Exception):
    """A cell that failed, or whose exact output differs from that in the file."""


def run(path: Path, *, exact: bool = True) -> dict[str, Any]:
    """Return the notebook with the outputs of its cells as they are now.

    Parameters
    ----------
    path : Path
        The notebook.
    exact : bool
        Whether the outputs of cells with the tag ``exact`` must be those in the file.

    Raises
    ------
    NotebookError
        A cell raises an exception, or its exact output is another than in the file.
    """
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    with _workplace():
        for number, cell in enumerate(notebook["cells"], 1):
            if cell["cell_type"] != "code":
                continue
            place = f"{path.name}, cell {number}"
            outputs = _outputs("".join(cell["source"]), names, place)
            if exact and "exact" in cell["metadata"].get("tags", ()):
                before, after = _text(cell["outputs"]), _text(outputs)
                if before != after:
                    raise NotebookError(f"{place}: the file has\n{before}\nand the cell returned\n{after}")
            cell["outputs"], cell["execution_count"] = outputs, None
    return notebook


def update(path: Path) -> None:
    """Run a notebook and write its outputs into the file, exact ones too."""
    text = json.dumps(run(path, exact=False), indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


@contextlib.contextmanager
def _workplace() -> Iterator[None]:
    """Enter a new directory in which paths lead to the repository as in examples/notebooks."""
    before, environment = os.getcwd(), dict(os.environ)
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder) / "examples" / "notebooks"
        here.mkdir(parents=True)
        (Path(folder) / "programs").symlink_to(ROOT / "programs")
        for example in (ROOT / "examples").iterdir():
            if example.name != here.name:
                (here.parent / example.name).symlink_to(example)
        os.chdir(here)
        os.environ["PATH"] = os.pathsep.join([sysconfig.get_path("scripts"), environment["PATH"]])
        # The width to which the command breaks its lines.
        os.environ["COLUMNS"] = "80"
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(environment)
            os.chdir(before)


def _outputs(source: str, names: dict[str, Any], place: str) -> list[dict[str, Any]]:
    """Execute a cell: what it prints, the value of its last expression, and its drawings."""
    printed, value = io.StringIO(), None
    try:
        tree = ast.parse(source, place)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        with contextlib.redirect_stdout(printed):
            exec(compile(tree, place, "exec"), names)
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), place, "eval"), names)
    except Exception as error:
        raise NotebookError(f"{place}:\n{source}\n{traceback.format_exc()}") from error
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())})
    if value is not None and not source.rstrip().endswith(";"):
        outputs.append(
            {
                "output_type": "execute_result",
                "execution_count": None,
                "metadata": {},
                "data": _forms(value),
            }
        )
    for svg in _drawings():
        data = {"image/svg+xml": _lines(svg)}
        outputs.append({"output_type": "display_data", "metadata": {}, "data": data})
    return outputs


def _forms(value: object) -> dict[str, list[str]]:
    forms = {"text/plain": _lines(repr(value))}
    for kind, method in (("text/html", "_repr_html_"), ("image/svg+xml", "_repr_svg_")):
        form = getattr(value, method, None)
        shown = form() if form is not None else None
        if shown is not None:
            forms[kind] = _lines(shown)
    return forms


def _drawings() -> Iterator[str]:
    """Return the figures that the cell has drawn with matplotlib, and close them."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return
    # Text stays text, and nothing depends on chance or the date.
    with pyplot.rc_context({"svg.fonttype": "none", "svg.hashsalt": "planimeter"}):
        for number in pyplot.get_fignums():
            drawn = io.StringIO()
            pyplot.figure(number).savefig(drawn, format="svg", metadata={"Date": None})
            yield drawn.getvalue()
    pyplot.close("all")


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _text(outputs: list[dict[str, Any]]) -> str:
    """Return the text of outputs, without drawings."""
    found = []
    for output in outputs:
        found += output.get("text", []) or output["data"].get("text/plain", [])
    return "".join(found)


def main(arguments: list[str]) -> int:
    """Run the notebooks that are named. Returns the exit status."""
    os.environ.setdefault("MPLBACKEND", "svg")
    for name in arguments:
        if name == "--update":
            continue
        try:
            update(Path(name)) if "--update" in arguments else run(Path(name))
        except NotebookError as error:
            print(error, file=sys.stderr)
            return 1
        print(f"{name}: all cells ran")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
