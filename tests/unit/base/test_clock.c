#include <time.h>

#include "base/clock.h"
#include "unit/test.h"

static void monotonic_clock_counts_milliseconds(void **state)
{
	const struct timespec nap = { .tv_nsec = 20 * 1000 * 1000 };
	uint64_t before = clock_now_ms(), after;

	assert_int_equal(nanosleep(&nap, NULL), 0);
	after = clock_now_ms();
	assert_true(after - before >= 19);
	assert_true(after - before < 10 * 1000);
}

static void time_of_day_is_utc_in_rfc_3339(void **state)
{
	char text[CLOCK_TEXT_SIZE];
	struct tm utc = { 0 };
	time_t before = time(NULL), shown;
	const char *rest;

	assert_ptr_equal(clock_text(text), text);
	assert_int_equal(strlen(text), 24);
	rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &utc);
	assert_non_null(rest);
	assert_int_equal(rest[0], '.');
	assert_int_equal(strspn(rest + 1, "0123456789"), 3);
	assert_string_equal(rest + 4, "Z");
	shown = timegm(&utc);
	assert_true(shown >= before - 1 && shown <= time(NULL) + 1);
}

/* With a zone 14 hours ahead of UTC, local time would differ in its hour. */
static void time_of_day_ignores_the_time_zone(void **state)
{
	char text[CLOCK_TEXT_SIZE];
	struct tm utc = { 0 };

	assert_int_equal(setenv("TZ", "XXX-14", 1), 0);
	tzset();
	(void)clock_text(text);
	assert_int_equal(unsetenv("TZ"), 0);
	tzset();
	assert_non_null(strptime(text, "%Y-%m-%dT%H:%M:%S", &utc));
	assert_true(labs(timegm(&utc) - time(NULL)) <= 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(monotonic_clock_counts_milliseconds),
		TEST(time_of_day_is_utc_in_rfc_3339),
		TEST(time_of_day_ignores_the_time_zone),
	};

	return RUN_TESTS("base/clock", tests);
}
