/* test.h - cmocka with the headers it needs, and macros and functions for all unit tests.
 *
 * The name of a test is a sentence with a subject, such as long_id_is_rejected(). */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/view.h"

/* A view of a string literal, which may contain NUL. */
#define VIEW(literal) ((struct view){ (literal), sizeof(literal) - 1 })
#define VIEW_INIT(literal)                                                                         \
	{                                                                                          \
		(literal), sizeof(literal) - 1                                                     \
	}
#define TEST(name)           cmocka_unit_test(name)
#define RUN_TESTS(name, all) cmocka_run_group_tests_name(name, all, NULL, NULL)

/* Skips the test on this machine; tests/run.sh prints the reason. */
#define SKIP_TEST(why)                                                                             \
	do {                                                                                       \
		print_message("# skipped: %s\n", (why));                                           \
		skip();                                                                            \
	} while (0)

/* The call fails with this kind and exactly this text. */
#define CHECK_ERROR(call, err, want_kind, want_msg)                                                \
	do {                                                                                       \
		(err) = (struct error){ .kind = ERR_KIND_COUNT, .errnum = -1 };                    \
		assert_int_equal((call), -1);                                                      \
		assert_string_equal((err).msg, (want_msg));                                        \
		assert_int_equal((err).kind, (want_kind));                                         \
	} while (0)

/* The call succeeds and does not write the error. */
#define CHECK_OK(call, err)                                                                        \
	do {                                                                                       \
		(err) = (struct error){ .kind = ERR_KIND_COUNT, .msg = "" };                       \
		if ((call) != 0)                                                                   \
			fail_msg("%s failed: %s", #call, (err).msg);                               \
		assert_int_equal((err).kind, ERR_KIND_COUNT);                                      \
	} while (0)

#define CHECK_VIEW(bytes, want)                                                                    \
	do {                                                                                       \
		struct view got_ = (bytes);                                                        \
		assert_int_equal(got_.len, strlen(want));                                          \
		if (got_.len != 0)                                                                 \
			assert_memory_equal(got_.ptr, want, got_.len);                             \
	} while (0)

/* Redirects stderr into a pipe, which holds 64 KiB, between start and end. */
struct stderr_capture {
	int reader, saved;
};

void stderr_capture_start(struct stderr_capture *c);
/* Writes what was captured to out, terminated. Returns out. */
const char *stderr_capture_end(struct stderr_capture *c, char *out, size_t size);

/* Runs fn in a child process, which must abort. Writes its stderr to out and returns out. */
const char *must_abort(void (*fn)(void), char *out, size_t size);
