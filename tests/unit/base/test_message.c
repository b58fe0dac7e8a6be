#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/message.h"
#include "unit/test.h"

struct pair {
	int ends[2];
};

static struct pair connect_pair(void)
{
	struct pair pair;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.ends), 0);
	return pair;
}

static void close_pair(struct pair *pair)
{
	for (int i = 0; i < 2; i++)
		cleanup_fd(&pair->ends[i]);
}

static void message_of_the_right_size_is_received(void **state)
{
	struct pair pair = connect_pair();
	char got[8] = "";

	(void)state;
	assert_true(message_send(pair.ends[0], (char[]){ "seven b" }, 8, -1));
	assert_true(message_receive(pair.ends[1], got, sizeof got));
	assert_string_equal(got, "seven b");
	close_pair(&pair);
}

static void message_of_another_size_is_refused(void **state)
{
	struct pair pair = connect_pair();
	char got[8];

	(void)state;
	assert_true(message_send(pair.ends[0], (char[]){ "nine byte" }, 10, -1));
	assert_false(message_receive(pair.ends[1], got, sizeof got));
	assert_true(message_send(pair.ends[0], (char[]){ "short" }, 5, -1));
	assert_false(message_receive(pair.ends[1], got, sizeof got));
	close_pair(&pair);
}

static void message_with_a_descriptor_is_refused(void **state)
{
	struct pair pair = connect_pair();
	char got[8];

	(void)state;
	assert_true(message_send(pair.ends[0], (char[]){ "seven b" }, 8, STDERR_FILENO));
	assert_false(message_receive(pair.ends[1], got, sizeof got));
	close_pair(&pair);
}

static void closed_end_is_reported(void **state)
{
	struct pair pair = connect_pair();
	char got[8];

	(void)state;
	cleanup_fd(&pair.ends[1]);
	pair.ends[1] = -1;
	assert_false(message_send(pair.ends[0], (char[]){ "seven b" }, 8, -1));
	assert_false(message_receive(pair.ends[0], got, sizeof got));
	close_pair(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(message_of_the_right_size_is_received),
		TEST(message_of_another_size_is_refused),
		TEST(message_with_a_descriptor_is_refused),
		TEST(closed_end_is_reported),
	};

	return RUN_TESTS("base/message", tests);
}
