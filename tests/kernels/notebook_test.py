"""notebook_test.py - what people know from Jupyter (src/kernels/notebook and src/kernels/python_run.py):
IPython's syntax, magics, display, the event loop of a session, the value of a fresh run."""
import base64
import subprocess
import time
import unittest
import zlib

import tap
from kernel import PYTHON, Kernel


def has(module):
    return subprocess.run([PYTHON, "-c", "import " + module], stderr=subprocess.DEVNULL).returncode == 0


def plain(*texts):
    return [("text/plain", text, "") for text in texts]


def png(width, height):
    chunk = lambda kind, data: len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")
    size = width.to_bytes(4, "big") + height.to_bytes(4, "big") + b"\x08\0\0\0\0"
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", size) + chunk(b"IDAT", zlib.compress(bytes((width + 1) * height)))
            + chunk(b"IEND", b""))


HAS_IPYTHON = has("IPython")


class Notebook(unittest.TestCase):
    maxDiff = None
    is_session = True

    def setUp(self):
        self.kernel = Kernel(session=self.is_session)
        self.addCleanup(self.kernel.end)

    def run_code(self, code, **options):
        return self.kernel.cell(code, **options) if self.is_session else self.kernel.run(code, **options)

    def gives(self, code, *shown, out="", err="", status=0, **options):
        got = self.run_code(code, **options)
        shown = [(each if isinstance(each, tuple) else ("text/plain", each, "")) for each in shown]
        self.assertEqual((got.shown, got.out, got.err, got.error, got.code), (shown, out, err, None, status))
        return got

    def fails(self, code, name, message):
        got = self.run_code(code)
        self.assertEqual((got.error or ("",))[0], name, (got.err, got.out))
        self.assertRegex(got.error[1], message)
        self.assertNotIn("belljar", got.error[2])


class Syntax(Notebook):
    def test_indentation_of_the_first_line_is_removed(self):
        self.gives("  x = 1\n  if x:\n      x = 2\n  x", "2")
        self.gives("\n\n\ty = 3\n\ty", "3")
        self.assertEqual(self.kernel.cell("x = 1\n  y = 2").error[0], "IndentationError")

    def test_prompts_are_removed(self):
        self.gives(">>> x = 4\n>>> if x:\n...     x = 5\n>>> x", "5")

    def test_commands_run_in_a_shell(self):
        self.gives("!echo out; echo err >&2", out="out\n", err="err\n")
        self.gives("x = 5; name = 'a b'\n!echo {x + 1} $x \"$name\" $HOME_NOT '{x y}' $$", out="6 5 a b {x y} $\n")
        self.gives("lines = !printf '1\\n2\\n'\nlines, lines.s, lines.n", "(['1', '2'], '1 2', '1\\n2')")
        self.gives("!exit 3\n_exit_code", "3")
        self.gives("if x:\n    !echo \\\n  it\nprint('on')", out="it\non\n")
        self.gives("def f(v):\n    !echo {v}\nf(9)", out="9\n")
        self.gives("print('a')\n!echo b\nprint('c')", out="a\nb\nc\n")

    def test_prompts_of_ipython_are_removed(self):
        self.gives("In [1]: x = 4\n\nIn [2]: for i in range(2):\n   ...:     x += i\n   ...:\n\nIn [3]: x", "5")
        self.gives("In [1]: 5", "5")

    def test_comments_may_stand_in_front_of_a_cell_magic(self):
        self.gives("# why\n\n# how\n%%bash\necho yes", out="yes\n")

    def test_python_is_not_translated(self):
        self.gives("s = '''\n!no\n%no\nno?\n'''\n!echo yes\ns", "'\\n!no\\n%no\\nno?\\n'", out="yes\n")
        self.gives("x = (7\n%4\n)\n!echo yes\nx", "3", out="yes\n")
        self.gives("x = 7 \\\n%4\n# it's !no\n!echo yes\nx", "3", out="yes\n")
        self.gives('y = "a" # "\'\'\'\n!echo yes', out="yes\n")
        got = self.kernel.cell("x = = 1\n")
        self.assertEqual(got.error[0], "SyntaxError")
        self.assertIn("x = = 1", got.error[2])

    def test_question_marks_describe_an_object(self):
        self.gives("def f(a, b=1):\n    'Adds.'\n    return a + b")
        for code in "f?", "?f":
            got = self.kernel.cell(code)
            self.assertIn("Signature: f(a, b=1)", got.out)
            self.assertIn("Adds.", got.out)
        self.assertIn("return a + b", self.kernel.cell("f??").out)
        self.gives("nothing?", out="Object `nothing` not found.\n")
        self.gives("dict.fr*?", out="dict.fromkeys\n")
        self.gives("nothing.x*?", out="No name matches nothing.x*.\n")
        self.assertIn("Type: int", self.kernel.cell("\u03c0 = 3\n\u03c0?").out)

    def test_tracebacks_have_the_lines_of_the_cell(self):
        got = self.kernel.cell("!true\n\n1/0")
        self.assertIn('File "<cell 1>", line 3', got.error[2])
        got = self.kernel.cell("%%time\nx = 1\n1/0")
        self.assertIn('File "<cell 2>", line 3', got.error[2])
        self.assertNotIn("belljar", got.error[2])


class Magics(Notebook):
    def test_cd_and_env_change_the_session(self):
        home = str(self.kernel.home)
        self.gives("%cd /\n%pwd", "'/'", out="/\n")
        self.gives("%cd -", out=home + "\n")
        self.gives("%env NAME=value\nimport os; os.environ['NAME']", "'value'", out="env: NAME=value\n")
        self.gives("%env NAME", "'value'")
        self.gives("path = %pwd\npath == " + repr(home), "True")
        self.fails("%cd /nowhere", "FileNotFoundError", "nowhere")
        self.gives("os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')\n%cd -q " + home + "\n%pwd", repr(home))

    def test_time_and_timeit_print_durations(self):
        for code in "%time 1 + 1", "%%time\nx = 1\nx + 1":
            got = self.run_code(code)
            self.assertEqual(got.shown, plain("2"))
            self.assertRegex(got.out, "^CPU times: user .*, sys: .*, total: .*\nWall time: .*s\n$")
        for code in "%timeit -n 2 -r 2 sum(range(10))", "%%timeit -n 2 -r 2\nsum(range(10))":
            self.assertRegex(self.run_code(code).out, "s per loop \\(mean ± std. dev. of 2 runs, 2 loops each\\)\n$")

    def test_cell_magics_run_scripts_and_write_files(self):
        self.gives("%%bash\nx=1\necho $x; echo it\\'s", out="1\nit's\n")
        self.gives("%%sh\necho $0", out="sh\n")
        self.fails("%%bash\nexit 4", "CalledProcessError", "exit status 4")
        self.gives("%%writefile a.py\nimport sys\nq = sys.argv\nprint('ran')", out="Writing a.py\n")
        self.gives("%%writefile -a a.py\nr = 2", out="Appending to a.py\n")
        self.gives("%run a.py 5\nq, r", "(['a.py', '5'], 2)", out="ran\n")

    def test_capture_keeps_output_and_values(self):
        self.gives("%%capture c\nprint('hidden')\ndisplay(1)\n!echo sub\n2")
        self.gives("c.stdout, c.outputs", "('hidden\\nsub\\n', [1, 2])")
        self.gives("c.show()", "1", "2", out="hidden\nsub\n")

    def test_capture_output_is_a_context(self):
        for module in "IPython.utils.io", "IPython.utils.capture":
            self.gives("from %s import capture_output\nwith capture_output() as c:\n    print('hidden'); display(5)\n"
                       "c.stdout, c.stderr, c.outputs" % module, "('hidden\\n', '', [5])")

    def test_who_and_reset_see_the_names_of_the_user(self):
        self.gives("a = 1; b = 'x'\n%who", out="a\tb\n")
        self.assertIn("str", self.run_code("%whos").out)
        self.gives("%reset -f\n%who", out="Interactive namespace is empty.\n")

    def test_reset_of_a_part_keeps_the_variables(self):
        self.gives("a = 1; a", "1")
        self.gives("%reset -f out\na, len(Out), _", "(1, 0, '')")
        self.gives("%reset -f in\na, set(In[:-1])", "(1, {''})")
        self.fails("%reset -f nonesuch", "UsageError", "There are: in, out, dhist, array$")
        self.gives("ab = 2; c = 3\n%reset_selective -f ^a\n%who", out="c\n")
        self.gives("c", "3")
        self.gives("%xdel c\n'c' in globals(), _", "(False, '')")

    def test_directories_can_be_stacked(self):
        home = str(self.kernel.home)
        self.gives("%cd -q /\n%pwd", "'/'")
        self.gives("%cd -q " + home)
        self.gives("%pushd /\n%pwd", "'/'", out="/\n")
        self.gives("%popd", out=home + "\n")
        self.fails("%popd", "UsageError", "no directory is left")

    def test_magics_in_a_function_see_its_variables(self):
        got = self.run_code("def f(v):\n    %time print(2 * v)\nf('hi')")
        self.assertRegex(got.out, "^hihi\nCPU times: ")
        self.assertRegex(self.run_code("def g(v):\n    %timeit -n1 -r1 v + 1\ng(1)").out, "per loop")

    def test_timeit_returns_its_result(self):
        self.gives("r = %timeit -n1 -r2 -q -o 1\nr.repeat, r.loops, r.average >= 0", "(2, 1, True)")
        self.gives("%timeit -n1 -r1 -q 1")
        self.gives("%timeit -n1 -r1 -q !echo ran", out="ran\n")

    def test_prun_profiles(self):
        self.assertIn("function calls", self.run_code("%prun sum(range(10))").out)

    def test_precision_of_floats(self):
        self.gives("%precision 3", "'%.3f'")
        self.gives("3.14159", "3.142")
        self.gives("%precision", "'%r'")
        self.gives("3.14159", "3.14159")

    def test_set_env_needs_a_value(self):
        self.fails("%set_env NAME", "UsageError", "needs a value")

    def test_scripts_give_their_output_to_variables(self):
        self.gives("%%bash --out o --err e\necho out; echo err >&2\n")
        self.gives("o, e", "('out\\n', 'err\\n')")
        self.gives("%%script --no-raise-error bash\nexit 3")
        self.gives("%%script --bg --proc p sh\nexit 4")
        self.gives("%%script sh --out o\necho behind")
        self.gives("o", "'behind\\n'")
        self.gives("p.wait()", "4")
        self.gives("%%sx\necho a\necho b", "['a', 'b']")
        self.gives("%%!\necho a", "['a']")
        self.gives("x = !printf 'a b\\nc d\\n'\nx.fields(1), x.fields(1, 0)", "(['b', 'd'], ['b a', 'd c'])")

    def test_run_takes_modules_notebooks_and_the_variables_of_cells(self):
        write = lambda name, text: (self.kernel.home / name).write_text(text)
        write("shared.py", "z = y + 1\nprint(__name__)")
        self.gives("y = 1\n%run -i shared.py\nz, __name__", "(2, '__main__')", out="__main__\n")
        self.fails("%run shared.py", "NameError", "'y'")
        write("other.py", "import sys\nprint(sys.argv[1:], __name__)")
        self.gives("%run -m other 5", out="['5'] __main__\n")
        self.gives("%run other", out="[] __main__\n")
        write("a.ipynb", '{"cells": [{"cell_type": "code", "source": ["n = 1\\n", "!echo $n"]}, '
                         '{"cell_type": "markdown", "source": ["# t"]}], "metadata": {}}')
        self.gives("%run a.ipynb\nn", "1", out="1\n")
        write("b.ipy", "!echo ipy")
        self.gives("%run b.ipy", out="ipy\n")

    def test_cells_are_listed_saved_and_run_again(self):
        self.gives("a = 1")
        self.gives("print(a)", out="1\n")
        self.gives("%history -n 1-2", out="   1: a = 1\n   2: print(a)\n")
        self.gives("%history -pof h.txt 1")
        self.assertEqual((self.kernel.home / "h.txt").read_text(), ">>> a = 1\n")
        self.gives("%save s 1-2", out="2 cells were written to s.py\n")
        self.assertEqual((self.kernel.home / "s.py").read_text(), "a = 1\nprint(a)\n")
        self.gives("%rerun 2", out="1\n")
        self.fails("%history -z", "UsageError", "option -z")

    def test_magics_of_the_user(self):
        self.gives("from IPython.core.magic import *\n@register_line_magic\ndef twice(line): return line * 2\n%twice ab",
                   "'abab'")
        self.gives("@register_line_cell_magic('both')\ndef b(line, cell=None): return line, cell")
        self.gives("%both x", "('x', None)")
        self.gives("%%both x\ny", "('x', 'y')")
        self.gives("@magics_class\nclass M(Magics):\n    @cell_magic\n    def m(self, line, cell):\n"
                   "        return self.shell is get_ipython(), cell\nget_ipython().register_magics(M)")
        self.gives("%%m\ny", "(True, 'y')")
        self.gives("%alias_magic zwei twice\n%zwei a", "'aa'")

    def test_extensions_of_the_user(self):
        (self.kernel.home / "mine.py").write_text(
            "from IPython.core.magic import register_line_magic\n"
            "def load_ipython_extension(ip):\n    ip.user_ns['q'] = 5\n    register_line_magic('of_mine')(len)\n"
            "def unload_ipython_extension(ip):\n    del ip.user_ns['q']\n")
        self.gives("%load_ext mine\n%of_mine abc", "3")
        self.gives("q", "5")
        self.gives("%unload_ext mine\n'q' in globals()", "False")
        self.fails("%load_ext nonesuch_extension", "ModuleNotFoundError", "nonesuch_extension")
        self.fails("%load_ext json", "UsageError", "^the module json is not an extension of IPython")
        (self.kernel.home / "more.py").write_text("def load_ipython_extension(ip): ip.input_transformers_post.append(1)\n")
        self.fails("%load_ext more", "UsageError", "^the extension more needs more of IPython than there is here")

    def test_callbacks_of_cells(self):
        self.gives("seen = []\nget_ipython().events.register('pre_run_cell', lambda i: seen.append(i.raw_cell))\n"
                   "def bad(result): 1/0\nget_ipython().events.register('post_run_cell', bad)",
                   err="the callback 'bad' of post_run_cell failed: ZeroDivisionError: division by zero\n")
        self.gives("get_ipython().events.unregister('post_run_cell', bad)")
        self.gives("seen", '["get_ipython().events.unregister(\'post_run_cell\', bad)", \'seen\']')

    def test_which_values_are_shown_can_be_chosen(self):
        self.gives("get_ipython().ast_node_interactivity = 'all'")
        self.gives("1\nx = 2\nx; x + 1", "1", "2", "3")
        self.gives("1\n2;")
        self.gives("get_ipython().ast_node_interactivity = 'last_expr_or_assign'")
        self.gives("1\ny = 5", "5")
        self.gives("y += 1", "6")
        self.gives("get_ipython().ast_node_interactivity = 'none'")
        self.gives("1")
        self.gives("from IPython.core.interactiveshell import InteractiveShell\n"
                   "InteractiveShell.ast_node_interactivity = 'all'")
        self.gives("1\n2", "1", "2")

    def test_accepted_magics_do_nothing(self):
        self.gives("%matplotlib inline\n%config A.b = 'c'\n1", "1")

    def test_changed_modules_are_loaded_again(self):
        module = self.kernel.home / "mine.py"
        module.write_text("def f(): return 1\n")
        self.gives("%load_ext autoreload\n%autoreload 2\nimport mine\nfrom mine import f\nf()", "1")
        module.write_text("def f(): return 'two'\n")
        self.gives("mine.f(), f()", "('two', 'two')")
        self.gives("%autoreload 0")
        module.write_text("def f(): return 'three three'\n")
        self.gives("f()", "'two'")

    def test_other_magics_say_what_to_use(self):
        self.fails("%nonesuch x", "UsageError", "^the magic %nonesuch is not available here: use Python code, or !COMMAND")
        self.fails("%debug", "UsageError", "use print\\(\\), or %tb")
        self.gives("%tb", out="Traceback (most recent call last):\n  File \"<cell 2>\", line 1, in <module>\n    %debug\nUsageError: the magic %debug is not available here: use print(), or %tb for the traceback: nobody can type into a debugger\n")
        self.fails("%%javascript\n1", "UsageError", 'a call with language "javascript"')
        self.fails("%bash", "UsageError", "is not available here")
        self.fails("%capture x", "UsageError", "^%capture does not exist: use %%capture$")

    def test_pip_is_that_of_this_interpreter(self):
        if has("pip"):
            self.assertRegex(self.run_code("%pip --version").out, "^pip ")

    def test_get_ipython_is_for_cells_only(self):
        self.gives("get_ipython().run_line_magic('pwd', '') == get_ipython().getoutput('pwd')[0]", "True")
        (self.kernel.home / "library.py").write_text("def f(): return get_ipython()\nfrom IPython import get_ipython as g\n")
        self.gives("import library; print(library.f())", out="None\n")


class History(Notebook):
    def test_values_and_inputs_are_kept(self):
        self.gives("1", "1")
        self.gives("'two'", "'two'")
        self.gives("3;")
        self.gives("4", "4")
        self.gives("_, __, ___, _1, _2, Out[4], In[3]", "(4, 'two', 1, 1, 'two', 4, '3;')")
        self.gives("_i, _ii, _i1, len(In)", "('_, __, ___, _1, _2, Out[4], In[3]', '4', '1', 7)")
        self.gives("import builtins; builtins._ = len\n5", "5")
        self.gives("_('abc')", "3")
        self.gives("del builtins._\n6", "6")
        self.gives("_", "6")
        self.gives("_ = 'mine'\nNone")
        self.gives("_", "'mine'")
        self.gives("[n for n in dir() if not n.startswith('__')]", "['_', 'builtins']")


class EventLoop(Notebook):
    START = "import asyncio\nasync def f(n, s=0.02):\n    await asyncio.sleep(s)\n    print('f', n)\n    return n\n"

    def test_output_of_earlier_cells_is_told_apart(self):
        head = "[printed by what earlier cells left running:]\n"
        begin = "import os, threading, time\nr, w = os.pipe()\ndef late(): os.read(r, 1); print('late', 1); os.write(a, b'.')\nb, a = os.pipe()\n"
        meet = "print('a')\n_n = os.write(w, b'.'); _n = os.read(b, 1)\nprint('b')"
        for start in ("threading.Thread(target=late).start()",
                      "if os.fork() == 0: late(); os._exit(0)",
                      "import multiprocessing as m; m.get_context('fork').Process(target=late).start()"):
            self.gives(begin + start)
            self.gives(meet, out="a\n" + head + "late 1\n[this cell:]\nb\n")
            self.gives("print('own')", out="own\n")
        self.gives("from concurrent.futures import ThreadPoolExecutor\np = ThreadPoolExecutor(1)\np.submit(print, 1).result()", out="1\n")
        self.gives("p.submit(print, 2).result()", out="2\n")

    def test_task_of_one_cell_is_awaited_in_the_next(self):
        self.gives(self.START + "t = asyncio.create_task(f(1, 1))")
        self.gives("await t", "1", out="f 1\n")
        self.gives("t = asyncio.create_task(f(2)); await t", "2", out="f 2\n")
        self.gives("await asyncio.gather(f(3), f(4))", "[3, 4]", out="f 3\nf 4\n")

    def test_new_task_begins_with_its_cell(self):
        self.gives(self.START + "async def g(): print('begun'); await asyncio.sleep(60)\nt = asyncio.create_task(g())",
                   out="begun\n")
        self.gives("t.cancel()", "True")

    def test_tasks_go_on_between_cells(self):
        self.gives(self.START + "async def g():\n    await asyncio.sleep(.01)\n    open('done', 'w')\nt = asyncio.create_task(g())")
        deadline = time.monotonic() + 60
        while not (self.kernel.home / "done").exists():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        self.gives("1", "1")

    def test_run_and_the_loop_of_the_session_are_both_there(self):
        self.gives(self.START + "asyncio.run(f(1))", "1", out="f 1\n")
        self.gives("asyncio.get_event_loop().run_until_complete(f(2))", "2", out="f 2\n")
        self.gives("asyncio.get_running_loop() is asyncio.get_event_loop()", "True")
        self.gives("await f(3)", "3", out="f 3\n")

    def test_failing_task_does_not_end_the_session(self):
        self.gives(self.START + "async def g():\n    await asyncio.sleep(0)\n    raise SystemExit(3)\nt = asyncio.create_task(g())\nNone")
        time.sleep(0.1)
        self.gives("1", "1")


class Display(Notebook):
    IMPORT = ("from IPython.display import (display, HTML, Image, Markdown, SVG, JSON, Latex, Code, Video, Audio, IFrame,"
              " Javascript, Math, Pretty, clear_output, update_display, display_html, DisplayHandle)\n")

    def path(self, name):
        return str(self.kernel.home / ".belljar" / name)

    def test_display_classes_give_their_media_types(self):
        for code, *want in (
                ("HTML('<b>')", ("text/html", "<b>", "")),
                ("Markdown('# a')", ("text/markdown", "# a", "")),
                ("Latex('$x$')", ("text/latex", "$x$", "")),
                ("Math('x')", ("text/latex", "$\\displaystyle x$", "")),
                ("JSON({'a': 1})", ("application/json", '{"a": 1}', "")),
                ("Code('x = 1')", "x = 1"),
                ("Pretty('p')", "p"),
                ("Javascript('f()')", ("application/javascript", "f()", "")),
                ("IFrame('http://a', 1, 2)", ("text/html", '<iframe width="1" height="2" src="http://a"></iframe>', "")),
                ("Video('http://a/b.mp4')", ("text/html", '<video controls src="http://a/b.mp4"></video>', "")),
                ("Audio([0.0, 0.5], rate=8000)", ("audio/wav", "", self.path("audio-1.wav"))),
                ("Image(url='http://a/b.png')", ("text/html", '<img src="http://a/b.png"/>', "")),
                ("SVG('<svg/>')", ("image/svg+xml", "<svg/>", "")),
                ("SVG('<svg>' + 'a' * 1024 + '</svg>')", ("image/svg+xml", "", self.path("image-1.svg"))),
                ("Image(%r)" % png(3, 2), ("image/png", "", self.path("image-2.png"))),
                ("display_html('<u>', raw=True)", ("text/html", "<u>", ""))):
            if HAS_IPYTHON and code.startswith(("IFrame", "Video", "Image(url")):
                continue  # its HTML differs from that of the stand-in
            with self.subTest(code=code):
                self.gives(self.IMPORT + code, *want)
        self.gives(self.IMPORT + "Image(url='http://a/b.png', width=2, height=3)._repr_html_(), HTML('<b>')",
                   "('<img src=\"http://a/b.png\" width=\"2\" height=\"3\"/>', <IPython.core.display.HTML object>)")
        self.gives(self.IMPORT + "for wrong in 'Image()', 'Image(b\"\", format=\"bad\", embed=True)', 'Video(b\"abc\")':\n"
                   "    try: eval(wrong)\n    except ValueError: print('refused')", out="refused\n" * 3)
        (self.kernel.home / "a.png").write_bytes(png(4, 4))
        self.gives(self.IMPORT + "Image('a.png')", ("image/png", "", self.path("image-3.png")))
        self.gives("import IPython\nfrom IPython.core.display import HTML\nIPython.display.HTML is HTML", "True")

    def test_dictionary_of_media_types_is_shown(self):
        picture = base64.b64encode(png(2, 2)).decode()
        self.gives("display({'text/plain': 'p', 'text/html': '<i>'}, raw=True)", "p", ("text/html", "<i>", ""))
        self.gives("display({'image/png': %r, 'text/plain': '<X object at 0x1>'}, raw=True)" % picture,
                   ("image/png", "", self.path("image-1.png")))
        self.gives("display({'application/vnd.x+json': {'a': 1}}, raw=True)", ("application/vnd.x+json", '{"a": 1}', ""))

    def test_all_forms_of_a_value_are_shown(self):
        a = ("class A:\n    def __repr__(s): return 'A'\n    def _repr_html_(s): return '<b>'\n"
             "    def _repr_latex_(s): return '$a$'\n    def _repr_json_(s): return {'a': 1}\n"
             "    def _repr_mimebundle_(s, include, exclude): return {'text/latex': '$b$'}\n")
        self.gives(a + "A()", "A", ("text/html", "<b>", ""), ("text/latex", "$b$", ""), ("application/json", '{"a": 1}', ""))
        self.gives(a + "class B(A):\n    def _repr_html_(s): return '<b>' * 100\n    def _repr_json_(s): return [1] * 100\nB()",
                   "A", ("text/html", "", self.path("page-1.html")), ("text/latex", "$b$", ""),
                   ("application/json", "", self.path("data-1.json")))
        self.gives("class C:\n    def __repr__(s): return 'C'\n    def _repr_png_(s): return %r\nC()" % png(2, 2),
                   "C", ("image/png", "", self.path("image-1.png")))

    def test_form_without_room_in_an_answer_is_a_file(self):
        show = "from IPython.display import JSON\n%s"
        self.gives(show % "JSON(list(range(30000)))", ("application/json", "", self.path("data-1.json")))
        self.gives("display({'application/vnd.vegalite.v5+json': {'a': [1] * 999}, 'text/plain': "
                   "'<VegaLite 5 object>\\n\\nIf you see this message ...'}, raw=True)",
                   ("application/vnd.vegalite.v5+json", "", self.path("data-2.json")))
        self.gives("display({'application/x': b'\\xff', 'text/plain': 'x', 'application/vnd.y+json': ''}, raw=True)",
                   "x", ("application/x", "", self.path("data-3.bin")))
        path = self.path("image-1.png")
        self.gives("from IPython.display import Image\nImage(data=%r)" % png(300, 300), "a picture of 90000 pixels and "
                   "%d bytes, which is too large to be shown: %s" % (len(png(300, 300)), path), pixels=1000)

    def test_widgets_are_told(self):
        view = "{'application/vnd.jupyter.widget-view+json': {'model_id': 'x'}"
        self.gives("display(%s, 'text/plain': 'IntSlider()'}, raw=True)" % view, "IntSlider()")
        self.gives("display(%s}, raw=True)" % view, "a widget, which only a browser with Jupyter can show: print its value")

    def test_form_that_fails_is_told_if_there_is_no_other(self):
        got = self.run_code("class A:\n    def _repr_svg_(s): raise OSError('no dot')\nA()").shown
        self.assertRegex(got[0][1], "^<__main__.A object")
        self.assertEqual(got[1:], plain("(it could not be shown otherwise: OSError: no dot)"))

    def test_picture_that_is_none_is_told(self):
        for code, why in (("Image('no.png')", "FileNotFoundError: No such file or directory: 'no.png'"),
                          ("Image(data=b'x')", "ValueError: the data given as image/png is no such picture")):
            with self.subTest(code=code):
                got = self.run_code("from IPython.display import Image\n" + code).shown
                self.assertEqual(got, plain("<IPython.core.display.Image object>",
                                            "(it could not be shown otherwise: %s)" % why))
        self.gives("display({'image/png': 'x' * 5}, raw=True)", "(it could not be shown otherwise: Error: "
                   "Invalid base64-encoded string: number of data characters (5) cannot be 1 more than a multiple of 4)")

    @unittest.skipUnless(has("pandas"), "no pandas")
    def test_styled_table_is_text_and_a_file(self):
        self.gives("import sys, types, pandas\nclass Styler:\n    data = pandas.DataFrame({'a': [1]})\n"
                   "    def _repr_html_(self): return '<table>'\n"
                   "sys.modules['pandas.io.formats.style'] = types.SimpleNamespace(Styler=Styler)\nStyler()",
                   "   a\n0  1", ("text/html", "", self.path("table-1.html")))

    def test_form_that_fails_is_passed_over(self):
        for code, want in (
                ("_repr_png_(s): 1/0\n    def _repr_html_(s): return '<ok>'", ("text/html", "<ok>", "")),
                ("_repr_mimebundle_(s, include, exclude): 1/0\n    def _repr_latex_(s): return '$l$'", ("text/latex", "$l$", "")),
                ("_ipython_display_(s): 1/0\n    def _repr_markdown_(s): return 'm'", ("text/markdown", "m", "")),
                ("_repr_pretty_(s, p, cycle): p.text('pretty')", "pretty"),
                ("_ipython_display_(s): display('own')", "'own'"),
                ("_repr_pdf_(s): return b'%PDF'", ("application/pdf", "", self.path("application-1.pdf")))):
            with self.subTest(code=code):
                self.gives("class A:\n    def %s\nA()" % code, want)

    def test_registered_functions_are_used(self):
        self.gives("class A: pass\nget_ipython().display_formatter.formatters['text/html'].for_type(A, lambda a: '<r>')\nA()",
                   ("text/html", "<r>", ""))

    @unittest.skipUnless(has("PIL"), "no PIL")
    def test_show_of_an_image_is_a_picture(self):
        self.gives("from PIL import Image\nImage.new('RGB', (2, 2)).show()", ("image/png", "", self.path("image-1.png")))

    @unittest.skipUnless(has("matplotlib"), "no matplotlib")
    def test_value_of_a_plot_is_the_picture(self):
        self.gives("import matplotlib.pyplot as plt\nplt.plot([1, 2])", ("image/png", "", self.path("figure-1.png")))
        self.gives("from IPython.display import HTML\nimport matplotlib.pyplot as plt\nplt.title('x')",
                   ("image/png", "", self.path("figure-2.png")))


# Packages that stand for the real ones, as far as the kernel uses them.
PLOTLY = """
class BaseFigure:
    png = None
    def to_image(self, format):
        if not self.png: raise ValueError('needs kaleido\\nand more')
        return self.png
    def to_html(self, include_plotlyjs): return '<page>'
    def show(self): 1/0
    def _repr_html_(self): 1/0
"""
BOKEH = """
class Model: pass
class figure(Model): pass
"""


class Libraries(Notebook):
    def package(self, name, text="", **modules):
        directory = self.kernel.home / name
        directory.mkdir(parents=True)
        for file, content in dict(modules, __init__=text).items():
            (directory / (file + ".py")).write_text(content)

    def test_figures_are_pictures_or_pages(self):
        self.package("plotly", basedatatypes=PLOTLY)
        page = str(self.kernel.home / ".belljar/figure-1.html")
        start = "from plotly.basedatatypes import BaseFigure\nf = BaseFigure()\n"
        self.gives(start + "f", "a figure of plotly, saved as a page for a browser, not a picture (ValueError: needs "
                   "kaleido): `pip install kaleido` lets plotly draw pictures", ("text/html", "", page))
        self.gives(start + "f.png = %r\nf.show()" % png(2, 2), ("image/png", "", str(self.kernel.home / ".belljar/image-1.png")))

    def test_altair_charts_are_pictures(self):
        self.package("altair")
        self.package("altair/vegalite")
        self.package("altair/vegalite/v5", api="class TopLevelMixin:\n    def show(self): 1/0\n"
                     "    def to_html(self): return '<page>'\n    def save(self, file, format): file.write(%r)\n" % png(2, 2))
        picture = str(self.kernel.home / ".belljar/image-%d.png")
        start = "from altair.vegalite.v5.api import TopLevelMixin\n"
        self.gives(start + "TopLevelMixin()", ("image/png", "", picture % 1))
        self.gives(start + "TopLevelMixin().show()", ("image/png", "", picture % 2))

    def test_bokeh_shows_a_page_without_a_browser(self):
        self.package("bokeh", model=BOKEH, resources="CDN = 1\n", embed="def file_html(*a): return '<page>'\n")
        self.package("bokeh/io", "from .showing import show\n", showing="def show(m): 1/0\n")
        self.assertEqual([mime for mime, _, _ in self.run_code(
            "from bokeh.io import show\nfrom bokeh.model import figure\nfigure.__module__ = 'bokeh.plotting'\n"
            "show(figure())").shown], ["text/plain", "text/html"])

    def test_bars_of_a_notebook_are_text(self):
        self.package("tqdm", std="tqdm, trange = 'bar', 'range'\n", notebook="def tqdm(): raise ImportError\n")
        self.gives("from tqdm.notebook import tqdm, trange\ntqdm, trange", "('bar', 'range')")

    def test_printing_of_sympy_keeps_the_display_of_values(self):
        self.package("sympy")
        self.package("sympy/interactive", printing="import sys\ndef _init_python_printing():\n    sys.displayhook = None\n"
                     "def init_printing(): _init_python_printing()\n")
        self.gives("from sympy.interactive.printing import init_printing\ninit_printing()\n5", "5")

    def test_installed_ipython_is_bridged(self):
        self.package("IPython", "from .display import display as d\ndef get_ipython(): return None\n", display="""
from .core.display_functions import display, clear_output
class HTML:
    def __init__(self, data): self.data = data
    def _repr_html_(self): return self.data
""")
        self.package("IPython/core", display_functions="def display(*v): print('theirs')\ndef clear_output(wait=False): 1/0\n")
        self.gives("from IPython.display import *\nfrom IPython import get_ipython\ndisplay(HTML('<b>'))\n"
                   "get_ipython().ev('1 + 1')", ("text/html", "<b>", ""), "2")


class FreshLibraries(Libraries):
    is_session = False


class Updates(Notebook):
    def test_displays_are_updated_and_cleared(self):
        shown = lambda code: self.run_code("from IPython.display import *\n" + code).shown
        self.assertEqual(shown("h = display(1, display_id='i'); h.update(2)"),
                         [("text/plain", "1", "", "i"), ("clear", "i"), ("text/plain", "2", "", "i")])
        self.assertEqual(shown("update_display(3, display_id='i')"), [("clear", "i"), ("text/plain", "3", "", "i")])
        self.assertEqual(shown("display(4, display_id='i', update=True);"), [("clear", "i"), ("text/plain", "4", "", "i")])
        self.assertEqual(shown("display(1); clear_output(); display(2)"), [*plain("1"), ("clear", ""), *plain("2")])
        self.assertEqual(shown("display(1); clear_output(wait=True)"), [*plain("1"), ("clear", "", "wait")])
        self.assertEqual(len(shown("for i in range(200): clear_output(wait=True); display(i)")), 400)
        self.assertEqual(len(shown("for i in range(200): display(i)")), 65)
        shown("h = display(Image(%r), display_id=True); h.update('gone')" % png(2, 2))
        self.assertEqual(list((self.kernel.home / ".belljar").glob("*")), [])


class FreshSyntax(Notebook):
    is_session = False

    def test_fresh_runs_know_the_same_syntax(self):
        self.gives("  x = 1\n  x", "1")
        self.gives("x = 5\n!echo {x}\nx", "5", out="5\n")
        self.assertEqual(self.run_code("%time 1 + 1").shown, plain("2"))
        self.gives("%%bash\necho hi", out="hi\n")
        self.gives("import asyncio\nawait asyncio.sleep(0, 7)", "7")
        self.gives("import asyncio\nt = asyncio.ensure_future(asyncio.sleep(0, 8))\nx = await t\nx", "8")
        got = self.run_code("x = = 1")
        self.assertEqual((got.code, got.shown), (1, []))
        self.assertTrue(got.err.endswith("SyntaxError: invalid syntax\n"), got.err)


class FreshDisplay(Display):
    is_session = False


class FreshUpdates(Updates):
    is_session = False


class FreshValue(Notebook):
    is_session = False

    def test_value_of_the_last_expression_is_shown(self):
        self.gives("1 + 1", "2")
        self.gives("x = 3\nx", "3")
        self.gives("print(1)", out="1\n")
        self.gives("'doc'", "'doc'")
        self.gives("import sys\nsys.stdout.write('a\\n')", out="a\n")
        self.gives("import sys\nsys.stdout.buffer.write(b'a\\n')", out="a\n")
        for code in "None", "x = 1", "5;", "5 ; # no", "if 1:\n    5", "", "# 5", "def f(): return 5":
            self.gives(code)
        self.gives("'a;'  # 'x'", "'a;'")
        self.gives("class A:\n    def __repr__(s): return '<A>'\nA()", "<A>")
        self.gives("(1,\n 2)", "(1, 2)")
        self.gives("__name__, __file__[-8:], __doc__", "('__main__', '/main.py', None)")
        self.gives("from __future__ import annotations\ndef f(x: y): pass\nf.__annotations__", "{'x': 'y'}")

    def test_value_of_a_long_program_is_shown(self):
        long = "# filled\n" + "def f(a):\n%s    return a\n" % "".join("    x%d = a + %d\n" % (i, i) for i in range(500))
        self.gives(long + "f(3)", "3")
        self.gives(long + "f(\n    4\n)  # four\n\n", "4")
        self.gives(long + "f(5);")
        self.gives(long + "x = 5")
        self.gives(long + "if 1:\n    f(5)")
        self.gives(long + "x = '''\nf(5)\n'''")
        self.gives(long + "x = 1 + \\\n2")
        self.gives(long + "try:\n    f(1)\nfinally:\n    print(2)", out="2\n")
        self.gives(long + "import inspect\ninspect.currentframe().f_lineno", "505")
        got = self.run_code(long + "x = 1\n1/0")
        self.assertIn(", line 505, in <module>\n    1/0", got.err)
        self.assertIn("set 'f'", self.run_code("f").err)

    def test_value_of_a_failing_or_ending_run_is_not_shown(self):
        got = self.run_code("x = 1\nx / 0")
        self.assertEqual((got.shown, got.code), ([], 1))
        self.assertEqual(got.err.count("File"), 1, got.err)
        self.assertEqual(self.run_code("import sys\nsys.exit(3)").code, 3)

    def test_displayhook_of_the_code_is_used(self):
        self.gives("import sys\nsys.displayhook = lambda v: print('hook', v)\n7", out="hook 7\n")

    def test_deeply_nested_code_runs(self):
        self.gives("x = " + "+".join(["1"] * 2000) + "\nprint(x)", out="2000\n")

    def test_name_of_an_earlier_run_is_recognised(self):
        self.assertNotIn("note:", self.run_code("first").err)
        self.run_code("import json as j\nfirst = 1\na, b = 1, 2\ndef second(): pass")
        for name in "first", "j", "b", "second":
            self.assertRegex(self.run_code(name).err,
                             "NameError: .*\nnote: an earlier run set '%s', but each run starts anew\n$" % name)
        self.assertNotIn("note:", self.run_code("third").err)

    def test_output_is_in_order_with_that_of_programs(self):
        self.gives("import subprocess\nprint('a'); subprocess.run('echo b', shell=True); print('c')", out="a\nb\nc\n")

    def test_forked_child_shows_no_value(self):
        got = self.run_code("import os\npid = os.fork()\npid and os.waitpid(pid, 0)\n'value'")
        self.assertEqual(got.shown, plain("'value'"))


if __name__ == "__main__":
    tap.main()
