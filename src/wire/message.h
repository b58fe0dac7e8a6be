/* message.h - the messages between server and agent, as structs.
 *
 * table.h has the rules for each message, PROTOCOL.md describes all of it byte by byte. The views
 * in a decoded message point into the frame, which the caller keeps as long as the message; texts
 * are terminated with a NUL. */
#pragma once
#include "wire/field.h"

enum { WIRE_MAGIC = 0x424a4152, /* "BJAR" */ WIRE_VERSION = 2 };

enum wire_type {
	/* the channel itself */
	WIRE_HELLO = 0x01,
	WIRE_WELCOME,
	WIRE_READY,
	WIRE_REFUSED,
	WIRE_PING,
	WIRE_PONG,
	/* any stream */
	WIRE_DATA = 0x10,
	WIRE_END,
	WIRE_CREDIT,
	WIRE_CLOSE,
	WIRE_DONE,
	WIRE_FAILED,
	/* programs */
	WIRE_EXEC = 0x20,
	WIRE_STARTED,
	WIRE_SIGNAL,
	WIRE_RESIZE,
	WIRE_DEADLINE,
	WIRE_EXITED,
	/* files */
	WIRE_READ = 0x30,
	WIRE_WRITE,
	WIRE_STAT,
	WIRE_LIST,
	WIRE_TREE,
	WIRE_FIND,
	WIRE_GREP,
	WIRE_REMOVE,
	WIRE_RENAME,
	WIRE_ENTRIES,
	WIRE_MATCHES,
	WIRE_CHANGES,
	/* archives */
	WIRE_PACK = 0x40,
	WIRE_UNPACK,
	/* resource usage of the sandbox */
	WIRE_STATS = 0x50,
	WIRE_STATS_ARE,
	/* connections on the sandbox's loopback interface */
	WIRE_ACCEPT = 0x60,
	WIRE_LINKED,
	WIRE_CONNECT,
	WIRE_TYPE_COUNT
};

struct wire_hello {
	uint32_t magic;
	uint16_t version; /* magic and version keep their place in every version */
};

enum { WIRE_WELCOME_LANDLOCK = 1 /* confine programs with it, if the kernel has it */ };
enum { WIRE_FILTER_MAX = 3072 * 8 }; /* bytes; two filters fit into a frame */
struct wire_welcome {
	uint16_t version;
	uint8_t flags;
	uint32_t uid, gid;           /* the user that programs and file operations run as */
	struct wire_numbers groups;  /* the user's supplementary groups */
	struct view root, workspace; /* paths are below root, relative ones below workspace */
	struct view programs,
	        workers; /* seccomp filters: arrays of struct sock_filter; empty: none */
};

enum { WIRE_READY_LANDLOCK = 1 /* Landlock confines every program */ };
struct wire_ready {
	uint8_t flags;
};

struct wire_refused {
	struct view reason;
};

struct wire_ping {
	uint64_t token;
};

struct wire_data {
	struct view bytes;
};

struct wire_credit {
	uint32_t bytes;
};

enum {
	WIRE_DONE_MORE = 1, /* a limit was reached before the end */
};
struct wire_done {
	uint8_t flags;
	uint64_t count;   /* entries, matches, lines or bytes, depending on the request */
	uint64_t bytes;   /* bytes transferred */
	uint64_t total;   /* size of the file afterwards; UNPACK: files and links */
	uint64_t skipped; /* UNPACK, PACK: entries left out because they are not allowed */
	uint64_t trusted; /* UNPACK, WRITE on the host: entries left out because programs of the
	                     * host trust them (base/trusted/trusted_names.h) */
	uint64_t kinds;   /* the set of their kinds */
	/* UNPACK, WRITE on the host: files that lost their executable bits */
	uint64_t not_executable;
	struct view cursor; /* LIST: the last name, to continue after; UNPACK, PACK: the first entry
	                     * that was left out */
	struct view report; /* UNPACK, WRITE: with WIRE_PREVIEW what would change, otherwise the
	                     * names of the first trusted entries, one in a line */
};

enum wire_failure {
	WIRE_FAILED_INVALID, /* a field of the request is wrong */
	WIRE_FAILED_MISSING, /* the file or program does not exist */
	WIRE_FAILED_DENIED,  /* the user has no permission */
	WIRE_FAILED_LIMIT,   /* a limit is reached */
	WIRE_FAILED_CLOSED,  /* the server closed the stream */
	WIRE_FAILED_LOST,    /* the keeper or worker was killed */
	WIRE_FAILED_SYSTEM,  /* any other error of a system call */
	WIRE_FAILED_COUNT
};
struct wire_failed {
	uint8_t why;
	uint32_t errnum; /* or 0 */
	struct view message;
};

enum {
	WIRE_EXEC_STDIN = 1, /* channel 0 is the program's stdin; otherwise stdin is /dev/null */
	WIRE_EXEC_PTY = 2, /* a terminal of its own: channel 0 is its input, channel 1 its output */
	WIRE_EXEC_CONTROL = 4, /* channels 3 (in) and 4 (out) are the program's descriptor 3 */
};
struct wire_exec {
	uint8_t flags;
	uint16_t umask;
	uint16_t rows, columns; /* of the terminal */
	uint32_t deadline_ms;   /* SIGTERM to the whole process tree then; 0: never */
	uint32_t grace_ms;      /* SIGKILL this long after SIGTERM */
	struct wire_limits limits;
	struct view cwd;        /* empty: the workspace */
	struct wire_texts argv; /* the program is searched for in the PATH of env */
	struct wire_texts env;  /* the whole environment */
};

struct wire_started {
	uint32_t pid; /* in the sandbox's PID namespace */
};

struct wire_signal { /* to the program and all its descendants */
	uint8_t number;
};

struct wire_resize {
	uint16_t rows, columns;
};

struct wire_deadline { /* from now on, replaces the earlier deadline */
	uint32_t deadline_ms, grace_ms;
};

enum { WIRE_LEFT_MAX = 160 }; /* bytes of wire_exited.left */
enum {
	WIRE_EXITED_TIMED_OUT = 1, /* the deadline passed while the program ran */
	WIRE_EXITED_LEFT = 2,      /* descendants were still running, and were killed */
	WIRE_EXITED_REMAINS = 4,   /* some descendants could not be killed in time */
};
struct wire_exited {
	uint8_t flags;
	uint8_t code;   /* if signal is 0 */
	uint8_t signal; /* that killed the program */
	uint64_t wall_us, user_us, system_us;
	uint64_t max_rss_kib; /* of the largest process */
	struct view left;     /* LEFT: commands of the descendants, separated by ", " */
};

enum wire_unit { WIRE_UNIT_BYTES, WIRE_UNIT_LINES, WIRE_UNIT_COUNT };
struct wire_read {
	uint8_t unit;
	uint64_t from;  /* first byte, from 0, or first line, from 1 */
	uint64_t count; /* bytes or lines */
	uint64_t max;   /* bytes */
	struct view path;
};

enum wire_write_mode { WIRE_WRITE_REPLACE, WIRE_WRITE_CREATE, WIRE_WRITE_APPEND, WIRE_WRITE_COUNT };
enum {
	WIRE_PARENTS = 1, /* create missing directories of the path */
	WIRE_PREVIEW = 2, /* write nothing, report what would change */
};
struct wire_write {
	uint8_t mode, flags;
	uint16_t perm; /* of a new file */
	uint64_t max;  /* bytes */
	struct view path;
};

enum { WIRE_NOFOLLOW = 1 };
struct wire_stat {
	uint8_t flags;
	struct view path;
};

struct wire_list {
	uint32_t limit;
	struct view path, cursor;
};

enum { WIRE_WALK_HIDDEN = 1, WIRE_WALK_IGNORE_CASE = 2, WIRE_WALK_REGEX = 4 };
struct wire_tree {
	uint8_t flags; /* WIRE_WALK_HIDDEN: names that start with a dot too */
	uint16_t depth;
	uint32_t limit;
	struct view path;
};

struct wire_find {
	uint8_t flags;
	uint16_t depth;
	uint32_t limit;
	struct view path;
	struct view pattern; /* globs, one on each line; one with a slash is matched against the
	                      * path below `path`, any other one against the name */
};

struct wire_grep {
	uint8_t flags;
	uint16_t depth;
	uint32_t limit;
	uint64_t max; /* bytes; larger files are skipped */
	struct view path, pattern;
	struct view names; /* globs as above: search only files that match one; empty: all */
};

enum { WIRE_RECURSIVE = 1 };
struct wire_remove {
	uint8_t flags;
	struct view path;
};

enum { WIRE_RENAME_REPLACE = 1 };
struct wire_rename {
	uint8_t flags;
	struct view from, to;
};

enum { WIRE_CHANGES_DIRECTORIES = 1 }; /* also directories, the workspace itself as "." */
struct wire_changes {
	uint8_t flags;
	uint64_t since_ns; /* since 1970 */
	uint32_t limit;
	struct view home; /* with a slash; and /tmp are examined too; "": only the workspace */
};

/* ENTRIES, MATCHES: one or more whole records, without anything between them. */
struct wire_records {
	struct view records;
};

enum wire_file_type {
	WIRE_FILE_REGULAR,
	WIRE_FILE_DIRECTORY,
	WIRE_FILE_LINK,
	WIRE_FILE_OTHER,
	WIRE_FILE_TYPE_COUNT
};
struct wire_entry {
	uint8_t type;
	uint16_t perm;
	uint32_t uid, gid;
	uint64_t size;
	uint64_t modified_ms; /* since 1970; CHANGES: of the inode's change */
	/* LIST: the name; TREE, FIND: the path below the requested one; CHANGES: below the
	 * workspace, or absolute outside of it */
	struct view path;
	struct view target; /* of a symbolic link */
};

struct wire_match {
	uint64_t line;   /* from 1 */
	uint32_t column; /* byte in the line, from 1 */
	struct view path;
	struct view text; /* the line, truncated if it is long */
};

struct wire_pack {
	uint64_t max;       /* bytes of the archive */
	uint32_t max_count; /* entries */
	struct view path;   /* a directory, which is not an entry itself */
};

struct wire_unpack {
	uint8_t flags;      /* WIRE_PREVIEW */
	uint64_t max;       /* bytes of all files */
	uint32_t max_count; /* entries, and missing directories created for them */
	struct view path;   /* a directory, created if missing */
};

enum {
	WIRE_STATS_MEMORY = 1,
	WIRE_STATS_CPU = 2,
	WIRE_STATS_PROCESSES = 4,
	WIRE_STATS_DISK = 8,
};
struct wire_stats_are {
	uint8_t known;                       /* flags: which of the fields below are valid */
	uint64_t memory_bytes, memory_limit; /* limit 0: none */
	uint64_t cpu_us;
	uint64_t processes, processes_limit;
	/* Of the workspace's file system. The disk is used up in a sandbox that is full. */
	uint64_t disk_used, disk_total, files_used, files_total;
};
/* Where no quota limits the disk, the agent of a full sandbox has at most this RLIMIT_FSIZE, which
 * the programs that it starts inherit: code that deletes files must be able to run. */
enum { WIRE_FULL_FILE_MAX = 64 * 1024 };

/* ACCEPT, CONNECT. */
struct wire_port {
	uint16_t port; /* of the sandbox's loopback interface */
};

/* Any message. Messages without fields (END, CLOSE, STATS, LINKED) have no member. */
struct wire_message {
	enum wire_type type;
	union {
		struct wire_hello hello;
		struct wire_welcome welcome;
		struct wire_ready ready;
		struct wire_refused refused;
		struct wire_ping ping; /* and PONG */
		struct wire_data data;
		struct wire_credit credit;
		struct wire_done done;
		struct wire_failed failed;
		struct wire_exec exec;
		struct wire_started started;
		struct wire_signal signal;
		struct wire_resize resize;
		struct wire_deadline deadline;
		struct wire_exited exited;
		struct wire_read read;
		struct wire_write write;
		struct wire_stat stat;
		struct wire_list list;
		struct wire_tree tree;
		struct wire_find find;
		struct wire_grep grep;
		struct wire_remove remove;
		struct wire_rename rename;
		struct wire_changes changes;
		struct wire_records records; /* ENTRIES and MATCHES */
		struct wire_pack pack;
		struct wire_unpack unpack;
		struct wire_stats_are stats_are;
		struct wire_port port; /* ACCEPT and CONNECT */
	};
};
