#!/usr/bin/env bash
# How the rate grows from one null controller to two: two ranks of the probe, each with half of the switches and one
# packet-in outstanding per switch, first both against one controller of one thread, then each against its own. The two
# measurements take turns, so that what else the machine does meets both.
#
#     examples/ranks/null-controllers.sh [ROUNDS [SWITCHES]]
#
# The controllers and the ranks take a core each: with fewer than four, what is measured is how cores are shared.
set -euo pipefail
planimeter=${PLANIMETER:-planimeter}
rounds=${1:-5}
switches=${2:-32}
ports=(16653 16654)
meet=127.0.0.1:16700

folder=$(mktemp --directory)
running=()
trap 'kill "${running[@]}" 2>/dev/null || true; rm -rf "$folder"' EXIT
for port in "${ports[@]}"; do
    "$planimeter" controller -a null --listen "127.0.0.1:$port" >/dev/null &
    running+=($!)
done
sleep 1

# rank RANK PORT OUTPUT: one of the two ranks.
rank() {
    PLANIMETER_RANK=$1 PLANIMETER_RANKS=2 PLANIMETER_MEET=$meet "$planimeter" probe -c "127.0.0.1:$2" -n "$switches" \
        --mode closed --window 1 --threads 1 --isolate=false --duration 2s --warm-up 500ms --quiet --json --output "$3"
}

# rate PORT PORT: answers per second of both ranks together, when rank 0 is at the first controller and rank 1 at the second.
rate() {
    local output=$folder/$RANDOM
    rank 1 "$2" "$output.1" >/dev/null &
    local other=$!
    rank 0 "$1" "$output.0" >"$folder/result.json"
    wait "$other" || true
    python3 -c '
import json, sys
trial = json.load(open(sys.argv[1]))["points"][0]["trials"][0]
print(round(trial["rates"]["received"]))' "$folder/result.json"
}

echo "round one two ratio"
for ((round = 1; round <= rounds; round++)); do
    one=$(rate "${ports[0]}" "${ports[0]}")
    two=$(rate "${ports[0]}" "${ports[1]}")
    echo "$round $one $two $(python3 -c "print(f'{$two / $one:.2f}')")"
done
