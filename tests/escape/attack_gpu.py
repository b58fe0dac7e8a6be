"""Graphics processors: a sandbox gets the devices that it asks for and that are described, no others."""
import json
import os

from harness import test

DESCRIPTION = {
    "cdiVersion": "0.6.0",
    "kind": "test.org/gpu",
    "devices": [
        {"name": "zero", "containerEdits": {
            "env": ["GPU=zero"],
            "deviceNodes": [{"path": "/dev/gpu-zero", "hostPath": "/dev/zero"},
                            {"path": "/dev/dri/gpu", "hostPath": "/dev/null"}],
            "mounts": [{"hostPath": "HERE/file", "containerPath": "/opt/gpu/file"}]}},
        {"name": "full", "containerEdits": {
            "env": ["GPU_FULL=1"],
            "deviceNodes": [{"path": "/dev/gpu-full", "hostPath": "/dev/full"},
                            {"path": "/dev/dri/gpu", "hostPath": "/dev/null"}]}},
    ],
}


def describe(box, text=None):
    """Writes one CDI specification. Returns the option --cdi-dirs for its directory."""
    place = box.directory / "cdi"
    place.mkdir()
    (place / "file").write_text("of the driver\n")
    (place / "test.json").write_text(text or json.dumps(DESCRIPTION).replace("HERE", str(place)))
    return ("--cdi-dirs", str(place))


LOOK = "ls /dev | grep gpu; cat /opt/gpu/file 2>&1; echo GPU=$GPU FULL=$GPU_FULL; head -c 3 /dev/gpu-zero | od -An -tx1"


@test("GP-01", "a sandbox has a processor only if it was asked for")
def chosen(box):
    where = describe(box)
    found = box.sh(LOOK, options=(*where, "--gpu", "zero"))
    assert "gpu-zero\nof the driver\nGPU=zero FULL=\n 00 00 00\n" == found.out, found
    found = box.sh("ls /dev/dri; ls /dev | grep gpu", options=(*where, "--gpu", "auto"))
    assert found.out == "gpu\ngpu-full\ngpu-zero\n", found
    found = box.sh(LOOK, options=where)
    assert "gpu-zero" not in found.out and "GPU= FULL=" in found.out, found


@test("GP-02", "a request that cannot be met is an error that lists the devices")
def missing(box):
    where = describe(box)
    for request in ("3", "other", "test.org/gpu=none"):
        found = box.sh("true", options=(*where, "--gpu", request))
        assert found.code == 1 and "test.org/gpu=zero" in found.err, (request, found)
    assert box.sh("true", options=(*where, "--gpu", "none")).code == 0


@test("GP-03", "a specification with forbidden paths or variables is not used")
def hostile(box):
    wrong = json.dumps(DESCRIPTION)
    for before, after in (('"/dev/gpu-zero"', '"/etc/passwd"'), ('"/dev/gpu-zero"', '"/dev/../etc/x"'),
                          ('"GPU=zero"', '"LD_PRELOAD=/x.so"'), ('"/opt/gpu/file"', '"/proc/sys"')):
        place = box.directory / "cdi"
        if place.exists():
            for name in os.listdir(place):
                os.unlink(place / name)
            place.rmdir()
        assert before in wrong
        where = describe(box, wrong.replace(before, after))
        found = box.sh("ls /dev; cat /etc/passwd", options=(*where, "--gpu", "zero"))
        assert found.code == 1 and "gpu" in found.err, (after, found)
    assert box.sh("echo works", options=where).out == "works\n"
