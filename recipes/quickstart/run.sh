#!/usr/bin/env bash
# From nothing to BLEU in some five minutes on two processor cores: writes the sample corpus that nmtkit holds, then
# prepares, trains, translates and scores. Call it again after an interruption: what is done is not done again.
#
#   run.sh [--folder DIR] [--set KEY=VALUE]...
#
#   --folder DIR       where everything made goes; without it: data/ and run/ beside this script
#   --set KEY=VALUE    a setting that wins over nmtkit.toml, as train.stop.updates=300
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

folder=$here
settings=()
while [ $# -gt 0 ]; do
    case $1 in
        --folder) folder=${2:?--folder needs a folder}; shift 2 ;;
        --set) settings+=(--set "${2:?--set needs KEY=VALUE}"); shift 2 ;;
        -h | --help) sed -n '2,/^set /{/^set /d; s/^# \{0,1\}//; p}' "${BASH_SOURCE[0]}"; exit 0 ;;
        *) echo "run.sh: unknown option $1; see run.sh --help" >&2; exit 2 ;;
    esac
done

# The nmtkit on the path, else the one in the repository's environment, which is made where there is none.
if ! command -v nmtkit > /dev/null; then
    programs=$("$here/../set-up")
    PATH=$programs:$PATH
fi

say() { echo "== $*" >&2; }

say "the sample corpus"
nmtkit init "$folder" --sample
experiment=(--config "$folder/nmtkit.toml" ${settings[@]+"${settings[@]}"})
data=$folder/data
run=$folder/run

say "prepare"
nmtkit prepare "${experiment[@]}"

say "train"
nmtkit train "${experiment[@]}"

output=$run/translations/test.de
mkdir -p "$run/translations"
# The translation is made again only where some weights are newer than it.
if [ ! -e "$output" ] || [ -n "$(find "$run/checkpoints" -name weights.safetensors -newer "$output")" ]; then
    say "translate"
    nmtkit translate "${experiment[@]}" "$data/test.en" --output "$output"
fi

say "score"
echo "Some lines of the test set:"
echo
paste "$data/test.labels" "$data/test.en" "$output" "$data/test.de" | awk -F '\t' 'NR % 125 == 60 {
    print $1; print "  source      " $2; print "  nmtkit      " $3; print "  reference   " $4; print ""
}'
nmtkit score "${experiment[@]}" --system "$output" --reference "$data/test.de" --labels "$data/test.labels" --format table

echo
echo "learning curve: $run/learning_curve.png"
echo "a sentence of your own: echo \"The old woman gave the children two apples.\" | $(command -v nmtkit) translate --run $run"
