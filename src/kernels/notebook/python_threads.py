# python_threads.py - what is done before a thread starts. Part of python.py, executed in a namespace
# of its own, once the user's code has imported threading.
#
# The server limits the memory that a process may map for data (RLIMIT_DATA) to about what the sandbox
# has, so that an allocation which cannot fit raises MemoryError. The stack of a thread counts, although
# most of its pages are never written to. So the soft limit grows with the threads. Without cgroups the
# hard limit is as low, and the stacks of further threads are smaller once the others take a quarter.
import sys

STACK_BYTES = 9 << 20  # of a thread: 8 MiB unless RLIMIT_STACK differs, and its first allocations
SMALL_BYTES = 1 << 20  # of the stack of a thread among many

was_imported = 'resource' in sys.modules
try:
    import resource
    limits = resource.getrlimit, resource.setrlimit, resource.RLIMIT_DATA, resource.RLIM_INFINITY
except ImportError:
    limits = None
if not was_imported:
    sys.modules.pop('resource', None)

base = last = None  # the soft limit without threads, and as it was set here


class Start:
    """Thread.start(). The functions are called when the method is looked up, so that the traceback
    of a start that fails has no line of the kernel."""

    def __init__(self, method, *functions):
        self.method, self.functions = method, functions

    def __get__(self, thread, kind=None):
        for function in self.functions if thread is not None else ():
            function(thread)
        return self.method.__get__(thread, kind)


def make_room(thread):
    global base, last
    get, set_soft, data, infinity = limits
    soft, hard = get(data)
    if soft == infinity:
        return
    module = sys.modules['threading']
    stacks = STACK_BYTES * len({**module._active, **module._limbo})
    if hard != infinity:
        choose_stack(module, stacks > hard // 4)
        return
    if soft != last:
        base = soft
    last = max(soft, base + stacks)
    if last != soft:
        set_soft(data, (last, hard))


def choose_stack(module, is_small):
    """Sets the size of the stack of the next threads, unless the code has chosen one (0: as large as
    RLIMIT_STACK). stack_size() cannot tell the size without setting another."""
    before = module.stack_size(SMALL_BYTES if is_small else 0)
    if before not in (0, SMALL_BYTES):
        module.stack_size(before)


def watch_threads(module, *functions):
    own = [write_whole_lines] + [make_room] * (limits is not None)
    module.Thread.start = Start(module.Thread.start, *own, *functions)
