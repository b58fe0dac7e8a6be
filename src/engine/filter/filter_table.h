/* filter_table.h - the table of system calls that the seccomp filters are compiled from, and the
 * compiled filters.
 *
 * A class is a group of system calls, the kinds of processes that may make them, and the errno that
 * other processes get. A list adds callers to calls of any class, for processes whose calls are
 * named one by one. A rule restricts a call that its class allows by the call's arguments: of the
 * rules for a caller and a call the first whose tests hold decides, and if none does, the call is
 * allowed. A call that is in no class fails with ENOSYS, as on a kernel that is too old for it, so
 * that C libraries fall back to an older call.
 *
 * filter_build.c compiles the table for each processor architecture. To allow or deny a call, move
 * its name to another class, and change the numbers that tests/unit/engine/filter expects. */
#pragma once
#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/spec.h"

/* The filters: one for programs of each enum spec_syscalls, the agent's, its workers', the
 * server's, the porter's, the dialer's and the mirror's. */
enum {
	FILTER_AGENT = SPEC_SYSCALLS_COUNT,
	FILTER_WORKERS,
	FILTER_SERVER,
	FILTER_PORTER,
	FILTER_DIALER,
	FILTER_MIRROR,
	FILTER_COUNT,
};

enum {
	FOR_STANDARD = 1u << SPEC_SYSCALLS_STANDARD,
	FOR_STRICT = 1u << SPEC_SYSCALLS_STRICT,
	FOR_DEBUG = 1u << SPEC_SYSCALLS_DEBUG,
	FOR_AGENT = 1u << FILTER_AGENT,
	FOR_WORKERS = 1u << FILTER_WORKERS,
	FOR_SERVER = 1u << FILTER_SERVER,
	FOR_PORTER = 1u << FILTER_PORTER,
	FOR_DIALER = 1u << FILTER_DIALER,
	FOR_MIRROR = 1u << FILTER_MIRROR,
};

/* Other verdicts are an errno; 0 makes the call return success without doing anything. */
enum { FILTER_ALLOW = -1 };

/* Stands in tests for the caller's process id, which filter_for_server() puts in its place. No
 * process has this id. */
enum { FILTER_OWN_PID = INT32_MAX };

struct filter_class {
	uint16_t callers;  /* FOR_*: the kinds of processes that may make these calls */
	int16_t otherwise; /* the errno for all other processes */
	/* Names with a space between them. NAME=NUMBER for calls that libseccomp may be too old to
	 * know: from 424 on, calls have the same number on every architecture, and those below are
	 * of x86_64 only. */
	const char *calls;
};
extern const struct filter_class filter_classes[];
extern const size_t filter_class_count;

/* Calls that these processes may make besides those of their classes. A call that a process may not
 * make fails with the errno of its class. */
struct filter_list {
	uint16_t callers;
	const char *calls;
};
extern const struct filter_list filter_lists[];
extern const size_t filter_list_count;

/* Compares 32 bits of an argument. Of the arguments that are tested here the kernel itself uses
 * only the low 32 bits, except of pointers: a test of all 64 bits could be evaded by setting a high
 * bit that the kernel ignores. */
struct filter_test {
	uint8_t arg, high;    /* the argument's number; whether its high half is compared */
	uint32_t mask, value; /* mask 0: no test */
};

enum { FILTER_TESTS = 3 };
struct filter_rule {
	const char *call;
	uint16_t callers;
	int16_t verdict;
	struct filter_test tests[FILTER_TESTS];
};
extern const struct filter_rule filter_rules[];
extern const size_t filter_rule_count;

/* The compiled filters of one architecture, as filter_build.c writes them. */
struct filter_set {
	struct {
		const struct sock_filter *code;
		size_t count;
	} filters[FILTER_COUNT];
};
extern const struct filter_set filter_set_x86_64, filter_set_aarch64;
