# python_once.py - a fresh run without a zygote, when none is waiting: the interpreter itself becomes
# the run, as `python3 main.py` would, and its exit is the end of the run. That takes half as long as
# to start a zygote and to fork. Part of python.py, executed in the same namespace.
#
# RUN stands behind BOOT in the socket. The code may find the socket: it can send displays, which it
# could show anyway, and no message that ends the run.
SOCKET = 200  # the descriptor that the socket gets: 3 is free in a bare interpreter


def become_only_run():
    prepare_process()
    send_ready()
    import_hidden('gc').freeze()  # the collections at the exit are faster
    # The classes of syntax trees take a tenth of Python's start, and are not there yet.
    return become_run(Channel(), compile_text)


class Channel:
    """What the run tells the server, over the socket."""

    def open(self):
        global SOCKET
        try:
            os.dup2(3, SOCKET, False)
            os.close(3)
        except OSError:  # a low limit of open files
            SOCKET = 3
            os.set_inheritable(3, False)

    def tell_directory(self, path):
        """The server removes the directory that it has chosen, and no other. Before version 3.10
        Python crashes at its exit if the module is not in sys.modules then."""
        if path.startswith(IN_MEMORY):
            return
        import_exit = import_hidden if sys.version_info >= (3, 10) else __import__
        import_exit('atexit').register(remove_main, path)

    def tell_names(self, names):
        names = [each for each in names.decode('ascii', 'replace').split() if each.isidentifier()]
        if names:
            write_all(SOCKET, encode_frame(b'n', ' '.join(names)))

    def close(self):
        pass

    def displays(self, run, directory):
        return SentDisplays(run, directory)


class SentDisplays(Displays):
    """Sends what the run displays. Threads and processes that the run forks may display as well, so
    each frame is written under a lock."""

    def __init__(self, run, directory):
        super().__init__(run.pixels, run.bytes)
        self.directory = directory
        self.lock = sys.modules['_thread'].allocate_lock()

    def send(self, frame):
        fcntl, clock = import_hidden('fcntl'), import_hidden('time')
        with self.lock:
            shared = -1
            try:
                shared = os.open(self.directory, os.O_RDONLY | os.O_CLOEXEC)
                fcntl.flock(shared, fcntl.LOCK_EX)
            except OSError:
                pass  # the code has removed its directory
            try:
                # READY and NAMES may still be unread in the socket. A frame behind them would be
                # read together with them, before the output that was printed first.
                wait_until_read(fcntl.ioctl, clock.sleep, SOCKET)
                write_all(SOCKET, frame)
                wait_until_read(fcntl.ioctl, clock.sleep, SOCKET)
            except OSError as error:
                print('belljar: a value cannot be shown: %s' % error, file=sys.stderr)
            finally:
                if shared >= 0:
                    os.close(shared)
