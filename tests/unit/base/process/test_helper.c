#include "base/process/helper.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/process/packet.h"
#include "unit/test.h"

static NORETURN void serve_echo(void *ctx, int socket)
{
	struct error err;
	char byte;

	helper_report(socket, helper_begin(ctx, &socket, 1, &err) < 0 ? &err : NULL);
	while (packet_receive(socket, &byte, 1))
		(void)packet_send(socket, &byte, 1, -1);
	_exit(0);
}

static void helper_serves_until_the_socket_is_closed(void **state)
{
	char name[] = "belljar-test", byte = 'x';
	struct error err;
	int socket;
	pid_t pid;

	CHECK_OK(helper_start("echo", serve_echo, name, &pid, &socket, &err), err);
	CHECK_OK(helper_wait("echo", socket, &err), err);
	assert_true(packet_send(socket, &byte, 1, -1));
	byte = 0;
	assert_true(packet_receive(socket, &byte, 1));
	assert_int_equal(byte, 'x');
	helper_stop(&pid, &socket);
	assert_int_equal(pid, 0);
	assert_int_equal(socket, -1);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	helper_stop(&pid, &socket); /* does nothing */
}

static NORETURN void refuse(void *ctx, int socket)
{
	struct error err;

	(void)error_set(&err, ERR_LIMIT, "no room");
	if (ctx == NULL)
		helper_report(socket, &err);
	_exit(0);
}

static void helper_wait_tells_why_the_process_is_not_confined(void **state)
{
	static char any;
	static const struct {
		void *ctx;
		const char *text;
	} cases[] = {
		{ NULL, "start the echo: no room" },
		{ &any, "start the echo: the process has ended" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct error err;
		int socket;
		pid_t pid;

		CHECK_OK(helper_start("echo", refuse, cases[i].ctx, &pid, &socket, &err), err);
		assert_int_equal(helper_wait("echo", socket, &err), -1);
		assert_string_equal(err.msg, cases[i].text);
		helper_stop(&pid, &socket);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(helper_serves_until_the_socket_is_closed),
		TEST(helper_wait_tells_why_the_process_is_not_confined),
	};

	return RUN_TESTS("base/process/helper", tests);
}
