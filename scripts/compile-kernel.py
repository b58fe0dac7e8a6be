#!/usr/bin/env python3
"""compile-kernel.py [--once] IMAGE OUT - compiles the Python kernel when belljar is built.

Compiling the kernel takes as long as the start of Python itself, so belljar carries the kernel also
as compiled code, as a .pyc file would: 4 bytes that name the version of the byte code, then marshal
data. src/kernels/python_loader.py takes the compiled code if the Python in the sandbox has the same
version of byte code, else asks for the text. With --once, parts that a process for one run does not use are
left out: its time is mostly that of the memory that it touches.

IMAGE is src/kernels/python_image.S, which says of which files the text consists."""
import importlib.util
import marshal
import pathlib
import re
import sys

NOT_FOR_ONE_RUN = {"FRESH", "SESSION", "LATE", "LOOP"}


def read_text(image):
    """The text of the kernel: what IMAGE has between the labels kernel_python_text and kernel_python_end. Its paths
    begin at the root of the project, two directories above it."""
    lines = image.read_text().split("\nkernel_python_text:\n")[1].split("\nkernel_python_end:\n")[0]
    text = ""
    for directive, value in re.findall(r'\.(incbin|ascii) "(.*)"', lines):
        if directive == "incbin":
            text += (image.parents[2] / value).read_text()
        else:
            text += value.replace("\\n", "\n")
    return text


def compile_kernel(text, left_out):
    """The code of the text. Its parts, which are strings, become marshal data, because a process needs few of them.
    Docstrings are left out."""
    parts = {part: b"" if name in left_out else marshal.dumps(compile(part, "<belljar>", "exec", 0, True, 2))
             for name, part in re.findall(r"^([A-Z]+) = r'''(.*?)'''$", text, re.M | re.S)}
    code = compile(text, "<string>", "exec", 0, True, 2)
    return code.replace(co_consts=tuple(parts.get(each, each) if isinstance(each, str) else each
                                        for each in code.co_consts))


def encode_kernel(text, left_out):
    return importlib.util.MAGIC_NUMBER + marshal.dumps(compile_kernel(text, left_out))


if __name__ == "__main__":
    left_out = NOT_FOR_ONE_RUN if sys.argv[1] == "--once" else set()
    image, out = (pathlib.Path(each).resolve() for each in sys.argv[-2:])
    out.write_bytes(encode_kernel(read_text(image), left_out))
