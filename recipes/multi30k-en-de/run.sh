#!/usr/bin/env bash
# Multi30k English-German from the raw files to BLEU. Call it again after an interruption: what is done is not done again.
#
#   run.sh [--config FILE] [--data DIR] [--run DIR] [--set KEY=VALUE]...
#
#   --config FILE      settings, rnn.toml beside this script for one; without it: nmtkit.toml beside this script
#   --data DIR         folder of the raw .gz files, or MULTI30K_DATA; without either they are downloaded and checked
#   --run DIR          where everything made goes, or MULTI30K_RUN; without either: run/ beside this script, with --config
#                      run-NAME/ by the name of the file
#   --set KEY=VALUE    a setting that wins over the file
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

config=$here/nmtkit.toml
data=()
run=${MULTI30K_RUN:-}
settings=()
while [ $# -gt 0 ]; do
    case $1 in
        --config) config=${2:?--config needs a file}; shift 2 ;;
        --data) data=(--data "${2:?--data needs a folder}"); shift 2 ;;
        --run) run=${2:?--run needs a folder}; shift 2 ;;
        --set) settings+=(--set "${2:?--set needs KEY=VALUE}"); shift 2 ;;
        -h | --help) sed -n '2,/^set /{/^set /d; s/^# \{0,1\}//; p}' "${BASH_SOURCE[0]}"; exit 0 ;;
        *) echo "run.sh: unknown option $1; see run.sh --help" >&2; exit 2 ;;
    esac
done
if [ -z "$run" ]; then
    run=$here/run
    [ "$config" = "$here/nmtkit.toml" ] || run=$here/run-$(basename "$config" .toml)
fi

say() { echo "== $*" >&2; }

say "data"
files=$("${PYTHON:-python3}" "$here/../fetch" "$here/files.json" --into "$here/data" ${data[@]+"${data[@]}"})

# The nmtkit on the path, else the one in the repository's environment, which is made where there is none.
if ! command -v nmtkit > /dev/null; then
    programs=$("$here/../set-up")
    PATH=$programs:$PATH
fi

experiment=(--config "$config" --run "$run" --set "corpus.folder=$files" ${settings[@]+"${settings[@]}"})

say "prepare"
nmtkit prepare "${experiment[@]}"

say "train"
nmtkit train "${experiment[@]}"

tests=(test_2016_flickr test_2017_flickr test_2017_mscoco)
mkdir -p "$run/translations"
for name in "${tests[@]}"; do
    output=$run/translations/$name.txt
    # A translation is made again only where some weights are newer than it.
    if [ ! -e "$output" ] || [ -n "$(find "$run/checkpoints" -name weights.safetensors -newer "$output")" ]; then
        say "translate $name"
        nmtkit translate --run "$run" "$files/$name.en.gz" --output "$output"
    fi
done

say "score"
nmtkit score "${experiment[@]}" --system "nmtkit=$run/translations/{set}.txt" | tee "$run/scores.txt"
