"""The page on crates names those that each depends on, and which may be published."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]


def manifest(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def test_the_page_names_what_each_crate_depends_on() -> None:
    manifests = {one.parent.name: manifest(one) for one in (ROOT / "crates").glob("*/Cargo.toml")}
    shared = manifest(ROOT / "Cargo.toml")["workspace"]["dependencies"]
    folders = {name: Path(one["path"]).name for name, one in shared.items() if "path" in one}
    packages = {folder: one["package"]["name"] for folder, one in manifests.items()}
    depends = {
        packages[folder]: {packages[folders[name]] for name in one.get("dependencies", {}) if name in folders}
        for folder, one in manifests.items()
    }
    page = (ROOT / "docs" / "crates.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| [^|]+ \|([^|]*)\|$", page, re.MULTILINE)
    assert len(rows) > 10
    for package, cell in rows:
        assert set(re.findall(r"`([a-z0-9-]+)`", cell)) == depends[package], package


def test_a_crate_that_may_be_published_depends_on_such_crates_alone() -> None:
    manifests = {one.parent.name: manifest(one) for one in (ROOT / "crates").glob("*/Cargo.toml")}
    published = {folder for folder, one in manifests.items() if one["package"].get("publish") is True}
    shared = manifest(ROOT / "Cargo.toml")["workspace"]["dependencies"]
    assert len(published) > 10
    for folder in published:
        for name in manifests[folder].get("dependencies", {}):
            if "path" in shared.get(name, {}):
                assert Path(shared[name]["path"]).name in published, (folder, name)
                # The registry finds a crate by its version.
                assert "version" in shared[name], name
