#!/usr/bin/env bash
# Installs the peers: programs of other authors that the tests run.
#
#     conformance/install.sh [PEER...]
#
# The names of peers are in the list `all` below. Without arguments, all of them are installed.
# iproute2, which makes network namespaces, Open vSwitch and its test controller, iperf3, Mininet
# and Chromium come from the system's packages, grpc-java through Maven, and the rest from PyPI.
# Versions are those in the files in conformance/peers. Each peer has a folder of its own under
# conformance/.peers or, if it is set, under $PLANIMETER_PEERS. A peer that is installed in that
# version already is not installed again. Peers that could not be installed are named at the end,
# and the exit status is then 1.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
peers=${PLANIMETER_PEERS:-$here/.peers}
all=(iproute2 openvswitch os-ken faucet finsy p4runtime-shell pygnmi thrift ptf grpc-java
    p4runtime-descriptors iperf3 mininet chromium pandas)
missing=()

say() { printf 'install: %s\n' "$*"; }

# as_root COMMAND...: runs it as root, if that needs no password.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        sudo -n "$@"
    else
        say "neither root nor sudo without a password: cannot run: $*" >&2
        return 1
    fi
}

# system_package PACKAGE...: installs packages of Debian or its descendants.
system_package() {
    command -v apt-get >/dev/null || { say "no apt-get here: cannot install $*" >&2; return 1; }
    as_root apt-get update -qq &&
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

iproute2() {
    local found
    found=$(PATH=$PATH:/usr/sbin:/sbin command -v ip || true)
    if [ -z "$found" ]; then
        system_package iproute2 || return 1
        found=$(PATH=$PATH:/usr/sbin:/sbin command -v ip)
    fi
    say "iproute2: $found"
}

openvswitch() {
    local found
    found=$(PATH=$PATH:/usr/sbin:/usr/bin command -v ovs-testcontroller || true)
    if [ -z "$found" ]; then
        system_package openvswitch-testcontroller || return 1
        # The package starts a controller on port 6653, which would be in the way of others.
        as_root service openvswitch-testcontroller stop >/dev/null 2>&1 || true
        found=$(PATH=$PATH:/usr/sbin:/usr/bin command -v ovs-testcontroller)
    fi
    say "openvswitch: $found"
    found=$(PATH=$PATH:/usr/sbin:/usr/bin command -v ovs-vswitchd || true)
    if [ -z "$found" ]; then
        system_package openvswitch-switch || return 1
        # Tests start their own, in namespaces of their own.
        as_root service openvswitch-switch stop >/dev/null 2>&1 || true
        found=$(PATH=$PATH:/usr/sbin:/usr/bin command -v ovs-vswitchd)
    fi
    say "openvswitch: $found"
}

# from_packages PEER PROGRAM... -- PACKAGE...: programs that the system packages.
from_packages() {
    local peer=$1 programs=() program
    shift
    while [ "$1" != -- ]; do programs+=("$1"); shift; done
    shift
    for program in "${programs[@]}"; do
        if [ -z "$(PATH=$PATH:/usr/sbin:/sbin:/usr/bin command -v "$program" || true)" ]; then
            system_package "$@" || return 1
            break
        fi
    done
    say "$peer: ${programs[*]}"
}

python_ready() {
    if ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
        system_package python3 python3-venv || return 1
    fi
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
        { say "Python 3.10 or later is needed, and this is $(python3 --version)" >&2; return 1; }
}

# can_compile PEER: a part of it is written in C and comes as source.
can_compile() {
    is_current "$1" && return
    python_ready || return 1
    local header
    header=$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h
    if [ ! -e "$header" ] || ! command -v cc >/dev/null; then
        system_package gcc libc6-dev python3-dev || return 1
    fi
}

# is_current PEER: whether what is installed is what the list of versions asks for.
is_current() { cmp -s "$here/peers/$1.txt" "$peers/$1/installed.txt"; }

# environment PEER: a virtual environment with what the list of versions asks for.
environment() {
    if ! is_current "$1"; then
        python_ready || return 1
        rm -rf "${peers:?}/$1"
        python3 -m venv "$peers/$1" &&
            "$peers/$1/bin/python" -m pip install --quiet --disable-pip-version-check \
                --only-binary=:all: -r "$here/peers/$1.txt" || return 1
        cp "$here/peers/$1.txt" "$peers/$1/installed.txt"
    fi
    say "$1: $peers/$1"
}

grpc_java() {
    local target=$peers/grpc-java
    if ! cmp -s "$here/peers/grpc-java.xml" "$target/installed.xml"; then
        if ! command -v javac >/dev/null || ! command -v mvn >/dev/null; then
            system_package default-jdk-headless maven || return 1
        fi
        rm -rf "$target"
        mvn --quiet --batch-mode --strict-checksums --file "$here/peers/grpc-java.xml" \
            org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
            -DoutputDirectory="$target/lib" </dev/null &&
            (cd "$target/lib" && sha256sum --quiet --strict --check "$here/peers/grpc-java.sha256") || return 1
        cp "$here/peers/grpc-java.xml" "$target/installed.xml"
    fi
    say "grpc-java: $target"
}

p4runtime_descriptors() {
    local target=$peers/p4runtime-descriptors scratch
    if ! is_current p4runtime-descriptors; then
        python_ready || return 1
        scratch=$(mktemp -d)
        rm -rf "$target"
        python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
            --dest "$scratch" -r "$here/peers/p4runtime-descriptors.txt" &&
            python3 "$here/scripts/dump_descriptors.py" "$scratch"/*.whl "$target" || return 1
        rm -rf "$scratch"
        cp "$here/peers/p4runtime-descriptors.txt" "$target/installed.txt"
    fi
    say "p4runtime-descriptors: $target"
}

install() {
    case $1 in
        iproute2) iproute2 ;;
        openvswitch) openvswitch ;;
        os-ken | finsy | p4runtime-shell | pygnmi | thrift | pandas) environment "$1" ;;
        iperf3) from_packages iperf3 iperf3 ping sysctl -- iperf3 iputils-ping procps ;;
        mininet) from_packages mininet mn ip -- mininet iproute2 ;;
        chromium) from_packages chromium chromium -- chromium ;;
        faucet | ptf) can_compile "$1" && environment "$1" ;;
        grpc-java) grpc_java ;;
        p4runtime-descriptors) p4runtime_descriptors ;;
        *)
            say "there is no peer $1" >&2
            exit 2
            ;;
    esac
}

[ $# -gt 0 ] || set -- "${all[@]}"
mkdir -p "$peers"
# Two at once would trample on each other.
exec 9>"$peers/lock"
flock 9
for peer in "$@"; do
    install "$peer" || missing+=("$peer")
done
if [ ${#missing[@]} -gt 0 ]; then
    say "NOT INSTALLED: ${missing[*]}" >&2
    exit 1
fi
