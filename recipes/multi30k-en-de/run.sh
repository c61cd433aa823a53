#!/usr/bin/env bash
# Multi30k English-German from the raw files to BLEU. Call it again after an interruption: what is done is not done again.
#
#   run.sh [--config FILE] [--data DIR] [--run DIR] [--set KEY=VALUE]...
#
#   --config FILE      settings, rnn.toml beside this script for one; without it: nmtkit.toml beside this script
#   --data DIR         folder of the raw .gz files, or MULTI30K_DATA; without either they are downloaded and checked
#   --run DIR          where everything made goes; without it: run/ beside this script, with --config run-NAME/ by the
#                      name of the file
#   --set KEY=VALUE    a setting that wins over the file
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../experiment.sh"

read_options "$@"
provide_files
train_and_score "$files" .en.gz test_2016_flickr test_2017_flickr test_2017_mscoco
