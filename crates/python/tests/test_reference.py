"""The reference of the package is that of its docstrings."""

from __future__ import annotations

from pathlib import Path

import planimeter
import reference

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "python.md"


def test_the_page_is_current() -> None:
    written = PAGE.read_text(encoding="utf-8")
    assert reference.page() == written, "python crates/python/tests/reference.py > docs/reference/python.md"


def test_every_public_name_of_the_package_is_listed() -> None:
    text = reference.page()
    modules = [name for name in planimeter.__all__ if f"## planimeter.{name}\n" in text]
    assert len(modules) >= 3
    missing = [name for name in planimeter.__all__ if name not in modules and f"\n### {name}\n" not in text]
    assert missing == []


def test_sections_of_numpydoc_become_lists() -> None:
    text = "Does it.\n\nParameters\n----------\nx : int\n    The first\n    number.\ny, z\n    Others.\n"
    assert reference.prose(text) == "Does it.\n\n**Parameters**\n\n* `x : int`: The first number.\n* `y, z`: Others."


def test_signatures_are_those_of_the_source() -> None:
    def made(self: object, a: int, /, b: str | None = None, *, c: float = 1.5) -> list[int]:
        return [a]

    assert reference.signature(made) == "(a: int, /, b: str | None = None, *, c: float = 1.5) -> list[int]"
