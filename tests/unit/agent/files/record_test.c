#include "unit/agent/files/record_test.h"

void record_append(char *out, const char *text, size_t len)
{
	size_t used = strlen(out);

	assert_true(used + len < RECORD_TEXT_SIZE);
	memcpy(out + used, text, len);
	out[used + len] = '\0';
}

const char *record_entries(struct job_test *t)
{
	static char out[RECORD_TEXT_SIZE];
	static const char *const marks[] = { "", "/", ">", "?" };
	struct view rest;
	struct wire_entry entry;
	struct error err;

	out[0] = '\0';
	job_test_finish(t);
	rest = buf_view(&t->records);
	while (rest.len != 0) {
		CHECK_OK(wire_record_decode(&wire_entry_record, &rest, &entry, &err), err);
		record_append(out, entry.path.ptr, entry.path.len);
		record_append(out, marks[entry.type], strlen(marks[entry.type]));
		record_append(out, entry.target.ptr, entry.target.len);
		record_append(out, " ", 1);
	}
	return out;
}

size_t record_count(struct job_test *t)
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

const char *record_matches(struct job_test *t)
{
	static char out[RECORD_TEXT_SIZE];
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
		record_append(out, match.path.ptr, match.path.len);
		record_append(out, numbers, strlen(numbers));
		record_append(out, match.text.ptr, match.text.len);
		record_append(out, "|", 1);
	}
	return out;
}

void make_files(const char *directory, const char *format, unsigned count)
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

int make_deep(const char *directory, const char *name, unsigned levels)
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
