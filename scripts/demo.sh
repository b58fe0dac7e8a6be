#!/bin/sh
# demo.sh PROGRAM - what belljar is for, on this machine: Python in a sandbox, the same asked for
# by a client, then how to connect a real one. `make run` calls it.
set -eu
program=$1

work=$(mktemp -d)
chmod 755 "$work" # as root, belljar serves as another user
state="$work/state"

# The files of a sandbox may be closed even to us: belljar opens them.
clean() {
  "$program" rm --state-dir "$state" default >/dev/null 2>&1 || :
  rm -rf "$work"
}
trap clean EXIT

# All the user sees of a failure is what is said here.
missing() {
  echo
  echo "No sandbox can be made here:"
  sed 's/^/  /' "$work/errors"
  echo
  echo "What this machine offers, and what helps:"
  echo
  "$program" doctor --state-dir "$state" 2>&1 | grep -v '^on ' | sed 's/^/  /' || :
  exit 1
}

cat >"$work/hello.py" <<'CODE'
import os, pathlib, socket, sys

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
print("My networks:", [name for _, name in socket.if_nameindex()])
CODE

echo
echo "$("$program" version | head -n 1). Some Python nobody should trust:"
echo
sed 's/^/  | /' "$work/hello.py"
echo
home=${HOME:-/root}
echo "  \$ $program run hello.py $home"

# Into files first: a program that fails must not hide in a pipeline.
"$program" exec --state-dir "$state" true 2>"$work/errors" || missing
began=$(date +%s%N)
if "$program" run --state-dir "$state" "$work/hello.py" "$home" \
  >"$work/printed" 2>"$work/errors"; then
  took=$((($(date +%s%N) - began) / 1000000))
  sed 's/^/  /' "$work/printed"
  echo
  echo "  ($took ms: a sandbox made, the code run, the sandbox removed)"
else
  sed 's/^/  /' "$work/printed" "$work/errors"
  echo
  echo "  (that did not work)"
fi

echo
echo "The same through MCP, as an assistant would ask:"
echo
code='{"language": "python", "code": "print(sum(range(101)))"}'
echo "  \$ $program client call run_code '$code'"
"$program" client call run_code "$code" -- --state-dir "$state" >"$work/printed" 2>&1 || :
sed 's/^/  /' "$work/printed"
echo
echo "More of that:  $program client        a walk through the tools"
echo "               $program shell         a shell in a sandbox"
echo "               $program doctor        what isolates it on this machine"
echo
echo "To connect a client (each command prints what goes where; --write puts it there):"
echo
for client in claude-code claude-desktop cursor vscode gemini codex windsurf zed; do
  echo "  $program connect $client"
done
