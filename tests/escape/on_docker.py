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
ONE_USER = "containers share the ids of the daemon's machine, which doctor reports"
NOT_ON_DOCKER = {
    ("CE-04", ""): "containers have no cgroup in common that could have a limit",
    ("FS-40", ""): NO_QUOTA,
    ("FS-41", ""): NO_QUOTA,
    ("FS-46", ""): "Docker mounts root and volumes without nosuid; FS-28 checks that such bits give no rights",
    ("GP-01", ""): "Docker 20.10 knows no CDI; tests/docker/faults.test.mjs checks the requests",
    ("KI-19", ""): "Docker's filter refuses process_vm_writev also with --calls debug",
    ("KI-22", ""): "Docker's overlay mounts name directories of the host in /proc/mounts",
    ("LC-15", ""): "the daemon, not belljar, freezes and removes cgroups of containers",
    ("LC-22", ""): "the server starts with a new id instead of refusing: tests/docker/life.test.mjs",
    ("SC-07", "two sandboxes have different host ids"): ONE_USER,
}


def why_not(test):
    """The reason why a test does not apply to the docker engine, or None."""
    if "R" not in test["modes"]:
        return "it is about a user without root's ids"
    for (number, title), why in NOT_ON_DOCKER.items():
        if test["number"] == number and test["what"].startswith(title):
            return why
    return None
