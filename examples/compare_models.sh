#!/bin/sh
# SPDX-License-Identifier: MIT
# Compares networks: one line each with their size and their work.
#
#   examples/compare_models.sh MODEL...
#
# WEFT is the program (default: weft on the PATH). Reads the first "key": number of each kind from the
# JSON document, whose totals come before the lists.
set -eu

[ $# -gt 0 ] || set -- alexnet resnet50 mobilenet_v2 bert gpt2
figure() {
    printf '%s\n' "$document" | sed -n "s/^  \"$1\": \([0-9.e+]*\),*\$/\1/p"
}

printf '%-38s %8s %15s %18s %10s\n' model nodes parameters MACs FLOP/B
for model in "$@"; do
    document=$("${WEFT:-weft}" inspect "$model" --json)
    printf '%-38s %8s %15s %18s %10.2f\n' "$model" "$(figure graph_nodes)" "$(figure parameters)" \
        "$(figure macs)" "$(figure flops_per_byte)"
done
