# python_threads.py - what is done before a thread starts. Part of python.py, executed in a namespace
# of its own, once the user's code has imported threading.
#
# The server limits the memory that a process may map for data (RLIMIT_DATA) to little more than the
# sandbox has, so that an allocation which cannot fit raises MemoryError. The stack of a thread counts,
# although most of its pages are never written to. So the soft limit grows with the threads.
import sys

STACK_BYTES = 9 << 20  # of a thread: 8 MiB unless RLIMIT_STACK differs, and its first allocations

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


def raise_data_limit(thread):
    global base, last
    get, set_soft, data, infinity = limits
    soft, hard = get(data)
    if soft == infinity or hard != infinity:
        return
    if soft != last:
        base = soft
    module = sys.modules['threading']
    last = max(soft, base + STACK_BYTES * len({**module._active, **module._limbo}))
    if last != soft:
        set_soft(data, (last, hard))


def watch_threads(module, *functions):
    own = [raise_data_limit] if limits is not None else []
    module.Thread.start = Start(module.Thread.start, *own, *functions)
