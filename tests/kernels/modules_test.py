"""modules_test.py - src/kernels/python_modules.py: what Python modules offer, read from their source."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import tap

PYTHON = os.environ.get("KERNEL_PYTHON", sys.executable)
PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "src/kernels/python_modules.py"

# A source, and its docstring followed by "name|signature|decorators|doc" for each definition.
SOURCES = [
    ("", [""]),
    ('"""Doc."""\n', ["Doc."]),
    ("\ufeff# c\n\n'Doc'\nx = 1\n'not'\n", ["Doc"]),
    ("x = 1\n'no doc'\n", [""]),
    ("def f(a, b=1): pass\n", ["", "f|f(a, b=1)||"]),
    ("def f(a, b=1) -> dict[str, int]:\n    '''Doc.'''\n", ["", "f|f(a, b=1) -> dict[str, int]||Doc."]),
    ("async  def f ( ) :\n\t'D'\n", ["", "f|async f ()||D"]),
    ("def f(\n    a,  # first\n    b=(1,),\n):\n    'D'\n", ["", "f|f(a, b=(1,))||D"]),
    ("def f(a=lambda x: x, b={1: 2}): 'D'\n", ["", "f|f(a=lambda x: x, b={1: 2})||D"]),
    ("def f(a=\"):\", b='#'):\n  u'D'\n", ["", "f|f(a=\"):\", b='#')||D"]),
    ("def f(a): # c\n  # more\n\n  r'\\d'\n", ["", "f|f(a)||\\d"]),
    ("def f(a): return 1\n", ["", "f|f(a)||"]),
    ("def f(a):\n  b'no'\ndef g():\n  f'no'\n", ["", "f|f(a)||", "g|g()||"]),
    ("def f(a):\n  'a' \"b\"\n", ["", "f|f(a)||ab"]),
    ("def f(a):\n  'a' + x\n", ["", "f|f(a)||"]),
    ("def f(a):\r\n    '''One.\r\n\r\n    Two.\r\n    '''\r\n", ["", "f|f(a)||One.\n\nTwo."]),
    ("def f(a): \\\n  pass\nx = \"\"\"\ndef no(): pass\n\"\"\"\ndef g(): pass\n", ["", "f|f(a)||", "g|g()||"]),
    ("class A(B, metaclass=C):\n  'A doc'\n  x = 1\n  def m(self): 'M'\n  class I:\n    def n(self): ...\n"
     "  def o(self):\n    def hidden(): 'no'\n    class No: ...\ndef g(): ...\n",
     ["", "A|A(B, metaclass=C)||A doc", "A.m|m(self)||M", "A.I|I||", "A.I.n|n(self)||", "A.o|o(self)||", "g|g()||"]),
    ("if x:\n    def f(): 'F'\nelse:\n    def f(): 'E'\ntry:\n  class C: pass\nexcept E:\n  pass\n",
     ["", "f|f()||F", "f|f()||E", "C|C||"]),
    ("@a\n@b(1,\n   2)\ndef f(): 'F'\n@x\nclass y: ...\ndef g(): ...\n", ["", "f|f()|@a @b(1, 2)|F", "y|y|@x|", "g|g()||"]),
    ("@a\nasync def f(): 'F'\n", ["", "f|async f()|@a|F"]),
    ("with x: pass\nclassy = 2\n", [""]),
    ("# -*- coding: latin-1 -*-\n'\xe9'\n".encode("latin-1"), ["\xe9"]),
]
if sys.version_info >= (3, 12):
    SOURCES.append(("def f[T](a: T) -> T: ...\n", ["", "f|f[T](a: T) -> T||"]))

# A string literal, and what it says as a docstring.
DOCSTRINGS = [
    ("'''\n    One.\n\n      Two.\n    '''", "One.\n\n  Two."),
    ("'''One.\n\t\tTwo.\n                Three.\n'''", "One.\nTwo.\nThree."),
    ("'''   One.  \n  Two'''", "One.\nTwo"),
    ("'a\\n  b\\tc\\x41\\u00e9\\U0001F600\\101\\'\\\\'", "a\nb     cA\xe9\U0001F600A'\\"),
    ("'\\ud800 \\0'", "\ufffd \ufffd"),
    ("''", ""),
]

# Sources that Python refuses, and how the reason begins.
PROBLEMS = [
    (b"def f(): 'ends in \\", "line 1: "),
    (b"def f(a='unclosed\n  'D'\ndef g(): 'G'\n", "line 1: "),
    (b"def f(a):\n'not indented'\n", "line 2: "),
    (b"x = 1\0", ""),
    (b"x = '\xff'", ""),
    (b"(" * 100000, ""),
    (b"-" * 1000000 + b"1", ""),
    (b"#" * (1 << 20) + b"\n", "it has more than 1048576 bytes"),
]

MODULE = """def area(w):
  '''Area.

  Long.'''
def _private(): ...
class Shape:
  'A shape.'
  def __init__(self): ...
  def _p(self): ...
  @property
  def size(self): 'Its size.\\nMore.'
class _P:
  def m(self): ...
"""


class Modules(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def write(self, name, source):
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(source if isinstance(source, bytes) else source.encode())

    def help(self, module="", function="", room=100000):
        done = subprocess.run([PYTHON, str(PROGRAM), str(self.directory), module, function, str(room)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                              env=dict(os.environ, PYTHONPATH=str(self.directory)))
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertLessEqual(len(done.stdout), room)
        return json.loads(done.stdout.decode())

    def names(self, answer):
        return [item["name"] for item in answer["functions"]]

    def test_definitions_are_read(self):
        for source, want in SOURCES:
            with self.subTest(source=source):
                self.write("m.py", source)
                got = self.help("m")
                self.assertEqual([got["doc"]] + ["%(name)s|%(signature)s|%(decorators)s|%(doc)s" % dict(
                    {"decorators": "", **item}, doc=self.help("m", item["name"])["functions"][0]["doc"]
                    if self.names(got).count(item["name"]) == 1 else item["doc"])
                    for item in got["functions"]], want)

    def test_docstrings_are_cleaned(self):
        for literal, want in DOCSTRINGS:
            with self.subTest(literal=literal):
                self.write("m.py", literal)
                self.assertEqual(self.help("m")["doc"], want)

    def test_source_that_is_not_python_is_a_problem(self):
        for source, why in PROBLEMS:
            with self.subTest(source=source[:40]):
                self.write("m.py", source)
                self.assertEqual(list(self.help("m")), ["problem"])
                self.assertTrue(self.help("m")["problem"].startswith(why), self.help("m"))
                self.assertEqual(self.help()["modules"], [{"name": "m", "summary": ""}])

    def test_private_names_are_left_out(self):
        self.write("m.py", MODULE)
        got = self.help("m")
        self.assertEqual(self.names(got), ["area", "Shape", "Shape.__init__", "Shape.size"])
        self.assertEqual([item["doc"] for item in got["functions"]], ["Area.", "A shape.", "", "Its size."])
        self.assertEqual((got["total"], got["functions"][3]["decorators"]), (4, "@property"))

    def test_a_function_has_all_of_its_documentation(self):
        self.write("m.py", MODULE)
        self.assertEqual(self.help("m", "area")["functions"][0]["doc"], "Area.\n\nLong.")
        self.assertEqual(self.help("m", "Shape.size")["functions"][0]["doc"], "Its size.\nMore.")
        self.assertEqual(self.names(self.help("m", "Shape")), ["Shape", "Shape.__init__", "Shape.size"])
        self.assertEqual(self.names(self.help("m", "_private")), ["_private"])

    def test_names_that_do_not_exist_are_missing(self):
        self.write("m.py", MODULE)
        self.write("p/__init__.py", "'P.'")
        os.mkfifo(self.directory / "fifo.py")
        for module in "nope", "m.area", "p.q", "fifo":
            self.assertEqual(self.help(module), {"missing": "module"})
        self.assertEqual(self.help("p")["doc"], "P.")
        self.assertEqual(self.help("m", "aera"), {"missing": "function", "nearest": "area"})
        self.assertEqual(self.help("m", "Sha"), {"missing": "function", "nearest": "Shape"})
        self.assertEqual(self.help("m", "zzzzzz"), {"missing": "function", "nearest": None})

    def test_functions_that_do_not_fit_are_counted(self):
        self.write("m.py", MODULE)
        got = self.help("m", room=250)
        self.assertEqual((self.names(got), got["total"]), (["area", "Shape"], 4))
        self.write("m.py", "'%s'\n" % ("\xe9" * 9000) + "".join("def f%d(): pass\n" % n for n in range(2000)))
        got = self.help("m", room=20000)
        self.assertEqual((got["total"], len(got["doc"]) > 1000, len(got["functions"]) > 50), (2000, True, True))
        self.assertEqual(len(self.help("m", room=1000000)["functions"]), 1000)
        self.write("m.py", "@%s\n@b\ndef f(%s): '%s'\n" % ("a" * 500, "x" * 3000, "y" * 40000))
        item, = self.help("m", "f")["functions"]
        self.assertEqual((len(item["signature"]), item["decorators"], len(item["doc"])), (2000, "@b", 16384))

    def test_modules_are_listed_by_name(self):
        for name in ("b.py", "a/__init__.py", "a/c.py", "a/d/e.py", "_x.py", "no-name.py", "__pycache__/f.py",
                     "a/_g/h.py", "__init__.py", "README.md", "1/2/3.py", "s/s/s/s/s/deep.py", "s/s/s/s/s/s/deeper.py"):
            self.write(name, "'Doc of %s.\\nMore.'" % name)
        os.symlink("b.py", self.directory / "link.py")
        os.symlink("a", self.directory / "linked")
        got = self.help()
        self.assertEqual([module["name"] for module in got["modules"]], ["a", "a.c", "a.d.e", "b", "s.s.s.s.s.deep"])
        self.assertEqual((got["modules"][0]["summary"], got["total"]), ("Doc of a/__init__.py.", 5))
        self.assertEqual(len(self.help(room=250)["modules"]), 3)

    def test_modules_are_never_imported(self):
        for name in "json", "ast", "tokenize", "io", "stat", "difflib", "inspect", "mine":
            self.write(name + ".py", "'Trap.'\nopen(%r, 'w')" % str(self.directory / "imported"))
        self.assertEqual(len(self.help()["modules"]), 8)
        self.help("json")
        self.help("mine", "nothing")
        self.assertFalse((self.directory / "imported").exists())


if __name__ == "__main__":
    tap.main()
