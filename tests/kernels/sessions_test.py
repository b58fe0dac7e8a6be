"""sessions_test.py - the kernels that run cells only (src/kernels/session), over their protocol."""
import os
import re
import shutil
import signal
import time
import unittest

import tap
from kernel import SOURCES, Kernel


def text(name):
    return (SOURCES / "session" / name).read_text()


def loader(name):
    source = (SOURCES / "kernel_session.c").read_text()
    lines = re.findall('"(.*)"', re.search(name + r"_loader\[\] =(.*?)\";\n", source, re.S)[1] + '"')
    return "".join(lines).replace('\\"', '"')


class Session(unittest.TestCase):
    maxDiff = None
    program = None

    def start(self, *argv):
        path = shutil.which(self.program)
        if path is None:
            self.skipTest("no " + self.program)
        self.kernel = Kernel(argv=[path, *argv], boot=self.boot())
        self.addCleanup(self.kernel.end)

    def gives(self, code, out="", status=0, err="", **options):
        got = self.kernel.cell(code, **options)
        self.assertEqual((got.out, got.err, got.code, got.is_exit), (out, err, status, 0), code)
        return got

    def interrupts(self, code, out=""):
        """The code prints a line; it is then interrupted, as the keeper does it: with all its
        children."""
        self.kernel.send(code, is_cell=True)
        self.kernel.await_line()
        time.sleep(0.2)
        os.killpg(self.kernel.pid, signal.SIGINT)
        got = self.kernel.finish()
        self.assertEqual(got.out, out)
        return got


class Bash(Session):
    program = "bash"

    def setUp(self):
        self.start("-c", text("bash_loader.sh"), "bash")

    def boot(self):
        return text("bash.sh").encode()

    def test_state_is_kept(self):
        self.gives("x=1; declare -A m=([k]='a b'); declare -i n=3; f() { local y=2; echo $x$y; }; cd /")
        self.gives('f; n+=4; echo "${m[k]} $n"; pwd', "12\na b 7\n/\n")

    def test_state_is_kept_after_exit(self):
        self.gives("declare -a a=(1 '2 \"3'); declare -r R=1; export E=2; g() { [[ a == !(b) ]] && echo $'g\\n'; }")
        self.gives("alias ll='echo ll'; set -o pipefail; shopt -s nullglob; trap 'echo usr' USR1; set -- p 'q r'")
        for code in "exit 7", "f() { exit 7; }; f", "set -e; (exit 7)":
            self.gives(code, status=7)
            self.gives("set +e; echo ${#a[@]} $R $(sh -c 'echo $E') \"$2\"; g; ll; false | true || echo pipefail",
                       "2 1 2 q r\ng\n\nll\npipefail\n" if code[0] != "f" else "2 1 2 \ng\n\nll\npipefail\n")
            self.gives("echo /nothing*; kill -USR1 $$; set -- p 'q r'", "\nusr\n")

    def test_jobs_and_status_are_kept(self):
        # A child of Bash that gets SIGTERM before execve() may end with 0, if the shell has a trap of EXIT.
        self.gives("sleep 100 & until read -r c </proc/$!/comm && [[ $c == sleep ]]; do :; done; (exit 9)", status=9)
        self.gives("echo $?; kill $!; wait $!", "9\n", 143)

    def test_errors_and_return_end_the_cell_and_not_the_session(self):
        for code, status in ("set -u; echo $no", 127), (": ${no:?}", 127), ("break", 1), ("continue 2", 1), ("return 4", 4), ("if", 2):
            got = self.kernel.cell("x=%d; %s" % (status, code))
            self.assertEqual((got.code, got.is_exit), (status, 0), code)
            self.gives("set +u; echo $x", ("%d\n" % status) if code != "if" else "4\n")

    def test_break_outside_of_a_loop_ends_the_cell(self):
        told = "bash: break or continue outside of a loop: the rest of the cell was not run\n"
        self.gives("x=1; trap 'echo bye' EXIT")
        for code in "continue", "break", "if true; then continue 3; fi", "eval 'break 2'":
            self.gives("echo a; %s; echo no" % code, "a\n", 1, told)
            self.gives("for i in 1 2; do continue; done; while :; do break; done; echo $? $x", "0 1\n")
        self.gives("exit 7", "bye\n", 7)

    def test_input_has_every_byte(self):
        data = bytes(range(256)) * 300 + b"\\n%s\0"
        self.gives("wc -c; sleep 0", "%d\n" % len(data), stdin=data)
        self.gives("od -An -tx1", " 00 0a 00 5c 30 00\n", stdin=b"\0\n\0\\0\0")
        self.gives("od -An -tx1", "")

    def test_variables_of_a_cell_are_restored_after_it(self):
        self.gives("A=1; export B=2")
        self.gives("echo $A $B $C; B=5; printenv A", "x y z\nx\n", env=["A=x", "B=y", "C=z"])
        self.gives('echo $A $B "${C-unset}"; printenv A', "1 5 unset\n", 1)

    def test_options_and_functions_of_cells_do_not_reach_the_kernel(self):
        self.gives("set -f -C -o posix; IFS=0123456789; LC_ALL=C.UTF-8; TMOUT=1; read() { :; }")
        time.sleep(1.2)
        self.gives("set +o posix; echo é; unset -f read; eval() { :; }; exec 3>&1 4>&1 >/dev/null; echo no; echo yes >&3", "é\nyes\n")
        self.gives("exit 1", status=1)
        self.gives("exec >&4; set -x", "")
        self.gives("echo a", "a\n", err="++++ echo a\n")
        self.gives("set +x; trap 'echo err' ERR", err="++++ set +x\n")
        self.gives("echo quiet; true", "quiet\n")
        self.gives("break() { echo mine; }; continue() { echo mine; }; :() { echo mine; }")
        self.gives("break; echo b", "mine\nb\n")
        self.gives("exit 3", status=3)
        self.gives("unset -f break continue :; for i in a b; do break; done; echo $i", "a\n")

    def test_interrupt_ends_the_cell_and_not_the_session(self):
        for code in "sleep 100", "while :; do :; done", "sleep 100 | cat", "read y < <(sleep 100)", "sleep 100 & wait":
            got = self.interrupts("echo begun; x='%s'; %s; echo no" % (code, code))
            self.assertEqual(got.code, 130)
            self.gives("echo \"$x\"", code + "\n")

    def test_trap_of_exit_runs_when_a_cell_exits_and_keeps_the_session(self):
        self.gives("x=1; trap 'echo bye $? $x; exit 3' EXIT; (trap 'echo sub' EXIT)", "sub\n")
        self.gives("x=2; echo on", "on\n")
        self.gives("exit 7", "bye 7 2\n", 7)
        self.gives("echo $x; exit 5", "2\n", 5)
        got = self.interrupts("trap -- 'echo bye' INT TERM 0; trap - INT; trap 'exit 130' INT; echo begun; sleep 100", "bye\n")
        self.assertEqual(got.code, 130)
        self.gives("set -eux; trap 'echo bye' EXIT; trap - EXIT; set +eux; echo $x; exit", "2\n",
                   err="++++ trap 'echo bye' EXIT\n++++ trap - EXIT\n++++ set +eux\n")
        self.gives("trap 'echo err' ERR; false; trap - ERR; false; echo $x", "err\n2\n")

    def test_interrupt_before_the_cell_ends_it(self):
        """Behind the mark of the last cell, a signal is for the next one."""
        self.gives("trap 'echo usr' USR1; x=1")
        time.sleep(0.2)  # while the mark is written, output of a trap goes where the mark goes
        for number in signal.SIGUSR1, signal.SIGINT:
            os.kill(self.kernel.pid, number)
            time.sleep(0.2)
        self.gives("x=2; echo no", "usr\n", 130)
        self.gives("echo $x", "1\n")

    def test_long_code_and_state_arrive_whole(self):
        self.gives("x='%s'; echo ${#x}" % ("a" * 200000), "200000\n")
        self.gives("exit 1", status=1)
        self.gives("echo ${#x}", "200000\n")


class Ruby(Session):
    program = "ruby"

    def setUp(self):
        self.start("-e", loader("ruby"))

    def boot(self):
        return text("ruby.rb").encode()

    def shows(self, code, *values, **options):
        got = self.gives(code, **options)
        self.assertEqual(got.shown, [("text/plain", value, "") for value in values], code)

    def fails(self, code, name, message, traceback):
        got = self.kernel.cell(code)
        self.assertEqual((got.error[:2], got.code, got.is_exit), ((name, message), 1, 0))
        self.assertEqual(got.error[2], traceback)

    def test_state_is_kept(self):
        self.gives("x = 1; @y = 2; Z = 3; def add(a) = a + 1")
        self.shows("[x, @y, Z, add(3)]", "[1, 2, 3, 4]")
        self.shows("_.sum", "10")

    def test_value_of_the_last_expression_is_shown(self):
        self.shows('"é\\xff"', '"é\\xFF"')
        for code in "nil", "x = 1", "x += 1", "def f; end", "class A; end", "x;", "x; # no", "require 'set'", "x, y = 1, 2":
            self.shows(code)
        self.shows("x # yes", "1")
        self.gives("p x", "1\n")
        self.assertRegex(self.kernel.cell("'a' * 70000").shown[0][1], r"a\n\.\.\. \(8562 bytes more\)$")

    def test_errors_have_a_name_and_a_place(self):
        self.fails("def g\n  1 / 0\nend\ng", "ZeroDivisionError", "divided by 0",
                   "<cell 1>:2:in `/': divided by 0 (ZeroDivisionError)\n\tfrom <cell 1>:2:in `g'\n\tfrom <cell 1>:4:in `<main>'\n")
        got = self.kernel.cell("if")
        self.assertEqual((got.error[0], got.code), ("SyntaxError", 1))
        self.assertNotIn("belljar", got.error[2])

    def test_exit_ends_the_cell(self):
        self.gives("x = 1; exit 300", status=300 & 255)
        self.gives("at_exit { }; abort 'no'", status=1, err="no\n")
        self.shows("x", "1")
        self.gives("if fork.nil? then puts 'child' else Process.wait end", "child\n")
        self.shows("x", "1")

    def test_cells_get_input_arguments_and_variables(self):
        self.shows("[STDIN.read.bytes.sum, ENV['A'], ARGV]", '[%d, "1", ["a b"]]' % sum(range(256)),
                   stdin=bytes(range(256)), env=["A=1"], args=["a b"])
        self.shows("[STDIN.read, ENV['A'], ARGV]", '["", nil, ["a b"]]')
        self.gives("puts 1 if __FILE__ == $0", "1\n")

    def test_interrupt_ends_the_cell_and_not_the_session(self):
        for code in "sleep 100", "loop {}", "system('sleep 100')":
            got = self.interrupts("x = %r; puts 1; %s" % (code, code))
            self.assertEqual((got.error[0], got.code), ("Interrupt", 1))
            self.gives("puts x", code + "\n")

    def test_redirected_output_and_threads_do_not_stop_the_session(self):
        self.gives("$stdout = STDERR; STDOUT.reopen('/dev/null'); Thread.new { 1 }; puts 1", err="1\n")
        self.gives("$stdout.puts 2", err="2\n")


class R(Session):
    program = "Rscript"

    def setUp(self):
        self.start("-e", loader("r"))

    def boot(self):
        return f"({text('r.R')})({text('r_plots.R')})".encode()  # as session_image.S joins them

    def test_state_is_kept(self):
        self.gives("x <- 1; f <- function(a) a + x; setwd('/')")
        self.gives("f(2); invisible(3); 'é'", '[1] 3\n[1] "é"\n')
        self.gives("getwd(); ls()", '[1] "/"\n[1] "f" "x"\n')

    def test_values_are_printed_as_at_the_prompt(self):
        self.gives("print.thing <- function(x, ...) cat('a thing\\n'); structure(1, class = 'thing')", "a thing\n")
        self.gives("setClass('P', representation(a = 'numeric')); isVirtualClass('P')", "[1] FALSE\n")
        self.gives("log(-1); warning('w')", "[1] NaN\n", err="Warning in log(-1) : NaNs produced\nWarning: w\n")

    def test_errors_have_calls_and_a_line(self):
        for code, traceback in (("f <- function() stop('q')\nf()", "Error in f() : q\nat line 2 of the cell"),
                                ("g <- function() f()\n\ng()", "Error in f() : q\nCalls: g -> f\nat line 3 of the cell"),
                                ("missing_name", "Error: object 'missing_name' not found\nat line 1 of the cell")):
            got = self.kernel.cell(code)
            self.assertEqual((got.error[0], got.error[2], got.code), ("Error", traceback, 1))
        self.assertRegex(self.kernel.cell("if (").error[1], "unexpected end of input")
        self.gives("try(f(), silent = TRUE); 1", "[1] 1\n")

    def test_an_error_that_cannot_be_shown_leaves_the_session(self):
        self.gives("x <- 1")
        for fields in "message = 1:3, call = NULL", "message = 'm', call = list()", "message = NULL":
            got = self.kernel.cell("stop(structure(list(%s), class = c('odd', 'error', 'condition')))" % fields)
            self.assertEqual((got.error[0], got.code), ("odd", 1))
        self.gives("x", "[1] 1\n")

    def test_quit_ends_the_cell(self):
        self.gives("x <- 1; q('no', 300)", status=300 & 255)
        self.gives("f <- function() { on.exit(cat('left\\n')); quit(status = 2) }; f(); 5", "left\n", 2)
        self.gives("x", "[1] 1\n")

    def test_cells_get_input_arguments_and_variables(self):
        data = bytes(range(1, 256)) * 400
        self.gives("i <- file('stdin', 'rb'); length(readBin(i, 'raw', 1e6)); close(i); commandArgs(TRUE); Sys.getenv('A')",
                   '[1] %d\n[1] "a b"\n[1] "1"\n' % len(data), stdin=data, args=["a b"], env=["A=1"])
        self.gives("scan('stdin', quiet = TRUE); Sys.getenv('A')", '[1] 1 2\n[1] ""\n', stdin=b"1 2\n")
        self.gives("readLines(file('stdin'))", "character(0)\n")

    def test_interrupt_ends_the_cell_and_not_the_session(self):
        for code in "Sys.sleep(100)", "repeat {}":
            got = self.interrupts("x <- '%s'; cat(1, '\\n'); %s" % (code, code))
            self.assertEqual((got.error[0], got.code), ("Interrupt", 1))
            self.gives("cat(x)", code)

    def test_plots_are_pictures(self):
        if self.kernel.cell("capabilities('png')[[1]]").out != "[1] TRUE\n":
            self.skipTest("this R makes no pictures")
        got = self.kernel.cell("plot(1:3); plot(3:1)")
        self.assertEqual([mime for mime, _, _ in got.shown], ["image/png"] * 2)
        for _, _, path in got.shown:
            with open(path, "rb") as file:
                self.assertEqual(file.read(4), b"\x89PNG")
        self.assertEqual(self.kernel.cell("plot(1:3); 1", bytes=10).shown[0][0], "text/plain")


if __name__ == "__main__":
    tap.main()
