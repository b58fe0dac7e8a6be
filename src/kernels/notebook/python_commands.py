# python_commands.py - programs that cells and magics run, and the values that magics return. Part of
# python.py, executed in front of python_magics.py in the same namespace. `screen` is the kernel of a
# session: screen.captured, screen.display(value).
import io
import os
import re
import subprocess
import sys


class UsageError(Exception):
    __module__ = 'builtins'  # a traceback names it without a module


class Lines(list):
    """The lines that a command printed; .s and .n have them as one text."""
    l = list = property(lambda self: self)
    s = spstr = property(lambda self: ' '.join(self))
    n = nlstr = property(lambda self: '\n'.join(self))

    def grep(self, pattern):
        return Lines(line for line in self if re.search(pattern, line))

    def fields(self, *numbers):
        rows = [line.split() for line in self]
        return Lines(' '.join(row[n] for n in numbers if -len(row) <= n < len(row))
                     for row in rows) if numbers else rows


class Captured:
    """What %%capture or capture_output() has kept."""

    def __init__(self, stdout, stderr, outputs, kernel):
        self.stdout, self.stderr, self.outputs, self.kernel = stdout, stderr, outputs, kernel

    def __str__(self):
        return self.stdout

    def show(self):
        sys.stdout.write(self.stdout)
        sys.stderr.write(self.stderr)
        for value in self.outputs:
            self.kernel.display(value)

    __call__ = show


class CaptureOutput:
    """with capture_output() as captured: keeps what the code prints and displays."""

    def __init__(self, stdout=True, stderr=True, display=True):
        self.wanted, self.shown = (stdout, stderr), [] if display else None
        self.streams = io.StringIO(), io.StringIO()

    def __enter__(self):
        self.before = sys.stdout, sys.stderr, screen.captured
        sys.stdout, sys.stderr = (new if wanted else old for wanted, new, old in zip(
            self.wanted, self.streams, self.before))
        if self.shown is not None:
            screen.captured = self.shown
        self.result = Captured('', '', self.shown or [], screen)
        return self.result

    def __exit__(self, *error):
        self.result.stdout, self.result.stderr = (each.getvalue() for each in self.streams)
        self.result.outputs = self.shown or []
        sys.stdout, sys.stderr, screen.captured = self.before


def format_time(seconds):
    for unit, scale in (('s', 1), ('ms', 1e3), ('\xb5s', 1e6)):
        if seconds * scale >= 1:
            return '%.3g %s' % (seconds * scale, unit)
    return '%.3g ns' % (seconds * 1e9)


def write_captured(done):
    for stream, data in (sys.stdout, done.stdout), (sys.stderr, done.stderr):
        if data:
            stream.write(data.decode('utf-8', 'replace'))


def run_program(arguments, text=None):
    """Runs a program whose output comes in order with what the cell prints. Returns its exit
    code."""
    sys.stdout.flush()
    sys.stderr.flush()
    is_own = sys.stdout is sys.__stdout__ and sys.stderr is sys.__stderr__
    to = None if is_own else subprocess.PIPE
    done = subprocess.run(arguments, stdout=to, stderr=to,
                          **({} if text is None else {'input': text.encode()}))
    write_captured(done)
    return done.returncode


def shell_arguments(command):
    shell = '/bin/bash' if os.path.exists('/bin/bash') else '/bin/sh'
    return [shell, '-c', command]


def notice_packages():
    """Lets this process import what a program has just installed."""
    import importlib
    import site
    directory = site.getusersitepackages()
    if os.path.isdir(directory) and directory not in sys.path:
        site.addsitedir(directory)
    importlib.invalidate_caches()


class Timing:
    """The result of %timeit -o."""

    def __init__(self, times, loops):
        self.timings, self.all_runs, self.loops, self.repeat = times, times, loops, len(times)
        self.best, self.worst, self.average = min(times), max(times), sum(times) / len(times)
        self.stdev = (sum((time - self.average) ** 2 for time in times) / len(times)) ** 0.5

    def __repr__(self):
        return '%s \xb1 %s per loop (mean \xb1 std. dev. of %d runs, %s loop%s each)' % (
            format_time(self.average), format_time(self.stdev), self.repeat,
            format(self.loops, ','), 's' * (self.loops != 1))


class Formatter(dict):
    """The functions that a user has registered for a media type, by class."""

    def for_type(self, kind, function=None):
        """`kind` is a class, or its name with the module's; see find_printer() of python_rich.py."""
        before = self.get(kind)
        if function is not None:
            self[kind] = function
            PLAIN.discard(kind)
        return before

    def for_type_by_name(self, module, name, function=None):
        return self.for_type('%s.%s' % (module, name), function)

    type_printers = property(lambda self: self)


class DisplayFormatter:
    def __init__(self):
        rich = part('RICH')
        self.formatters = rich['registered']
        for mime in rich['TYPES'] + ['text/plain']:
            self.formatters[mime] = Formatter()
