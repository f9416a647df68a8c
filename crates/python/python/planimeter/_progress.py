"""The progress of a measurement: a line on the terminal, or an output of a notebook."""

from __future__ import annotations

import html
import importlib
import shutil
import sys
from typing import Any, Callable, NamedTuple, Union

__all__ = ["Drawn", "Progress", "Watcher", "drawn"]


class Progress(NamedTuple):
    """The progress of a measurement."""

    done: int
    """The number of steps that are done."""
    of: int
    """The number of all steps, or 0 if it is not known."""
    text: str
    """What is done now."""

    def __str__(self) -> str:
        return f"{self.done}/{self.of} {self.text}" if self.of else self.text


#: Whether progress is drawn, or a function that is called with it.
Watcher = Union[bool, Callable[[Progress], object]]


class Drawn:
    """Progress that is shown nowhere. Its subclasses draw it."""

    def show(self, progress: Progress) -> None:
        """Shows the progress."""

    def note(self, line: str) -> None:
        """Shows a line that the command printed for people."""

    def close(self) -> None:
        """Removes the progress."""


class _Called(Drawn):
    def __init__(self, function: Callable[[Progress], object]) -> None:
        self._function = function

    def show(self, progress: Progress) -> None:
        self._function(progress)


class _Noted(Drawn):
    """Standard error that is no terminal: only lines for people are shown."""

    def note(self, line: str) -> None:
        print(line, file=sys.stderr)


class _Terminal(Drawn):
    def __init__(self) -> None:
        self._is_shown = False

    def show(self, progress: Progress) -> None:
        width = shutil.get_terminal_size().columns
        # Erases the line, as ECMA-48 has it (EL).
        sys.stderr.write(f"\r\x1b[K{str(progress)[: width - 1]}")
        sys.stderr.flush()
        self._is_shown = True

    def note(self, line: str) -> None:
        self.close()
        print(line, file=sys.stderr)

    def close(self) -> None:
        if self._is_shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._is_shown = False


class _Line:
    """A line of a notebook."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def __repr__(self) -> str:
        return str(self._progress)

    def _repr_html_(self) -> str:
        done, of, text = self._progress
        bar = f"<progress value='{done}' max='{of}'></progress> {done} of {of} " if of else ""
        return f"<p>{bar}{html.escape(text)}</p>"


class _Notebook(_Noted):
    def __init__(self, display: Any) -> None:
        self._display = display
        self._handle: Any = None

    def show(self, progress: Progress) -> None:
        line = _Line(progress)
        if self._handle is None:
            self._handle = self._display(line, display_id=True)
        else:
            self._handle.update(line)

    def close(self) -> None:
        if self._handle is not None:
            # An output of a notebook cannot be removed, so it stays as an empty line.
            self._handle.update(_Line(Progress(0, 0, "")))


def drawn(watcher: Watcher) -> Drawn:
    """Returns where progress is shown: by a function, in the notebook, or on the terminal."""
    if callable(watcher):
        return _Called(watcher)
    if not watcher:
        return Drawn()
    # Only a notebook has loaded IPython with a kernel.
    if "IPython" in sys.modules:
        interactive = importlib.import_module("IPython")
        if hasattr(interactive.get_ipython(), "kernel"):
            return _Notebook(importlib.import_module("IPython.display").display)
    return _Terminal() if sys.stderr.isatty() else _Noted()
