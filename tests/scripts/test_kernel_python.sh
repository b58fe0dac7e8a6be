#!/bin/sh
# Python's end of the conversation with a waiting interpreter: tests/kernels/python_test.py.
set -u
exec python3 tests/kernels/python_test.py
