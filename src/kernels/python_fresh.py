# python_fresh.py - fresh runs: the effect of `python3 main.py` without its start-up time. Part of
# python.py, executed in the same namespace.
#
#     zygote  sends READY, waits for the run, sends its displays ... kills strays, sends ENDED,
#     │                                                              takes MARK
#     └─ run  waits for RUN, becomes `python3 main.py`               └─ run  the next one waits
#        └─ processes that the code starts
#
# The zygote forks the process of a run before it is needed, and never runs user code. Both have the
# same uid, so the zygote protects itself: it is not dumpable, so the code cannot trace it or read
# its memory; it is the subreaper of what the run leaves behind; and it blocks SIGTERM and SIGHUP,
# which are for the code to handle. The code does not get the socket either, over which it could
# send an ENDED of its own: the run saves a display as a file, and the zygote checks and sends it.
#
# Below the code's frames is only a line of the loader, and the run ends as every interpreter does,
# by reaching the end of its main program. The code must see what `python3 main.py` shows it. A
# module that a bare interpreter has not imported must therefore not be imported here, or be removed
# again.
keeper = os.getppid()  # the agent's keeper adopts orphans if the zygote cannot
SWEEP_S = 0.4  # after this time the zygote exits, and the keeper kills the remaining processes
LINGER_S, LEFT_MAX = 0.02, 3  # processes that a run leaves: time to exit, most that are named
SET_DUMPABLE, GET_DUMPABLE, SET_CHILD_SUBREAPER = 4, 3, 36  # prctl(2)
DISPLAY_SIGNAL = _signal.SIGUSR1  # the run has saved a display
WAKE_SIGNALS = DISPLAY_SIGNAL, _signal.SIGCHLD  # sigwait() takes the lower number first
RUN_SIGNALS = (_signal.SIGTERM, _signal.SIGHUP) + WAKE_SIGNALS
FRAME_BYTES = 512 * 1024  # of one display
PAGE_BYTES = os.sysconf('SC_PAGE_SIZE')
GAP_BYTES = 2 * PAGE_BYTES  # between pages with objects, which are copied with one call
POPULATE_WRITE = 23  # madvise(2), since Linux 5.14
zygote = os.getpid()
is_reaper = False

# --- the zygote ---


def serve_runs():
    """Returns only in the process of a run, with its code and namespace."""
    prepare_process()
    _signal.pthread_sigmask(_signal.SIG_BLOCK, RUN_SIGNALS)
    prctl, madvise = find_functions('prctl', 'madvise')
    unprotect = protect_memory(prctl)
    compile_tree(WARM_UP, 'a')  # makes the classes of syntax trees
    gc, resource, memory = import_hidden('gc'), None, None
    while True:
        try:
            report, report_end = os.pipe()
            child = os.fork()
            if child == 0:
                break
            os.close(report_end)
            if memory is None:
                send_ready()
                resource = import_hidden('resource')
            report = Report(report)
            status, usage = wait_for_run(child, report, resource)
            finish_run(report, status, usage)
            memory = memory or freeze_objects(gc)
        except OSError:
            os._exit(1)  # fork failed, or the server closed the socket
    _signal.pthread_sigmask(_signal.SIG_UNBLOCK, RUN_SIGNALS)
    os.close(report)
    if memory is None:
        memory = [] if is_run_sent() else freeze_objects(gc)
    prepare_memory(memory, madvise)
    os.setsid()
    return become_run(ReportWriter(report_end, unprotect), compile_tree)


def find_functions(*names):
    """Functions of the C library that take numbers. Without ctypes they do nothing and return -1."""
    ctypes = import_hidden('_ctypes')
    if ctypes is None:
        return [lambda *values: -1 for _ in names]
    library, word = ctypes.dlopen(None, 0), type('word', (ctypes._SimpleCData,), {'_type_': 'L'})

    def find_function(name):
        function = ctypes.dlsym(library, name)
        return lambda *values: ctypes.call_function(function, tuple(map(word, values)))

    return map(find_function, names)


def protect_memory(prctl):
    """Makes the zygote non-dumpable and a subreaper. Returns a function that makes the run dumpable
    again, as an ordinary interpreter is."""
    global is_reaper
    was = prctl(GET_DUMPABLE, 0, 0, 0, 0)
    prctl(SET_DUMPABLE, 0, 0, 0, 0)
    is_reaper = prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    return lambda: prctl(SET_DUMPABLE, was, 0, 0, 0)


def is_run_sent():
    """Whether RUN comes at once. Then the first run does not wait for freeze_objects(), which takes
    half as long as the start of Python."""
    return bool(import_hidden('select').select([3], [], [], 0.02)[0])


def freeze_objects(gc):
    """Excludes all objects from garbage collection, which would write to their pages. Returns the
    address and size of each piece of memory in which they are, nearly all, for prepare_memory()."""
    gc.collect()
    objects = gc.get_objects()
    for _ in range(2):  # untracked objects are found through the tracked ones that refer to them
        objects = list({id(o): o for o in objects + gc.get_referents(*objects)}.values())
    gc.freeze()
    memory = []
    for page in sorted({id(o) & -PAGE_BYTES for o in objects}):
        if not memory or page - sum(memory[-1]) > GAP_BYTES:
            memory.append((page, 0))
        start = memory[-1][0]
        memory[-1] = start, page - start + PAGE_BYTES
    return memory


def prepare_memory(memory, madvise):
    """After fork() a page is copied when it is first written to, and counting a reference writes:
    that is half the time of a short run. Copy the pages, and use the compiler, while RUN has not yet
    come. An older kernel refuses that, and copies each page in its turn."""
    for start, size in memory:
        madvise(start, size, POPULATE_WRITE)
    if memory:
        compile_tree(WARM_UP, 'a')


class Report:
    """What the run tells the zygote through a pipe before its code begins. `text` is empty if it
    ended without having got RUN."""

    def __init__(self, fd):
        self.fd = fd
        self.text = None

    def read(self):
        if self.text is None:
            self.text = read_and_close(self.fd, 8192)
            self.directory, _, self.names = self.text[1:].partition(b'\0')
        return self


class ReportWriter:
    """The run's end of that pipe. The first byte says that RUN came."""

    def __init__(self, fd, unprotect):
        self.fd, self.unprotect = fd, unprotect

    def open(self):
        os.close(3)
        self.unprotect()
        os.write(self.fd, b'+')

    def tell_directory(self, path):
        os.write(self.fd, os.fsencode(path))

    def tell_names(self, names):
        os.write(self.fd, b'\0' + names)

    def close(self):
        os.close(self.fd)

    def displays(self, run, directory):
        return DisplayFiles(run, directory)


def wait_for_run(child, report, resource):
    """Waits until the run has ended; sends its displays and reaps orphans meanwhile. os.wait4()
    imports `resource` for its result, which the next run must not find in sys.modules."""
    was = sys.modules.setdefault('resource', resource) if resource else None
    pid = 0
    try:
        while pid != child:
            if pid == 0 and _signal.sigwait(WAKE_SIGNALS) == DISPLAY_SIGNAL:
                if report.read().directory:
                    send_displays(report.directory)
                continue
            pid, status, usage = (os.wait4(-1, os.WNOHANG) if resource else
                                  os.waitpid(-1, os.WNOHANG) + (None,))
        return status, usage
    finally:
        if resource and was is resource:
            del sys.modules['resource']


def exit_with_status(status):
    """Ends the zygote with the wait status of a run's process that exited before it got RUN: the
    server closed the socket, or the process was killed. Exit code 0 would look like a successful
    run."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        try:
            _signal.signal(number, _signal.SIG_DFL)
            _signal.pthread_sigmask(_signal.SIG_UNBLOCK, [number])
        except (OSError, ValueError):
            pass
        os.kill(os.getpid(), number)
        os.kill(os.getpid(), _signal.SIGKILL)
    os._exit(1)


def finish_run(report, status, usage):
    if not report.read().text:
        exit_with_status(status)
    if len(former_names) < 1000:
        former_names.update(report.names.decode('utf-8', 'replace').split())
    frames = describe_strays()
    is_alone = kill_strays()
    if report.directory:
        remove_directory(report.directory)
    by_signal = os.WIFSIGNALED(status)
    frames += encode_frame(b'x', 0 if by_signal else os.WEXITSTATUS(status),
                  os.WTERMSIG(status) if by_signal else 0, 0,
                  *((int(usage.ru_utime * 1e6), int(usage.ru_stime * 1e6), usage.ru_maxrss)
                    if usage else (0, 0, 0)))
    write_all(3, frames)
    if not is_alone:
        os._exit(1)  # the keeper then kills the remaining processes
    kind, nonce = receive_frame()
    if kind != b'M':
        os._exit(1)
    write_mark(nonce)


def read_and_close(fd, size):
    data = b''
    try:
        while len(data) < size:
            part = os.read(fd, size - len(data))
            if not part:
                break
            data += part
    except OSError:
        pass
    os.close(fd)
    return data


def describe_strays():
    """A LEFT frame with the command lines of the processes that the run left behind. Helpers that
    exit by themselves when their parent is gone (of multiprocessing, for example) get a moment."""
    if not is_reaper or not has_children():
        return b''
    clock = import_hidden('time')
    until = clock.monotonic() + LINGER_S
    while clock.monotonic() < until:
        clock.sleep(0.001)
        if not has_children():
            return b''
    commands = []
    for pid in children()[:LEFT_MAX + 1]:
        try:
            fd = os.open('/proc/%d/cmdline' % pid, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue
        text = read_and_close(fd, 48).replace(b'\0', b' ').strip().decode('ascii', 'replace')
        if text:
            commands.append(text if text.isprintable() else '?')
    more = ', ...' if len(commands) > LEFT_MAX else ''
    return encode_frame(b'l', ', '.join(commands[:LEFT_MAX]) + more)


def kill_strays():
    """Kills the processes that the run left behind. False: some may still be alive."""
    if is_reaper and not has_children():
        return True
    clock = import_hidden('time')
    until = clock.monotonic() + SWEEP_S
    while True:
        last = last_pid()
        left = children() if is_reaper else strays()
        for pid in left:
            try:
                os.kill(pid, _signal.SIGKILL)
            except OSError:
                pass
        if not has_children() if is_reaper else not left and is_quiet_since(last):
            return True
        if clock.monotonic() >= until:
            return False
        clock.sleep(0.002 if left else 0)


def has_children():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def children():
    """The pids of the zygote's children. This file also names processes that are not dumpable,
    whose own /proc entries cannot be read."""
    try:
        fd = os.open('/proc/self/task/%d/children' % os.getpid(), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return strays()
    return [int(pid) for pid in read_and_close(fd, 1 << 20).split()]


def strays():
    """Without a subreaper: orphans became children of the keeper, as the zygote is. Returns them
    and their descendants."""
    me = os.getpid()
    parents = dict(parents_of_processes())
    if os.getppid() != keeper:
        os._exit(1)
    above = {me, keeper} if keeper > 1 else {me}
    found = set()
    while True:
        new = {pid for pid, parent in parents.items() if parent in above and pid != me} - found
        if not new:
            return found
        found |= new
        above = new


def parents_of_processes():
    """Pid and parent of every process that /proc shows: those of the same user."""
    for name in os.listdir('/proc'):
        if not name.isdigit():
            continue
        try:
            fd = os.open('/proc/' + name + '/stat', os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue
        values = read_and_close(fd, 512).rpartition(b') ')[2].split()
        # The first thread of a process may be a zombie while other threads run.
        if len(values) > 17 and (values[0] not in b'ZX' or int(values[17]) > 1):
            yield int(name), int(values[1])


def last_pid():
    """The pid that the kernel gave out last, or None."""
    try:
        fd = os.open('/proc/loadavg', os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    return read_and_close(fd, 128).rpartition(b' ')[2]


def is_quiet_since(last):
    """Whether no process was forked since last_pid() returned `last`: reading /proc may miss a
    process that is forked meanwhile."""
    if last is not None:
        return last_pid() == last
    os.sched_yield()
    return not strays()


def send_displays(directory):
    """Sends the displays that the run has saved. A file is removed once the agent has its frame,
    for which the run waits."""
    wait_with = import_hidden('fcntl').ioctl, import_hidden('time').sleep
    try:
        names = sorted(name for name in os.listdir(directory)
                       if name.startswith(b'shown-') and not name.endswith(b'+'))
    except OSError:
        return  # the code has removed the directory
    for name in names[:SHOWN_MAX + 1]:
        path = os.path.join(directory, name)
        write_all(3, read_display(path))
        wait_until_read(*wait_with)
        try:
            os.unlink(path)
        except OSError:
            pass


def read_display(path):
    """The SHOWN or CLEARED frame in a file. The user's code can write such files too, so only what
    the server accepts is passed on, and only paths below .belljar."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        frame = read_and_close(fd, FRAME_BYTES)
        values = [value.decode() for value in decode_fields(frame[5:])]
    except (OSError, ValueError):
        return b''
    is_whole = int.from_bytes(frame[1:5], 'little') == len(frame) - 5
    if frame[:1] == b'c' and is_whole and values and values[1:] in ([], ['wait']) and is_id(values[0]):
        return frame
    return frame if frame[:1] == b'v' and is_whole and is_display(values) else b''


def is_display(values):
    if not 3 <= len(values) <= 4:
        return False
    mime, text, path, *display_id = values
    if not 0 < len(mime) < 64 or not all('!' <= character <= '~' for character in mime):
        return False
    if path and (text or not path.startswith(home + '/.belljar/') or not path.isprintable()):
        return False
    return all(map(is_id, display_id))


def is_id(text):
    return len(text.encode()) <= 128


def remove_directory(directory):
    """Removes a directory tree that the user's code may have changed. Links are not followed."""
    try:
        if os.path.islink(directory):
            return os.unlink(directory)
        os.unlink(os.path.join(directory, b'main.py'))
        return os.rmdir(directory)
    except OSError:
        pass
    left, found = 100000, [directory]
    for path in found:
        try:
            os.chmod(path, 0o700)
            with os.scandir(path) as entries:
                for entry in entries:
                    left -= 1
                    if left < 0:
                        return
                    if entry.is_dir(follow_symlinks=False):
                        found.append(entry.path)
                    else:
                        os.unlink(entry.path)
        except OSError:
            pass
    for path in reversed(found):
        try:
            os.rmdir(path)
        except OSError:
            pass


class DisplayFiles(Displays):
    """Passes what a fresh run displays to the zygote, which has the socket: each display is a file,
    and a signal tells the zygote to take it. The names of the files sort by time, because processes
    that the run forks may display as well."""

    def __init__(self, run, directory):
        super().__init__(run.pixels, run.bytes)
        self.path = directory + '/shown-%020d-%d'

    def send(self, frame):
        clock = import_hidden('time')
        path = self.path % (clock.monotonic() * 1e9, os.getpid())
        try:
            write_file(path + '+', frame)
            os.rename(path + '+', path)
            os.kill(zygote, DISPLAY_SIGNAL)
        except OSError as error:
            print('belljar: a value cannot be shown: %s' % error, file=sys.stderr)
            return
        for turn in range(400):  # 0.4 seconds at most, for the order; the display is not lost
            if not os.path.lexists(path):
                break
            clock.sleep(0.00005 if turn < 20 else 0.001)
