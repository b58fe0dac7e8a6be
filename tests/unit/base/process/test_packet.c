#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/packet.h"
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
	assert_true(packet_send(pair.ends[0], (char[]){ "seven b" }, 8, -1));
	assert_true(packet_receive(pair.ends[1], got, sizeof got));
	assert_string_equal(got, "seven b");
	close_pair(&pair);
}

static void message_of_another_size_is_refused(void **state)
{
	struct pair pair = connect_pair();
	char got[8];

	(void)state;
	assert_true(packet_send(pair.ends[0], (char[]){ "nine byte" }, 10, -1));
	assert_false(packet_receive(pair.ends[1], got, sizeof got));
	assert_true(packet_send(pair.ends[0], (char[]){ "short" }, 5, -1));
	assert_false(packet_receive(pair.ends[1], got, sizeof got));
	close_pair(&pair);
}

static void message_with_a_descriptor_is_refused(void **state)
{
	struct pair pair = connect_pair();
	char got[8];

	(void)state;
	assert_true(packet_send(pair.ends[0], (char[]){ "seven b" }, 8, STDERR_FILENO));
	assert_false(packet_receive(pair.ends[1], got, sizeof got));
	close_pair(&pair);
}

static void message_is_taken_with_its_descriptor(void **state)
{
	struct pair pair = connect_pair();
	char got[8] = "";
	int fd = 0;

	(void)state;
	assert_int_equal(packet_take(pair.ends[1], got, sizeof got, &fd), 0);
	assert_int_equal(fd, -1);
	assert_true(packet_send(pair.ends[0], (char[]){ "seven b" }, 8, STDERR_FILENO));
	assert_int_equal(packet_take(pair.ends[1], got, sizeof got, &fd), 1);
	assert_string_equal(got, "seven b");
	assert_true(fd > STDERR_FILENO);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(close(fd), 0);
	assert_true(packet_send(pair.ends[0], (char[]){ "no desc" }, 8, -1));
	assert_int_equal(packet_take(pair.ends[1], got, sizeof got, &fd), 1);
	assert_int_equal(fd, -1);
	close_pair(&pair);
}

/* The reader of a pipe sees its end only when every copy of the other descriptor is closed. */
static void message_that_is_not_taken_leaves_no_descriptor(void **state)
{
	struct pair pair = connect_pair();
	int ends[2], fd = 0;
	char got[8] = "";

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	assert_true(packet_send(pair.ends[0], (char[]){ "short" }, 5, ends[1]));
	assert_int_equal(packet_take(pair.ends[1], got, sizeof got, &fd), -1);
	assert_true(packet_send(pair.ends[0], (char[]){ "nine byte" }, 10, ends[1]));
	assert_int_equal(packet_take(pair.ends[1], got, sizeof got, &fd), -1);
	assert_int_equal(close(ends[1]), 0);
	assert_int_equal(read(ends[0], got, 1), 0);
	assert_int_equal(close(ends[0]), 0);
	cleanup_fd(&pair.ends[0]);
	pair.ends[0] = -1;
	assert_int_equal(packet_take(pair.ends[1], got, sizeof got, &fd), -1);
	close_pair(&pair);
}

static void closed_end_is_reported(void **state)
{
	struct pair pair = connect_pair();
	char got[8];

	(void)state;
	cleanup_fd(&pair.ends[1]);
	pair.ends[1] = -1;
	assert_false(packet_send(pair.ends[0], (char[]){ "seven b" }, 8, -1));
	assert_false(packet_receive(pair.ends[0], got, sizeof got));
	close_pair(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(message_of_the_right_size_is_received),
		TEST(message_of_another_size_is_refused),
		TEST(message_with_a_descriptor_is_refused),
		TEST(message_is_taken_with_its_descriptor),
		TEST(message_that_is_not_taken_leaves_no_descriptor),
		TEST(closed_end_is_reported),
	};

	return RUN_TESTS("base/packet", tests);
}
