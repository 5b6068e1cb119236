#!/usr/bin/env bash
# completion.sh PROGRAM_FOLDER SCRIPT: what Bash makes of the answers of `groupops complete`.
set -uo pipefail
PATH=$1:$PATH
source "$2"
cd "$(mktemp -d)"
trap 'rm -rf "$PWD"' EXIT
touch 'data one.npy' data2.npy
mkdir out
failed=0

# expect LINE WORD...: completing LINE offers these words, in any order.
expect() {
    local got
    COMP_LINE=$1 COMP_POINT=${#1} COMPREPLY=()
    shift
    _groupops
    got=$(printf '%s\n' "${COMPREPLY[@]}" | LC_ALL=C sort)
    if [[ $got != "$(printf '%s\n' "$@" | LC_ALL=C sort)" ]]; then
        echo "$COMP_LINE: ${COMPREPLY[*]@Q}, not ${*@Q}"
        failed=1
    fi
}

COMP_WORDBREAKS=$' \t\n"\'><=;|&(:'
expect 'groupops pl' plan
expect 'groupops run ' conv deconv norm
expect 'groupops run conv --filter-sc' --filter-scales=
expect 'groupops run conv --accuracy=' exact relaxed
expect 'groupops run conv --accuracy=r' relaxed
expect 'groupops run conv --data=data' 'data one.npy' data2.npy
expect 'groupops compare data2.npy data2' data2.npy
expect 'groupops run conv --no-such=' 
COMP_WORDBREAKS=$' \t\n'
expect 'groupops run conv --accuracy=r' --accuracy=relaxed
exit "$failed"
