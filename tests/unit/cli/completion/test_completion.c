#include "unit/cli/cli.h"

/* The output of a shell command, which must succeed. Static until the next call. */
static const char *shell(const char *command)
{
	static char text[16 * 1024];
	FILE *pipe = popen(command, "r");
	size_t len;

	assert_non_null(pipe);
	len = fread(text, 1, sizeof text - 1, pipe);
	text[len] = '\0';
	if (pclose(pipe) != 0)
		fail_msg("'%s' failed: %s", command, text);
	return text;
}

static bool has_program(const char *name)
{
	char command[64];

	(void)snprintf(command, sizeof command, "command -v %s >/dev/null", name);
	return system(command) == 0;
}

static void shells_accept_their_completion_scripts(void **state)
{
	static const char *const shells[] = { "bash", "zsh", "fish" };

	for (size_t i = 0; i < ARRAY_LEN(shells); i++) {
		const struct ran *ran = RUN("completion", shells[i]);
		char command[64];

		assert_int_equal(ran->status, 0);
		scratch_write("script", ran->out);
		(void)snprintf(command, sizeof command, "%s -n script 2>&1", shells[i]);
		if (!has_program(shells[i])) {
			print_message("# %s is not installed: its script is not checked\n",
			              shells[i]);
			continue;
		}
		assert_string_equal(shell(command), "");
	}
}

static void completion_leaves_out_hidden_verbs(void **state)
{
	static const char *const shells[] = { "bash", "zsh", "fish" };

	for (size_t i = 0; i < ARRAY_LEN(shells); i++)
		assert_null(strstr(RUN("completion", shells[i])->out, "generate "));
}

static void bash_completes_verbs_and_options(void **state)
{
	/* The words as bash cuts them; the last is being typed. */
	static const struct {
		const char *words, *want;
	} cases[] = {
		{ "belljar con", "connect\n" },
		{ "belljar ''",
		  "serve\nconnect\nrun\nexec\nshell\nps\nlogs\ncp\nport\nrm\nclient\ntoken\ndoctor\ncompletion\n"
		  "help\nversion\n" },
		{ "belljar --ver", "--version\n" },
		{ "belljar --log", "--log-level\n" },
		{ "belljar --log-level d", "debug\n" },
		{ "belljar connect ''",
		  "claude-code\nclaude-desktop\ncursor\nvscode\ngemini\ncodex\nwindsurf\nzed\n" },
		{ "belljar connect cl", "claude-code\nclaude-desktop\n" },
		{ "belljar connect --", "--write\n--name\n--file\n--http\n--token-env\n--help\n" },
		{ "belljar connect cursor --file my", "my file\nmyother\n" },
		/* the one operand is given */
		{ "belljar connect cursor ''",
		  "--write\n--name\n--file\n--http\n--token-env\n--help\n" },
		{ "belljar connect cursor cl", "" },
		{ "belljar connect --write cursor cl", "" },
		{ "belljar connect --name = x cursor cl", "" },
		{ "belljar completion bash ''", "--help\n" },
		/* what stands there is the value of an option */
		{ "belljar connect --name x cl", "claude-code\nclaude-desktop\n" },
		{ "belljar connect --name = x cl", "claude-code\nclaude-desktop\n" },
		{ "belljar connect --write cl", "claude-code\nclaude-desktop\n" },
		{ "belljar serve --log-level ''", "error\nwarning\ninfo\ndebug\n" },
		{ "belljar serve --log-level =", "error\nwarning\ninfo\ndebug\n" },
		{ "belljar serve --log-level = w", "warning\n" },
		{ "belljar serve --max-line 1", "" },
		{ "belljar doctor --", "--config\n--state-dir\n--one-id\n--no-cgroups\n--no-quota\n"
		                       "--require\n--engine\n--docker-host\n--docker-runtime\n"
		                       "--docker-root\n--json\n--help\n" },
		{ "belljar completion ''", "bash\nzsh\nfish\n" },
		{ "belljar client ''",
		  "tools\ncall\nprompts\nprompt\nresources\nread\ntour\nshell\n" },
		{ "belljar run --lang", "--language\n" },
		{ "belljar shell --timeo", "" },
		{ "belljar help ver", "version\n" },
		{ "belljar nonsense x", "" },
	};

	if (!has_program("bash"))
		SKIP_TEST("there is no bash");
	scratch_write("script", RUN("completion", "bash")->out);
	scratch_write("my file", "");
	scratch_write("myother", "");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char command[512];

		(void)snprintf(command, sizeof command,
		               "bash --norc -c '. ./script; COMP_WORDS=(\"$@\"); "
		               "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _belljar; "
		               "printf \"%%s\\n\" \"${COMPREPLY[@]}\" | grep . || :' - %s",
		               cases[i].words);
		assert_string_equal(shell(command), cases[i].want);
	}
}

static void fish_completes_verbs_and_options(void **state)
{
	static const struct {
		const char *line, *want;
	} cases[] = {
		{ "belljar con", "connect\n" },
		{ "belljar connect cl", "claude-code\nclaude-desktop\n" },
		{ "belljar connect cursor cl", "" },
		{ "belljar connect --name=x cursor cl", "" },
		{ "belljar connect --name x --write cl", "claude-code\nclaude-desktop\n" },
		{ "belljar completion ba", "bash\n" },
		{ "belljar completion bash ba", "" },
		{ "belljar serve --log-level d", "debug\n" },
		{ "belljar --log-level d", "debug\n" },
		{ "belljar doctor --j", "--json\n" },
	};

	if (!has_program("fish"))
		SKIP_TEST("there is no fish");
	scratch_write("script", RUN("completion", "fish")->out);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char command[256];

		(void)snprintf(command, sizeof command,
		               "fish -c 'source script; complete -C \"%s\"' | cut -f1",
		               cases[i].line);
		assert_string_equal(shell(command), cases[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_SCRATCH(shells_accept_their_completion_scripts),
		IN_SCRATCH(completion_leaves_out_hidden_verbs),
		IN_SCRATCH(bash_completes_verbs_and_options),
		IN_SCRATCH(fish_completes_verbs_and_options),
	};

	return RUN_TESTS("cli/completion", tests);
}
