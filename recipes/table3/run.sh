#!/usr/bin/env bash
# Table 3 of "Attention Is All You Need": its variations of a base trained, each some times, and set beside the paper's
# figures; at small size on Tatoeba English-German, or for any base on any data. Call it again after an interruption:
# what is done is not done again.
#
#   run.sh --data DIR [--pairs N] [OPTION]...
#   run.sh --config FILE [OPTION]...
#
#   --data DIR         folder of the Tatoeba files (../tatoeba-en-de), or TATOEBA_DATA
#   --pairs N          so many of its pairs, the first ones (default: 40000)
#   --config FILE      another base, whose corpora are there already; without it: nmtkit.toml beside this script
#   --out DIR          where trainings and table go; without it: run/ beside this script
#   --rows NAMES       some of the rows, as A1,B16,C-2-layers; without it: all that the base allows
#   --seeds N,N        trainings of each row (default: 1,2)
#   --at-once N        so many trainings at once, which share the cores, each on a GPU of its own (default: 1)
#   --set KEY=VALUE    another setting of the base
#   --plan             train nothing: say what the rows are for this base
#   --show             train nothing: show the table as far as it is there
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../experiment.sh"

config=
given=()
pairs=40000
out=$here/run
arguments=()
while [ $# -gt 0 ]; do
    case $1 in
        --config) config=${2:?--config needs a file}; shift 2 ;;
        --data) given=(--data "${2:?--data needs a folder}"); shift 2 ;;
        --pairs) pairs=${2:?--pairs needs a number}; shift 2 ;;
        --out) out=${2:?--out needs a folder}; shift 2 ;;
        --rows | --seeds | --at-once | --set) arguments+=("$1" "${2:?$1 needs a value}"); shift 2 ;;
        --plan | --show) arguments+=("$1"); shift ;;
        -h | --help) usage; exit 0 ;;
        *) echo "run.sh: unknown option $1; see run.sh --help" >&2; exit 2 ;;
    esac
done

if [ -z "$config" ]; then
    config=$here/nmtkit.toml
    provide_files "$here/../tatoeba-en-de/files.json"
    text=$out/text-$pairs
    first_pairs() { unpacked "$files/train.tsv.gz" | sed -n "1,${pairs}p"; }
    write_as "$text/train.tsv" first_pairs
    for name in dev.en dev.de test.en test.de; do
        write_as "$text/$name" unpacked "$files/$name"
    done
    arguments=(--set "corpus.folder=$(cd "$text" && pwd)" ${arguments[@]+"${arguments[@]}"})
fi

find_nmtkit
program=$(readlink -f "$(command -v nmtkit)")    # beside it, or in its first line, the interpreter it is installed for
python=$(dirname "$program")/python
[ -x "$python" ] || python=$(sed -n '1s/^#! *//p' "$program")
export PYTHONPATH=$here/..${PYTHONPATH:+:$PYTHONPATH}
exec "$python" -m recipe_parts.table3 --config "$config" --out "$out" ${arguments[@]+"${arguments[@]}"}
