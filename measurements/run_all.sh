#!/usr/bin/env bash
# Runs the measurements, all of them or those named by the beginning of their folders' names:
#
#   measurements/run_all.sh [--quick] [SHOW...]      for example: run_all.sh share-01 share-06
#
# --quick makes a few short runs, to see that the scripts work, and leaves the kept results alone.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

quick=()
shows=()
for argument in "$@"; do
    case "$argument" in
        --quick) quick=(--quick) ;;
        -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 0 ;;
        *) shows+=("$argument") ;;
    esac
done
[[ ${#shows[@]} -gt 0 ]] || shows=("")

scripts/setup measure browser && make release || exit 1

failed=()
for show in "${shows[@]}"; do
    found=false
    for script in measurements/"$show"*/measure.py; do
        [[ -e $script ]] || continue
        found=true
        echo "== $script"
        python3 "$script" "${quick[@]}" || failed+=("$script")
    done
    $found || { echo "run_all: no measurement begins with '$show'" >&2; exit 2; }
done

[[ ${#quick[@]} -gt 0 ]] || python3 measurements/collect.py || exit 1
if [[ ${#failed[@]} -gt 0 ]]; then
    printf 'run_all: criteria not met, or failed: %s\n' "${failed[@]}" >&2
    exit 1
fi
