/* look_test.h - what an operation that looks around has answered, as one line of text. */
#pragma once
#include "unit/agent/files/job_test.h"

enum { LOOK_SIZE = 64 * 1024 };

static inline void look_add(char *out, const char *text, size_t len)
{
	size_t used = strlen(out);

	assert_true(used + len < LOOK_SIZE);
	memcpy(out + used, text, len);
	out[used + len] = '\0';
}

/* Each entry and a blank: "a.txt ", "dir/ ", "link>target ", "fifo? ". */
static inline const char *look_entries(struct job_test *t)
{
	static char out[LOOK_SIZE];
	static const char *const marks[] = { "", "/", ">", "?" };
	struct view rest;
	struct wire_entry entry;
	struct error err;

	out[0] = '\0';
	job_test_finish(t);
	rest = buf_view(&t->records);
	while (rest.len != 0) {
		CHECK_OK(wire_record_decode(&wire_entry_record, &rest, &entry, &err), err);
		look_add(out, entry.path.ptr, entry.path.len);
		look_add(out, marks[entry.type], strlen(marks[entry.type]));
		look_add(out, entry.target.ptr, entry.target.len);
		look_add(out, " ", 1);
	}
	return out;
}

static inline size_t look_count(struct job_test *t)
{
	struct view rest;
	struct wire_entry entry;
	struct error err;
	size_t count = 0;

	job_test_finish(t);
	for (rest = buf_view(&t->records); rest.len != 0; count++)
		CHECK_OK(wire_record_decode(&wire_entry_record, &rest, &entry, &err), err);
	return count;
}

/* Each match as "path:line:column:text|". */
static inline const char *look_matches(struct job_test *t)
{
	static char out[LOOK_SIZE];
	struct view rest;
	struct wire_match match;
	struct error err;
	char numbers[64];

	out[0] = '\0';
	job_test_finish(t);
	rest = buf_view(&t->records);
	while (rest.len != 0) {
		CHECK_OK(wire_record_decode(&wire_match_record, &rest, &match, &err), err);
		(void)snprintf(numbers, sizeof numbers, ":%llu:%u:", (unsigned long long)match.line,
		               match.column);
		look_add(out, match.path.ptr, match.path.len);
		look_add(out, numbers, strlen(numbers));
		look_add(out, match.text.ptr, match.text.len);
		look_add(out, "|", 1);
	}
	return out;
}

static inline void look_make_files(const char *directory, const char *format, unsigned count)
{
	int dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char name[64];

	assert_true(dir >= 0);
	for (unsigned i = 0; i < count; i++) {
		int fd;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		(void)snprintf(name, sizeof name, format, i);
#pragma GCC diagnostic pop
		fd = openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		assert_true(fd >= 0);
		(void)close(fd);
	}
	(void)close(dir);
}

/* Directories within one another, all of this name; returns the innermost. */
static inline int look_make_deep(const char *directory, const char *name, unsigned levels)
{
	int dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (unsigned i = 0; i < levels; i++) {
		int next;

		assert_int_equal(mkdirat(dir, name, 0755), 0);
		next = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		(void)close(dir);
		dir = next;
	}
	return dir;
}
