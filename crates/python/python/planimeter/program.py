"""P4 programs: compilation, diagnostics, and P4Info."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Sequence, Union

from planimeter import _native
from planimeter.errors import ProgramError

__all__ = ["Diagnostic", "Program", "compile"]

PathLike = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class Diagnostic:
    """An error or a warning about a program.

    Attributes
    ----------
    severity : str
        ``"error"`` or ``"warning"``.
    kind : str
        The kind of problem, such as ``"syntax"`` or ``"type-mismatch"``. Kinds do not change
        between versions.
    what : str
        The problem, in one line.
    where : str
        Its place, as ``file:line:column``.
    notes : tuple of str
        Further information, such as a suggestion.
    text : str
        The diagnostic as the command prints it, with the source line.
    """

    severity: str
    kind: str
    what: str
    where: str
    notes: tuple[str, ...]
    text: str

    def __str__(self) -> str:
        return self.text


class Program:
    """A compiled P4 program. `compile` makes one; it can be pickled.

    Attributes
    ----------
    path : str
        The file that the program was compiled from.
    diagnostics : tuple of Diagnostic
        The warnings of the compiler.
    """

    path: str
    diagnostics: tuple[Diagnostic, ...]

    def __init__(
        self, native: _native.Program, path: str, diagnostics: Sequence[Diagnostic] = ()
    ) -> None:
        self._native = native
        self.path = path
        self.diagnostics = tuple(diagnostics)

    @property
    def p4info(self) -> bytes:
        """The P4Info as an encoded message ``p4.config.v1.P4Info``."""
        return self._native.p4info

    @property
    def p4info_text(self) -> str:
        """The P4Info in the text form of protocol buffers."""
        return self._native.p4info_text

    def __repr__(self) -> str:
        return f"<Program {self.path}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_unpickled, (self._native.pickled(), self.path, self.diagnostics))


def _unpickled(data: bytes, path: str, diagnostics: tuple[Diagnostic, ...]) -> Program:
    return Program(_native.Program.unpickled(data), path, diagnostics)


def compile(
    source: PathLike,
    /,
    *,
    include: Sequence[PathLike] = (),
    defines: Optional[Mapping[str, object]] = None,
) -> Program:
    """Compile a P4 program.

    Parameters
    ----------
    source : path
        A file with P4_16 source, or JSON that p4c made for BMv2.
    include : sequence of paths, optional
        Directories in which ``#include`` looks before it looks in the built-in files.
    defines : mapping, optional
        Macros and their values. ``True`` and ``None`` define a macro as 1.

    Returns
    -------
    Program

    Raises
    ------
    ProgramError
        If the program has errors. Its attribute ``diagnostics`` has all of them.

    Examples
    --------
    >>> import planimeter
    >>> program = planimeter.compile("programs/router.p4")
    >>> len(program.p4info) > 0
    True
    """
    path = os.fspath(source)
    macros = [
        name if value is None or value is True else f"{name}={value}"
        for name, value in (defines or {}).items()
    ]
    native, found = _native.Program.compile(path, [os.fspath(one) for one in include], macros)
    diagnostics = tuple(Diagnostic(**{**one, "notes": tuple(one["notes"])}) for one in found)
    if native is not None:
        return Program(native, path, diagnostics)
    errors = [one for one in diagnostics if one.severity == "error"]
    first = errors[0] if errors else None
    what = first.what if first else "the program was not compiled"
    if len(errors) > 1:
        what += f" (and {len(errors) - 1} more)"
    remedy = "; ".join(first.notes) if first and first.notes else None
    error = ProgramError(what, first.where if first else path, remedy)
    error.diagnostics = diagnostics  # type: ignore[attr-defined]
    raise error
