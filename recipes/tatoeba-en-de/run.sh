#!/usr/bin/env bash
# Tatoeba English-German from pairs to BLEU. Call it again after an interruption: what is done is not done again.
#
#   run.sh --data DIR [--config FILE] [--run DIR] [--set KEY=VALUE]...
#
#   --data DIR         folder with train.tsv.gz, dev.en, dev.de, test.en and test.de, or TATOEBA_DATA
#   --config FILE      settings; without it: nmtkit.toml beside this script
#   --run DIR          where everything made goes; without it: run/ beside this script, with --config run-NAME/ by the
#                      name of the file
#   --set KEY=VALUE    a setting that wins over the file
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../experiment.sh"

read_options "$@"
provide_files
train_and_score "$files" .en test
