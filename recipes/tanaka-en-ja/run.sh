#!/usr/bin/env bash
# Tanaka corpus English-Japanese, a language without spaces, to BLEU. Call it again after an interruption: what is done
# is not done again.
#
#   run.sh [--config FILE] [--data DIR] [--run DIR] [--set KEY=VALUE]...
#
#   --config FILE      settings; without it: nmtkit.toml beside this script
#   --data DIR         folder of the corpus's files, packed or not, or TANAKA_DATA; without either they are downloaded
#   --run DIR          where everything made goes; without it: run/ beside this script, with --config run-NAME/ by the
#                      name of the file
#   --set KEY=VALUE    a setting that wins over the file
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../experiment.sh"

read_options "$@"
provide_files

# The corpus has Japanese in words with spaces between, which Japanese is not written with.
unspaced() { unpacked "$1" | tr -d ' '; }
for name in train dev test; do
    write_as "$run/text/$name.en" unpacked "$files/$name.en"
    write_as "$run/text/$name.ja" unspaced "$files/$name.ja"
done

train_and_score "$run/text" .en test

# Words are what MeCab makes of the text; where it is installed (nmtkit[ja]), their BLEU too.
if score --set "score.metrics=[{kind='bleu', tokenize='ja-mecab'}]" > "$run/words.txt" 2> "$run/words.log"; then
    cat "$run/words.txt"
else
    say "no BLEU of words: $(tail -n 1 "$run/words.log")"
fi
