#!/bin/sh
# Kernels that run cells only, such as Bash's: tests/kernels/sessions_test.py.
set -u
exec python3 tests/kernels/sessions_test.py
