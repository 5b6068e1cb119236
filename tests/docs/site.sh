#!/usr/bin/env bash
# site.sh MAKE FOLDER PYTHON DOCUMENTS: makes the manual in FOLDER, and looks at every link of its pages.
set -euo pipefail
if ! command -v doxygen >/dev/null; then
    echo "skipped, because there is no doxygen"
    exit 77
fi
"$1" "$2"
"$3" "$4" site "$2/html"
