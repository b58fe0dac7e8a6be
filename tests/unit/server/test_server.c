/* The whole server in a child process, with pipes for stdin and stdout. */
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/tree/remove_tree.h"
#include "base/view.h"
#include "server/options/options.h"
#include "server/server.h"
#include "unit/test.h"

static char directory[] = "/tmp/belljar-test-server-XXXXXX";

struct child {
	pid_t pid;
	int in, out, errors; /* the test's ends of the pipes; -1: closed */
};

/* Runs in the child. Exits with 0, or with 1 and the reason on stderr. */
static void run_child_server(void)
{
	static const char *const flags[OPTION_COUNT];
	/* A busy machine needs more than the two seconds that are the default. */
	static char grace[] = "BELLJAR_GRACE=60000";
	char variable[80];
	char *const environment[] = { variable, grace, NULL };
	struct options options = { 0 };
	struct error err;
	int status = 0;

	(void)snprintf(variable, sizeof variable, "BELLJAR_STATE_DIR=%s", directory);
	if (setenv("HOME", "/nonexistent", 1) < 0 || unsetenv("XDG_CONFIG_HOME") < 0 ||
	    options_load(&options, FOR_SERVE, flags, environment, &err) < 0 ||
	    server_run(&options, &err) < 0) {
		(void)dprintf(STDERR_FILENO, "%s", err.msg);
		status = 1;
	}
	options_done(&options);
	exit(status); /* not _exit: the leak check runs */
}

static void start_server(struct child *child, int stdout_fd)
{
	int in[2], out[2], errors[2];

	assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC) | pipe2(errors, O_CLOEXEC),
	                 0);
	child->pid = fork();
	assert_true(child->pid >= 0);
	if (child->pid == 0) {
		(void)dup2(in[0], STDIN_FILENO);
		(void)dup2(stdout_fd >= 0 ? stdout_fd : out[1], STDOUT_FILENO);
		(void)dup2(errors[1], STDERR_FILENO);
		(void)close(in[1]); /* else the child never sees the end of its input */
		(void)close(out[0]);
		run_child_server();
	}
	(void)close(in[0]);
	(void)close(out[1]);
	(void)close(errors[1]);
	*child = (struct child){ child->pid, in[1], out[0], errors[0] };
}

static void send_line(const struct child *child, const char *line)
{
	assert_int_equal(write(child->in, line, strlen(line)), strlen(line));
}

static void read_all(int fd, char *out, size_t size)
{
	size_t len = 0;
	ssize_t n;

	while (len < size - 1 && (n = read(fd, out + len, size - 1 - len)) > 0)
		len += (size_t)n;
	out[len] = '\0';
}

/* Ends the input if it is still open; returns the exit status. */
static int finish_server(struct child *child, char *out, char *errors, size_t size)
{
	int status;

	if (child->in >= 0)
		(void)close(child->in);
	read_all(child->out, out, size);
	read_all(child->errors, errors, size);
	(void)close(child->out);
	(void)close(child->errors);
	assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

#define PING "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n"
#define PONG "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"
#define WAIT                                                                                       \
	"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/"                                        \
	"call\",\"params\":{\"name\":\"run_command\","                                             \
	"\"arguments\":{\"command\":\"sleep 300\"}}}\n"

static void server_stops_at_the_end_of_input(void **state)
{
	char out[1000], errors[1000];
	struct child child;

	start_server(&child, -1);
	send_line(&child, PING WAIT);
	assert_int_equal(finish_server(&child, out, errors, sizeof out), 0);
	assert_string_equal(out, PONG);
	assert_string_equal(errors, "");
}

static void signal_stops_the_server_cleanly(void **state)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP };

	for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
		char out[1000], errors[1000], pong[sizeof PONG] = "";
		struct child child;

		start_server(&child, -1);
		send_line(&child, WAIT PING);
		assert_int_equal(read(child.out, pong, sizeof pong - 1), sizeof PONG - 1);
		assert_string_equal(pong, PONG); /* the server is up, and the call is running */
		assert_int_equal(kill(child.pid, signals[i]), 0);
		assert_int_equal(finish_server(&child, out, errors, sizeof out), 0);
		assert_string_equal(out, "");
		assert_string_equal(errors, "");
	}
}

static void unwritable_output_is_a_failure(void **state)
{
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	char out[1000], errors[1000];
	struct child child;

	assert_true(full >= 0);
	start_server(&child, full);
	send_line(&child, PING);
	assert_int_equal(finish_server(&child, out, errors, sizeof out), 1);
	assert_string_equal(errors, "write to descriptor 1: No space left on device");
	(void)close(full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(server_stops_at_the_end_of_input),
		TEST(signal_stops_the_server_cleanly),
		TEST(unwritable_output_is_a_failure),
	};

	struct error err;
	uint64_t count;
	int failed;

	(void)signal(SIGPIPE, SIG_IGN);
	if (mkdtemp(directory) == NULL || chmod(directory, 0711) < 0)
		return 1;
	failed = RUN_TESTS("server/server", tests);
	if (remove_tree(open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC), directory + 5,
	                view_of(directory), &count, &err) < 0)
		return 1;
	return failed;
}
