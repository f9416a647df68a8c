"""Runs the code of a page of the documentation, and compares what it prints."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sysconfig
from pathlib import Path
from typing import Iterator, NamedTuple

ROOT = Path(__file__).resolve().parents[3]
BLOCK = re.compile(r"^```(python|sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Ran(NamedTuple):
    """The number of blocks of Python that ran, and of outputs that were compared."""

    blocks: int
    outputs: int


class PageError(Exception):
    """Code of a page that prints something else than the page says."""


@contextlib.contextmanager
def workplace(folder: Path) -> Iterator[None]:
    """Enters a folder with the examples and programs, where the command is that of the package."""
    here, path = os.getcwd(), os.environ["PATH"]
    for name in ("examples", "programs"):
        (folder / name).symlink_to(ROOT / name)
    os.chdir(folder)
    os.environ["PATH"] = os.pathsep.join([sysconfig.get_path("scripts"), path])
    try:
        yield
    finally:
        os.environ["PATH"] = path
        os.chdir(here)


def run(page: Path, folder: Path) -> Ran:
    """Runs a page in an empty folder.

    Blocks of Python share their names. Lines of the shell run if they begin with the command. A
    block of text after a block of Python is what this prints.

    Raises
    ------
    PageError
        A block prints something else.
    """
    text = page.read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": "__main__"}
    printed, ran, compared = io.StringIO(), 0, 0
    with workplace(folder):
        for block in BLOCK.finditer(text):
            language, code = block.groups()
            if language == "sh":
                if code.startswith("planimeter "):
                    subprocess.run(f"set -e\n{code}", shell=True, check=True, capture_output=True)
            elif language == "python":
                printed = io.StringIO()
                line = text[: block.start(2)].count("\n")
                with contextlib.redirect_stdout(printed):
                    exec(compile("\n" * line + code, str(page), "exec"), names)
                ran += 1
            else:
                if printed.getvalue().rstrip() != code.rstrip():
                    raise PageError(f"{page.name} prints\n{printed.getvalue()}\nand says\n{code}")
                compared += 1
    return Ran(ran, compared)
