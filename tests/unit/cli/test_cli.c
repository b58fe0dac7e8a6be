#include <stdbool.h>
#include <stdlib.h>

#include "cli/support/out.h"
#include "cli/verb.h"
#include "unit/cli/cli.h"
#include "json/json.h"

/* No line is longer than a terminal is wide, or ends in a blank. */
static void check_layout(const char *text)
{
	struct view rest = view_of(text), line;

	while (view_next_line(&rest, &line)) {
		if (line.len > 80 || (line.len != 0 && line.ptr[line.len - 1] == ' '))
			fail_msg("bad line: '%.*s'", (int)line.len, line.ptr);
	}
}

static void wrong_arguments_exit_with_2_and_a_hint(void **state)
{
	static const struct {
		const char *args[5], *err;
	} cases[] = {
		{ { "conect" },
		  "belljar: unknown verb 'conect'; did you mean 'connect'?\nTry 'belljar "
		  "help'.\n" },
		{ { "x\x1b[2J" }, "belljar: unknown verb 'x\\x1b[2J'\nTry 'belljar help'.\n" },
		{ { "" }, "belljar: unknown verb ''\nTry 'belljar help'.\n" },
		{ { "doctor", "--jsn" },
		  "belljar: unknown option '--jsn'; did you mean '--json'?\n"
		  "Try 'belljar help doctor'.\n" },
		{ { "--max-lin", "5" },
		  "belljar: unknown option '--max-lin'; did you mean '--max-line'?\n"
		  "Try 'belljar help serve'.\n" },
		{ { "--log-level", "debug", "doctor" },
		  "belljar: unexpected argument 'doctor'; a verb comes first\n"
		  "Try 'belljar help serve'.\n" },
		{ { "serve", "x" },
		  "belljar: serve: unexpected argument 'x'\nTry 'belljar help serve'.\n" },
		{ { "serve", "--config", "/nonexistent" },
		  "belljar: configuration: open '/nonexistent': No such file or directory\n"
		  "Try 'belljar help serve'.\n" },
		{ { "completion" },
		  "belljar: completion: the SHELL is missing\nTry 'belljar help completion'.\n" },
		{ { "connect", "claude" },
		  "belljar: connect: unknown CLIENT 'claude'; did you mean 'claude-code'?\n"
		  "Try 'belljar help connect'.\n" },
		{ { "completion", "bsh" },
		  "belljar: completion: unknown SHELL 'bsh'; did you mean 'bash'?\n"
		  "Try 'belljar help completion'.\n" },
		{ { "completion", "powershell" },
		  "belljar: completion: unknown SHELL 'powershell'; expected one of bash, zsh, "
		  "fish\n"
		  "Try 'belljar help completion'.\n" },
		{ { "help", "serve", "x" },
		  "belljar: help: unexpected argument 'x'\nTry 'belljar help help'.\n" },
		{ { "version", "--json" },
		  "belljar: unknown option '--json'\nTry 'belljar help version'.\n" },
		{ { "generate" },
		  "belljar: generate: the SECTION is missing\nTry 'belljar help'.\n" },
		{ { "connect", "--write" },
		  "belljar: connect: --write needs a CLIENT\nTry 'belljar help connect'.\n" },
		{ { "connect", "--file=x" },
		  "belljar: connect: --file needs a CLIENT\nTry 'belljar help connect'.\n" },
		{ { "run" }, "belljar: run: the FILE is missing\nTry 'belljar help run'.\n" },
		{ { "logs", "a", "b" },
		  "belljar: logs: unexpected argument 'b'\nTry 'belljar help logs'.\n" },
		{ { "client", "cal" },
		  "belljar: client: unknown ACTION 'cal'; did you mean 'call'?\n"
		  "Try 'belljar help client'.\n" },
		{ { "client", "call" },
		  "belljar: client call: the TOOL is missing\nTry 'belljar help client'.\n" },
		{ { "client", "tools", "x" },
		  "belljar: client tools: unexpected argument 'x'\n"
		  "Try 'belljar help client'.\n" },
		{ { "client", "call", "t", "[]" },
		  "belljar: arguments: expected an object, such as '{\"seconds\": 1}'\n"
		  "Try 'belljar help client'.\n" },
		{ { "client", "--json" },
		  "belljar: client: --json is for an action, such as call\n"
		  "Try 'belljar help client'.\n" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct ran *ran = run_list(cases[i].args);

		assert_string_equal(ran->err, cases[i].err);
		assert_string_equal(ran->out, "");
		assert_int_equal(ran->status, 2);
	}
}

static void version_names_the_mcp_revisions(void **state)
{
	static const char *const spellings[] = { "version", "--version" };

	for (size_t i = 0; i < ARRAY_LEN(spellings); i++) {
		const struct ran *ran = RUN(spellings[i]);

		assert_string_equal(ran->out,
		                    "belljar " BELLJAR_VERSION " (MCP 2024-11-05 to 2026-07-28)\n");
		assert_int_equal(ran->status, 0);
	}
}

static void short_help_lists_the_verbs(void **state)
{
	static const char *const spellings[] = { "help", "--help", "-h" };
	const char *name;

	for (size_t i = 0; i < ARRAY_LEN(spellings); i++) {
		const struct ran *ran = RUN(spellings[i]);

		assert_int_equal(ran->status, 0);
		assert_string_equal(ran->err, "");
		check_layout(ran->out);
		CHECK_HAS(ran->out, "usage: belljar [VERB] [OPTION...]\n");
		for (size_t j = 0; (name = verb_name_at(j)) != NULL; j++)
			CHECK_HAS(ran->out, name);
		assert_null(strstr(ran->out, "generate"));
	}
}

static void verb_help_is_printed_in_three_ways(void **state)
{
	const char *name;

	for (size_t i = 0; (name = verb_name_at(i)) != NULL; i++) {
		char *first = strdup(RUN("help", name)->out);
		const struct ran *ran;
		char usage[64];

		check_layout(first);
		(void)snprintf(usage, sizeof usage, "usage: belljar %s", name);
		assert_memory_equal(first, usage, strlen(usage));
		ran = RUN(name, "--help");
		assert_string_equal(ran->out, first);
		assert_int_equal(ran->status, 0);
		assert_string_equal(RUN(name, "-h")->out, first);
		assert_string_equal(RUN("--help", name)->out, first);
		free(first);
	}
}

static void serve_help_shows_ranges_defaults_and_sources(void **state)
{
	const char *text = RUN("help", "serve")->out;

	CHECK_HAS(text,
	          "  --max-line SIZE         Longest message a client may send, in bytes (1K to\n"
	          "                          64M; default 10M).\n");
	CHECK_HAS(text, "(one of error,\n                          warning, info, debug; default "
	                "warning).\n");
	CHECK_HAS(text, "BELLJAR_LOG_LEVEL for --log-level");
	CHECK_HAS(text, "/etc/belljar/belljar.json");
	CHECK_HAS(text, "Examples:\n  belljar serve\n");
}

static void help_names_environment_variables(void **state)
{
	CHECK_HAS(RUN("help", "doctor")->out, "\nEach option but --json is also an environment");
	assert_null(strstr(RUN("help", "connect")->out, "is also an environment"));
	CHECK_HAS(RUN("help", "serve")->out,
	          "Each option but --allow-unauthenticated-network is also");
}

static void help_names_only_options_of_the_verb(void **state)
{
	CHECK_HAS(RUN("help", "exec")->out, "usage: belljar exec [OPTION...] PROGRAM [ARG...]\n");
	CHECK_HAS(RUN("help", "exec")->out, "All but --config, --sandbox");
	CHECK_HAS(RUN("help", "exec")->out,
	          "Each option but --sandbox, --user, --timeout, --terminal is also");
	CHECK_HAS(RUN("help", "run")->out, "usage: belljar run [OPTION...] FILE [ARG...]\n");
	CHECK_HAS(RUN("help", "rm")->out, "usage: belljar rm [OPTION...] SANDBOX [SANDBOX...]\n");
	CHECK_HAS(RUN("help", "cp")->out, "usage: belljar cp [OPTION...] SOURCE TARGET\n");
	CHECK_HAS(RUN("help", "connect")->out,
	          "usage: belljar connect [OPTION...] [CLIENT] [-- OPTION...]\n");
	CHECK_HAS(RUN("help", "run")->out, "  --language NAME");
	CHECK_HAS(RUN("help", "shell")->out, "usage: belljar shell [OPTION...] [SANDBOX]\n");
	assert_null(strstr(RUN("help", "shell")->out, "--timeout"));
	CHECK_HAS(RUN("help", "client")->out,
	          "ACTION is one of: tools, call, prompts, prompt, resources, read, tour, "
	          "shell\n");
	CHECK_HAS(RUN("help", "ps")->out, "--json");
	assert_null(strstr(RUN("help", "ps")->out, "--config"));
	assert_null(strstr(RUN("help", "rm")->out, "--config"));
	assert_int_equal(RUN("rm", "--json", "x")->status, 2);
}

static void run_refuses_code_of_unknown_language(void **state)
{
	static const struct {
		const char *args[4], *err;
	} cases[] = {
		{ { "run", "-" },
		  "belljar: code from standard input has no file name that tells its language; give "
		  "--language, one of python, javascript, " },
		{ { "run", "/dev/null" },
		  "belljar: '/dev/null': neither the file name nor a first line such as #!/bin/sh "
		  "tells the language; give --language, one of python, " },
		{ { "run", "--language", "klingon", "x.py" },
		  "belljar: --language: 'klingon' is none of python, javascript, " },
		/* --nonsense is an argument of the code. */
		{ { "run", "-", "--nonsense" },
		  "belljar: code from standard input has no file name" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct ran *ran = run_list(cases[i].args);

		if (strncmp(ran->err, cases[i].err, strlen(cases[i].err)) != 0)
			fail_msg("%s", ran->err);
		assert_int_equal(ran->status, 2);
	}
	assert_string_equal(RUN("run", "/nonexistent/x.py")->err,
	                    "belljar: '/nonexistent/x.py': No such file or directory\n");
}

static void run_refuses_a_file_over_5_mib(void **state)
{
	static char code[5 * 1024 * 1024 + 2];

	memset(code, '#', sizeof code - 1);
	scratch_write("x.py", code);
	assert_string_equal(
	        RUN("run", "x.py")->err,
	        "belljar: 'x.py': code may have at most 5 MiB; copy data into a sandbox with "
	        "'belljar cp'\n");
	assert_int_equal(RUN("run", "x.py")->status, 1);
}

static void shell_needs_a_terminal(void **state)
{
	assert_string_equal(RUN("shell")->err,
	                    "belljar: shell: standard input and output must be a terminal; "
	                    "use 'belljar exec' to run a program without one\n"
	                    "Try 'belljar help shell'.\n");
}

/* Runs in a child process, because records_open() gives up its privileges. */
static void unreadable_state_directory_is_an_error(void **state)
{
	int ended = -1;
	pid_t child;

	scratch_write("file", "");
	assert_int_equal(chmod(scratch_path, 0755), 0);
	child = fork();
	if (child == 0) {
		const struct ran *ran = RUN("ps", "--state-dir", "file");

		_exit(ran->status == 1 && strstr(ran->err, "/file' is not a directory\n") != NULL
		              ? 0
		              : 1);
	}
	assert_int_equal(waitpid(child, &ended, 0), child);
	assert_int_equal(ended, 0);
}

static void help_ignores_a_broken_environment(void **state)
{
	assert_int_equal(setenv("BELLJAR_NONSENSE", "1", 1), 0);
	assert_int_equal(RUN("help", "serve")->status, 0);
	assert_int_equal(RUN("serve", "--help")->status, 0);
	assert_int_equal(RUN("version")->status, 0);
	assert_int_equal(RUN("connect")->status, 2);
	assert_int_equal(unsetenv("BELLJAR_NONSENSE"), 0);
}

static void terminal_without_a_verb_prints_the_help(void **state)
{
	static const char *const none[] = { NULL };
	int terminal = posix_openpt(O_RDWR | O_NOCTTY), saved = dup(STDIN_FILENO), slave;
	const struct ran *ran;

	assert_true(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
	slave = open(ptsname(terminal), O_RDWR | O_NOCTTY);
	assert_true(slave >= 0 && dup2(slave, STDIN_FILENO) == 0);
	ran = run_list(none);
	(void)dup2(saved, STDIN_FILENO);
	(void)close(saved);
	(void)close(slave);
	(void)close(terminal);
	assert_int_equal(ran->status, 0);
	CHECK_HAS(ran->out, "usage: belljar [VERB]");
}

static void write_error_on_stdout_is_a_failure(void **state)
{
	char *argv[] = { (char[]){ "belljar" }, (char[]){ "version" }, NULL };
	int full = open("/dev/full", O_WRONLY), saved = dup(STDOUT_FILENO), status;
	char text[256];
	struct stderr_capture c;

	(void)fflush(stdout);
	assert_true(full >= 0 && dup2(full, STDOUT_FILENO) >= 0);
	stderr_capture_start(&c);
	status = cli_run(argv, environ);
	(void)stderr_capture_end(&c, text, sizeof text);
	(void)dup2(saved, STDOUT_FILENO);
	(void)close(saved);
	(void)close(full);
	clearerr(stdout);
	assert_int_equal(status, 1);
	assert_string_equal(text, "belljar: write to standard output: No space left on device\n");
}

/* doctor starts the engine in a state directory of the test. As root the server runs under another
 * uid, so the directory is open to it. */
static void keep_state_here(void)
{
	char state[100];

	(void)snprintf(state, sizeof state, "%s/state", scratch_path);
	assert_int_equal(chmod(scratch_path, 0711), 0);
	assert_int_equal(setenv("BELLJAR_STATE_DIR", state, 1), 0);
}

static void doctor_json_has_the_documented_members(void **state)
{
	static const struct json_limits limits = { .depth = 3, .values = 500 };
	AUTO_JSON json_t *report = NULL;
	const json_t *checks, *check;
	struct error err;
	size_t i;

	keep_state_here();
	CHECK_OK(json_read(view_of(RUN("doctor", "--json")->out), &limits, &report, NULL, &err),
	         err);
	checks = json_object_get(report, "checks");
	assert_int_equal(json_object_size(report), 1);
	assert_in_range(json_array_size(checks), 25, 100);
	json_array_foreach (checks, i, check) {
		const char *status = json_text(check, "status");
		bool on = strcmp(status, "on") == 0;

		assert_true(on || strcmp(status, "weaker") == 0 || strcmp(status, "off") == 0);
		assert_true(json_text(check, "name")[0] != '\0');
		assert_true(json_text(check, "detail")[0] != '\0');
		assert_int_equal(on, !json_has(check, "fix"));
		assert_int_equal(json_object_size(check), on ? 3 : 4);
	}
	assert_int_equal(unsetenv("BELLJAR_STATE_DIR"), 0);
}

static void doctor_prints_lines_or_json(void **state)
{
	const struct ran *ran;

	keep_state_here();
	ran = RUN("doctor");
	assert_int_equal(ran->status, 0);
	check_layout(ran->out);
	CHECK_HAS(ran->out, "  kernel            Linux ");
	CHECK_HAS(ran->out, "on      configuration     no file; the defaults apply\n");
	ran = RUN("doctor", "--json");
	assert_int_equal(ran->status, 0);
	assert_memory_equal(ran->out, "{\"checks\":[{\"name\":\"kernel\",\"status\":\"", 38);
	ran = RUN("doctor", "--config", "/nonexistent");
	assert_int_equal(ran->status, 0);
	CHECK_HAS(ran->out,
	          "off     configuration     open '/nonexistent': No such file or directory\n");
	CHECK_HAS(ran->out, "What would help:\n");
	CHECK_HAS(ran->out, "    create it, or name another with --config\n");
	assert_int_equal(setenv("DOCKER_HOST", "tcp://h", 1), 0);
	CHECK_HAS(RUN("doctor")->out, "\nweaker  docker            DOCKER_HOST is 'tcp://h'");
	assert_int_equal(unsetenv("DOCKER_HOST"), 0);
	CHECK_HAS(RUN("help", "doctor")->out, "weaker (it works");
	ran = RUN("doctor", "--no-cgroups", "--require", "cgroups");
	assert_int_equal(ran->status, 1);
	CHECK_HAS(ran->out, "  kernel            Linux ");
	ran = RUN("doctor", "--require", "x");
	assert_int_equal(ran->status, 2);
	assert_string_equal(ran->out, "");
	assert_int_equal(unsetenv("BELLJAR_STATE_DIR"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_SCRATCH(wrong_arguments_exit_with_2_and_a_hint),
		IN_SCRATCH(version_names_the_mcp_revisions),
		IN_SCRATCH(short_help_lists_the_verbs),
		IN_SCRATCH(verb_help_is_printed_in_three_ways),
		IN_SCRATCH(serve_help_shows_ranges_defaults_and_sources),
		IN_SCRATCH(help_names_environment_variables),
		IN_SCRATCH(help_ignores_a_broken_environment),
		IN_SCRATCH(help_names_only_options_of_the_verb),
		IN_SCRATCH(run_refuses_code_of_unknown_language),
		IN_SCRATCH(run_refuses_a_file_over_5_mib),
		IN_SCRATCH(shell_needs_a_terminal),
		IN_SCRATCH(unreadable_state_directory_is_an_error),
		IN_SCRATCH(terminal_without_a_verb_prints_the_help),
		IN_SCRATCH(write_error_on_stdout_is_a_failure),
		IN_SCRATCH(doctor_json_has_the_documented_members),
		IN_SCRATCH(doctor_prints_lines_or_json),
	};

	return RUN_TESTS("cli/run", tests);
}
