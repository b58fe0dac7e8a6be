/* tools_bench.c - round trips through `belljar serve` on stdin and stdout, beside what they
 * replace: run_code beside `python3 -c` on the bare machine, run_command beside fork and exec of
 * `true`. The two alternate call by call, so that load on the machine affects both. Then a plot,
 * eight clients at once, and memory. BENCH_CALLS (200) sets the number of calls; BELLJAR names the
 * program. A budget that is missed is listed as missed. */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/tree/remove_tree.h"
#include "base/view.h"

#include "measure.h"

enum { LINE_MAX_BYTES = 16 * 1024 * 1024, WARM_UP = 10, CLIENTS = 8 };

extern char **environ;

struct server {
	pid_t pid;
	int in, out;
	char *line;
	unsigned last_id;
};

static char state[] = "/tmp/belljar-bench-XXXXXX";
static unsigned missed;

/* --- a client --- */

static struct server start_server(void)
{
	const char *program = getenv("BELLJAR") != NULL ? getenv("BELLJAR") : "../../build/belljar";
	char *const argv[] = { (char *)(size_t)program, (char *)(size_t) "serve",
		               (char *)(size_t) "--state-dir", state, NULL };
	struct server server = { .line = malloc(LINE_MAX_BYTES) };
	posix_spawn_file_actions_t actions;
	int to[2], from[2];

	if (server.line == NULL || pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
		die("start", "no pipes");
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
	(void)posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
	if (posix_spawn(&server.pid, program, &actions, NULL, argv, environ) != 0)
		die(program, "cannot be started");
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)close(to[0]);
	(void)close(from[1]);
	server.in = to[1];
	server.out = from[0];
	return server;
}

static void send_line(const struct server *server, const char *text)
{
	size_t len = strlen(text), done = 0;

	while (done < len) {
		ssize_t n = write(server->in, text + done, len - done);

		if (n <= 0)
			die("server", "stopped reading");
		done += (size_t)n;
	}
}

/* Reads one line into server->line, with a terminating zero. */
static void read_line(struct server *server)
{
	size_t len = 0;

	for (;;) {
		ssize_t n = read(server->out, server->line + len, LINE_MAX_BYTES - 1 - len);

		if (n <= 0)
			die("server", "exited");
		len += (size_t)n;
		if (server->line[len - 1] == '\n')
			break;
	}
	server->line[len] = '\0';
}

static void send_request(struct server *server, const char *method, const char *params)
{
	static char text[64 * 1024];

	(void)snprintf(text, sizeof text,
	               "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"%s\",\"params\":%s}\n",
	               ++server->last_id, method, params);
	send_line(server, text);
}

static void call_tool(struct server *server, const char *tool, const char *arguments)
{
	static char params[48 * 1024];

	(void)snprintf(params, sizeof params, "{\"name\":\"%s\",\"arguments\":%s}", tool,
	               arguments);
	send_request(server, "tools/call", params);
}

static void check_answer(const struct server *server, const char *what)
{
	if (strstr(server->line, what) == NULL ||
	    strstr(server->line, "\"isError\":true") != NULL) {
		server->line[600] = '\0';
		die("answer", server->line);
	}
}

static void initialize(struct server *server)
{
	send_request(server, "initialize",
	             "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
	             "\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}");
	read_line(server);
	send_line(server, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
}

static void stop_server(struct server *server)
{
	(void)close(server->in);
	(void)waitpid(server->pid, NULL, 0);
	(void)close(server->out);
	free(server->line);
}

/* --- programs outside of a sandbox --- */

static double time_bare(char *const argv[])
{
	posix_spawn_file_actions_t actions;
	double from = now_us();
	pid_t pid;
	int status;

	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	if (posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ) != 0 ||
	    waitpid(pid, &status, 0) < 0 || status != 0)
		die(argv[0], "cannot be run");
	(void)posix_spawn_file_actions_destroy(&actions);
	return now_us() - from;
}

/* A tool call, and the bare program it is compared with. */
struct comparison {
	const char *name, *tool, *arguments, *expected;
	char *const *argv;
	const char *beside;
	double budget; /* highest ratio of the tool's time to the program's; 0: none */
};

static void check_budget(const char *name, double ratio, double budget)
{
	if (budget > 0 && ratio > budget) {
		missed++;
		(void)printf("    MISSED: %s, %.2f is over its budget of %.2f\n", name, ratio,
		             budget);
	}
}

static void print_ratio(const char *name, double us, const char *beside, double them, double budget)
{
	(void)printf("  %-34s %8.2f ms  %-28s %8.2f ms  ratio %.2f  (budget %.2f)\n", name,
	             us / 1000, beside, them / 1000, us / them, budget);
	check_budget(name, us / them, budget);
}

static void time_comparison(struct server *server, const struct comparison *comparison,
                            size_t calls)
{
	double *ours = calloc(calls, sizeof *ours), *theirs = calloc(calls, sizeof *theirs);

	if (ours == NULL || theirs == NULL)
		die("memory", "none");
	for (size_t i = 0; i < calls + WARM_UP; i++) {
		double from = now_us(), took;

		call_tool(server, comparison->tool, comparison->arguments);
		read_line(server);
		took = now_us() - from;
		check_answer(server, comparison->expected);
		if (i < WARM_UP)
			continue;
		ours[i - WARM_UP] = took;
		theirs[i - WARM_UP] = time_bare(comparison->argv);
	}
	print_ratio(comparison->name, median(ours, calls), comparison->beside,
	            median(theirs, calls), comparison->budget);
	free(ours);
	free(theirs);
}

/* Without a pause between calls, the next interpreter has to be ready in time. The bare runs follow
 * in groups, so that load on the machine affects both. */
static void time_without_pause(struct server *server, size_t calls, char *const argv[])
{
	enum { GROUPS = 11 };
	double ours[GROUPS], theirs[GROUPS];
	size_t each = calls / GROUPS + 1;

	for (size_t i = 0; i < GROUPS; i++) {
		double from = now_us();

		for (size_t n = 0; n < each; n++) {
			call_tool(server, "run_code", "{\"code\":\"print(1)\"}");
			read_line(server);
			check_answer(server, "1\\n");
		}
		ours[i] = (now_us() - from) / (double)each;
		from = now_us();
		for (size_t n = 0; n < each; n++)
			(void)time_bare(argv);
		theirs[i] = (now_us() - from) / (double)each;
	}
	print_ratio("the same without a pause", median(ours, GROUPS), "python3 -c, bare",
	            median(theirs, GROUPS), 0.4);
}

static void time_plot(struct server *server)
{
	static const char code[] =
	        "{\"session\":\"plot\",\"code\":\"import matplotlib.pyplot as plt\\n"
	        "plt.plot([1,4,9])\\nplt.show()\"}";
	double times[11];

	for (size_t i = 0; i < 12; i++) {
		double from = now_us();

		call_tool(server, "run_code", code);
		read_line(server);
		if (strstr(server->line, "No module named") != NULL) {
			(void)printf(
			        "  a plot: no matplotlib here (apt install python3-matplotlib)\n");
			return;
		}
		check_answer(server, "image/png");
		if (i > 0)
			times[i - 1] = now_us() - from;
	}
	(void)printf("  %-34s %8.2f ms\n", "a plot in a session", median(times, 11) / 1000);
}

/* Eight servers of one user, with one call under way in each. */
static void time_parallel_clients(size_t calls)
{
	struct server servers[CLIENTS];
	double from;

	for (int i = 0; i < CLIENTS; i++) {
		servers[i] = start_server();
		initialize(&servers[i]);
		call_tool(&servers[i], "run_code", "{\"code\":\"print(1)\"}");
		read_line(&servers[i]);
	}
	from = now_us();
	for (size_t n = 0; n < calls; n++) {
		for (int i = 0; i < CLIENTS; i++)
			call_tool(&servers[i], "run_code", "{\"code\":\"print(1)\"}");
		for (int i = 0; i < CLIENTS; i++) {
			read_line(&servers[i]);
			check_answer(&servers[i], "1\\n");
		}
	}
	(void)printf("  %-34s %8.0f runs of Python a second\n", "8 clients in parallel",
	             (double)calls * CLIENTS / ((now_us() - from) / 1e6));
	for (int i = 0; i < CLIENTS; i++)
		stop_server(&servers[i]);
}

/* --- start and memory --- */

static void time_start(void)
{
	double times[21];

	for (size_t i = 0; i < 21; i++) {
		double from = now_us();
		struct server server = start_server();

		initialize(&server);
		times[i] = now_us() - from;
		stop_server(&server);
	}
	(void)printf("  %-34s %8.2f ms  (budget 50 ms)\n", "start to the first answer",
	             median(times, 21) / 1000);
	check_budget("start in ms", median(times, 21) / 1000, 50);
}

/* The first run_code of a new server without a default sandbox, so that one is created, beside bare
 * Python. A model takes at least a second from the client's first message to its first call;
 * `pause_ms` stands for that. On a busy machine the minima say more than the medians. */
enum { FIRST_RUNS_MAX = 41 };

static void time_first_run(char *const argv[], const char *name, unsigned pause_ms, size_t rounds,
                           double budget)
{
	double ours[FIRST_RUNS_MAX], theirs[FIRST_RUNS_MAX];

	for (size_t i = 0; i < rounds; i++) {
		struct server server = start_server();
		double from;

		initialize(&server);
		(void)usleep(pause_ms * 1000);
		from = now_us();
		call_tool(&server, "run_code", "{\"code\":\"print(1)\"}");
		read_line(&server);
		ours[i] = now_us() - from;
		check_answer(&server, "1\\n");
		call_tool(&server, "delete_sandbox", "{\"sandbox\":\"default\"}");
		read_line(&server);
		stop_server(&server);
		theirs[i] = time_bare(argv);
	}
	print_ratio(name, median(ours, rounds), "python3 -c, bare", median(theirs, rounds), budget);
	(void)printf("  %-34s %8.2f ms  %-28s %8.2f ms  ratio %.2f\n", "  fastest of these",
	             ours[0] / 1000, "", theirs[0] / 1000, ours[0] / theirs[0]);
}

static double proportional_mib(pid_t pid)
{
	return (double)read_proc_kib(pid, "smaps_rollup", "Pss:") / 1024;
}

static void remove_state(void)
{
	int tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char *name = strrchr(state, '/') + 1;
	struct error err;
	uint64_t count;

	if (remove_tree(tmp, name, view_of(name), &count, &err) < 0)
		die(state, err.msg);
	(void)close(tmp);
}

int main(void)
{
	char *const python[] = { (char *)(size_t) "/usr/bin/python3", (char *)(size_t) "-c",
		                 (char *)(size_t) "print(1)", NULL };
	char *const nothing[] = { (char *)(size_t) "/bin/true", NULL };
	const struct comparison comparisons[] = {
		{ "run_code, fresh Python", "run_code", "{\"code\":\"print(1)\"}", "1\\n", python,
		  "python3 -c, bare", 0.4 },
		{ "run_code, session", "run_code", "{\"session\":\"s\",\"code\":\"print(1)\"}",
		  "1\\n", python, "python3 -c, bare", 0.1 },
		{ "run_command true", "run_command", "{\"argv\":[\"true\"]}", "exit_code", nothing,
		  "fork and exec of true", 2 },
	};
	size_t calls = setting("BENCH_CALLS", 200);
	struct server server;

	(void)signal(SIGPIPE, SIG_IGN);
	if (mkdtemp(state) == NULL || chmod(state, 0711) < 0)
		die("mkdtemp", "failed");
	(void)printf("Round trips over stdio, medians of %zu\n", calls);
	server = start_server();
	initialize(&server);
	for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++)
		time_comparison(&server, &comparisons[i], calls);
	time_without_pause(&server, calls, python);
	time_plot(&server);
	(void)printf("  %-34s %8.1f MiB  (budget 20)\n", "memory of the server",
	             proportional_mib(server.pid));
	check_budget("memory of the server in MiB", proportional_mib(server.pid), 20);
	stop_server(&server);
	time_start();
	time_first_run(python, "first run_code, 1 s after the start", 1000, 11, 1.5);
	time_first_run(python, "first run_code, at once", 0, FIRST_RUNS_MAX, 1.5);
	time_parallel_clients(calls / 4);
	if (missed != 0)
		(void)printf("%u budgets missed\n", missed);
	else
		(void)printf("All budgets kept\n");
	remove_state();
	return 0;
}
