/* filter_table.h - the table that filters are made of, and how the made ones are found.
 *
 * A class names system calls and says who may make them, and what the others are told instead.
 * A rule narrows a call that its class allows, by the arguments: of those for the caller and the
 * call the first that fits decides, and if none does the call is allowed. Calls that are in no
 * class do not exist (ENOSYS), so that the C library falls back to what does.
 *
 * filter_build.c makes programs of it, for each kind of machine. */
#pragma once
#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/spec.h"

/* Who a filter is for: programs, by enum spec_syscalls; the agent; its workers. */
enum { FILTER_AGENT = SPEC_SYSCALLS_COUNT, FILTER_FILES, FILTER_COUNT };

enum {
	FOR_STANDARD = 1u << SPEC_SYSCALLS_STANDARD,
	FOR_STRICT = 1u << SPEC_SYSCALLS_STRICT,
	FOR_DEBUG = 1u << SPEC_SYSCALLS_DEBUG,
	FOR_AGENT = 1u << FILTER_AGENT,
	FOR_FILES = 1u << FILTER_FILES,
};

enum { FILTER_ALLOW = -1 }; /* other verdicts are an errno; 0: nothing happens, and it went well */

struct filter_class {
	uint8_t who;
	int16_t otherwise; /* what everybody else is told */
	/* Separated by a space. NAME=NUMBER if libseccomp might not know it: the newer calls have
	 * the same number on every machine, and those below 424 are of x86_64 only. */
	const char *calls;
};
extern const struct filter_class filter_classes[];
extern const size_t filter_class_count;

/* Half an argument, masked. The kernel looks at no more of those that are tested here, except of
 * pointers; a test of all 64 bits would be fooled by a bit that means nothing. */
struct filter_test {
	uint8_t arg, high;
	uint32_t mask, value; /* mask 0: no test */
};

enum { FILTER_TESTS = 3 };
struct filter_rule {
	const char *call;
	uint8_t who;
	int16_t verdict;
	struct filter_test tests[FILTER_TESTS];
};
extern const struct filter_rule filter_rules[];
extern const size_t filter_rule_count;

/* What came of it. */
struct filter_set {
	struct {
		const struct sock_filter *code;
		size_t count;
	} filters[FILTER_COUNT];
};
extern const struct filter_set filter_set_x86_64, filter_set_aarch64;
