#!/bin/sh
# demo.sh PROGRAM - demonstrates belljar on this machine: runs Python in a sandbox, calls a tool as an
# MCP client does, and prints how to connect a real client. `make run` calls it.
set -eu
program=$1

work=$(mktemp -d)
chmod 755 "$work" # as root, the server runs under another uid
state="$work/state"

# Files of a sandbox may belong to other uids, which rm(1) cannot remove: belljar removes them.
# shellcheck disable=SC2317 # called by the trap
remove_work() {
  "$program" rm --state-dir "$state" default >/dev/null 2>&1 || :
  rm -rf "$work"
}
trap remove_work EXIT

# report_missing - reports why no sandbox can be made
report_missing() {
  echo
  echo "Belljar cannot make a sandbox on this machine:"
  sed 's/^/  /' "$work/errors"
  echo
  echo "What is missing, and how to get it:"
  echo
  "$program" doctor --state-dir "$state" 2>&1 | grep -v '^on ' | sed 's/^/  /' || :
  exit 1
}

cat >"$work/hello.py" <<'CODE'
import os, pathlib, sys

print("I am", os.popen("id -un").read().strip(), "in", os.getcwd())
print("2 ** 100 =", 2 ** 100)
pathlib.Path("mine.txt").write_text("this file is mine")
for what, attempt in {
    "write to /usr": lambda: open("/usr/evil", "w"),
    "read your home": lambda: os.listdir(sys.argv[1]),
}.items():
    try:
        attempt()
        print(f"I could {what}!")
    except OSError as error:
        print(f"I cannot {what}: {error.strerror or error}")
print("My networks:", [line.split(":")[0].strip() for line in open("/proc/net/dev") if ":" in line])
CODE

echo
echo "$("$program" version | head -n 1). This Python program runs in a sandbox:"
echo
sed 's/^/  | /' "$work/hello.py"
echo
home=${HOME:-/root}
echo "  \$ $program run hello.py $home"

# The output goes to files first, because a pipeline would hide a failure.
"$program" exec --state-dir "$state" true 2>"$work/errors" || report_missing
failed=0
began=$(date +%s%N)
if "$program" run --state-dir "$state" "$work/hello.py" "$home" \
  >"$work/printed" 2>"$work/errors"; then
  took=$((($(date +%s%N) - began) / 1000000))
  sed 's/^/  /' "$work/printed"
  echo
  echo "  ($took ms to create the sandbox, run the code and remove the sandbox)"
else
  sed 's/^/  /' "$work/printed" "$work/errors"
  echo
  echo "  (the run failed)"
  failed=1
fi

echo
echo "The same through MCP, as an assistant does it:"
echo
code='{"language": "python", "code": "print(sum(range(101)))"}'
echo "  \$ $program client call run_code '$code'"
"$program" client call run_code "$code" -- --state-dir "$state" >"$work/printed" 2>&1 || failed=1
sed 's/^/  /' "$work/printed"
echo
echo "More:          $program client        a tour of the tools"
echo "               $program shell         a shell in a sandbox"
echo "               $program doctor        the layers of isolation on this machine"
echo
echo "To connect a client (each command prints the entry and its file; --write adds it):"
echo
for client in claude-code claude-desktop cursor vscode gemini codex windsurf zed; do
  echo "  $program connect $client"
done
exit "$failed"
