# python_loop.py - the event loop of a session. Part of python.py, executed in a namespace of its
# own, once the user's code has imported asyncio. screen is the session.
#
# All cells share one loop. It runs while a cell awaits, for one turn at the end of a cell, and
# between cells, so tasks that a cell has started go on. asyncio.run() works in a cell as well,
# because the loop does not run below code that does not await.
import asyncio
import os
import _thread

loop = None
theirs = {name: getattr(asyncio, name) for name in ('get_running_loop', 'create_task')}


def session_loop():
    global loop
    if loop is None or loop.is_closed():
        loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)  # asyncio.run() has removed it
    return loop


def is_cell_without_loop():
    return (asyncio._get_running_loop() is None and _thread.get_ident() == screen.out.thread and
            os.getpid() == screen.pid)


def get_running_loop():
    return session_loop() if is_cell_without_loop() else theirs['get_running_loop']()


def create_task(coroutine, **options):
    """asyncio.create_task(); in a cell that does not await, the task starts when the cell ends."""
    if is_cell_without_loop():
        return session_loop().create_task(coroutine, **options)
    return theirs['create_task'](coroutine, **options)


def replace_functions(module=None):
    asyncio.get_running_loop, asyncio.create_task = get_running_loop, create_task
    session_loop()


def run_coroutine(coroutine):
    """Runs a cell that awaits."""
    if asyncio._get_running_loop() is not None:
        coroutine.close()
        raise RuntimeError('await in the text of a magic works only if the rest of the cell does '
                           'not await')
    task = session_loop().create_task(coroutine)
    try:
        return loop.run_until_complete(task)
    except BaseException:
        if not task.done():
            task.cancel()
            try:
                loop.run_until_complete(task)
            except asyncio.CancelledError:
                pass
        elif not task.cancelled():
            task.exception()  # marks it as seen, or asyncio would warn when it is freed
        raise


def has_tasks():
    return loop is not None and not loop.is_closed() and bool(asyncio.all_tasks(loop))


def run_once():
    """Lets every task that is ready do its next step."""
    if has_tasks():
        asyncio.set_event_loop(loop)
        loop.stop()
        loop.run_forever()


def run_until_readable(fd):
    """Runs tasks until there is something to read."""
    if not has_tasks():
        return
    loop.add_reader(fd, loop.stop)
    try:
        loop.run_forever()
    finally:
        loop.remove_reader(fd)
