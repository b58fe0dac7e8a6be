/* test.h - cmocka with the headers it wants, and what the unit tests share.
 *
 * A test is a sentence: static void refuses_a_size_with_trailing_text(void **state). */
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

/* A view of a literal, embedded NULs included. */
#define VIEW(literal) ((struct view){ (literal), sizeof(literal) - 1 })
#define VIEW_INIT(literal)                                                                         \
	{                                                                                          \
		(literal), sizeof(literal) - 1                                                     \
	}
#define TEST(name)           cmocka_unit_test(name)
#define RUN_TESTS(name, all) cmocka_run_group_tests_name(name, all, NULL, NULL)

/* Not here, and why: tests/run.sh shows it. */
#define SKIP_TEST(why)                                                                             \
	do {                                                                                       \
		print_message("# skipped: %s\n", (why));                                           \
		skip();                                                                            \
	} while (0)

/* The call failed, with this kind and exactly this text. */
#define CHECK_ERROR(call, err, want_kind, want_msg)                                                \
	do {                                                                                       \
		(err) = (struct error){ .kind = ERR_KIND_COUNT, .errnum = -1 };                    \
		assert_int_equal((call), -1);                                                      \
		assert_string_equal((err).msg, (want_msg));                                        \
		assert_int_equal((err).kind, (want_kind));                                         \
	} while (0)

/* The call succeeded and left the error alone. */
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

/* stderr goes into a pipe between the two calls (at most 64 KiB of it). */
struct stderr_capture {
	int reader, saved;
};

static inline void stderr_capture_start(struct stderr_capture *c)
{
	int ends[2];

	(void)fflush(stderr);
	assert_int_equal(pipe(ends), 0);
	c->saved = dup(STDERR_FILENO);
	assert_true(c->saved >= 0 && dup2(ends[1], STDERR_FILENO) >= 0);
	(void)close(ends[1]);
	c->reader = ends[0];
}

static inline const char *stderr_capture_end(struct stderr_capture *c, char *out, size_t size)
{
	size_t len = 0;
	ssize_t n;

	(void)fflush(stderr);
	(void)dup2(c->saved, STDERR_FILENO);
	(void)close(c->saved);
	while (len < size - 1 && (n = read(c->reader, out + len, size - 1 - len)) > 0)
		len += (size_t)n;
	(void)close(c->reader);
	out[len] = '\0';
	return out;
}

/* Runs fn in a child; it must abort. Returns what it wrote to stderr. */
static inline const char *must_abort(void (*fn)(void), char *out, size_t size)
{
	struct stderr_capture c;
	int status = 0;
	pid_t child;

	stderr_capture_start(&c);
	child = fork();
	if (child == 0) {
		(void)setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
		fn();
		_exit(0);
	}
	(void)waitpid(child, &status, 0);
	(void)stderr_capture_end(&c, out, size);
	assert_true(child > 0);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
		fail_msg("did not abort: status %#x, stderr: %s", (unsigned)status, out);
	return out;
}
