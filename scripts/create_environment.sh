#!/usr/bin/env bash
# Creates the virtual environment $1 with Python 3.11, or else the first python3 that is newer.
# An environment that exists is kept. PYTHON=/path/to/python3 overrides the search.
set -euo pipefail
target="$1"

new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

if [[ -x "$target/bin/python" ]] && new_enough "$target/bin/python" \
    && "$target/bin/python" -m pip --version >/dev/null 2>&1; then
    exit 0
fi

chosen=""
for candidate in ${PYTHON:-python3.11 python3 python3.12 python3.13}; do
    if new_enough "$candidate"; then
        chosen="$candidate"
        break
    fi
done
if [[ -z "$chosen" ]]; then
    echo "No Python 3.11 or newer found as ${PYTHON:-python3.11, python3, python3.12, python3.13}." \
        "Install one, or set PYTHON to its path." >&2
    exit 1
fi

# Debian ships the module that puts pip into an environment in a package of its own.
if ! "$chosen" -c 'import ensurepip' >/dev/null 2>&1; then
    version="$("$chosen" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
    if [[ "$(id -u)" -ne 0 ]] || ! command -v apt-get >/dev/null; then
        echo "$chosen cannot create environments: install Debian's package python$version-venv," \
            "or set PYTHON to a Python that has ensurepip." >&2
        exit 1
    fi
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "python$version-venv" >/dev/null
fi
"$chosen" -m venv --clear "$target"
