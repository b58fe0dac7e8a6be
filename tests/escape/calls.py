"""System calls by name, and the answer that each filter of belljar must give.

The table is written down independently of src/engine/filter/filter_table.c, so that a mistake there is
found.
"""
import re
import subprocess

PROFILES = ("standard", "strict", "debug")
EPERM, ENOMEM, EFAULT, EINVAL, ENOSYS, EAFNOSUPPORT, SIGSYS = 1, 12, 14, 22, 38, 97, 31

# Calls that the headers may be too old to know. 335 and 336 exist on x86_64 only.
NEWER = dict(uretprobe=335, uprobe=336, cachestat=451, fchmodat2=452, map_shadow_stack=453,
             futex_wake=454, futex_wait=455, futex_requeue=456, statmount=457, listmount=458,
             lsm_get_self_attr=459, lsm_set_self_attr=460, lsm_list_modules=461, mseal=462,
             setxattrat=463, getxattrat=464, listxattrat=465, removexattrat=466,
             open_tree_attr=467, file_getattr=468, file_setattr=469, listns=470,
             rseq_slice_yield=471)
LAST = 471

FAKED = "sync syncfs".split()
UNKNOWN = """clone3 io_uring_setup io_uring_enter io_uring_register io_setup io_submit io_cancel
io_destroy io_getevents io_pgetevents keyctl add_key request_key
userfaultfd cachestat rseq_slice_yield""".split()
REFUSED = """mount umount2 pivot_root chroot mount_setattr move_mount open_tree open_tree_attr
fsopen fsconfig fsmount fspick listmount statmount setns unshare listns name_to_handle_at
open_by_handle_at fanotify_init fanotify_mark file_getattr file_setattr quotactl quotactl_fd
swapon swapoff acct sysfs ustat bpf perf_event_open kcmp pidfd_getfd process_madvise
process_mrelease memfd_secret modify_ldt remap_file_pages get_mempolicy set_mempolicy
set_mempolicy_home_node mbind migrate_pages move_pages lsm_get_self_attr lsm_set_self_attr
lsm_list_modules _sysctl adjtimex clock_adjtime clock_settime settimeofday create_module
delete_module finit_module get_kernel_syms init_module query_module ioperm iopl kexec_file_load
kexec_load lookup_dcookie nfsservctl reboot setdomainname sethostname syslog uselib vhangup
epoll_ctl_old epoll_wait_old afs_syscall getpmsg putpmsg security tuxcall vserver""".split()
DEBUGGING = "ptrace process_vm_readv process_vm_writev".split()
NOT_STRICT = """alarm time utime futimesat capset setfsgid setfsuid landlock_add_rule landlock_create_ruleset
landlock_restrict_self map_shadow_stack mincore mq_getsetattr mq_notify mq_open mq_timedreceive
mq_timedsend mq_unlink msgctl msgget msgrcv msgsnd readahead semctl semget semop semtimedop shmat
shmctl shmdt shmget sync_file_range""".split()
NOT_STRICT_EINVAL = "splice tee vmsplice".split()
# The kernel does not filter these, because it places them itself for probes. Called by a program, they
# fail with a signal or ENXIO.
UNFILTERED = "uretprobe uprobe".split()


def numbers():
    """A dict of names and numbers on this architecture."""
    text = subprocess.run(["cc", "-E", "-dM", "-include", "sys/syscall.h", "-x", "c", "/dev/null"],
                          capture_output=True, text=True, check=True).stdout
    found = {name: int(number) for name, number
             in re.findall(r"^#define __NR_(\w+) (\d+)$", text, re.M)}
    is_x86 = found.get("read") == 0
    return {**{n: v for n, v in NEWER.items() if v >= 424 or is_x86}, **found}


def refusals(profile):
    """A dict of names and errnos of the calls that the filter refuses whatever the arguments are. 0: the
    call returns success without doing anything."""
    table = {name: 0 for name in FAKED}
    table.update({name: ENOSYS for name in UNKNOWN})
    table.update({name: EPERM for name in REFUSED})
    if profile != "debug":
        table.update({name: EPERM for name in DEBUGGING})
    if profile == "strict":
        table.update({name: EPERM for name in NOT_STRICT})
        table.update({name: EINVAL for name in NOT_STRICT_EINVAL})
    return table


def make(box, calls, **more):
    """Makes the calls in a sandbox, each written "name:arg,arg" or "number:arg,arg". Returns the outcome
    of each: ("errno", 1), ("ok", 3), ("signal", 31), ("no end", 0)."""
    known = numbers()
    lines = []
    for call in calls:
        name, _, args = call.partition(":")
        lines.append(f"{known.get(name, name)}:{args}".rstrip(":"))
    done = box.c("ki_calls", *lines, **more)
    assert done.code == 0, done
    results = {}
    for call, line in zip(calls, done.out.splitlines(), strict=True):
        _, kind, value = line.replace("no end", "no-end").rsplit(" ", 2)
        results[call] = (kind, int(value))
    return results


def expect(box, table, **more):
    """Checks that each call of the table fails with its errno, or with the signal if the number is
    negative."""
    found = make(box, list(table), **more)
    wrong = {call: (found[call], want) for call, want in table.items()
             if found[call] != (("errno", want) if want > 0 else ("signal", -want))}
    assert not wrong, f"(outcome, expected): {wrong}"


def exists(name):
    return name in numbers()
