#!/usr/bin/env bash
# WMT14 English-German from download to the scores of newstest2014: see run.sh --help, and README.md.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

python=${PYTHON:-python3}
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "run.sh: needs Python 3.11 or newer; name one with PYTHON=python3.12 before the command" >&2
    exit 2
fi
exec "$python" "$here/../wmt14" --recipe "$here" "$@"
