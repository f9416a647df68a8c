"""The pages of the cookbook: their code runs, and prints what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

import pages

COOKBOOK = pages.ROOT / "docs" / "cookbook"
RECIPES = sorted(path for path in COOKBOOK.glob("*.md") if path.name != "README.md")


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: str(path.stem))
def test_a_recipe_prints_what_its_page_says(path: Path, tmp_path: Path) -> None:
    assert pages.run(path, tmp_path).outputs >= 1


def test_there_are_ten_in_the_list_and_in_the_book() -> None:
    assert len(RECIPES) == 10
    listed = (COOKBOOK / "README.md").read_text(encoding="utf-8")
    summary = (COOKBOOK.parent / "SUMMARY.md").read_text(encoding="utf-8")
    for path in RECIPES:
        text = path.read_text(encoding="utf-8")
        assert text.startswith("# ") and "**Problem.**" in text and "**What to know.**" in text
        heading = text.splitlines()[0].lstrip("# ")
        assert f"[{heading}]({path.name})" in listed
        assert f"[{heading}](cookbook/{path.name})" in summary


def test_another_output_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n")
    (tmp_path / "here").mkdir()
    with pytest.raises(pages.PageError, match="page.md prints\n2"):
        pages.run(page, tmp_path / "here")
