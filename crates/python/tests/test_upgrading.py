"""The page on upgrades names the versions of the schemas that this release has."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_the_page_has_each_schema_in_its_present_version() -> None:
    page = (ROOT / "docs" / "upgrading.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| [^|]+ \| `planimeter[.-]([a-z0-9]+)[.-](?:result|sweep)` \| (\d+) \|", page, re.MULTILINE))
    sweeps = re.findall(r"`planimeter-bounds-(result|sweep)` \| (\d+) \|", page)
    versions: dict[str, str] = {}
    for path in (ROOT / "crates" / "report" / "schemas").glob("*.schema.json"):
        name = re.fullmatch(r"([a-z0-9]+)-(result|sweep)\.v(\d+)\.schema\.json", path.name)
        assert name is not None, path.name
        if name[1] == "bounds":
            assert (name[2], name[3]) in sweeps
        else:
            versions[name[1]] = name[3]
    del rows["bounds"]
    assert rows == versions
