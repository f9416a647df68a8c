#!/usr/bin/env bash
# Tries the sample programs of a checkout of p4c on Planimeter, and prints the results as tables in
# Markdown:
#
#     conformance/p4c.sh PATH [FOLDER]
#
# PATH is the checkout, or any folder with the same layout under testdata/:
#
#   p4_16_samples/NAME.p4                       must compile
#   p4_16_samples/NAME.stf                      its packets must leave as the script expects, on the
#                                               interpreter and as machine code; all forms of
#                                               machine code are compared with the interpreter
#   p4_16_samples_outputs/NAME.p4.p4info.txtpb  must equal the generated P4Info (also .p4info.txt)
#   p4_16_errors/NAME.p4                        must be refused
#
# FOLDER [p4c-results] receives results.tsv, with a line for each trial, and log/, with the output
# of each trial that did not pass. The command is $PLANIMETER, or target/release/planimeter, or
# planimeter on PATH. A trial ends after $SECONDS_EACH [60] seconds. The exit status is 0 if all
# trials passed, 1 if one did not, and 2 if nothing could be tried.
set -euo pipefail

usage() {
    echo "usage: conformance/p4c.sh PATH [FOLDER]" >&2
    exit 2
}
(($# == 1 || $# == 2)) || usage
[[ -d $1/testdata ]] || { echo "$1 has no folder testdata; name a checkout of p4c" >&2; exit 2; }
checkout=$(cd -- "$1" && pwd)
out=${2:-p4c-results}
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
if [[ -z ${PLANIMETER:-} ]]; then
    PLANIMETER=$here/target/release/planimeter
    [[ -x $PLANIMETER ]] || PLANIMETER=$(command -v planimeter) || {
        echo "there is no planimeter; build it (cargo build --release) or name it in \$PLANIMETER" >&2
        exit 2
    }
fi
[[ $PLANIMETER == */* ]] && PLANIMETER=$(cd -- "$(dirname -- "$PLANIMETER")" && pwd)/$(basename -- "$PLANIMETER")
mkdir -p "$out/log"
out=$(cd -- "$out" && pwd)
rm -f "$out"/log/* "$out/results.tsv"
export PLANIMETER out SECONDS_EACH=${SECONDS_EACH:-60}

# Prints the architecture of a program, by the file that it includes.
architecture() {
    local found
    found=$(grep -oE '(v1model|psa|pna|ebpf_model|ubpf_model|xdp_model|tna|dpdk|very_simple_switch_model)[a-z_]*\.(p4|h)' "$1" |
        head -1) || true
    case $found in
        v1model*) echo v1model ;;
        psa*) echo psa ;;
        pna*) echo pna ;;
        ebpf*) echo ebpf ;;
        ubpf*) echo ubpf ;;
        xdp*) echo xdp ;;
        '') echo none ;;
        *) echo other ;;
    esac
}

# Runs one trial. Arguments: SUITE PROGRAM. Appends a line to results.tsv: suite, architecture,
# program, outcome, reason.
try() {
    local suite=$1 program=$2 name architecture log status=0 outcome reason=
    name=$(basename -- "$program" .p4)
    architecture=$(architecture "$program")
    log=$out/log/$suite-$name.txt
    case $suite in
        errors | samples) set -- "$PLANIMETER" compile "$program" ;;
        p4info) set -- "$PLANIMETER" compile "$program" --p4info "$log.txtpb" ;;
        stf-interpreter) set -- "$PLANIMETER" stf --quiet "$program" ;;
        stf-compiled) set -- "$PLANIMETER" stf --quiet --path compiled "$program" ;;
    esac
    case $architecture in
        v1model | psa | pna | ebpf | ubpf | xdp) ;;
        *)
            printf '%s\t%s\t%s\tskipped\tits architecture is not one that Planimeter knows\n' "$suite" "$architecture" "$name" \
                >>"$out/results.tsv"
            return
            ;;
    esac
    timeout --kill-after=5 "$SECONDS_EACH" "$@" >"$log" 2>&1 || status=$?
    case $suite:$status in
        *:124 | *:137) outcome=failed reason="did not end within $SECONDS_EACH s" ;;
        errors:1 | errors:2) outcome=passed ;;
        errors:0) outcome=failed reason='accepted' ;;
        p4info:0)
            if same_text "$log.txtpb" "$(golden "$program")"; then
                outcome=passed
            else
                outcome=failed reason='another P4Info'
                diff <(tokens "$log.txtpb") <(tokens "$(golden "$program")") >"$log" || true
            fi
            ;;
        *:0) outcome=passed ;;
        *:1 | *:2) outcome=failed reason=$(grep -m1 -E 'error|differ|expected|not ' "$log" | tr '\t' ' ' | cut -c1-200) ;;
        *) outcome=failed reason="ended with status $status: $(tail -1 "$log" | tr '\t' ' ' | cut -c1-200)" ;;
    esac
    rm -f "$log.txtpb"
    [[ $outcome == failed ]] || rm -f "$log"
    # A line is shorter than a pipe's buffer, so lines of several processes do not mix.
    printf '%s\t%s\t%s\t%s\t%s\n' "$suite" "$architecture" "$name" "$outcome" "$reason" >>"$out/results.tsv"
}

# Prints the file with the P4Info that p4c generates for a program.
golden() {
    local folder
    folder=$(dirname -- "$(dirname -- "$1")")/p4_16_samples_outputs/$(basename -- "$1")
    local file
    for file in "$folder.p4info.txtpb" "$folder.p4info.txt"; do
        [[ ! -f $file ]] || { printf '%s\n' "$file"; return; }
    done
}

# Prints the words of a text in protocol buffers' text format, one in a line, without comments.
tokens() {
    sed -E 's/^[[:space:]]*#.*$//' "$1" | grep -oE '"([^"\\]|\\.)*"|[{}<>:,;]|[^[:space:]{}<>:,;"]+' | grep -vE '^[,;]$' || true
}

same_text() {
    cmp -s <(tokens "$1") <(tokens "$2")
}
export -f architecture try golden tokens same_text

# Prints the trials, as SUITE and PROGRAM, each ended by a zero byte.
trials() {
    local program
    for program in "$checkout"/testdata/p4_16_samples/*.p4; do
        [[ -f $program ]] || continue
        printf 'samples\0%s\0' "$program"
        if [[ -f ${program%.p4}.stf ]]; then
            printf 'stf-interpreter\0%s\0stf-compiled\0%s\0' "$program" "$program"
        fi
        [[ -z $(golden "$program") ]] || printf 'p4info\0%s\0' "$program"
    done
    for program in "$checkout"/testdata/p4_16_errors/*.p4; do
        [[ ! -f $program ]] || printf 'errors\0%s\0' "$program"
    done
}
trials | xargs -0 -r -n 2 -P "$(nproc)" bash -c 'try "$@"' _
[[ -s $out/results.tsv ]] || { echo "$checkout has no programs under testdata/p4_16_samples" >&2; exit 2; }
sort -o "$out/results.tsv" "$out/results.tsv"

"$PLANIMETER" --version
echo
echo "| suite | architecture | programs | passed | failed |"
echo "| --- | --- | --- | --- | --- |"
awk -F '\t' '$4 != "skipped" { all[$1 FS $2]++; passed[$1 FS $2] += $4 == "passed" }
    END { for (key in all) { split(key, part, FS)
          printf "| %s | %s | %d | %d | %d |\n", part[1], part[2], all[key], passed[key], all[key] - passed[key] } }' \
    "$out/results.tsv" | sort
echo
awk -F '\t' '$4 == "skipped" { skipped++ } END { printf "Skipped, since their architecture is another: %d trials.\n", skipped }' \
    "$out/results.tsv"
if grep -q $'\tfailed\t' "$out/results.tsv"; then
    echo
    echo "| suite | program | why |"
    echo "| --- | --- | --- |"
    awk -F '\t' '$4 == "failed" { gsub(/\|/, "\\|", $5); printf "| %s | %s | %s |\n", $1, $3, $5 }' "$out/results.tsv"
    echo
    echo "The outputs are in $out/log."
    exit 1
fi
