# python_fresh.py - fresh runs: what `python3 main.py` does, without the start. Part of python.py,
# run in the same namespace as that.
#
#     Z  says READY, waits for C's end ............... ends strays, says SHOWN and ENDED, takes MARK
#     └─ C  waits for RUN, becomes `python3 main.py`   └─ C  the next one waits for RUN
#        └─ what the code starts
#
# Z is as foreign to the code as the server is, though it is the same user's: its memory cannot be
# reached, what C leaves behind becomes its child, and a request to end is C's to answer.
#
# C was forked before it was needed. Below the code's frames is nothing but a line of the loader,
# and C ends as every interpreter does: by falling off its main program. What the code can see must
# be what `python3 main.py` shows it, so nothing may be imported here that a bare interpreter has
# not imported, or it is taken out again.
keeper = os.getppid()  # what C leaves behind becomes its child, if it does not become Z's
SWEEP_S = 0.4
SET_DUMPABLE, GET_DUMPABLE, SET_CHILD_SUBREAPER = 4, 3, 36  # of prctl()
NOT_FOR_Z = _signal.SIGTERM, _signal.SIGHUP
is_reaper = False

# --- Z: what stays ---


def wait_for_runs():
    """Returns in each C, when it has its RUN."""
    _signal.signal(_signal.SIGINT, _signal.SIG_IGN)
    _signal.pthread_sigmask(_signal.SIG_BLOCK, NOT_FOR_Z)
    forget_loader()
    show_again = withdraw()
    resource = borrow('resource')
    objects = settle(borrow('gc'))
    is_new = True
    while True:
        try:
            told, tell = os.pipe()
            child = os.fork()
            if child == 0:
                break
            os.close(tell)
            if is_new:
                ready()
                is_new = False
            status, usage = wait(child, resource)
            finish_run(read_up_to(told, 8192), status, usage)
        except OSError:
            os._exit(1)  # no process to be had, or nobody to talk to
    _signal.pthread_sigmask(_signal.SIG_UNBLOCK, NOT_FOR_Z)
    os.close(told)
    rehearse(objects)
    return become_run(tell, show_again)


def withdraw():
    """Z's memory is closed to others, and it gets all orphans. Returns what opens C's again."""
    global is_reaper
    ctypes = borrow('_ctypes')
    if ctypes is None:
        return lambda: None
    function = ctypes.dlsym(ctypes.dlopen(None, 0), 'prctl')
    prctl = lambda what, value=0: ctypes.call_function(function, (what, value, 0, 0, 0))
    was = prctl(GET_DUMPABLE)
    prctl(SET_DUMPABLE, 0)
    is_reaper = prctl(SET_CHILD_SUBREAPER, 1) == 0
    return lambda: prctl(SET_DUMPABLE, was)


def forget_loader():
    """From 3.13 on -c imports this, to keep the lines it was given, and main.py would not."""
    if sys.version_info >= (3, 13) and next(reversed(sys.modules)) == 'linecache':
        del sys.modules['linecache']
    sys.path_importer_cache.pop(home, None)


def settle(gc):
    """Nothing that is here now is ever looked at again for garbage. Returns all of it, nearly."""
    gc.collect()
    objects = gc.get_objects()
    for _ in range(2):  # what is not watched for garbage is found through what is
        objects = list({id(o): o for o in objects + gc.get_referents(*objects)}.values())
    gc.freeze()
    return objects


def wait(child, resource):
    """For C; orphans are cleared away. wait4() makes its result with a module that must not
    stay."""
    was = sys.modules.setdefault('resource', resource) if resource else None
    pid = 0
    try:
        while pid != child:
            pid, status, usage = os.wait4(-1, 0) if resource else os.waitpid(-1, 0) + (None,)
        return status, usage
    finally:
        if resource and was is resource:
            del sys.modules['resource']


def die_of(status):
    """C had no RUN: the server is gone, or somebody ended C. Nobody is to take it for a run that
    went well."""
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


def finish_run(told, status, usage):
    if not told:
        die_of(status)
    directory = told[1:]
    is_alone = sweep()
    said = b''
    if directory:
        said = b''.join(shown_by(directory))
        remove(directory)
    by_signal = os.WIFSIGNALED(status)
    said += frame(b'x', 0 if by_signal else os.WEXITSTATUS(status),
                  os.WTERMSIG(status) if by_signal else 0, 0,
                  *((int(usage.ru_utime * 1e6), int(usage.ru_stime * 1e6), usage.ru_maxrss)
                    if usage else (0, 0, 0)))
    write_all(3, said)
    if not is_alone:
        os._exit(1)  # the keeper ends what we could not
    kind, nonce = receive()
    if kind != b'M':
        os._exit(1)
    answer_mark(nonce)


def read_up_to(fd, size):
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


def sweep():
    """Ends what C has left behind. False: some of it may be there still."""
    if is_reaper and not has_children():
        return True
    clock = borrow('time')
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
    """Also those that /proc does not list, as their memory is closed."""
    try:
        fd = os.open('/proc/self/task/%d/children' % os.getpid(), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return strays()
    return [int(pid) for pid in read_up_to(fd, 1 << 20).split()]


def strays():
    """Orphans are the keeper's children, as Z is; and what they started."""
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
    """Of those that can be seen: here the user's own."""
    for name in os.listdir('/proc'):
        if not name.isdigit():
            continue
        try:
            fd = os.open('/proc/' + name + '/stat', os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue
        values = read_up_to(fd, 512).rpartition(b') ')[2].split()
        # A first thread may be dead while others are not.
        if len(values) > 17 and (values[0] not in b'ZX' or int(values[17]) > 1):
            yield int(name), int(values[1])


def last_pid():
    """The youngest process there ever was, or None."""
    try:
        fd = os.open('/proc/loadavg', os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    return read_up_to(fd, 128).rpartition(b' ')[2]


def is_quiet_since(last):
    """Whoever is born while others are looked at is not seen."""
    if last is not None:
        return last_pid() == last
    os.sched_yield()
    return not strays()


def shown_by(directory):
    """The pictures C saved, one record each. The code could write there too."""
    try:
        fd = os.open(os.path.join(directory, b'shown'),
                     os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return
    data = read_up_to(fd, 65536)
    below = os.fsencode(home) + b'/.belljar/'
    for _ in range(32):
        size = int.from_bytes(data[1:5], 'little')
        try:
            mime, text, path = fields(data[5:5 + size])
        except ValueError:
            return
        if data[:1] != b'v' or mime != b'image/png' or text or not path.startswith(below):
            return
        yield frame(b'v', mime, text, path)
        data = data[5 + size:]


def remove(directory):
    """What is in it may be anything; links are removed, not followed."""
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


# --- C: what becomes the run ---


def rehearse(objects):
    """Memory is Z's until it is written to, and then a page is copied: half of a short run's
    time. To count a reference is to write. C does it, and compiles something, while it waits."""
    for _ in objects:
        pass
    compile("import a\ndef f(b, *c):\n    return [b for b in c if 'd' % b]\n", 'a', 'exec')


def become_run(tell, show_again):
    """What to execute, and in which namespace."""
    os.setsid()
    kind, body = receive()
    if kind != b'R':
        os._exit(1)
    run = Run(body)
    os.close(3)
    show_again()
    os.write(tell, b'+')
    path = os.path.join(home, run.name, 'main.py')
    try:
        make_file(path, run.code, tell)
        apply_env(run.env)
        replace_stdin(run.stdin if run.has_stdin else None)
        if run.cwd:
            os.chdir(run.cwd)
    except (OSError, ValueError) as error:
        # As text it goes to stderr, and the status is 1.
        raise SystemExit('belljar: cannot start: %s' % error) from None
    finally:
        os.close(tell)
    sys.argv = [path] + run.args
    if hasattr(sys, 'orig_argv'):
        sys.orig_argv = sys.orig_argv[:1] + sys.argv
    watch_pictures(FileOut(run, os.path.dirname(path)))
    main = new_main(path)
    _signal.signal(_signal.SIGINT, first_sigint)
    return compile(run.code, path, 'exec', 0, True), main.__dict__


def make_file(path, code, tell):
    directory = os.path.dirname(path)
    os.mkdir(directory, 0o700)
    os.write(tell, os.fsencode(directory))
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    write_all(fd, code)
    os.close(fd)


class FileOut:
    """Where a fresh run says what it has shown: Z reads it when C has ended."""

    def __init__(self, run, directory):
        self.home, self.pixels, self.bytes = home, run.pixels, run.bytes
        self.path = directory + '/shown'

    def emit(self, mime, text='', path=''):
        try:
            fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                write_all(fd, frame(b'v', mime, text, path))
            finally:
                os.close(fd)
        except OSError:
            pass
