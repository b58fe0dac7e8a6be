/* internal.h - the measurements that a janitor does. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "engine/native/usage/usage.h"

struct error;

/* Measures the directory `name` in `parent` and all files below it, which programs may be changing
 * meanwhile. Stops above `limit`. A file with several hard links counts once if all of them are
 * below `name`. Fails if the files change faster than they can be read; the caller freezes the
 * sandbox first, or takes the failure as exceeding the limit. Directories of the caller's own uid
 * that it may not read are made readable. (disk_scan.c) */
MUST_CHECK int disk_scan(int parent, const char *name, const struct disk_usage *limit,
                         struct disk_usage *ret, struct error *err);

/* Files without a directory entry that a process and its descendants hold open or mapped. Such
 * files use disk or memory, and no walk through directories finds them (unlinked.c).
 *
 * The size of an open file is known. The size of a file that is mapped and open nowhere is readable
 * only for root of the host; other users see how far into the file it is mapped, and that much
 * counts, written or not. Not counted are bytes written beyond a mapping, and descriptors in flight
 * in a Unix socket. */
struct unlinked_filter {
	unsigned long type; /* only files of this file system: OVERLAYFS_SUPER_MAGIC, TMPFS_MAGIC */
	/* The device below an overlay, which some kernels report for mappings of overlay files.
	 * 0: mappings count only if their size is known. */
	dev_t below;
};

/* `proc`: a procfs that shows the processes to this caller. With more descriptors than one call
 * reads, the result is larger than any limit. */
struct disk_usage unlinked_files_usage(int proc, pid_t pid, const struct unlinked_filter *filter);

/* --- processes (process_tree.c) --- */

enum { PROCESS_TREE_MAX = 1 << 17 }; /* more than any sandbox may have */

/* The process `pid` itself, then its descendants. Processes that start or exit during the call may
 * be missing. */
size_t process_tree_pids(int proc, pid_t pid, pid_t all[PROCESS_TREE_MAX]);

/* Calls fn for each thread of the process until fn returns false. A thread can have a descriptor
 * table of its own (CLONE_FILES), and /proc/PID shows nothing of a process whose first thread has
 * exited, while /proc/TID of another thread does. */
typedef bool process_thread_fn(void *ctx, pid_t thread);
void process_each_thread(int proc, pid_t pid, process_thread_fn *fn, void *ctx);

/* Soft RLIMIT_FSIZE for the processes of a sandbox, as far as their hard limits allow. */
struct file_limits {
	uint64_t first;  /* of its first process, which the programs that it starts inherit */
	uint64_t others; /* of the descendants */
	uint64_t kept;   /* a descendant whose limit is to be lowered keeps up to this much */
};

/* Sets the limits of the process `pid` and its descendants. Processes that start during the call
 * may be missed, and a program that is the caller's user can stop it: the caller measures again.
 * (file_limit.c) */
void process_tree_limit_files(int proc, pid_t pid, const struct file_limits *limits);

/* Reads the beginning of /proc/PID/FILE as text. False: there is none. (memory.c) */
bool proc_read_file(int proc, pid_t pid, const char *file, char *text, size_t size);

/* Bytes of memory of a process and its descendants, with unlinked memory files. Shared pages count
 * once (Pss), or once per process where the kernel has no smaps_rollup. (memory.c) */
uint64_t process_tree_memory(int proc, pid_t pid);

/* Bytes that the kernel holds for the TCP and UDP sockets of the process's network namespace, with
 * or without its Unix sockets. Stops counting above `limit`. Moves the caller into the network
 * namespace. (sockets.c) */
uint64_t socket_memory(int proc, pid_t pid, bool with_unix, uint64_t limit);

/* File locks of a process and its descendants, of which only record locks can be many. Stops
 * counting above `limit`. (locks.c) */
uint64_t process_tree_locks(int proc, pid_t pid, uint64_t limit);
