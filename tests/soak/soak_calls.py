"""The calls of the soak. Each function makes some calls in one sandbox and returns what is wrong with their
answers, or None."""
import random
import time

MEMORY, DISK, PIDS = 128, 64, 64  # limits of a sandbox, in MiB and processes


def text_of(result):
    return "\n".join(part.get("text", "") for part in result.get("content", []))


def expect(result, wanted):
    shown = text_of(result)
    return None if not result.get("isError") and wanted in shown else f"expected '{wanted}', got: {shown[:300]}"


def fresh_python(client, sandbox):
    return expect(client.call("run_code", code="print(6 * 7)", sandbox=sandbox), "42")


def shell(client, sandbox):
    return expect(client.call("run_command", command="echo $((6 * 7)) | cat", sandbox=sandbox), "42")


def session(client, sandbox):
    wrong = expect(client.call("run_code", code="x = 41", session="s", sandbox=sandbox), "")
    answer = client.call("run_code", code="x + 1", session="s", sandbox=sandbox)
    # On a busy machine a second may pass between the calls: a sandbox with idle_s 1 sleeps then.
    return wrong or (None if "was put to sleep" in text_of(answer) else expect(answer, "42"))


def background(client, sandbox):
    started = client.call("run_command", command="cat; sleep 60", background=True, sandbox=sandbox)
    if started.get("isError"):
        return text_of(started)[:300]
    process = started["structuredContent"]["process"]
    client.call("process_input", process=process, stdin="hello\n", close=True, sandbox=sandbox)
    wrong = expect(client.call("process_output", process=process, since=0, wait_s=30, sandbox=sandbox), "hello")
    return wrong or expect(client.call("process_stop", process=process, force=random.random() < 0.5,
                                       sandbox=sandbox), "")


def left_running(client, sandbox):
    """A process that ends with its sandbox or its server."""
    return expect(client.call("run_command", command="sleep 1000", background=True, sandbox=sandbox), "running")


def files(client, sandbox):
    text = "line\n" * random.randrange(1, 20000)
    answers = (client.call("write_file", path="d/a.txt", content=text, sandbox=sandbox),
               client.call("edit_file", path="d/a.txt", edits=[{"old": "line\n", "new": "LINE\n", "all": True}],
                           sandbox=sandbox),
               client.call("read_file", path="d/a.txt", limit=3, sandbox=sandbox),
               client.call("list_directory", path="d", sandbox=sandbox),
               client.call("search_files", pattern="LINE", limit=2, sandbox=sandbox))
    wrong = [expect(answer, word) for answer, word in zip(answers, ("", "", "LINE", "a.txt", "a.txt"))]
    return next(filter(None, wrong), None)


def copies(client, sandbox):
    return expect(client.call("copy_in", source=f"{client.shared}/in", path="copied", overwrite=True,
                              sandbox=sandbox), "") or \
        expect(client.call("copy_out", path="copied", target=f"{client.shared}/out-{sandbox}", overwrite=True,
                           sandbox=sandbox), "")


def many_files(client, sandbox):
    return expect(client.call("run_command", command="mkdir -p m; cd m; seq 2000 | xargs touch; ls | wc -l",
                              sandbox=sandbox), "2000")


def time_out(client, sandbox):
    result = client.call("run_command", command="sleep 600", timeout_s=1, sandbox=sandbox)
    return None if result.get("structuredContent", {}).get("timed_out") else f"no time-out: {text_of(result)[:300]}"


def memory_limit(client, sandbox):
    result = client.call("run_command", argv=["python3", "-c", "x = b'x' * (400 << 20); print('held')"],
                         sandbox=sandbox)
    return f"400 MiB within {MEMORY}" if "held" in text_of(result) else None


def disk_limit(client, sandbox):
    """Several files: a single one would meet the limit on the size of a file first."""
    result = client.call("run_command", sandbox=sandbox, command="mkdir -p big; cd big; for i in $(seq 16); do "
                         f"head -c {DISK // 4}M /dev/zero >$i || exit; sleep 0.1; done; sleep 2; echo held")
    if "held" in text_of(result):
        return f"{DISK * 4} MiB within {DISK}"
    # With a quota the program gets an error. Without one its sandbox was killed, and wakes over its limit.
    return expect(client.call("delete_path", path="big", recursive=True, sandbox=sandbox), "")


def fork_bomb(client, sandbox):
    client.call("run_command", command="b() { b | b & }; b; wait; sleep 9", timeout_s=1, sandbox=sandbox)


def flood(client, sandbox):
    """Much output, which goes to a file in the sandbox; few enough bytes for many floods in one sandbox."""
    return expect(client.call("run_command", command="head -c 2M /dev/zero | tr '\\0' x", sandbox=sandbox), "x")


def cancelled(client, sandbox):
    numbers = [client.start_call("run_command", command="sleep 600", sandbox=sandbox),
               client.start_call("run_code", code="while True: pass", sandbox=sandbox),
               client.start_call("search_files", pattern="x", path="/usr/lib", sandbox=sandbox)]
    time.sleep(random.uniform(0, 0.5))
    for number in numbers:
        client.cancel(number)


def reset(client, sandbox):
    return expect(client.call("reset_sandbox", sandbox=sandbox), "")


def ask(client, sandbox):
    return expect(client.call("sandbox_info", sandbox=sandbox), sandbox) or \
        expect(client.call("list_sandboxes"), sandbox) or expect(client.call("server_info"), "version")


def sleep_and_wake(client, sandbox):
    """The sandbox has idle_s 1: it sleeps after a second and is woken by the next call."""
    wrong = expect(client.call("write_file", path="kept", content="kept", sandbox=sandbox), "")
    time.sleep(3)
    return wrong or expect(client.call("run_command", command="cat kept", sandbox=sandbox), "kept")


# How often each kind is chosen. Kinds that may end their sandbox are rare: a new one takes time.
KINDS = {fresh_python: 8, shell: 8, session: 5, files: 6, background: 4, left_running: 1, copies: 3,
         many_files: 1, time_out: 2, memory_limit: 2, disk_limit: 1, fork_bomb: 1, flood: 2, cancelled: 3,
         reset: 2, ask: 3, sleep_and_wake: 1}


def choose(dice):
    return dice.choices(list(KINDS), list(KINDS.values()))[0]
