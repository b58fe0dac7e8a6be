/* message.h - what the two ends of a channel say to each other: the structs.
 *
 * Table and rules are in table.h; PROTOCOL.md tells the same story byte by byte. Views in a
 * decoded message point into the frame. A text is terminated. */
#pragma once
#include "wire/field.h"

enum { WIRE_MAGIC = 0x424a4152, /* "BJAR" */ WIRE_VERSION = 1 };

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
	WIRE_KEEP,
	WIRE_TAIL,
	WIRE_TAIL_IS,
	WIRE_EXITED,
	/* files */
	WIRE_READ = 0x30,
	WIRE_WRITE,
	WIRE_STAT,
	WIRE_LIST,
	WIRE_TREE,
	WIRE_FIND,
	WIRE_GREP,
	WIRE_MKDIR,
	WIRE_REMOVE,
	WIRE_RENAME,
	WIRE_REPLACE,
	WIRE_ENTRIES,
	WIRE_MATCHES,
	/* archives */
	WIRE_PACK = 0x40,
	WIRE_UNPACK,
	/* the network */
	WIRE_DIAL = 0x50,
	WIRE_PORT,
	WIRE_OPENED,
	/* the sandbox in numbers */
	WIRE_STATS = 0x58,
	WIRE_STATS_ARE,
	/* 0x60 to 0x6f are kept for kernels: interpreters that remember */
	WIRE_TYPE_COUNT = 0x70
};

enum { WIRE_HELLO_PID1 = 1 };
struct wire_hello {
	uint32_t magic;
	uint16_t version; /* magic and version stay where they are in every version */
	uint8_t flags;
	uint32_t pid, uid, gid;     /* as seen from inside */
	struct wire_numbers groups; /* its further groups */
	struct view kernel;         /* uname: release */
	struct view machine;        /* uname: machine */
	struct wire_limits limits;
};

enum {
	WIRE_WELCOME_EGRESS = 1,
	WIRE_WELCOME_LANDLOCK = 2, /* confine programs with it, if the kernel has it */
};
enum { WIRE_FILTER_MAX = 3072 * 8 }; /* bytes: two of them fit into a frame */
struct wire_welcome {
	uint16_t version;
	uint8_t flags;
	uint16_t proxy_port;           /* 0: any that is free */
	uint32_t uid, gid;             /* whose rights file work has */
	struct wire_numbers groups;    /* the user's further groups */
	struct view root, workspace;   /* paths are below root, relative ones below workspace */
	struct view programs, workers; /* filters: arrays of struct sock_filter; empty: none */
};

enum { WIRE_READY_LANDLOCK = 1 /* it is in force */ };
struct wire_ready {
	uint8_t flags;
	uint16_t proxy_port; /* where the way out listens; 0: nowhere */
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
	uint64_t count;     /* of entries, matches, lines, replacements, as the request says */
	uint64_t bytes;     /* carried or written */
	uint64_t total;     /* size of the file afterwards */
	uint64_t skipped;   /* UNPACK, PACK: entries left out because they are not allowed */
	struct view cursor; /* LIST: go on behind this name; UNPACK, PACK: the first left out */
};

enum wire_failure {
	WIRE_FAILED_INVALID, /* the request makes no sense */
	WIRE_FAILED_MISSING, /* no such file, program, port */
	WIRE_FAILED_DENIED,  /* the user or the policy may not */
	WIRE_FAILED_LIMIT,   /* too much of it */
	WIRE_FAILED_CLOSED,  /* the opener closed it */
	WIRE_FAILED_LOST,    /* what carried it out is gone */
	WIRE_FAILED_SYSTEM,  /* anything else the kernel said */
	WIRE_FAILED_COUNT
};
struct wire_failed {
	uint8_t why;
	uint32_t errnum; /* or 0 */
	struct view message;
};

enum {
	WIRE_EXEC_STDIN = 1,   /* channel 0 is its stdin; otherwise that is empty */
	WIRE_EXEC_PTY = 2,     /* on a terminal of its own: channel 0 types, channel 1 shows */
	WIRE_EXEC_MERGE = 4,   /* stderr goes where stdout goes */
	WIRE_EXEC_CONTROL = 8, /* channels 3 (to it) and 4 (from it) are its descriptor 3 */
};
struct wire_exec {
	uint8_t flags;
	uint16_t umask;
	uint16_t rows, columns; /* of the terminal */
	uint32_t uid, gid;      /* WIRE_SAME_ID: the sandbox's user */
	uint32_t deadline_ms;   /* 0: none. Then SIGTERM to all of it, */
	uint32_t grace_ms;      /* and SIGKILL so much later */
	uint32_t ring;          /* keep so much output of each channel instead of sending it */
	struct wire_numbers groups;
	struct wire_limits limits;
	struct view cwd;        /* empty: the workspace */
	struct wire_texts argv; /* the program is looked for in env's PATH */
	struct wire_texts env;  /* all of it */
};
#define WIRE_SAME_ID UINT32_MAX

struct wire_started {
	uint32_t pid; /* inside */
};

enum wire_target {
	WIRE_TARGET_TREE,       /* the program and all its descendants */
	WIRE_TARGET_MAIN,       /* the program only */
	WIRE_TARGET_FOREGROUND, /* what its terminal has in the foreground */
	WIRE_TARGET_COUNT
};
struct wire_signal {
	uint8_t number;
	uint8_t target;
};

struct wire_resize {
	uint16_t rows, columns;
};

struct wire_deadline { /* from now, instead of the one there was */
	uint32_t deadline_ms, grace_ms;
};

struct wire_keep {
	uint32_t ring;
};

enum { WIRE_TAIL_WAIT = 1 /* until there is something, or the end */ };
struct wire_tail {
	uint8_t channel, flags;
	uint64_t offset;
	uint32_t max;
};

enum { WIRE_TAIL_ENDED = 1 /* no more will come */ };
struct wire_tail_is {
	uint8_t channel, flags;
	uint64_t offset; /* of the first byte here; later than asked if the ring has lost some */
	uint64_t total;  /* written so far */
	struct view bytes;
};

enum {
	WIRE_EXITED_TIMED_OUT = 1, /* the deadline came first */
	WIRE_EXITED_LEFT = 2,      /* descendants were still there, and were killed */
	WIRE_EXITED_REMAINS = 4,   /* some of them could not be killed in time */
};
struct wire_exited {
	uint8_t flags;
	uint8_t code;   /* if signal is 0 */
	uint8_t signal; /* that ended it */
	uint64_t wall_us, user_us, system_us;
	uint64_t max_rss_kib; /* of its largest process */
};

enum wire_unit { WIRE_UNIT_BYTES, WIRE_UNIT_LINES, WIRE_UNIT_COUNT };
struct wire_read {
	uint8_t unit;
	uint64_t from;  /* byte from 0, line from 1 */
	uint64_t count; /* bytes or lines */
	uint64_t max;   /* bytes */
	struct view path;
};

enum wire_write_mode { WIRE_WRITE_REPLACE, WIRE_WRITE_CREATE, WIRE_WRITE_APPEND, WIRE_WRITE_COUNT };
enum { WIRE_PARENTS = 1 }; /* make what is missing above it */
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
	struct view path, pattern; /* with a slash: of the whole path below `path`; else of names */
};

struct wire_grep {
	uint8_t flags;
	uint16_t depth;
	uint32_t limit;
	uint64_t max; /* files larger than this are passed over */
	struct view path, pattern;
	struct view names; /* only in files with such names; empty: all */
};

struct wire_mkdir {
	uint8_t flags;
	uint16_t perm;
	struct view path;
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

struct wire_replace {
	uint32_t count; /* there must be exactly so many; 0: any number but none */
	uint64_t max;   /* bytes of the file, before and after */
	struct view path, old, new;
};

/* One or more of the records below, whole, one behind the other. */
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
	uint64_t modified_ms; /* since 1970 */
	struct view path;     /* LIST: the name; TREE, FIND: below the path asked for */
	struct view target;   /* of a link */
};

struct wire_match {
	uint64_t line;   /* from 1 */
	uint32_t column; /* byte in the line, from 1 */
	struct view path;
	struct view text; /* of the line, perhaps cut */
};

struct wire_pack {
	uint64_t max;       /* bytes of the archive */
	uint32_t max_count; /* entries */
	struct view path;   /* a directory, which is not an entry itself */
};

struct wire_unpack {
	uint64_t max;       /* bytes of all files */
	uint32_t max_count; /* entries, and directories made on the way to them */
	struct view path;   /* a directory, made if missing */
};

struct wire_dial {
	uint16_t port;
	struct view host;
};

struct wire_port {
	uint16_t port;
};

enum {
	WIRE_STATS_MEMORY = 1,
	WIRE_STATS_CPU = 2,
	WIRE_STATS_PROCESSES = 4,
	WIRE_STATS_DISK = 8,
};
struct wire_stats_are {
	uint8_t known;                       /* which of these were found */
	uint64_t memory_bytes, memory_limit; /* limit 0: none seen */
	uint64_t cpu_us;
	uint64_t processes, processes_limit;
	uint64_t disk_used, disk_total, files_used,
	        files_total; /* of the workspace's file system */
};

/* Any message. Those without fields have no member. */
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
		struct wire_keep keep;
		struct wire_tail tail;
		struct wire_tail_is tail_is;
		struct wire_exited exited;
		struct wire_read read;
		struct wire_write write;
		struct wire_stat stat;
		struct wire_list list;
		struct wire_tree tree;
		struct wire_find find;
		struct wire_grep grep;
		struct wire_mkdir mkdir;
		struct wire_remove remove;
		struct wire_rename rename;
		struct wire_replace replace;
		struct wire_records records; /* ENTRIES and MATCHES */
		struct wire_pack pack;
		struct wire_unpack unpack;
		struct wire_dial dial;
		struct wire_port port;
		struct wire_stats_are stats_are;
	};
};
