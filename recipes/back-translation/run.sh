#!/usr/bin/env bash
# Back-translation on Tatoeba English-German (Sennrich et al. 2016): a model of the other direction, trained on few pairs,
# translates German that has no English beside it; a model learns from those pairs too, which carry a tag (Caswell et al.
# 2019), and one for comparison does not. Call it again after an interruption: what is done is not done again.
#
#   run.sh --data DIR [--pairs N] [--lines N] [--search beam|sampling] [--run DIR] [--set KEY=VALUE]...
#
#   --data DIR         folder of the files of ../tatoeba-en-de, or TATOEBA_DATA
#   --pairs N          the first pairs of the training text, with both sides (default: 40000)
#   --lines N          German lines of the pairs behind them (default: all that there are)
#   --search NAME      beam (default), or sampling: drawn at random, which needs more pairs to be good (Edunov et al. 2018)
#   --run DIR          where everything made goes; without it: run/ beside this script
#   --set KEY=VALUE    a setting of all trainings that wins over the files
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../experiment.sh"

pairs=40000
lines=1000000000
search=beam
run=$here/run
given=()
settings=()
while [ $# -gt 0 ]; do
    case $1 in
        --data) given=(--data "${2:?--data needs a folder}"); shift 2 ;;
        --pairs) pairs=${2:?--pairs needs a number}; shift 2 ;;
        --lines) lines=${2:?--lines needs a number}; shift 2 ;;
        --search) search=${2:?--search needs beam or sampling}; shift 2 ;;
        --run) run=${2:?--run needs a folder}; shift 2 ;;
        --set) settings+=(--set "${2:?--set needs KEY=VALUE}"); shift 2 ;;
        -h | --help) usage; exit 0 ;;
        *) echo "run.sh: unknown option $1; see run.sh --help" >&2; exit 2 ;;
    esac
done
case $search in
    beam) how=() ;;
    sampling) how=(--sample) ;;
    *) echo "run.sh: --search $search: no such search; choose beam or sampling" >&2; exit 2 ;;
esac

provide_files "$here/../tatoeba-en-de/files.json"
find_nmtkit

# Pairs with both sides, and behind them German alone.
made_for "$run" "$pairs pairs and $lines lines"
text=$run/text
mkdir -p "$text"
text=$(cd "$text" && pwd)
column() { unpacked "$files/train.tsv.gz" | sed -n "$2" | cut -f "$1"; }
write_as "$text/parallel.en" column 1 "1,${pairs}p"
write_as "$text/parallel.de" column 2 "1,${pairs}p"
write_as "$text/alone.de" column 2 "$((pairs + 1)),$((pairs + lines))p"
for name in dev.en dev.de test.en test.de; do
    write_as "$text/$name" unpacked "$files/$name"
done

train_in "$run/reverse" "$here/reverse.toml" --set "corpus.folder=$text"
translate_in_parts "$run/reverse" "$text/alone.de" "$text/$search.en" 20000 ${how[@]+"${how[@]}"}

train_in "$run/$search" "$here/nmtkit.toml" --set "corpus.folder=$text" --set "corpus.train[1].source=$search.en"
few='corpus.train=[{name = "parallel", source = "parallel.en", target = "parallel.de"}]'
train_in "$run/without" "$here/nmtkit.toml" --set "corpus.folder=$text" --set "$few"

compared=()
for system in without "$search"; do
    translate_in "$run/$system" "$text/test.en" "$run/translations/$system/test.txt"
    compared+=(--system "$system=$run/translations/$system/{set}.txt")
done

say "score"
nmtkit score --config "$here/nmtkit.toml" --run "$run/$search" --set "corpus.folder=$text" \
    --set "corpus.train[1].source=$search.en" ${settings[@]+"${settings[@]}"} "${compared[@]}" --format table | tee "$run/scores.txt"
