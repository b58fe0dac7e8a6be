/* test_ring.c - the last bytes of an output, by their place in all of it. */
#include "agent/program/ring.h"

#include <errno.h>
#include <fcntl.h>

#include "unit/test.h"

/* Writes to a pipe and lets the ring read from it, at most so much at once. */
static void fill(struct ring *ring, const char *text, size_t max)
{
	size_t len = strlen(text);
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(write(ends[1], text, len), len);
	while (len != 0) {
		ssize_t n = ring_fill(ring, ends[0], max);

		assert_true(n > 0 && (size_t)n <= max && (size_t)n <= len);
		len -= (size_t)n;
	}
	assert_int_equal(ring_fill(ring, ends[0], max), -1);
	assert_int_equal(errno, EAGAIN);
	(void)close(ends[1]);
	assert_int_equal(ring_fill(ring, ends[0], max), 0);
	(void)close(ends[0]);
}

static void check_read(const struct ring *ring, uint64_t offset, size_t max, const char *want)
{
	char out[64];
	size_t n = ring_read(ring, offset, out, max);

	CHECK_VIEW(((struct view){ out, n }), want);
}

static void is_empty_at_first(void **state)
{
	struct ring ring;

	(void)state;
	assert_int_equal(ring_init(&ring, 8, 100), 0);
	assert_int_equal(ring_oldest(&ring), 100);
	assert_int_equal(ring.total, 100);
	check_read(&ring, 100, 64, "");
	ring_done(&ring);
	assert_null(ring.bytes);
	ring_done(&ring);
}

static void gives_what_was_put_in(void **state)
{
	static const struct {
		size_t size;
		uint64_t before;
		size_t at_once;
		const char *first, *second;
		uint64_t oldest, total;
		const char *all;
	} rows[] = {
		{ 16, 0, 64, "0123456789", "", 0, 10, "0123456789" },
		{ 10, 0, 64, "0123456789", "", 0, 10, "0123456789" },
		{ 10, 0, 64, "0123456789", "a", 1, 11, "123456789a" },
		{ 7, 0, 64, "0123456789", "abcde", 8, 15, "89abcde" },
		{ 7, 0, 3, "0123456789", "abcde", 8, 15, "89abcde" },
		{ 7, 0, 1, "0123456789", "abcde", 8, 15, "89abcde" },
		{ 1, 0, 64, "0123456789", "abcde", 14, 15, "e" },
		{ 16, 5, 64, "0123456789", "", 5, 15, "0123456789" }, /* where it went round */
		{ 16, 15, 64, "0123456789", "", 15, 25, "0123456789" },
		{ 4, 1000003, 64, "0123456789", "ab", 1000011, 1000015, "89ab" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct ring ring;

		assert_int_equal(ring_init(&ring, rows[i].size, rows[i].before), 0);
		fill(&ring, rows[i].first, rows[i].at_once);
		fill(&ring, rows[i].second, rows[i].at_once);
		assert_int_equal(ring_oldest(&ring), rows[i].oldest);
		assert_int_equal(ring.total, rows[i].total);
		check_read(&ring, rows[i].oldest, 64, rows[i].all);
		for (size_t skip = 0; skip <= strlen(rows[i].all); skip++)
			check_read(&ring, rows[i].oldest + skip, 64, rows[i].all + skip);
		check_read(&ring, rows[i].oldest, 1, (char[]){ rows[i].all[0], '\0' });
		check_read(&ring, rows[i].oldest, 0, "");
		ring_done(&ring);
	}
}

static void says_when_there_is_no_memory(void **state)
{
	struct ring ring = { 0 };

	(void)state;
	assert_int_equal(ring_init(&ring, SIZE_MAX / 2, 0), -1);
	assert_null(ring.bytes);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(is_empty_at_first),
		TEST(gives_what_was_put_in),
		TEST(says_when_there_is_no_memory),
	};

	return RUN_TESTS("ring", all);
}
