#!/bin/sh
# What people know from Jupyter, in Python: tests/kernels/notebook_test.py.
set -u
exec python3 tests/kernels/notebook_test.py
