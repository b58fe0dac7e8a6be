#include "wire/table.h"

#include "base/buf.h"

#define FIELD(type, member, kind, lo, hi)                                                          \
	{                                                                                          \
#member, kind, offsetof(struct type, member), lo, hi                               \
	}
#define U8(type, member, lo, hi)   FIELD(type, member, WIRE_U8, lo, hi)
#define U16(type, member, lo, hi)  FIELD(type, member, WIRE_U16, lo, hi)
#define U32(type, member, lo, hi)  FIELD(type, member, WIRE_U32, lo, hi)
#define ANY32(type, member)        FIELD(type, member, WIRE_U32, 0, UINT32_MAX)
#define ANY64(type, member)        FIELD(type, member, WIRE_U64, 0, UINT64_MAX)
#define FLAGS(type, member, bits)  FIELD(type, member, WIRE_FLAGS, 0, bits)
#define ENUM(type, member, count)  FIELD(type, member, WIRE_ENUM, 0, (count)-1)
#define TEXT(type, member, lo, hi) FIELD(type, member, WIRE_TEXT, lo, hi)
#define PATH(type, member)         FIELD(type, member, WIRE_TEXT, 1, WIRE_PATH_MAX)
#define PERM(type, member)         FIELD(type, member, WIRE_U16, 0, 07777)

static const struct wire_field hello[] = {
	U32(wire_hello, magic, WIRE_MAGIC, WIRE_MAGIC),
	U16(wire_hello, version, WIRE_VERSION, WIRE_VERSION),
};
static const struct wire_field welcome[] = {
	U16(wire_welcome, version, WIRE_VERSION, WIRE_VERSION),
	FLAGS(wire_welcome, flags, WIRE_WELCOME_LANDLOCK),
	ANY32(wire_welcome, uid),
	ANY32(wire_welcome, gid),
	FIELD(wire_welcome, groups, WIRE_NUMBERS, 0, WIRE_GROUPS_MAX),
	PATH(wire_welcome, root),
	PATH(wire_welcome, workspace),
	FIELD(wire_welcome, programs, WIRE_BYTES, 0, WIRE_FILTER_MAX),
	FIELD(wire_welcome, workers, WIRE_BYTES, 0, WIRE_FILTER_MAX),
};
static const struct wire_field ready[] = {
	FLAGS(wire_ready, flags, WIRE_READY_LANDLOCK),
};
static const struct wire_field refused[] = { TEXT(wire_refused, reason, 0, WIRE_REASON_MAX) };
static const struct wire_field ping[] = { ANY64(wire_ping, token) };

static const struct wire_field data[] = { FIELD(wire_data, bytes, WIRE_REST, 1, WIRE_PAYLOAD_MAX) };
static const struct wire_field credit[] = { U32(wire_credit, bytes, 1, WIRE_CREDIT_MAX) };
static const struct wire_field done[] = {
	FLAGS(wire_done, flags, WIRE_DONE_MORE),
	ANY64(wire_done, count),
	ANY64(wire_done, bytes),
	ANY64(wire_done, total),
	ANY64(wire_done, skipped),
	ANY64(wire_done, trusted),
	ANY64(wire_done, kinds),
	ANY64(wire_done, not_executable),
	TEXT(wire_done, cursor, 0, 255),
	TEXT(wire_done, report, 0, WIRE_REPORT_MAX),
};
static const struct wire_field failed[] = {
	ENUM(wire_failed, why, WIRE_FAILED_COUNT),
	U32(wire_failed, errnum, 0, 4095),
	TEXT(wire_failed, message, 1, WIRE_REASON_MAX),
};

static const struct wire_field exec[] = {
	FLAGS(wire_exec, flags, WIRE_EXEC_STDIN | WIRE_EXEC_PTY | WIRE_EXEC_CONTROL),
	U16(wire_exec, umask, 0, 0777),
	U16(wire_exec, rows, 0, UINT16_MAX),
	U16(wire_exec, columns, 0, UINT16_MAX),
	ANY32(wire_exec, deadline_ms),
	ANY32(wire_exec, grace_ms),
	FIELD(wire_exec, limits, WIRE_LIMITS, 0, WIRE_LIMITS_MAX),
	TEXT(wire_exec, cwd, 0, WIRE_PATH_MAX),
	FIELD(wire_exec, argv, WIRE_TEXTS, 1, WIRE_ARGS_MAX),
	FIELD(wire_exec, env, WIRE_TEXTS, 0, WIRE_ARGS_MAX),
};
static const struct wire_field started[] = { U32(wire_started, pid, 1, INT32_MAX) };
static const struct wire_field signal_[] = {
	U8(wire_signal, number, 1, 64),
};
static const struct wire_field resize[] = {
	U16(wire_resize, rows, 0, UINT16_MAX),
	U16(wire_resize, columns, 0, UINT16_MAX),
};
static const struct wire_field deadline[] = {
	ANY32(wire_deadline, deadline_ms),
	ANY32(wire_deadline, grace_ms),
};
static const struct wire_field exited[] = {
	FLAGS(wire_exited, flags, WIRE_EXITED_TIMED_OUT | WIRE_EXITED_LEFT | WIRE_EXITED_REMAINS),
	U8(wire_exited, code, 0, UINT8_MAX),
	U8(wire_exited, signal, 0, 64),
	ANY64(wire_exited, wall_us),
	ANY64(wire_exited, user_us),
	ANY64(wire_exited, system_us),
	ANY64(wire_exited, max_rss_kib),
	TEXT(wire_exited, left, 0, WIRE_LEFT_MAX),
};

static const struct wire_field read_[] = {
	ENUM(wire_read, unit, WIRE_UNIT_COUNT),
	ANY64(wire_read, from),
	ANY64(wire_read, count),
	ANY64(wire_read, max),
	PATH(wire_read, path),
};
static const struct wire_field write_[] = {
	ENUM(wire_write, mode, WIRE_WRITE_COUNT),
	FLAGS(wire_write, flags, WIRE_PARENTS | WIRE_PREVIEW),
	PERM(wire_write, perm),
	ANY64(wire_write, max),
	PATH(wire_write, path),
};
static const struct wire_field stat_[] = {
	FLAGS(wire_stat, flags, WIRE_NOFOLLOW),
	PATH(wire_stat, path),
};
static const struct wire_field list[] = {
	U32(wire_list, limit, 1, WIRE_ENTRIES_MAX),
	PATH(wire_list, path),
	TEXT(wire_list, cursor, 0, 255),
};
static const struct wire_field tree[] = {
	FLAGS(wire_tree, flags, WIRE_WALK_HIDDEN),
	U16(wire_tree, depth, 1, WIRE_DEPTH_MAX),
	U32(wire_tree, limit, 1, WIRE_ENTRIES_MAX),
	PATH(wire_tree, path),
};
static const struct wire_field find[] = {
	FLAGS(wire_find, flags, WIRE_WALK_HIDDEN | WIRE_WALK_IGNORE_CASE),
	U16(wire_find, depth, 1, WIRE_DEPTH_MAX),
	U32(wire_find, limit, 1, WIRE_ENTRIES_MAX),
	PATH(wire_find, path),
	TEXT(wire_find, pattern, 1, WIRE_PATTERN_MAX),
};
static const struct wire_field grep[] = {
	FLAGS(wire_grep, flags, WIRE_WALK_HIDDEN | WIRE_WALK_IGNORE_CASE | WIRE_WALK_REGEX),
	U16(wire_grep, depth, 1, WIRE_DEPTH_MAX),
	U32(wire_grep, limit, 1, WIRE_ENTRIES_MAX),
	ANY64(wire_grep, max),
	PATH(wire_grep, path),
	TEXT(wire_grep, pattern, 1, WIRE_PATTERN_MAX),
	TEXT(wire_grep, names, 0, WIRE_PATTERN_MAX),
};
static const struct wire_field remove_[] = {
	FLAGS(wire_remove, flags, WIRE_RECURSIVE),
	PATH(wire_remove, path),
};
static const struct wire_field rename_[] = {
	FLAGS(wire_rename, flags, WIRE_RENAME_REPLACE),
	PATH(wire_rename, from),
	PATH(wire_rename, to),
};
static const struct wire_field changes[] = {
	FLAGS(wire_changes, flags, WIRE_CHANGES_DIRECTORIES),
	ANY64(wire_changes, since_ns),
	U32(wire_changes, limit, 1, WIRE_ENTRIES_MAX),
	TEXT(wire_changes, home, 0, WIRE_PATH_MAX),
};
static const struct wire_field records[] = {
	FIELD(wire_records, records, WIRE_REST, 1, WIRE_RECORDS_MAX),
};
static const struct wire_field pack[] = {
	ANY64(wire_pack, max),
	U32(wire_pack, max_count, 1, UINT32_MAX),
	PATH(wire_pack, path),
};
static const struct wire_field unpack[] = {
	FLAGS(wire_unpack, flags, WIRE_PREVIEW),
	ANY64(wire_unpack, max),
	U32(wire_unpack, max_count, 1, UINT32_MAX),
	PATH(wire_unpack, path),
};
static const struct wire_field stats_are[] = {
	FLAGS(wire_stats_are, known,
	      WIRE_STATS_MEMORY | WIRE_STATS_CPU | WIRE_STATS_PROCESSES | WIRE_STATS_DISK),
	ANY64(wire_stats_are, memory_bytes),
	ANY64(wire_stats_are, memory_limit),
	ANY64(wire_stats_are, cpu_us),
	ANY64(wire_stats_are, processes),
	ANY64(wire_stats_are, processes_limit),
	ANY64(wire_stats_are, disk_used),
	ANY64(wire_stats_are, disk_total),
	ANY64(wire_stats_are, files_used),
	ANY64(wire_stats_are, files_total),
};

static const struct wire_field port[] = { U16(wire_port, port, 1, UINT16_MAX) };

static const struct wire_field entry[] = {
	ENUM(wire_entry, type, WIRE_FILE_TYPE_COUNT),
	PERM(wire_entry, perm),
	ANY32(wire_entry, uid),
	ANY32(wire_entry, gid),
	ANY64(wire_entry, size),
	ANY64(wire_entry, modified_ms),
	TEXT(wire_entry, path, 1, WIRE_PATH_MAX),
	TEXT(wire_entry, target, 0, WIRE_PATH_MAX),
};
static const struct wire_field match[] = {
	FIELD(wire_match, line, WIRE_U64, 1, UINT64_MAX),
	U32(wire_match, column, 1, UINT32_MAX),
	TEXT(wire_match, path, 1, WIRE_PATH_MAX),
	FIELD(wire_match, text, WIRE_BYTES, 0, 1024),
};

/* Only the generator of PROTOCOL.md reads the summaries. The agent, whose size is limited, is built
 * without them. */
#ifdef WIRE_WITHOUT_SUMMARIES
#define SUMMARY(text) NULL
#else
#define SUMMARY(text) text
#endif

#define RECORD(fields, type)     .record = { fields, ARRAY_LEN(fields), sizeof(struct type) }
#define CONTROL(sender, when)    .from = (sender), .phase = (when), .kinds = 1u << WIRE_KIND_NONE
#define OPENS(kind)              .from = WIRE_FROM_SERVER, .phase = WIRE_PHASE_OPEN, .opens = (kind)
#define ON(kind)                 (1u << WIRE_KIND_##kind)
#define STREAM(sender, when, on) .from = (sender), .phase = (when), .kinds = (on)
#define ANY_STREAM               (ON(RUN) | ON(FETCH) | ON(STORE) | ON(QUERY) | ON(LINK))
#define BYTES_BOTH               (ON(RUN) | ON(FETCH) | ON(STORE) | ON(LINK))

static const struct wire_spec specs[WIRE_TYPE_COUNT] = {
	[WIRE_HELLO] = { "HELLO", SUMMARY("the version of the protocol"),
	                 CONTROL(WIRE_FROM_AGENT, WIRE_PHASE_HELLO), RECORD(hello, wire_hello) },
	[WIRE_WELCOME] = { "WELCOME", SUMMARY("how the agent is to set itself up"),
	                   CONTROL(WIRE_FROM_SERVER, WIRE_PHASE_WELCOME),
	                   RECORD(welcome, wire_welcome) },
	[WIRE_READY] = { "READY", SUMMARY("the agent has set itself up"),
	                 CONTROL(WIRE_FROM_AGENT, WIRE_PHASE_READY), RECORD(ready, wire_ready) },
	[WIRE_REFUSED] = { "REFUSED", SUMMARY("the agent could not set itself up, and exits"),
	                   CONTROL(WIRE_FROM_AGENT, WIRE_PHASE_READY),
	                   RECORD(refused, wire_refused) },
	[WIRE_PING] = { "PING", SUMMARY("a request for a sign of life"),
	                CONTROL(WIRE_FROM_SERVER, WIRE_PHASE_OPEN), RECORD(ping, wire_ping) },
	[WIRE_PONG] = { "PONG", SUMMARY("the answer to PING, with the same token"),
	                CONTROL(WIRE_FROM_AGENT, WIRE_PHASE_OPEN), RECORD(ping, wire_ping) },

	[WIRE_DATA] = { "DATA", SUMMARY("bytes"),
	                STREAM(WIRE_FROM_EITHER, WIRE_PHASE_RUNNING, BYTES_BOTH),
	                .uses_credit = true, .on_channel = true, RECORD(data, wire_data) },
	[WIRE_END] = { "END", SUMMARY("no more bytes on this channel"),
	               STREAM(WIRE_FROM_EITHER, WIRE_PHASE_RUNNING, BYTES_BOTH),
	               .on_channel = true },
	[WIRE_CREDIT] = { "CREDIT", SUMMARY("the channel's sender may send so many more bytes"),
	                  STREAM(WIRE_FROM_EITHER, WIRE_PHASE_LIVE, ANY_STREAM), .on_channel = true,
	                  RECORD(credit, wire_credit) },
	[WIRE_CLOSE] = { "CLOSE", SUMMARY("stop; DONE or FAILED follows"),
	                 STREAM(WIRE_FROM_SERVER, WIRE_PHASE_LIVE, ANY_STREAM), .once = true },
	[WIRE_DONE] = { "DONE", SUMMARY("success; the last message of the stream"),
	                STREAM(WIRE_FROM_AGENT, WIRE_PHASE_RUNNING, ANY_STREAM),
	                RECORD(done, wire_done) },
	[WIRE_FAILED] = { "FAILED", SUMMARY("failure; the last message of the stream"),
	                  STREAM(WIRE_FROM_AGENT, WIRE_PHASE_LIVE, ANY_STREAM),
	                  RECORD(failed, wire_failed) },

	[WIRE_EXEC] = { "EXEC", SUMMARY("start a program"), OPENS(WIRE_KIND_RUN),
	                RECORD(exec, wire_exec) },
	[WIRE_STARTED] = { "STARTED", SUMMARY("the program runs"),
	                   STREAM(WIRE_FROM_AGENT, WIRE_PHASE_STARTING, ON(RUN)), .once = true,
	                   RECORD(started, wire_started) },
	[WIRE_SIGNAL] = { "SIGNAL", SUMMARY("send a signal to the program and all its descendants"),
	                  STREAM(WIRE_FROM_SERVER, WIRE_PHASE_LIVE, ON(RUN)),
	                  RECORD(signal_, wire_signal) },
	[WIRE_RESIZE] = { "RESIZE", SUMMARY("set the size of the terminal"),
	                  STREAM(WIRE_FROM_SERVER, WIRE_PHASE_LIVE, ON(RUN)),
	                  RECORD(resize, wire_resize) },
	[WIRE_DEADLINE] = { "DEADLINE", SUMMARY("set the deadline anew, from now on"),
	                    STREAM(WIRE_FROM_SERVER, WIRE_PHASE_LIVE, ON(RUN)),
	                    RECORD(deadline, wire_deadline) },
	[WIRE_EXITED] = { "EXITED",
	                  SUMMARY("the program and its descendants have exited; output may "
	                          "still follow"),
	                  STREAM(WIRE_FROM_AGENT, WIRE_PHASE_RUNNING, ON(RUN)), .once = true,
	                  RECORD(exited, wire_exited) },

	[WIRE_READ] = { "READ", SUMMARY("read bytes or lines of a file"), OPENS(WIRE_KIND_FETCH),
	                RECORD(read_, wire_read) },
	[WIRE_WRITE] = { "WRITE",
	                 SUMMARY("write a file, as a whole or not at all, or append to it"),
	                 OPENS(WIRE_KIND_STORE), RECORD(write_, wire_write) },
	[WIRE_STAT] = { "STAT", SUMMARY("get one entry"), OPENS(WIRE_KIND_QUERY),
	                RECORD(stat_, wire_stat) },
	[WIRE_LIST] = { "LIST", SUMMARY("list the entries of a directory, sorted by name"),
	                OPENS(WIRE_KIND_QUERY), RECORD(list, wire_list) },
	[WIRE_TREE] = { "TREE", SUMMARY("list the entries below a directory"),
	                OPENS(WIRE_KIND_QUERY), RECORD(tree, wire_tree) },
	[WIRE_FIND] = { "FIND", SUMMARY("list the entries below a directory whose names match"),
	                OPENS(WIRE_KIND_QUERY), RECORD(find, wire_find) },
	[WIRE_GREP] = { "GREP", SUMMARY("list the lines of files below a directory that match"),
	                OPENS(WIRE_KIND_QUERY), RECORD(grep, wire_grep) },
	[WIRE_REMOVE] = { "REMOVE", SUMMARY("remove a file or directory"), OPENS(WIRE_KIND_QUERY),
	                  RECORD(remove_, wire_remove) },
	[WIRE_RENAME] = { "RENAME", SUMMARY("rename a file or directory"), OPENS(WIRE_KIND_QUERY),
	                  RECORD(rename_, wire_rename) },
	[WIRE_ENTRIES] = { "ENTRIES", SUMMARY("records of entries"),
	                   STREAM(WIRE_FROM_AGENT, WIRE_PHASE_RUNNING, ON(QUERY)),
	                   .uses_credit = true, .on_channel = true, RECORD(records, wire_records) },
	[WIRE_MATCHES] = { "MATCHES", SUMMARY("records of matching lines"),
	                   STREAM(WIRE_FROM_AGENT, WIRE_PHASE_RUNNING, ON(QUERY)),
	                   .uses_credit = true, .on_channel = true, RECORD(records, wire_records) },

	[WIRE_CHANGES] = { "CHANGES", SUMMARY("list the files that changed since a time"),
	                   OPENS(WIRE_KIND_QUERY), RECORD(changes, wire_changes) },

	[WIRE_PACK] = { "PACK", SUMMARY("read a directory as a tar archive"),
	                OPENS(WIRE_KIND_FETCH), RECORD(pack, wire_pack) },
	[WIRE_UNPACK] = { "UNPACK", SUMMARY("unpack a tar archive into a directory"),
	                  OPENS(WIRE_KIND_STORE), RECORD(unpack, wire_unpack) },

	[WIRE_STATS] = { "STATS", SUMMARY("get the resource usage of the sandbox"),
	                 OPENS(WIRE_KIND_QUERY) },
	[WIRE_STATS_ARE] = { "STATS_ARE", SUMMARY("the answer to STATS"),
	                     STREAM(WIRE_FROM_AGENT, WIRE_PHASE_RUNNING, ON(QUERY)), .once = true,
	                     RECORD(stats_are, wire_stats_are) },

	[WIRE_ACCEPT] = { "ACCEPT", SUMMARY("wait for a connection to a port of 127.0.0.1"),
	                  OPENS(WIRE_KIND_LINK), RECORD(port, wire_port) },
	[WIRE_CONNECT] = { "CONNECT", SUMMARY("connect to a port of 127.0.0.1, else of ::1"),
	                   OPENS(WIRE_KIND_LINK), RECORD(port, wire_port) },
	[WIRE_LINKED] = { "LINKED", SUMMARY("the stream has its connection"),
	                  STREAM(WIRE_FROM_AGENT, WIRE_PHASE_STARTING, ON(LINK)), .once = true },
};

const struct wire_record wire_entry_record = { entry, ARRAY_LEN(entry), sizeof(struct wire_entry) };
const struct wire_record wire_match_record = { match, ARRAY_LEN(match), sizeof(struct wire_match) };

static const struct wire_kind_spec kinds[WIRE_KIND_COUNT] = {
	[WIRE_KIND_NONE] = { "control", 0, NULL },
	[WIRE_KIND_RUN] = { "run", (1u << WIRE_CHANNELS) - 1, "STARTED" },
	[WIRE_KIND_FETCH] = { "fetch", 1u << WIRE_OUT, NULL },
	[WIRE_KIND_STORE] = { "store", 1u << WIRE_IN, NULL },
	[WIRE_KIND_QUERY] = { "query", 1u << WIRE_OUT, NULL },
	[WIRE_KIND_LINK] = { "link", 1u << WIRE_IN | 1u << WIRE_OUT, "LINKED" },
};

const struct wire_spec *wire_spec(uint8_t type)
{
	return type < WIRE_TYPE_COUNT && specs[type].name[0] != '\0' ? &specs[type] : NULL;
}

const struct wire_kind_spec *wire_kind(enum wire_kind kind)
{
	return &kinds[kind];
}

const char *wire_phase_name(enum wire_phase phase)
{
	static const char *const names[WIRE_PHASE_COUNT] = { "hello", SUMMARY("welcome"), "ready",
		                                             "open",  "starting",         "running",
		                                             "live" };

	return names[phase];
}
