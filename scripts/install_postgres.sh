#!/usr/bin/env bash
# Makes sure that the ledger's tests find a PostgreSQL server; prints why they will be skipped
# otherwise. The tests start a server of their own on a private folder and a free port: what
# Debian's package sets up beside its programs is neither used nor changed.
set -euo pipefail

shopt -s nullglob
installed=(/usr/lib/postgresql/*/bin/initdb)
if [[ -n "${INTERPRET_DP_POSTGRES:-}" || ${#installed[@]} -gt 0 ]] || command -v initdb >/dev/null; then
    exit 0
fi
if [[ "$(id -u)" -ne 0 ]]; then
    echo "Tests of PostgreSQL will be skipped: no initdb found, and installing it needs root." \
        "Install Debian's package 'postgresql', or set INTERPRET_DP_POSTGRES to the folder of" \
        "initdb and pg_ctl."
    exit 0
fi
if ! command -v apt-get >/dev/null; then
    echo "Tests of PostgreSQL will be skipped: no initdb found, and no apt-get to install it with." \
        "Install PostgreSQL, or set INTERPRET_DP_POSTGRES to the folder of initdb and pg_ctl."
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends postgresql >/dev/null
installed=(/usr/lib/postgresql/*/bin/initdb)
[[ ${#installed[@]} -gt 0 ]]
