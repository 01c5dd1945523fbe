#!/usr/bin/env bash
# Makes sure that the browser tests find a Chromium; prints why they will be skipped otherwise.
set -euo pipefail

if [[ -n "${INTERPRET_DP_CHROMIUM:-}" ]] || command -v chromium >/dev/null; then
    exit 0
fi
if [[ "$(id -u)" -ne 0 ]]; then
    echo "Browser tests will be skipped: no chromium on PATH, and installing it needs root." \
        "Install Debian's package 'chromium', or set INTERPRET_DP_CHROMIUM to an executable."
    exit 0
fi
if ! command -v apt-get >/dev/null; then
    echo "Browser tests will be skipped: no chromium on PATH, and no apt-get to install it with." \
        "Install Chromium, or set INTERPRET_DP_CHROMIUM to its executable."
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends chromium >/dev/null
command -v chromium >/dev/null
