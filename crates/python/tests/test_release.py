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


# Symbols as readelf prints them: of Python, of the C library, optional, and unknown to the linker.
SYMBOLS = """
  1: 0000000000000000 0 NOTYPE GLOBAL DEFAULT  UND PyList_New
  2: 0000000000000000 0 NOTYPE GLOBAL DEFAULT  UND _Py_Dealloc
  3: 0000000000000000 0 FUNC   GLOBAL DEFAULT  UND write@GLIBC_2.2.5 (2)
  4: 0000000000000000 0 NOTYPE WEAK   DEFAULT  UND __gmon_start__
  5: 0000000000001000 9 FUNC   GLOBAL DEFAULT   12 PyInit__native
"""
UNKNOWN = SYMBOLS + "  6: 0000000000000000 0 NOTYPE GLOBAL DEFAULT  UND memfd_create\n"
TWO_TAGS = "manylinux_2_34_x86_64.manylinux2014_x86_64"


@pytest.mark.parametrize(
    ("tags", "dynamic", "versions", "wanted", "symbols", "fault"),
    [
        ("manylinux_2_35_x86_64", DYNAMIC, "GLIBC_2.2.5 GLIBC_2.35", None, SYMBOLS, None),
        ("manylinux_2_17_x86_64", DYNAMIC, "GLIBC_2.2.5 GLIBC_2.17 GCC_4.2.0", "manylinux_2_17", SYMBOLS, None),
        ("manylinux_2_17_x86_64", DYNAMIC, "GLIBC_2.2.5 GLIBC_2.34", None, SYMBOLS, "GLIBC_2.34"),
        ("manylinux_2_34_x86_64", DYNAMIC, "GLIBC_2.2.5", "manylinux_2_17", SYMBOLS, "the tag manylinux_2_17"),
        ("manylinux_2_34_x86_64", DYNAMIC + "(NEEDED) [libssl.so.3]", "GLIBC_2.4", None, SYMBOLS, "libssl"),
        ("manylinux_2_34_x86_64", DYNAMIC, "", None, SYMBOLS, "no symbol"),
        ("linux_x86_64", DYNAMIC, "GLIBC_2.4", None, SYMBOLS, "no tag"),
        # A name with several tags promises the oldest.
        (TWO_TAGS, DYNAMIC, "GLIBC_2.17", "manylinux_2_17", SYMBOLS, None),
        (TWO_TAGS, DYNAMIC, "GLIBC_2.17", "manylinux_2_34", SYMBOLS, None),
        (TWO_TAGS, DYNAMIC, "GLIBC_2.18", None, SYMBOLS, "GLIBC_2.18 is needed, later than 2.17"),
        ("manylinux2014_x86_64", DYNAMIC, "GLIBC_2.18", None, SYMBOLS, "later than 2.17"),
        ("manylinux_2_17_x86_64.musllinux_1_1_x86_64", DYNAMIC, "GLIBC_2.4", None, SYMBOLS, "others beside it"),
        # Versions that are no number.
        ("manylinux_2_34_x86_64", DYNAMIC, "GLIBC_2.4 GLIBC_ABI_DT_RELR", None, SYMBOLS, "later than 2.34"),
        ("manylinux_2_36_x86_64", DYNAMIC, "GLIBC_2.4 GLIBC_ABI_DT_RELR", None, SYMBOLS, None),
        ("manylinux_2_36_x86_64", DYNAMIC, "GLIBC_2.4 GLIBC_PRIVATE", None, SYMBOLS, "GLIBC_PRIVATE"),
        ("manylinux_2_36_x86_64", DYNAMIC, "GLIBC_2.4 GCC_12.0.0", None, SYMBOLS, "GCC_12.0"),
        ("manylinux_2_17_x86_64", DYNAMIC, "GLIBC_2.4", None, UNKNOWN, "the symbol memfd_create"),
    ],
)
def test_a_wheel_is_held_to_its_name(
    tags: str, dynamic: str, versions: str, wanted: str | None, symbols: str, fault: str | None
) -> None:
    found = script("check-wheel").faults(f"p-1-cp39-abi3-{tags}.whl", dynamic, versions, wanted, symbols)
    assert found == [] if fault is None else fault in "".join(found)


def test_the_library_that_is_installed_has_symbols_of_the_c_library() -> None:
    """The text of readelf is read as it is, not only as the cases above have it."""
    checked = script("check-wheel")
    printed = [
        subprocess.run(["readelf", "--wide", flag, _native.__file__], check=True, capture_output=True, text=True).stdout
        for flag in ("-d", "-V", "--dyn-syms")
    ]
    dynamic, versions, symbols = printed
    assert checked.faults("p-manylinux_2_99_x86_64.whl", dynamic, versions, None, symbols) == []
    assert "later than 2.1" in "".join(checked.faults("p-manylinux_2_1_x86_64.whl", dynamic, versions))
    # Without versions, the symbols of the C library are unknown.
    bare = re.sub(r"@\S+", "", symbols)
    assert "the symbol write is needed" in "".join(checked.faults("p-manylinux_2_99_x86_64.whl", dynamic, versions, None, bare))


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


def test_a_licence_without_an_identifier_is_that_of_its_file(tmp_path: Path) -> None:
    checked = script("sbom")
    crate = {
        "id": "odd", "name": "odd", "version": "1.0.0", "license": None, "license_file": "COPYING",
        "manifest_path": str(tmp_path / "Cargo.toml"), "repository": None,
    }  # fmt: skip
    (tmp_path / "COPYING").write_text("Do as you please.\n")
    [found] = checked.component(crate, "library")["licenses"]
    assert found["license"]["name"] == "COPYING"
    assert found["license"]["text"]["content"] == "Do as you please.\n"
    with pytest.raises(SystemExit, match="odd 1.0.0 states no licence"):
        checked.component({**crate, "license_file": None}, "library")


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
    deb["extended-description"] += "\n\nA second paragraph."
    needs = debian.depends("GLIBC_2.4 GLIBC_2.34 GLIBC_2.17", DYNAMIC)
    control = debian.control(deb, "1.2.3", "amd64", (5 << 20) + 1, needs)
    assert "Version: 1.2.3-1\n" in control and "Installed-Size: 5121\n" in control
    assert "Depends: libc6 (>= 2.34)" in control
    # The synopsis is a phrase of at most 80 characters. An empty line of the description is a dot.
    assert re.search(r"^Description: [^P.].{,79}\n(?: \S.*\n)+ \.\n A second paragraph\.\n\Z", control, re.MULTILINE)
    assert "Apache-2.0" in debian.copyright_notice(deb, "1.2.3")
    entry = debian.changelog(deb, "1.2.3", 0)
    assert entry.startswith("planimeter (1.2.3-1) unstable; ") and entry.endswith("  Thu, 01 Jan 1970 00:00:00 -0000\n")
    with pytest.raises(SystemExit, match="libssl.so.3, which no dependency has"):
        debian.depends("GLIBC_2.4", DYNAMIC + "(NEEDED) [libssl.so.3]")


def test_a_candidate_precedes_its_release_for_dpkg() -> None:
    """As dpkg itself compares them."""
    debian = script("debian")
    versions = [debian.debian_version(one) for one in ("1.2.2", "1.2.3-rc.1", "1.2.3-rc.2", "1.2.3")]
    for earlier, later in zip(versions, versions[1:]):
        assert subprocess.run(["dpkg", "--compare-versions", earlier, "lt", later]).returncode == 0


def test_help_is_printed_and_a_full_folder_is_refused(tmp_path: Path) -> None:
    build = str(ROOT / "release" / "build")
    helped = subprocess.run([build, "--help"], capture_output=True, text=True)
    assert helped.returncode == 2 and "SHA256SUMS" in helped.stdout
    (tmp_path / "old").touch()
    refused = subprocess.run([build, str(tmp_path)], capture_output=True, text=True)
    assert refused.returncode == 2 and "is not empty" in refused.stderr


def test_a_part_that_cannot_be_built_is_named_and_the_others_are_built(tmp_path: Path) -> None:
    """Programs that fail stand for cargo, Python without venv, and docker without its service."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("cargo", "python3", "podman", "docker"):
        (programs / name).write_text("#!/bin/sh\nexit 9\n")
        (programs / name).chmod(0o755)
    folder, target = tmp_path / "release", tmp_path / "target"
    environment = {"PATH": f"{programs}:/usr/bin:/bin", "CARGO_TARGET_DIR": str(target)}
    call = [str(ROOT / "release" / "build"), str(folder)]
    done = subprocess.run(call, capture_output=True, text=True, env=environment)
    assert done.returncode == 1, done.stderr
    ends = [line for line in done.stdout.splitlines() if line.startswith(("NOT BUILT", "FAILED"))]
    assert ends == [
        "NOT BUILT: Debian package: the command and its manual were not built",
        "NOT BUILT: Wheel: Python has no venv (Debian has it in python3-venv)",
        "NOT BUILT: Image of the container: neither podman nor docker is installed and runs; Containerfile is there",
        "FAILED: Command, man pages and completions: status 9, see above",
        "FAILED: Crates: status 9, see above",
        "FAILED: Bills of materials: status 9, see above",
    ]
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], check=True, cwd=folder)
    assert sorted(one.name for one in folder.iterdir()) == ["Containerfile", "SHA256SUMS"]
    assert list(target.glob("release-scratch.*")) == []


@pytest.mark.parametrize("name", ["release/build", "release/check-root"])
def test_a_script_of_a_release_is_free_of_faults_of_syntax(name: str) -> None:
    subprocess.run(["bash", "-n", str(ROOT / name)], check=True)


def test_a_fresh_root_wants_a_wheel_or_a_package() -> None:
    check = str(ROOT / "release" / "check-root")
    for words, text in ([], "name a wheel"), (["--help"], "a fresh Debian without a compiler"):
        done = subprocess.run([check, *words], capture_output=True, text=True)
        assert done.returncode == 2 and text in done.stdout + done.stderr
