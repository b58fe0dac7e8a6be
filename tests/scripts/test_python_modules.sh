#!/bin/sh
# The program that tool_help runs in a sandbox: tests/kernels/modules_test.py.
set -eu
exec python3 tests/kernels/modules_test.py
