# What the run.sh of small recipes share: options, data, and the four commands of nmtkit. A run.sh names its folder
# `here`, sources this file and calls its functions.

say() { echo "== $*" >&2; }

# usage: prints what the run.sh says of itself at its top.
usage() { sed -n '2,/^set /{/^set /d; s/^# \{0,1\}//; p}' "$0"; }

# read_options ARGUMENT...: sets config, run, settings and what was given of the data.
read_options() {
    config=$here/nmtkit.toml
    run=
    given=()
    settings=()
    while [ $# -gt 0 ]; do
        case $1 in
            --config) config=${2:?--config needs a file}; shift 2 ;;
            --data) given=(--data "${2:?--data needs a folder}"); shift 2 ;;
            --run) run=${2:?--run needs a folder}; shift 2 ;;
            --set) settings+=(--set "${2:?--set needs KEY=VALUE}"); shift 2 ;;
            -h | --help) usage; exit 0 ;;
            *) echo "run.sh: unknown option $1; see run.sh --help" >&2; exit 2 ;;
        esac
    done
    if [ -z "$run" ]; then
        run=$here/run
        [ "$config" = "$here/nmtkit.toml" ] || run=$here/run-$(basename "$config" .toml)
    fi
}

# provide_files [MANIFEST]: sees that the files of a manifest are there and right, and sets files, their folder.
provide_files() {
    local python=${PYTHON:-python3} manifest=${1:-$here/files.json}
    if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
        echo "run.sh: needs Python 3.11 or newer; name one with PYTHON=python3.12 before the command" >&2
        exit 2
    fi
    say "data"
    files=$("$python" "$here/../fetch" "$manifest" --into "$(dirname "$manifest")/data" ${given[@]+"${given[@]}"})
}

# find_nmtkit: the nmtkit on the path, else the one in the repository's environment, which is made where there is none.
find_nmtkit() {
    if ! command -v nmtkit > /dev/null; then
        local programs
        programs=$("$here/../set-up")
        PATH=$programs:$PATH
    fi
}

# write_as FILE COMMAND...: what a command writes becomes a file when all of it is there; not again where it is there.
write_as() {
    local file=$1
    shift
    [ ! -e "$file" ] || return 0
    mkdir -p "$(dirname "$file")"
    "$@" > "$file.part.$$"
    mv "$file.part.$$" "$file"
}

# made_for FOLDER WHAT: a folder holds what was made from one thing; ends where that was another.
made_for() {
    local was
    if [ ! -e "$1/made-for" ] && [ -e "$1/text" ]; then
        echo "run.sh: $1 does not say what it was made from; give another folder with --run" >&2
        exit 2
    fi
    write_as "$1/made-for" echo "$2"
    was=$(cat "$1/made-for")
    if [ "$was" != "$2" ]; then
        echo "run.sh: $1 holds what was made from $was, not from $2; give another folder with --run" >&2
        exit 2
    fi
}

# unpacked FILE: its text, whether it is packed or not.
unpacked() { gzip -cdf "$1"; }

# train_in RUN CONFIG ARGUMENT...: prepares and trains, or goes on with it.
train_in() {
    local into=$1 base=$2
    shift 2
    say "prepare $into"
    nmtkit prepare --config "$base" --run "$into" "$@" ${settings[@]+"${settings[@]}"}
    say "train $into"
    nmtkit train --config "$base" --run "$into" "$@" ${settings[@]+"${settings[@]}"}
}

# is_older FILE RUN: there is no such file, or some weights of the run are newer.
is_older() { [ ! -e "$1" ] || [ -n "$(find "$2/checkpoints" -name weights.safetensors -newer "$1")" ]; }

# translate_in RUN SOURCE OUTPUT ARGUMENT...: translates a file, again only where the weights are newer.
translate_in() {
    local model=$1 source=$2 output=$3
    shift 3
    is_older "$output" "$model" || return 0
    say "translate $output"
    mkdir -p "$(dirname "$output")"
    nmtkit translate --run "$model" "$source" --output "$output" "$@"
}

# translate_in_parts RUN SOURCE OUTPUT LINES ARGUMENT...: the same, so many lines at a time, of which none is lost when a
# call is interrupted. Parts that are drawn at random (--sample) have seeds of their own.
translate_in_parts() {
    local model=$1 source=$2 output=$3 lines=$4 part number=0 seed=()
    shift 4
    is_older "$output" "$model" || return 0
    mkdir -p "$output.parts"
    if [ ! -e "$output.parts/cut" ]; then
        unpacked "$source" | split -a 5 -l "$lines" - "$output.parts/source."
        touch "$output.parts/cut"
    fi
    for part in "$output.parts"/source.*; do
        number=$((number + 1))
        case " $* " in *" --sample "*) seed=(--seed "$number") ;; esac
        translate_in "$model" "$part" "${part/source./target.}" "$@" ${seed[@]+"${seed[@]}"}
    done
    cat "$output.parts"/target.* > "$output.part.$$"
    mv "$output.part.$$" "$output"
    rm -r "$output.parts"
}

# score [OPTION]...: the scores of all translations, which are those of the test sets of the config.
score() {
    say "score"
    nmtkit score --config "$config" --run "$run" --set "corpus.folder=$texts" ${settings[@]+"${settings[@]}"} \
        --system "nmtkit=$run/translations/{set}.txt" "$@"
}

# train_and_score FOLDER SUFFIX NAME...: the four commands over the text in a folder, where the corpora of the config lie;
# the source of each test set is FOLDER/NAMESUFFIX.
train_and_score() {
    local suffix=$2 name
    texts=$(cd "$1" && pwd)
    shift 2
    find_nmtkit
    train_in "$run" "$config" --set "corpus.folder=$texts"
    for name in "$@"; do
        translate_in "$run" "$texts/$name$suffix" "$run/translations/$name.txt"
    done
    score | tee "$run/scores.txt"
}
