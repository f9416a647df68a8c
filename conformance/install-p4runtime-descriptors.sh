#!/bin/sh
# Fetches the descriptors that the P4 consortium publishes (PyPI package p4runtime), for
# crates/p4runtime/tests/descriptors.rs. They are put into
# conformance/.peers/p4runtime-descriptors, or into the directory given as argument; what is
# there already is replaced.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
target=${1:-$here/.peers/p4runtime-descriptors}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
    --dest "$scratch" p4runtime==1.6.0 googleapis-common-protos==1.70.0
rm -rf "${target:?}"
python3 "$here/dump_descriptors.py" "$scratch"/*.whl "$target"
