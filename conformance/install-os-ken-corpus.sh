#!/bin/sh
# Fetches the OpenFlow messages that the os-ken wheel carries as test data, for
# crates/openflow/tests/corpus.rs. They are put into conformance/.peers/os-ken, or into the
# directory given as argument; what is there already is replaced.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
target=${1:-$here/.peers/os-ken}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
    --dest "$scratch" os-ken
python3 -m zipfile -e "$scratch"/os_ken-*.whl "$scratch/wheel"

data=os_ken/tests/packet_data
rm -rf "${target:?}/$data"
mkdir -p "$target/$data"
cp -R "$scratch/wheel/$data/of10" "$scratch/wheel/$data/of13" "$target/$data/"

for version in of10 of13; do
    count=$(find "$target/$data/$version" -name '*.packet' | wc -l)
    echo "os-ken corpus: $count messages in $target/$data/$version"
done
