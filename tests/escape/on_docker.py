"""The docker engine in the escape tests (mode D): looking at its containers from the host, and the table of
tests that do not apply to it, each with the reason."""
import contextlib
import http.client
import json
import os
import pathlib
import socket
import urllib.parse


class Connection(http.client.HTTPConnection):
    def __init__(self):
        super().__init__("docker", timeout=120)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(os.environ["DOCKER_HOST"].removeprefix("unix://"))


def get(path):
    """One GET of the daemon's API, decoded; None if there is no such thing."""
    connection = Connection()
    try:
        connection.request("GET", f"/v1.41{path}")
        answer = connection.getresponse()
        body = answer.read()
        return json.loads(body) if answer.status == 200 else None
    finally:
        connection.close()


def of_state(kind, state):
    """The containers or volumes of one state directory."""
    path = pathlib.Path(state) / "docker-id"
    if not path.exists():
        return []
    filters = urllib.parse.quote(json.dumps({"label": [f"belljar.state={path.read_text()}"]}))
    if kind == "volumes":
        return get(f"/volumes?filters={filters}")["Volumes"] or []
    return get(f"/containers/json?all=1&filters={filters}")


def sandboxes(state):
    """The ids of all sandboxes that have files."""
    return {volume["Labels"]["belljar.sandbox"] for volume in of_state("volumes", state)
            if "belljar.sandbox" in volume["Labels"]}


def instances(pids, state):
    """The names of the servers among these processes: each holds a lock file with its name."""
    found = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            for entry in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    path = pathlib.Path(os.readlink(f"/proc/{pid}/fd/{entry}"))
                    if path.parent == pathlib.Path(state) / "servers":
                        found.add(path.stem)
    return found


def agents(pids, state):
    """Host pids of the agents of the containers that these servers have made."""
    names = instances(pids, state)
    found = []
    for container in of_state("containers", state):
        labels = container["Labels"]
        if labels.get("belljar.role") == "sandbox" and labels["belljar.instance"] in names:
            seen = get(f"/containers/{container['Id']}/json")
            if seen and seen["State"]["Pid"]:
                found.append(seen["State"]["Pid"])
    return found


# Tests that are about something that only the native engine has or does, or that Docker leaves out; by number
# and, where a number has several tests, the beginning of their title.
NO_QUOTA = "the volumes of the tests' daemon have no quotas, which doctor reports"
OWN_SETUP = "it is about mounts and files that belljar itself sets up, and Docker does here"
ONE_USER = "containers share the ids of the daemon's machine, which doctor reports"
NOT_ON_DOCKER = {
    ("CE-04", ""): "containers have no cgroup in common that could have a limit",
    ("FS-05", "a link in place"): OWN_SETUP,
    ("FS-11", ""): OWN_SETUP,
    ("FS-13", ""): OWN_SETUP,
    ("FS-31", ""): "the root is read-only, so no attribute of overlayfs can be planted in its upper layer",
    ("FS-40", ""): NO_QUOTA,
    ("FS-41", ""): NO_QUOTA,
    ("FS-46", ""): "Docker mounts root and volumes without nosuid; FS-28 checks that such bits give no rights",
    ("FS-47", ""): OWN_SETUP,
    ("GP-01", ""): "Docker 20.10 knows no CDI; tests/docker/faults.test.mjs checks the requests",
    ("KI-19", ""): "Docker's filter refuses process_vm_writev also with --calls debug",
    ("KI-22", ""): "Docker's overlay mounts name directories of the host in /proc/mounts",
    ("LC-06", ""): OWN_SETUP,
    ("LC-08", ""): "files are on the daemon's disk: tests/docker/daemons.test.mjs fills that one",
    ("LC-15", ""): "the daemon, not belljar, freezes and removes cgroups of containers",
    ("LC-22", ""): "the server starts with a new id instead of refusing: tests/docker/life.test.mjs",
    ("PV-04", ""): ONE_USER,
    ("PV-05", ""): "max_user_namespaces is the host's; KI-01 checks that the filter refuses namespaces",
    ("PV-07", ""): ONE_USER,
    ("PV-09", ""): "the image has no compiler; FS-28 and PV-08 check set-user-id programs",
    ("PV-16", ""): ONE_USER,
    ("PV-17", ""): ONE_USER,
    ("PV-21", ""): "the daemon's rights make the sandbox, not those of belljar",
    ("PV-22", ""): ONE_USER,
    ("SC-07", "two sandboxes have different host ids"): ONE_USER,
}


# Of the attacks that use up a resource, those that are carried out on Docker: one on each limit that a container
# has. The kernel enforces the limits of containers as it does those of native sandboxes.
EXHAUSTION = {("RX-01", "a fork bomb in the shell"), ("RX-03", "memory beyond the limit"), ("RX-04", "/dev/shm"),
              ("RX-13", ""), ("RX-15", ""), ("RX-17", "a program that ignores signals"), ("RX-23", "")}


def is_named(test, names):
    return any(test["number"] == number and test["what"].startswith(title) for number, title in names)


def why_not(test):
    """The reason why a test does not apply to the docker engine, or None."""
    if "R" not in test["modes"]:
        return "it is about a user without root's ids"
    if test["number"].startswith("WL"):
        return "the image has few programs; tests/e2e runs on it"
    if test["number"].startswith("RX") and not is_named(test, EXHAUSTION):
        return "one attack on each limit is carried out on Docker"
    for (number, title), why in NOT_ON_DOCKER.items():
        if test["number"] == number and test["what"].startswith(title):
            return why
    return None
