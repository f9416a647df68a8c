"""The scripts of a release: promises of wheels, bills of materials, and the Debian package."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

import pytest

from planimeter import _native

ROOT = Path(__file__).resolve().parents[3]


def script(name: str) -> Any:
    """Returns a script of release/ as a module."""
    # Python would leave compiled files beside scripts without an ending.
    sys.dont_write_bytecode = True
    loader = SourceFileLoader(name.replace("-", "_"), str(ROOT / "release" / name))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


DYNAMIC = " 0x01 (NEEDED)  Shared library: [libc.so.6]\n 0x01 (NEEDED)  Shared library: [libgcc_s.so.1]\n"


@pytest.mark.parametrize(
    ("name", "dynamic", "versions", "wanted", "fault"),
    [
        ("p-1-cp39-abi3-manylinux_2_35_x86_64.whl", DYNAMIC, "GLIBC_2.2.5 GLIBC_2.35", None, None),
        ("p-1-cp39-abi3-manylinux_2_17_x86_64.whl", DYNAMIC, "GLIBC_2.2.5 GLIBC_2.17", "manylinux_2_17", None),
        ("p-1-cp39-abi3-manylinux_2_17_x86_64.whl", DYNAMIC, "GLIBC_2.2.5 GLIBC_2.34", None, "GLIBC_2.34"),
        ("p-1-cp39-abi3-manylinux_2_34_x86_64.whl", DYNAMIC, "GLIBC_2.2.5", "manylinux_2_17", "the tag manylinux_2_17"),
        ("p-1-cp39-abi3-manylinux_2_34_x86_64.whl", DYNAMIC + "(NEEDED) [libssl.so.3]", "GLIBC_2.4", None, "libssl"),
        ("p-1-cp39-abi3-manylinux_2_34_x86_64.whl", DYNAMIC, "", None, "no symbol"),
        ("p-1-cp39-abi3-linux_x86_64.whl", DYNAMIC, "GLIBC_2.4", None, "no tag"),
    ],
)
def test_a_wheel_is_held_to_its_name(name: str, dynamic: str, versions: str, wanted: str, fault: str) -> None:
    found = script("check-wheel").faults(name, dynamic, versions, wanted)
    assert found == [] if fault is None else fault in "".join(found)


def test_the_library_that_is_installed_has_symbols_of_the_c_library() -> None:
    """The text of readelf is read as it is, not only as the cases above have it."""
    checked = script("check-wheel")
    printed = [
        subprocess.run(["readelf", "--wide", flag, _native.__file__], check=True, capture_output=True, text=True).stdout
        for flag in ("-d", "-V")
    ]
    assert checked.faults("p-manylinux_2_99_x86_64.whl", *printed) == []
    assert "later than 2.1" in "".join(checked.faults("p-manylinux_2_1_x86_64.whl", *printed))


def metadata(*crates: tuple[str, list[tuple[str, str | None]]]) -> dict[str, Any]:
    """Returns what `cargo metadata` prints of crates, each with dependencies and their kinds."""
    return {
        "packages": [
            {"id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0", "repository": None}
            for name, _ in crates
        ],
        "workspace_members": [crates[0][0]],
        "resolve": {
            "nodes": [
                {"id": name, "deps": [{"pkg": to, "dep_kinds": [{"kind": kind}]} for to, kind in needs]}
                for name, needs in crates
            ]
        },
    }


def test_a_bill_has_what_is_built_and_not_what_only_tests_need() -> None:
    found = script("sbom").bill(
        metadata(
            ("main", [("used", None), ("tested", "dev"), ("maker", "build")]),
            ("used", [("deep", None)]),
            ("tested", [("deeper", None)]),
            ("maker", []),
            ("deep", []),
            ("deeper", []),
        ),
        "main",
    )
    assert [one["name"] for one in found["components"]] == ["deep", "maker", "used"]
    assert found["components"][0]["licenses"] == [{"expression": "MIT OR Apache-2.0"}]
    assert {one["ref"]: one["dependsOn"] for one in found["dependencies"]} == {
        "pkg:cargo/main@1.0.0": ["pkg:cargo/maker@1.0.0", "pkg:cargo/used@1.0.0"],
        "pkg:cargo/used@1.0.0": ["pkg:cargo/deep@1.0.0"],
        "pkg:cargo/maker@1.0.0": [],
        "pkg:cargo/deep@1.0.0": [],
    }
    with pytest.raises(SystemExit, match="no package 'other'"):
        script("sbom").bill(metadata(("main", [])), "other")


def test_the_package_for_debian_has_the_sources_and_what_was_built(tmp_path: Path) -> None:
    debian = script("debian")
    target = tmp_path / "target"
    for built in ("release/planimeter", "manual/man/planimeter.1", "manual/bash/planimeter",
                  "manual/zsh/_planimeter", "manual/fish/planimeter.fish"):  # fmt: skip
        (target / built).parent.mkdir(parents=True, exist_ok=True)
        (target / built).touch()
    manifest = tomllib.loads((ROOT / "crates/planimeter/Cargo.toml").read_text(encoding="utf-8"))
    deb = manifest["package"]["metadata"]["deb"]
    places = {place: mode for _, place, mode in debian.files(deb["assets"], target)}
    assert places["usr/bin/planimeter"] == 0o755
    assert "usr/share/man/man1/planimeter.1" in places
    assert "usr/share/planimeter/examples/notebooks/tsn-network.ipynb" in places
    assert "usr/share/planimeter/docs/cookbook/port-delay.md" in places
    (target / "manual/fish/planimeter.fish").unlink()
    with pytest.raises(SystemExit, match="fish"):
        debian.files(deb["assets"], target)
    control = debian.control(deb, "1.2.3", "amd64", 5 << 20, debian.depends("GLIBC_2.4 GLIBC_2.34 GLIBC_2.17"))
    assert "Version: 1.2.3\n" in control and "Installed-Size: 5120\n" in control
    assert "Depends: libc6 (>= 2.34)" in control
    assert re.search(r"^Description: .+\n(?: \S.*\n)+\Z", control, re.MULTILINE)


def test_help_is_printed_and_a_full_folder_is_refused(tmp_path: Path) -> None:
    build = str(ROOT / "release" / "build")
    helped = subprocess.run([build, "--help"], capture_output=True, text=True)
    assert helped.returncode == 2 and "SHA256SUMS" in helped.stdout
    (tmp_path / "old").touch()
    refused = subprocess.run([build, str(tmp_path)], capture_output=True, text=True)
    assert refused.returncode == 2 and "is not empty" in refused.stderr
