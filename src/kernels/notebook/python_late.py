# python_late.py - tells apart what the threads and forked children of earlier cells print while a
# later cell runs. Part of python.py, executed in a namespace of its own, once the user's code has
# imported threading or forks. screen is the session.
#
# Every thread belongs to the cell that started it. The context variable screen.cell says which cell
# the main thread runs, and asyncio.to_thread() hands it on; other threads have the cell of the thread
# that started them; a forked child keeps what its parent had. `state` says which cell runs. Forked
# children share it: before the first fork it moves to memory that fork() does not copy. Tasks run in
# the main thread while a cell awaits something, so their output is that of the cell. Programs that a
# cell starts write to the pipe themselves, and their output cannot be told apart here.
import os
import sys
import time
import _thread
from functools import partial

HEADER, OWN_HEADER = b'[printed by what earlier cells left running:]\n', b'[this cell:]\n'
LINE_MAX = 4096  # a longer line is written in pieces
LINE_WAIT_MS = 20  # the wait for the end of a line of the cell
# Of the state: bytes 0 to 3 are the number of the cell that runs, 0 between cells. For descriptor n,
# byte n + 4 says whether earlier cells have written last, byte n + 8 whether within a line.
NUMBER, IS_LATE, IS_WITHIN, STATE_BYTES = slice(0, 4), 4, 8, 12
state = bytearray(STATE_BYTES)
lock = _thread.RLock()  # a signal handler may print while the main thread has it
is_child = False
held = {}  # unfinished lines of earlier cells, by thread and Output
sleep, ident = time.sleep, _thread.get_ident
Output = screen.output_class
write = Output.__mro__[1].write  # that of io.FileIO, which Output replaces


def running():
    return int.from_bytes(state[NUMBER], 'little')


def owner():
    """The number of the cell to which this thread belongs; 0: the cell that runs."""
    if ident() == screen.out.thread and not is_child:
        return 0
    number = screen.cell.get(0)
    if not number and 'threading' in sys.modules:
        thread = getattr(sys.modules['threading'], '_active', {}).get(ident())
        number = getattr(thread, '_belljar_cell', 0)
    return number


def choose_write(output):
    """The function that writes to the pipe for this thread, or None for that of io.FileIO."""
    now = running()
    if (ident(), output) in held or now and owner() not in (0, now):
        return partial(write_late, output)
    return partial(write_own, output) if now else None


def write_own(output, data):
    late, within = output.fd + IS_LATE, output.fd + IS_WITHIN
    with lock:
        if state[late]:
            write(output, b'\n' * state[within] + OWN_HEADER)
            state[late] = 0
        count = write(output, data)
        state[within] = bytes(memoryview(data).cast('B')[-1:]) not in (b'', b'\n', b'\r')
    return count


def write_late(output, data):
    """Writes whole lines, so that those of several threads are not mixed."""
    text = held.pop((ident(), output), b'') + bytes(data)
    end = max(text.rfind(b'\n'), text.rfind(b'\r')) + 1
    if len(text) - end > LINE_MAX:
        end = len(text)
    if end < len(text):
        held[ident(), output] = text[end:]
    if end:
        emit_late(output, text[:end])
    return len(data)


def emit_late(output, text):
    """Writes lines of an earlier cell, if possible between two lines of the cell that runs."""
    late, within = output.fd + IS_LATE, output.fd + IS_WITHIN
    for left in reversed(range(LINE_WAIT_MS)):
        with lock:
            if left == 0 or state[late] or not state[within]:
                if running() and not state[late]:
                    text = b'\n' * state[within] + HEADER + text
                    state[late] = 1
                state[within] = text[-1:] not in (b'\n', b'\r')
                while text:
                    text = text[write(output, text) or 0:]
                return
        sleep(0.001)


def flush_held(output=None):
    """Writes what this thread holds of the stream; without a stream, what all threads hold."""
    for key in list(held) if output is None else [(ident(), output)]:
        text = held.pop(key, b'')
        if text:
            emit_late(key[1], text)


def begin(number):
    """A cell begins; number 0: the cell has ended, and the server tells what comes now apart."""
    flush_held()
    state[:] = number.to_bytes(4, 'little') + bytes(STATE_BYTES - 4)
    threads = getattr(sys.modules.get('threading'), '_active', ())
    is_shared = not isinstance(state, bytearray) or len(threads) > 1
    Output.choose_write = staticmethod(choose_write) if is_shared or held else None


# --- threads, executors and forked children ---


def wrap(kind, name, make):
    """Replaces a method by make(method), which keeps its name and its description."""
    method = getattr(kind, name)
    wrapper = make(method)
    for about in '__name__', '__qualname__', '__doc__', '__module__':
        setattr(wrapper, about, getattr(method, about, None))
    setattr(kind, name, wrapper)


def watch_threads(module):
    def set_owner(thread):
        thread._belljar_cell = owner() or running()

    part('THREADS')['watch_threads'](module, set_owner)


def watch_executor(module):
    """The threads of an executor outlive cells; what they run belongs to the cell that asked."""
    def make_init(init):
        def init_owned(self, *args, **options):
            init(self, *args, **options)
            try:
                self._belljar_cell = owner() or running()
            except AttributeError:
                pass  # a version of the class with slots
        return init_owned

    def make_run(run):
        def run_owned(self, *args):
            token = screen.cell.set(getattr(self, '_belljar_cell', 0))
            try:
                return run(self, *args)
            finally:
                screen.cell.reset(token)
        return run_owned

    wrap(module._WorkItem, '__init__', make_init)
    wrap(module._WorkItem, 'run', make_run)


def share_state():
    """Called before fork()."""
    global state
    if isinstance(state, bytearray):
        import mmap
        shared = mmap.mmap(-1, STATE_BYTES)
        shared[:] = bytes(state)
        state = shared


def enter_child():
    """Called in a forked child, which does not see when the next cell begins."""
    global lock, is_child
    is_child = True
    lock = _thread.RLock()  # another thread may have had it
    held.clear()
    Output.choose_write = staticmethod(choose_write)


screen.tell_late = begin
begin(screen.cell.get(0))
