#include "wire/table.h"

#include "base/buf.h"
#include "base/error.h"
#include "wire/bytes.h"

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
	FLAGS(wire_hello, flags, WIRE_HELLO_PID1),
	U32(wire_hello, pid, 1, INT32_MAX),
	ANY32(wire_hello, uid),
	ANY32(wire_hello, gid),
	FIELD(wire_hello, groups, WIRE_NUMBERS, 0, WIRE_GROUPS_MAX),
	TEXT(wire_hello, kernel, 0, 64),
	TEXT(wire_hello, machine, 0, 64),
	FIELD(wire_hello, limits, WIRE_LIMITS, 0, WIRE_LIMITS_MAX),
};
static const struct wire_field welcome[] = {
	U16(wire_welcome, version, WIRE_VERSION, WIRE_VERSION),
	FLAGS(wire_welcome, flags, WIRE_WELCOME_EGRESS | WIRE_WELCOME_LANDLOCK),
	U16(wire_welcome, proxy_port, 0, UINT16_MAX),
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
	U16(wire_ready, proxy_port, 0, UINT16_MAX),
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
	TEXT(wire_done, cursor, 0, 255),
};
static const struct wire_field failed[] = {
	ENUM(wire_failed, why, WIRE_FAILED_COUNT),
	U32(wire_failed, errnum, 0, 4095),
	TEXT(wire_failed, message, 1, WIRE_REASON_MAX),
};

static const struct wire_field exec[] = {
	FLAGS(wire_exec, flags,
	      WIRE_EXEC_STDIN | WIRE_EXEC_PTY | WIRE_EXEC_MERGE | WIRE_EXEC_CONTROL),
	U16(wire_exec, umask, 0, 0777),
	U16(wire_exec, rows, 0, UINT16_MAX),
	U16(wire_exec, columns, 0, UINT16_MAX),
	ANY32(wire_exec, uid),
	ANY32(wire_exec, gid),
	ANY32(wire_exec, deadline_ms),
	ANY32(wire_exec, grace_ms),
	U32(wire_exec, ring, 0, WIRE_RING_MAX),
	FIELD(wire_exec, groups, WIRE_NUMBERS, 0, WIRE_GROUPS_MAX),
	FIELD(wire_exec, limits, WIRE_LIMITS, 0, WIRE_LIMITS_MAX),
	TEXT(wire_exec, cwd, 0, WIRE_PATH_MAX),
	FIELD(wire_exec, argv, WIRE_TEXTS, 1, WIRE_ARGS_MAX),
	FIELD(wire_exec, env, WIRE_TEXTS, 0, WIRE_ARGS_MAX),
};
static const struct wire_field started[] = { U32(wire_started, pid, 1, INT32_MAX) };
static const struct wire_field signal_[] = {
	U8(wire_signal, number, 1, 64),
	ENUM(wire_signal, target, WIRE_TARGET_COUNT),
};
static const struct wire_field resize[] = {
	U16(wire_resize, rows, 0, UINT16_MAX),
	U16(wire_resize, columns, 0, UINT16_MAX),
};
static const struct wire_field deadline[] = {
	ANY32(wire_deadline, deadline_ms),
	ANY32(wire_deadline, grace_ms),
};
static const struct wire_field keep[] = { U32(wire_keep, ring, 1, WIRE_RING_MAX) };
static const struct wire_field tail[] = {
	U8(wire_tail, channel, WIRE_OUT, WIRE_ERR),
	FLAGS(wire_tail, flags, WIRE_TAIL_WAIT),
	ANY64(wire_tail, offset),
	U32(wire_tail, max, 0, WIRE_RECORDS_MAX),
};
static const struct wire_field tail_is[] = {
	U8(wire_tail_is, channel, WIRE_OUT, WIRE_ERR),
	FLAGS(wire_tail_is, flags, WIRE_TAIL_ENDED),
	ANY64(wire_tail_is, offset),
	ANY64(wire_tail_is, total),
	FIELD(wire_tail_is, bytes, WIRE_REST, 0, WIRE_RECORDS_MAX),
};
static const struct wire_field exited[] = {
	FLAGS(wire_exited, flags, WIRE_EXITED_TIMED_OUT | WIRE_EXITED_LEFT | WIRE_EXITED_REMAINS),
	U8(wire_exited, code, 0, UINT8_MAX),
	U8(wire_exited, signal, 0, 64),
	ANY64(wire_exited, wall_us),
	ANY64(wire_exited, user_us),
	ANY64(wire_exited, system_us),
	ANY64(wire_exited, max_rss_kib),
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
	FLAGS(wire_write, flags, WIRE_PARENTS),
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
static const struct wire_field mkdir_[] = {
	FLAGS(wire_mkdir, flags, WIRE_PARENTS),
	PERM(wire_mkdir, perm),
	PATH(wire_mkdir, path),
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
static const struct wire_field replace[] = {
	ANY32(wire_replace, count),
	ANY64(wire_replace, max),
	PATH(wire_replace, path),
	FIELD(wire_replace, old, WIRE_BYTES, 1, WIRE_EDIT_MAX),
	FIELD(wire_replace, new, WIRE_BYTES, 0, WIRE_EDIT_MAX),
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
	ANY64(wire_unpack, max),
	U32(wire_unpack, max_count, 1, UINT32_MAX),
	PATH(wire_unpack, path),
};
static const struct wire_field dial[] = {
	U16(wire_dial, port, 1, UINT16_MAX),
	TEXT(wire_dial, host, 1, 255),
};
static const struct wire_field port[] = { U16(wire_port, port, 1, UINT16_MAX) };
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

#define RECORD(fields, type)        .record = { fields, ARRAY_LEN(fields), sizeof(struct type) }
#define CONTROL(sender, when)       .from = (sender), .phase = (when), .on = 1u << WIRE_KIND_NONE
#define OPENS(sender, kind)         .from = (sender), .phase = WIRE_PHASE_OPEN, .opens = (kind)
#define ON(kind)                    (1u << WIRE_KIND_##kind)
#define STREAM(sender, when, kinds) .from = (sender), .phase = (when), .on = (kinds)
#define ANY_STREAM                  (ON(RUN) | ON(FETCH) | ON(STORE) | ON(QUERY) | ON(CONNECT))
#define BYTES_BOTH                  (ON(RUN) | ON(FETCH) | ON(STORE) | ON(CONNECT))

static const struct wire_spec specs[WIRE_TYPE_COUNT] = {
	[WIRE_HELLO] = { "HELLO", "what the agent is and what it found",
	                 CONTROL(WIRE_FROM_AGENT, WIRE_PHASE_HELLO), RECORD(hello, wire_hello) },
	[WIRE_WELCOME] = { "WELCOME", "what the sandbox is to be",
	                   CONTROL(WIRE_FROM_SERVER, WIRE_PHASE_WELCOME),
	                   RECORD(welcome, wire_welcome) },
	[WIRE_READY] = { "READY", "the agent has set itself up",
	                 CONTROL(WIRE_FROM_AGENT, WIRE_PHASE_READY), RECORD(ready, wire_ready) },
	[WIRE_REFUSED] = { "REFUSED", "it could not, and ends",
	                   CONTROL(WIRE_FROM_AGENT, WIRE_PHASE_READY),
	                   RECORD(refused, wire_refused) },
	[WIRE_PING] = { "PING", "are you there?", CONTROL(WIRE_FROM_SERVER, WIRE_PHASE_OPEN),
	                RECORD(ping, wire_ping) },
	[WIRE_PONG] = { "PONG", "yes: the token of the PING",
	                CONTROL(WIRE_FROM_AGENT, WIRE_PHASE_OPEN), RECORD(ping, wire_ping) },

	[WIRE_DATA] = { "DATA", "bytes", STREAM(WIRE_FROM_EITHER, WIRE_PHASE_GOING, BYTES_BOTH),
	                .paid = true, .on_channel = true, RECORD(data, wire_data) },
	[WIRE_END] = { "END", "no more bytes on this channel",
	               STREAM(WIRE_FROM_EITHER, WIRE_PHASE_GOING, BYTES_BOTH), .on_channel = true },
	[WIRE_CREDIT] = { "CREDIT", "so many more bytes may come",
	                  STREAM(WIRE_FROM_EITHER, WIRE_PHASE_LIVE, ANY_STREAM), .on_channel = true,
	                  RECORD(credit, wire_credit) },
	[WIRE_CLOSE] = { "CLOSE", "stop it: DONE or FAILED is still to come",
	                 STREAM(WIRE_FROM_OPENER, WIRE_PHASE_LIVE, ANY_STREAM), .once = true },
	[WIRE_DONE] = { "DONE", "it has ended well; the last message of the stream",
	                STREAM(WIRE_FROM_ACCEPTOR, WIRE_PHASE_GOING, ANY_STREAM),
	                RECORD(done, wire_done) },
	[WIRE_FAILED] = { "FAILED", "it has not; the last message of the stream",
	                  STREAM(WIRE_FROM_ACCEPTOR, WIRE_PHASE_LIVE, ANY_STREAM),
	                  RECORD(failed, wire_failed) },

	[WIRE_EXEC] = { "EXEC", "start a program", OPENS(WIRE_FROM_SERVER, WIRE_KIND_RUN),
	                RECORD(exec, wire_exec) },
	[WIRE_STARTED] = { "STARTED", "it runs",
	                   STREAM(WIRE_FROM_ACCEPTOR, WIRE_PHASE_ASKED, ON(RUN)), .once = true,
	                   RECORD(started, wire_started) },
	[WIRE_SIGNAL] = { "SIGNAL", "send a signal to it or to all it started",
	                  STREAM(WIRE_FROM_OPENER, WIRE_PHASE_LIVE, ON(RUN)),
	                  RECORD(signal_, wire_signal) },
	[WIRE_RESIZE] = { "RESIZE", "its terminal has another size",
	                  STREAM(WIRE_FROM_OPENER, WIRE_PHASE_LIVE, ON(RUN)),
	                  RECORD(resize, wire_resize) },
	[WIRE_DEADLINE] = { "DEADLINE", "it has so long from now",
	                    STREAM(WIRE_FROM_OPENER, WIRE_PHASE_LIVE, ON(RUN)),
	                    RECORD(deadline, wire_deadline) },
	[WIRE_KEEP] = { "KEEP", "from now on keep the output instead of sending it",
	                STREAM(WIRE_FROM_OPENER, WIRE_PHASE_LIVE, ON(RUN)), .once = true,
	                RECORD(keep, wire_keep) },
	[WIRE_TAIL] = { "TAIL", "what was kept, from an offset",
	                STREAM(WIRE_FROM_OPENER, WIRE_PHASE_LIVE, ON(RUN)),
	                RECORD(tail, wire_tail) },
	[WIRE_TAIL_IS] = { "TAIL_IS", "the answer to TAIL",
	                   STREAM(WIRE_FROM_ACCEPTOR, WIRE_PHASE_LIVE, ON(RUN)),
	                   RECORD(tail_is, wire_tail_is) },
	[WIRE_EXITED] = { "EXITED", "it has ended; output may still come",
	                  STREAM(WIRE_FROM_ACCEPTOR, WIRE_PHASE_GOING, ON(RUN)), .once = true,
	                  RECORD(exited, wire_exited) },

	[WIRE_READ] = { "READ", "bytes or lines of a file",
	                OPENS(WIRE_FROM_SERVER, WIRE_KIND_FETCH), RECORD(read_, wire_read) },
	[WIRE_WRITE] = { "WRITE", "a file, whole or not at all; or more of it",
	                 OPENS(WIRE_FROM_SERVER, WIRE_KIND_STORE), RECORD(write_, wire_write) },
	[WIRE_STAT] = { "STAT", "one entry", OPENS(WIRE_FROM_SERVER, WIRE_KIND_QUERY),
	                RECORD(stat_, wire_stat) },
	[WIRE_LIST] = { "LIST", "the entries of a directory, by name",
	                OPENS(WIRE_FROM_SERVER, WIRE_KIND_QUERY), RECORD(list, wire_list) },
	[WIRE_TREE] = { "TREE", "the entries below a directory",
	                OPENS(WIRE_FROM_SERVER, WIRE_KIND_QUERY), RECORD(tree, wire_tree) },
	[WIRE_FIND] = { "FIND", "the entries below a directory whose names match",
	                OPENS(WIRE_FROM_SERVER, WIRE_KIND_QUERY), RECORD(find, wire_find) },
	[WIRE_GREP] = { "GREP", "the lines below a directory that match",
	                OPENS(WIRE_FROM_SERVER, WIRE_KIND_QUERY), RECORD(grep, wire_grep) },
	[WIRE_MKDIR] = { "MKDIR", "make a directory", OPENS(WIRE_FROM_SERVER, WIRE_KIND_QUERY),
	                 RECORD(mkdir_, wire_mkdir) },
	[WIRE_REMOVE] = { "REMOVE", "remove a file or directory",
	                  OPENS(WIRE_FROM_SERVER, WIRE_KIND_QUERY), RECORD(remove_, wire_remove) },
	[WIRE_RENAME] = { "RENAME", "rename a file or directory",
	                  OPENS(WIRE_FROM_SERVER, WIRE_KIND_QUERY), RECORD(rename_, wire_rename) },
	[WIRE_REPLACE] = { "REPLACE", "replace text in a file",
	                   OPENS(WIRE_FROM_SERVER, WIRE_KIND_QUERY),
	                   RECORD(replace, wire_replace) },
	[WIRE_ENTRIES] = { "ENTRIES", "entries",
	                   STREAM(WIRE_FROM_ACCEPTOR, WIRE_PHASE_GOING, ON(QUERY)), .paid = true,
	                   .on_channel = true, RECORD(records, wire_records) },
	[WIRE_MATCHES] = { "MATCHES", "matching lines",
	                   STREAM(WIRE_FROM_ACCEPTOR, WIRE_PHASE_GOING, ON(QUERY)), .paid = true,
	                   .on_channel = true, RECORD(records, wire_records) },

	[WIRE_PACK] = { "PACK", "a directory as a tar stream",
	                OPENS(WIRE_FROM_SERVER, WIRE_KIND_FETCH), RECORD(pack, wire_pack) },
	[WIRE_UNPACK] = { "UNPACK", "a tar stream into a directory",
	                  OPENS(WIRE_FROM_SERVER, WIRE_KIND_STORE), RECORD(unpack, wire_unpack) },

	[WIRE_DIAL] = { "DIAL", "a connection from inside to the world",
	                OPENS(WIRE_FROM_AGENT, WIRE_KIND_CONNECT), RECORD(dial, wire_dial) },
	[WIRE_PORT] = { "PORT", "a connection to a port inside",
	                OPENS(WIRE_FROM_SERVER, WIRE_KIND_CONNECT), RECORD(port, wire_port) },
	[WIRE_OPENED] = { "OPENED", "it is connected",
	                  STREAM(WIRE_FROM_ACCEPTOR, WIRE_PHASE_ASKED, ON(CONNECT)), .once = true },

	[WIRE_STATS] = { "STATS", "what does the sandbox use?",
	                 OPENS(WIRE_FROM_SERVER, WIRE_KIND_QUERY) },
	[WIRE_STATS_ARE] = { "STATS_ARE", "the answer to STATS",
	                     STREAM(WIRE_FROM_ACCEPTOR, WIRE_PHASE_GOING, ON(QUERY)), .once = true,
	                     RECORD(stats_are, wire_stats_are) },
};

const struct wire_record wire_entry_record = { entry, ARRAY_LEN(entry), sizeof(struct wire_entry) };
const struct wire_record wire_match_record = { match, ARRAY_LEN(match), sizeof(struct wire_match) };

static const struct wire_kind_spec kinds[WIRE_KIND_COUNT] = {
	[WIRE_KIND_NONE] = { "control", 0, false },
	[WIRE_KIND_RUN] = { "run", (1u << WIRE_CHANNELS) - 1, true },
	[WIRE_KIND_FETCH] = { "fetch", 1u << WIRE_OUT, false },
	[WIRE_KIND_STORE] = { "store", 1u << WIRE_IN, false },
	[WIRE_KIND_QUERY] = { "query", 1u << WIRE_OUT, false },
	[WIRE_KIND_CONNECT] = { "connect", 1u << WIRE_IN | 1u << WIRE_OUT, true },
};

const struct wire_spec *wire_spec(uint8_t type)
{
	return type < WIRE_TYPE_COUNT && specs[type].name != NULL ? &specs[type] : NULL;
}

const struct wire_kind_spec *wire_kind(enum wire_kind kind)
{
	return &kinds[kind];
}

const char *wire_from_name(enum wire_from from)
{
	static const char *const names[WIRE_FROM_COUNT] = { "server", "agent", "opener", "acceptor",
		                                            "either" };

	return names[from];
}

const char *wire_phase_name(enum wire_phase phase)
{
	static const char *const names[WIRE_PHASE_COUNT] = { "hello", "welcome", "ready", "open",
		                                             "asked", "going",   "live" };

	return names[phase];
}
