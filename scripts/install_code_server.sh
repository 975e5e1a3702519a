#!/usr/bin/env bash
# Gets code-server from npm for tests/server/test_vscode.py, into a folder: `scripts/install_code_server.sh FOLDER`.
# Its own script asks GitHub for a compiled ripgrep; Debian's does as well. Prints the command to name in
# HYBRIDIZE_CODE_SERVER. Needs node 20, a C++ compiler, node's headers, and ripgrep.
set -euo pipefail
version=4.100.3
mkdir -p "$1"
cd "$1"
quiet=(--ignore-scripts --omit=dev --no-audit --no-fund --loglevel=error)
npm install "${quiet[@]}" --prefix . "code-server@$version" >&2
npm rebuild --prefix . argon2 >&2
cd node_modules/code-server/lib/vscode
npm install "${quiet[@]}" >&2
for module in @vscode/spdlog native-watchdog node-pty; do
    npm rebuild "$module" >&2 || echo "warning: $module is not built" >&2 # the last has what tests need before it fails
done
mkdir -p node_modules/@vscode/ripgrep/bin
ln -sf "$(command -v rg)" node_modules/@vscode/ripgrep/bin/rg
ln -sfn node_modules node_modules.asar
(cd extensions && npm install "${quiet[@]}" >&2)
cd ../../../..
cat >code-server <<EOF
#!/bin/sh
exec node "$PWD/node_modules/code-server/out/node/entry.js" "\$@"
EOF
chmod +x code-server
echo "$PWD/code-server"
