#!/bin/sh
# demo.sh PROGRAM - what a client sees: a short conversation over stdio, then how to
# connect a real one. `make run` calls it.
set -eu
program=$1

converse() {
  cat <<'LINES'
{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"demo","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"server_info","arguments":{"detail":"full"}}}
LINES
}

# Into files first: a program that fails must not hide in a pipeline.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$program" version >"$work/version"
converse >"$work/said"
"$program" serve <"$work/said" >"$work/answered"

echo
echo "$(cat "$work/version"). A client says, and is answered:"
echo
sed 's/^/  > /' "$work/said"
echo
cut -c 1-400 "$work/answered" | sed 's/^/  < /'
echo
echo "A program in a sandbox of its own:"
echo
echo "  \$ $program exec sh -c 'id; ls /; touch /usr/x'"
"$program" exec sh -c 'id; ls /; touch /usr/x' 2>&1 | sed 's/^/  /'
echo
echo "To connect a client (each command prints what goes where; --write puts it there):"
echo
for client in claude-code claude-desktop cursor vscode gemini codex windsurf zed; do
  echo "  $program connect $client"
done
echo
echo "To see what this machine offers for sandboxes:  $program doctor"
