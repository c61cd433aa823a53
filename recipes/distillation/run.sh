#!/usr/bin/env bash
# Knowledge distillation on Multi30k English-German (Kim and Rush 2016, sequence level): a teacher translates the
# training text, and a student with one decoder layer learns from its translations. Call it again after an
# interruption: what is done is not done again.
#
#   run.sh [--data DIR] [--run DIR] [--teacher RUN] [--without-control] [--set KEY=VALUE]...
#
#   --data DIR         folder of the raw .gz files of ../multi30k-en-de, or MULTI30K_DATA; without either they are
#                      downloaded and checked
#   --run DIR          where everything made goes; without it: run/ beside this script
#   --teacher RUN      run folder of a model that is trained already; without it teacher.toml is trained
#   --without-control  do not also train the student on the text as it is, for comparison
#   --set KEY=VALUE    a setting of all trainings that wins over the files
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../experiment.sh"

run=$here/run
teacher=
control=yes
given=()
settings=()
while [ $# -gt 0 ]; do
    case $1 in
        --data) given=(--data "${2:?--data needs a folder}"); shift 2 ;;
        --run) run=${2:?--run needs a folder}; shift 2 ;;
        --teacher) teacher=${2:?--teacher needs a run folder}; shift 2 ;;
        --without-control) control=; shift ;;
        --set) settings+=(--set "${2:?--set needs KEY=VALUE}"); shift 2 ;;
        -h | --help) usage; exit 0 ;;
        *) echo "run.sh: unknown option $1; see run.sh --help" >&2; exit 2 ;;
    esac
done

provide_files "$here/../multi30k-en-de/files.json"
find_nmtkit
tests=(test_2016_flickr test_2017_flickr test_2017_mscoco)

if [ -n "$teacher" ]; then
    teacher=$(cd "$teacher" && pwd)
    made_for "$run" "the teacher $teacher"
else
    made_for "$run" "a teacher of its own"
fi

# The text of the student: the teacher's translations beside all that the recipe has.
text=$run/text
mkdir -p "$text"
text=$(cd "$text" && pwd)
for file in "$files"/{train,val,test_2016_flickr,test_2017_flickr,test_2017_mscoco}.{en,de}.gz; do
    ln -sf "$file" "$text/"
done

if [ -z "$teacher" ]; then
    teacher=$run/teacher
    train_in "$teacher" "$here/teacher.toml" --set "corpus.folder=$text"
fi
translate_in_parts "$teacher" "$text/train.en.gz" "$text/distilled.de" 10000

systems=(teacher student)
train_in "$run/student" "$here/nmtkit.toml" --set "corpus.folder=$text"
if [ -n "$control" ]; then
    systems+=(control)
    as_it_is='corpus.train=[{name = "train", source = "train.en.gz", target = "train.de.gz"}]'
    train_in "$run/control" "$here/nmtkit.toml" --set "corpus.folder=$text" --set "$as_it_is"
fi

folder_of() { if [ "$1" = teacher ]; then echo "$teacher"; else echo "$run/$1"; fi; }
search_of() { if [ "$1" = greedy ]; then echo 'translate.search={kind = "greedy"}'; else echo 'translate.search.kind=beam'; fi; }

# lines_a_second SYSTEM SEARCH: translates all test sets and says how fast, start-up left out.
lines_a_second() {
    local said
    say "time $1, $2"
    if ! said=$(nmtkit translate --run "$(folder_of "$1")" "$run/sources.en" --output /dev/null \
        --set "$(search_of "$2")" 2>&1); then
        echo "$said" >&2
        return 1
    fi
    sed -n 's/.* \([0-9,.]*\) lines\/s.*/\1/p' <<< "$said" | tr -d , | grep .
}

# rates: three rounds, in each all systems one after another, so that what else the machine does slows all of them alike.
rates() {
    local rate
    for _ in 1 2 3; do
        for search in beam greedy; do
            for system in "${systems[@]}"; do
                rate=$(lines_a_second "$system" "$search")
                printf '%s\t%s\n' "$system-$search" "$rate"
            done
        done
    done
}

sources() { for name in "${tests[@]}"; do unpacked "$files/$name.en.gz"; done; }
write_as "$run/sources.en" sources

compared=()
for system in "${systems[@]}"; do
    for search in beam greedy; do
        output=$run/translations/$system-$search
        for name in "${tests[@]}"; do
            translate_in "$(folder_of "$system")" "$files/$name.en.gz" "$output/$name.txt" --set "$(search_of $search)"
        done
        compared+=(--system "$system-$search=$output/{set}.txt")
    done
done

for system in "${systems[@]}"; do
    if is_older "$run/lines-a-second.tsv" "$(folder_of "$system")" || ! grep -q "^$system-" "$run/lines-a-second.tsv"; then
        rm -f "$run/lines-a-second.tsv"
    fi
done
write_as "$run/lines-a-second.tsv" rates

say "score"
bleu="score.metrics=[{kind = 'bleu'}]"
nmtkit score --config "$here/nmtkit.toml" --run "$run/student" --set "corpus.folder=$text" --set "$bleu" \
    ${settings[@]+"${settings[@]}"} "${compared[@]}" --format tsv > "$run/scores.txt"

# rate_of SYSTEM SEARCH: the middle one of its three rates.
rate_of() {
    awk -F '\t' -v of="$1-$2" '$1 == of { print $2 }' "$run/lines-a-second.tsv" | sort -n | sed -n 2p
}

# table: a row for each system and search: parameters, BLEU of each test set with its interval, lines a second.
table() {
    echo "| system | parameters | search | $(printf '%s | ' "${tests[@]}")lines/s | times the teacher's |"
    echo "| --- | ---: | --- | $(printf -- '---: | %.0s' "${tests[@]}")---: | ---: |"
    for search in beam greedy; do
        for system in "${systems[@]}"; do
            local parameters rate first row
            parameters=$(sed -n 's/.*model: [a-z]* of \([0-9,]*\) parameters.*/\1/p' "$(folder_of "$system")/train.log" |
                tail -n 1)
            rate=$(rate_of "$system" "$search")
            first=$(rate_of teacher "$search")
            row="| $system | $parameters | $search |"
            for name in "${tests[@]}"; do
                row+=$(awk -F '\t' -v set="$name" -v of="$system-$search" '$1 == set && $3 == of && $4 == "BLEU" {
                    printf " %.2f (%.2f to %.2f) |", $5, $6, $7 }' "$run/scores.txt")
            done
            echo "$row $rate | $(awk -v one="$rate" -v other="$first" 'BEGIN { printf "%.2f", one / other }') |"
        done
    done
}
table | tee "$run/table.md"
awk -F '\t' '$4 == "BLEU" { signature = $NF } END { print "\nBLEU: " signature }' "$run/scores.txt"
