#include "server/options/options.h"
#include "unit/scratch.h"

#define ARGS(...)                                                                                  \
	(char *const[])                                                                            \
	{                                                                                          \
		__VA_ARGS__, NULL                                                                  \
	}
#define NO_FLAGS                                                                                   \
	(const char *const[OPTION_COUNT])                                                          \
	{                                                                                          \
		0                                                                                  \
	}

static char *const empty[] = { NULL };
static struct error err;

/* Writable copies, as argv's strings are. */
#define A(text) ((char[]){ text })

static void table_row_is_complete(void **state)
{
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		const struct option_spec *spec = &option_specs[i];

		assert_non_null(spec->name);
		assert_non_null(spec->help);
		assert_true(spec->help[strlen(spec->help) - 1] == '.');
		assert_true(spec->verbs != 0);
		assert_int_equal(spec->type == OPTION_TYPE_FLAG, spec->word == NULL);
		assert_int_equal(spec->type == OPTION_TYPE_CHOICE, spec->choices != NULL);
		assert_int_equal(spec->type == OPTION_TYPE_TEXT, spec->expected != NULL);
		for (size_t j = 0; j < i; j++) {
			/* Two options of one name belong to different verbs, and only one of them
			 * has a variable. */
			if ((spec->verbs & option_specs[j].verbs) != 0 ||
			    (!spec->flag_only && !option_specs[j].flag_only))
				assert_string_not_equal(spec->name, option_specs[j].name);
			assert_true(spec->offset != option_specs[j].offset);
		}
	}
}

static void variable_of_older_servers_is_understood(void **state)
{
	char *const on[] = { A("MCP_SSE_MODE=True"), NULL };
	char *const both[] = { A("BELLJAR_SSE=false"), A("MCP_SSE_MODE=true"), NULL };
	char *const wrong[] = { A("MCP_SSE_MODE=maybe"), NULL };
	struct options options;

	CHECK_OK(options_load(&options, FOR_SERVE, NO_FLAGS, on, &err), err);
	assert_true(options.sse);
	options_done(&options);
	CHECK_OK(options_load(&options, FOR_SERVE, NO_FLAGS, both, &err), err);
	assert_false(options.sse);
	options_done(&options);
	CHECK_ERROR(options_load(&options, FOR_SERVE, NO_FLAGS, wrong, &err), err, ERR_INVALID,
	            "MCP_SSE_MODE: expected true or false, got 'maybe'");
	CHECK_OK(options_load(&options, FOR_EXEC, NO_FLAGS, wrong, &err), err);
	options_done(&options);
}

static void settings_of_profiles_hold_where_they_are_served(void **state)
{
	const char *http[OPTION_COUNT] = { [OPTION_HTTP] = "127.0.0.1:0" };
	const char *chosen[OPTION_COUNT] = { [OPTION_PROFILE] = "code-sandbox" };
	char *const environment[] = { A("MCP_TOOLS_PATH=/opt/tools"), NULL };
	struct options options;

	CHECK_OK(options_load(&options, FOR_SERVE, NO_FLAGS, environment, &err), err);
	assert_null(options.tools_dir);
	assert_null(options.images);
	options_done(&options);
	CHECK_OK(options_load(&options, FOR_SERVE, chosen, environment, &err), err);
	assert_null(options.tools_dir);
	assert_string_equal(options.images, "python:3.9-slim");
	assert_string_equal(options.gpu, "auto");
	options_done(&options);
	CHECK_OK(options_load(&options, FOR_SERVE, http, environment, &err), err);
	assert_string_equal(options.tools_dir, "/opt/tools");
	assert_string_equal(options.images, "python:3-slim,alpine:latest,python:3-alpine,"
	                                    "python:3-slim,python:3.9-slim");
	assert_string_not_equal(options.gpu, "auto");
	options_done(&options);
}

static void certificate_needs_its_key(void **state)
{
	const char *flags[OPTION_COUNT] = { [OPTION_TLS_CERT] = "cert.pem" };
	struct options options;

	CHECK_ERROR(options_load(&options, FOR_SERVE, flags, empty, &err), err, ERR_INVALID,
	            "tls-cert and tls-key belong together: give tls-key as well");
}

static void option_name_is_converted_per_source(void **state)
{
	char name[OPTION_NAME_SIZE];

	assert_string_equal(option_variable(&option_specs[OPTION_MAX_LINE], name),
	                    "BELLJAR_MAX_LINE");
	assert_string_equal(option_key(&option_specs[OPTION_MAX_LINE], name), "max_line");
}

static void defaults_are_the_documented_ones(void **state)
{
	struct options options;

	CHECK_OK(options_load(&options, FOR_SERVE, NO_FLAGS, empty, &err), err);
	assert_null(options.config);
	assert_int_equal(options.log_level, LOG_WARNING);
	assert_int_equal(options.max_line, 10485760);
	assert_int_equal(options.max_depth, 64);
	assert_int_equal(options.max_values, 200000);
	assert_int_equal(options.max_batch, 100);
	assert_int_equal(options.max_calls, 256);
	assert_int_equal(options.max_held, 67108864);
	assert_int_equal(options.max_subscriptions, 1000);
	assert_int_equal(options.max_queue, 67108864);
	assert_int_equal(options.page_size, 100);
	assert_int_equal(options.grace_ms, 2000);
	assert_false(options.json);
	assert_false(options.write);
	assert_string_equal(options.name, "belljar");
	assert_null(options.file);
	options_done(&options);
}

static void flags_are_separated_from_operands(void **state)
{
	char *const list[] = { A("one"), A("--write"), A("--name"),  A("n"),  A("--file=f"),
		               A("-"),   A("--"),      A("--write"), A("-h"), NULL };
	struct option_args args;

	CHECK_OK(options_parse_args(&args, FOR_CONNECT, list, &err), err);
	assert_string_equal(args.flags[OPTION_WRITE], "true");
	assert_string_equal(args.flags[OPTION_NAME], "n");
	assert_string_equal(args.flags[OPTION_FILE], "f");
	assert_null(args.flags[OPTION_JSON]);
	assert_false(args.help);
	assert_int_equal(args.operand_count, 4);
	assert_string_equal(args.operands[0], "one");
	assert_string_equal(args.operands[1], "-");
	assert_string_equal(args.operands[2], "--write");
	assert_string_equal(args.operands[3], "-h");
	assert_null(args.operands[4]);
	option_args_done(&args);
}

static void last_of_two_equal_flags_wins(void **state)
{
	char *const list[] = { A("--grace=1"), A("--grace"), A("2"), A("--grace=3=4"), NULL };
	struct option_args args;

	CHECK_OK(options_parse_args(&args, FOR_SERVE, list, &err), err);
	assert_string_equal(args.flags[OPTION_GRACE], "3=4");
	option_args_done(&args);
}

static void repeated_list_flag_adds_to_the_list(void **state)
{
	char *const list[] = {
		A("--allow-path=/a"), A("--allow-path"),    A("/b:/c"), A("--mounts=/d:/e"),
		A("--mounts=/f:/g"),  A("--allow-path=/h"), NULL
	};
	struct option_args args;

	CHECK_OK(options_parse_args(&args, FOR_SERVE, list, &err), err);
	assert_string_equal(args.flags[OPTION_ALLOW_PATH], "/a:/b:/c:/h");
	assert_string_equal(args.flags[OPTION_MOUNTS], "/d:/e,/f:/g");
	option_args_done(&args);
}

static void terminal_flag_has_a_short_form(void **state)
{
	char *const list[] = { A("-t"), A("vim"), A("-t"), NULL };
	struct option_args args;

	CHECK_OK(options_parse_args(&args, FOR_EXEC, list, &err), err);
	assert_string_equal(args.flags[OPTION_TERMINAL], "true");
	assert_int_equal(args.operand_count, 2);
	option_args_done(&args);
	CHECK_ERROR(options_parse_args(&args, FOR_SERVE, list, &err), err, ERR_INVALID,
	            "unknown option '-t'");
}

static void every_verb_accepts_help(void **state)
{
	char *const spellings[] = { (char[]){ "--help" }, (char[]){ "-h" } };

	for (size_t i = 0; i < ARRAY_LEN(spellings); i++) {
		struct option_args args;

		CHECK_OK(options_parse_args(&args, 0, ARGS(spellings[i]), &err), err);
		assert_true(args.help);
		option_args_done(&args);
	}
}

static void invalid_argument_is_refused_with_the_reason(void **state)
{
	static const struct {
		unsigned verb;
		const char *args[3], *why;
	} cases[] = {
		{ FOR_SERVE,
		  { "--max-lin", "5" },
		  "unknown option '--max-lin'; did you mean '--max-line'?" },
		{ FOR_SERVE,
		  { "--max_line=5" },
		  "unknown option '--max_line'; did you mean '--max-line'?" },
		{ FOR_SERVE, { "--json" }, "unknown option '--json'" },
		{ FOR_CONNECT,
		  { "--allow-path", "/x" },
		  "--allow-path is an option of the server: give it behind --, as in 'belljar connect "
		  "CLIENT -- --allow-path ...'" },
		{ FOR_SERVE, { "--zzzzzzzz" }, "unknown option '--zzzzzzzz'" },
		{ FOR_SERVE, { "--=x" }, "unknown option '--'" },
		{ FOR_SERVE, { "--a\nb" }, "unknown option '--a\\nb'" },
		{ FOR_SERVE, { "-x" }, "unknown option '-x'" },
		{ FOR_SERVE, { "-\x1b[2J" }, "unknown option '-\\x1b[2J'" },
		{ 0, { "--config=x" }, "unknown option '--config'" },
		{ FOR_DOCTOR, { "--json=1" }, "--json takes no value" },
		{ FOR_SERVE, { "--grace" }, "--grace needs a value: --grace MS" },
		{ FOR_SERVE, { "--grace", "--", "5" }, "--grace needs a value: --grace MS" },
		{ FOR_SERVE, { "--config", "--grace=1" }, "--config needs a value: --config FILE" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct option_args args = { .operand_count = 7 };
		char *list[4] = { 0 };

		for (size_t j = 0; j < 3 && cases[i].args[j] != NULL; j++)
			list[j] = strdup(cases[i].args[j]);
		CHECK_ERROR(options_parse_args(&args, cases[i].verb, list, &err), err, ERR_INVALID,
		            cases[i].why);
		assert_int_equal(args.operand_count, 7);
		for (size_t j = 0; j < 3; j++)
			free(list[j]);
	}
}

static void value_is_read_by_its_type(void **state)
{
	const char *flags[OPTION_COUNT] = {
		[OPTION_LOG_LEVEL] = "debug",
		[OPTION_MAX_LINE] = "64K",
		[OPTION_MAX_QUEUE] = "1G",
		[OPTION_GRACE] = "0",
	};
	struct options options;

	CHECK_OK(options_load(&options, FOR_SERVE, flags, empty, &err), err);
	assert_int_equal(options.log_level, LOG_DEBUG);
	assert_int_equal(options.max_line, 65536);
	assert_int_equal(options.max_queue, 1073741824);
	assert_int_equal(options.grace_ms, 0);
	options_done(&options);
}

static void invalid_value_names_the_flag_and_the_limit(void **state)
{
	static const struct {
		enum option_id id;
		const char *value, *why;
	} cases[] = {
		{ OPTION_LOG_LEVEL, "warn",
		  "--log-level: expected one of error, warning, info, debug, got 'warn'" },
		{ OPTION_LOG_LEVEL, "",
		  "--log-level: expected one of error, warning, info, debug, got ''" },
		{ OPTION_MAX_LINE, "1023",
		  "--max-line: expected a size in bytes (K, M or G may follow) from 1K to 64M, got "
		  "'1023'" },
		{ OPTION_MAX_LINE, "65M",
		  "--max-line: expected a size in bytes (K, M or G may follow) from 1K to 64M, got "
		  "'65M'" },
		{ OPTION_MAX_QUEUE, "2T",
		  "--max-queue: expected a size in bytes (K, M or G may follow) from 1M to 1G, got "
		  "'2T'" },
		{ OPTION_MAX_DEPTH, "7",
		  "--max-depth: expected a whole number from 8 to 512, got '7'" },
		{ OPTION_MAX_DEPTH, "-9",
		  "--max-depth: expected a whole number from 8 to 512, got '-9'" },
		{ OPTION_MAX_DEPTH, "1K",
		  "--max-depth: expected a whole number from 8 to 512, got '1K'" },
		{ OPTION_GRACE, "99999999999999999999",
		  "--grace: expected a whole number from 0 to 60000, got '99999999999999999999'" },
		{ OPTION_CONFIG, "", "--config: expected a path of 1 to 4095 bytes, got ''" },
		{ OPTION_NAME, "a.b",
		  "--name: expected 1 to 32 letters, digits, '_' or '-', got 'a.b'" },
		{ OPTION_NAME, "", "--name: expected 1 to 32 letters, digits, '_' or '-', got ''" },
		{ OPTION_NAME, "abcdefghijklmnopqrstuvwxyz0123456",
		  "--name: expected 1 to 32 letters, digits, '_' or '-', got "
		  "'abcdefghijklmnopqrstuvwxyz0123456'" },
		{ OPTION_NAME, "a\nb",
		  "--name: expected 1 to 32 letters, digits, '_' or '-', got 'a\\nb'" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *flags[OPTION_COUNT] = { 0 };
		struct options options = { .max_line = 7 };

		flags[cases[i].id] = cases[i].value;
		CHECK_ERROR(
		        options_load(&options, option_specs[cases[i].id].verbs, flags, empty, &err),
		        err, ERR_INVALID, cases[i].why);
		assert_int_equal(options.max_line, 7);
	}
}

static void overlong_path_is_refused(void **state)
{
	char path[5000];
	const char *flags[OPTION_COUNT] = { [OPTION_FILE] = path };
	struct options options;

	memset(path, 'x', sizeof path);
	path[4096] = '\0';
	assert_int_equal(options_load(&options, FOR_CONNECT, flags, empty, &err), -1);
	assert_non_null(strstr(err.msg, "--file: expected a path of 1 to 4095 bytes, got 'xxx"));
	path[4095] = '\0';
	CHECK_OK(options_load(&options, FOR_CONNECT, flags, empty, &err), err);
	assert_string_equal(options.file, path);
	options_done(&options);
}

static void environment_is_read(void **state)
{
	struct options options;

	CHECK_OK(options_load(&options, FOR_SERVE, NO_FLAGS,
	                      ARGS(A("HOME=/x"), A("BELLJAR_MAX_LINE=2K"),
	                           A("BELLJAR_LOG_LEVEL=info"), A("BELLJAR"), A("BELLJARX=1")),
	                      &err),
	         err);
	assert_int_equal(options.max_line, 2048);
	assert_int_equal(options.log_level, LOG_INFO);
	options_done(&options);
}

/* A variable left over from earlier must not make a plain `connect` edit a file. */
static void flag_only_options_are_not_read_from_the_environment(void **state)
{
	static const struct {
		unsigned verb;
		const char *name;
	} cases[] = {
		{ FOR_CONNECT, "BELLJAR_WRITE" }, { FOR_CONNECT, "BELLJAR_NAME" },
		{ FOR_CONNECT, "BELLJAR_FILE" },  { FOR_DOCTOR, "BELLJAR_JSON" },
		{ FOR_SERVE, "BELLJAR_WRITE" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct options options = { .max_line = 7 };
		char variable[32], why[160];

		(void)snprintf(variable, sizeof variable, "%s=1", cases[i].name);
		(void)snprintf(why, sizeof why, "unknown environment variable '%s'; ",
		               cases[i].name);
		assert_int_equal(
		        options_load(&options, cases[i].verb, NO_FLAGS, ARGS(variable), &err), -1);
		assert_int_equal(err.kind, ERR_INVALID);
		assert_ptr_equal(strstr(err.msg, why), err.msg);
		assert_int_equal(options.max_line, 7);
	}
}

static void invalid_variable_is_refused_with_the_reason(void **state)
{
	static const struct {
		unsigned verb;
		const char *variable, *why;
	} cases[] = {
		{ FOR_SERVE, "BELLJAR_MAX_LIN=1",
		  "unknown environment variable 'BELLJAR_MAX_LIN'; did you mean "
		  "'BELLJAR_MAX_LINE'?" },
		{ FOR_SERVE, "BELLJAR_=1",
		  "unknown environment variable 'BELLJAR_'; unset it (names that start with "
		  "BELLJAR_ are reserved for belljar's options)" },
		{ FOR_CONNECT, "BELLJAR_X\nY=1",
		  "unknown environment variable 'BELLJAR_X\\nY'; unset it (names that start with "
		  "BELLJAR_ are reserved for belljar's options)" },
		{ FOR_SERVE, "BELLJAR_MAX_DEPTH=",
		  "BELLJAR_MAX_DEPTH: expected a whole number from 8 to 512, got ''" },
		/* similar to other names only by the common prefix */
		{ FOR_SERVE, "BELLJAR_FOO=1",
		  "unknown environment variable 'BELLJAR_FOO'; unset it (names that start with "
		  "BELLJAR_ are reserved for belljar's options)" },
		{ FOR_SERVE, "BELLJAR_MAX_SUB=1",
		  "unknown environment variable 'BELLJAR_MAX_SUB'; did you mean "
		  "'BELLJAR_MAX_SUBSCRIPTIONS'?" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct options options = { .max_line = 7 };
		char *variable = strdup(cases[i].variable);

		CHECK_ERROR(options_load(&options, cases[i].verb, NO_FLAGS, ARGS(variable), &err),
		            err, ERR_INVALID, cases[i].why);
		assert_int_equal(options.max_line, 7);
		free(variable);
	}
}

static void variables_of_other_verbs_are_ignored(void **state)
{
	struct options options;

	CHECK_OK(options_load(&options, FOR_CONNECT, NO_FLAGS,
	                      ARGS(A("BELLJAR_MAX_LINE=maybe"), A("BELLJAR_CONFIG=/nonexistent")),
	                      &err),
	         err);
	options_done(&options);
}

static void flag_wins_over_environment_over_file_over_default(void **state)
{
	const char *flags[OPTION_COUNT] = { [OPTION_CONFIG] = "c.json", [OPTION_MAX_CALLS] = "4" };
	struct options options;

	scratch_write("c.json", "{\"max_calls\":2,\"max_batch\":2,\"max_depth\":10}");
	CHECK_OK(options_load(&options, FOR_SERVE, flags,
	                      ARGS(A("BELLJAR_MAX_CALLS=3"), A("BELLJAR_MAX_BATCH=3"),
	                           A("BELLJAR_CONFIG=/nonexistent")),
	                      &err),
	         err);
	assert_string_equal(options.config, "c.json");
	assert_int_equal(options.max_calls, 4);
	assert_int_equal(options.max_batch, 3);
	assert_int_equal(options.max_depth, 10);
	assert_int_equal(options.page_size, 100);
	options_done(&options);
}

static void invalid_variable_is_refused_even_if_a_flag_wins(void **state)
{
	const char *flags[OPTION_COUNT] = { [OPTION_MAX_CALLS] = "4" };
	struct options options;

	CHECK_ERROR(options_load(&options, FOR_SERVE, flags, ARGS(A("BELLJAR_MAX_CALLS=x")), &err),
	            err, ERR_INVALID,
	            "BELLJAR_MAX_CALLS: expected a whole number from 1 to 10000, got 'x'");
}

static void environment_may_name_the_file(void **state)
{
	struct options options;

	scratch_write("c.json", "{\"max_calls\":2}");
	CHECK_OK(
	        options_load(&options, FOR_SERVE, NO_FLAGS, ARGS(A("BELLJAR_CONFIG=c.json")), &err),
	        err);
	assert_int_equal(options.max_calls, 2);
	options_done(&options);
}

static void doctor_does_not_read_the_file(void **state)
{
	const char *flags[OPTION_COUNT] = { [OPTION_CONFIG] = "/nonexistent" };
	struct options options;

	CHECK_OK(options_load(&options, FOR_DOCTOR, flags, empty, &err), err);
	assert_string_equal(options.config, "/nonexistent");
	options_done(&options);
}

static void limit_options_match_the_limits_of_a_sandbox(void **state)
{
	const size_t limits = offsetof(struct options, limits);
	struct spec wanted = spec_default();
	struct options options;

	CHECK_OK(options_load(&options, FOR_EXEC, NO_FLAGS, empty, &err), err);
	assert_memory_equal(&options.limits, &wanted.limits, sizeof wanted.limits);
	options_done(&options);
	for (size_t i = 0; i < SPEC_SYSCALLS_COUNT; i++)
		assert_string_equal(option_specs[OPTION_CALLS].choices[i], spec_syscalls_names[i]);
	for (size_t i = 0; i < spec_limit_count; i++) {
		const struct option_spec *spec = option_specs;

		while (spec < option_specs + OPTION_COUNT &&
		       spec->offset != limits + spec_limits[i].offset)
			spec++;
		assert_true(spec < option_specs + OPTION_COUNT);
		assert_int_equal(spec->min, spec_limits[i].min);
		assert_int_equal(spec->max, spec_limits[i].max);
		assert_int_equal(spec->type, spec_limits[i].unit == SPEC_BYTES
		                                     ? OPTION_TYPE_SIZE
		                                     : OPTION_TYPE_NUMBER);
	}
}

static void source_of_each_value_is_recorded(void **state)
{
	char *const environment[] = { A("BELLJAR_PIDS=99"), NULL };
	static const char *const flags[OPTION_COUNT] = { [OPTION_MEMORY] = "64M" };
	struct options options;

	CHECK_OK(options_load(&options, FOR_EXEC, flags, environment, &err), err);
	assert_int_equal(options.limits.pids, 99);
	assert_int_equal(options.verb, FOR_EXEC);
	assert_int_equal(options.sources[OPTION_MEMORY], OPTION_FROM_FLAG);
	assert_int_equal(options.sources[OPTION_PIDS], OPTION_FROM_ENVIRONMENT);
	assert_int_equal(options.sources[OPTION_CPU], OPTION_FROM_TABLE);
	options_done(&options);
}

static void ceiling_options_match_their_limits(void **state)
{
	struct options options;

	CHECK_OK(options_load(&options, FOR_SERVE, NO_FLAGS, empty, &err), err);
	for (size_t i = 0; i < spec_limit_count; i++) {
		const struct option_spec *limit = &option_specs[OPTION_MEMORY + i];
		const struct option_spec *ceiling = &option_specs[OPTION_MEMORY_MAX + i];
		char name[OPTION_NAME_SIZE];

		(void)snprintf(name, sizeof name, "%s-max", limit->name);
		assert_string_equal(ceiling->name, name);
		assert_int_equal(limit->offset,
		                 offsetof(struct options, limits) + spec_limits[i].offset);
		assert_int_equal(ceiling->offset,
		                 offsetof(struct options, limits_max) + spec_limits[i].offset);
		assert_int_equal(ceiling->min, limit->min);
		assert_int_equal(ceiling->max, limit->max);
		assert_int_equal(spec_limits_get(&options.limits_max, i), 0);
		assert_int_equal(options.sources[OPTION_MEMORY_MAX + i], OPTION_FROM_TABLE);
	}
	options_done(&options);
}

static void ceiling_below_a_given_default_is_refused(void **state)
{
	static const char *const flags[OPTION_COUNT] = {
		[OPTION_CPU_MAX] = "500", [OPTION_MEMORY_MAX] = "32M"
	};
	static const char *const equal[OPTION_COUNT] = {
		[OPTION_MEMORY] = "64M", [OPTION_MEMORY_MAX] = "64M"
	};
	char *const environment[] = { A("BELLJAR_CPU=1000"), NULL };
	struct options options;

	CHECK_OK(options_load(&options, FOR_SERVE, flags, empty, &err), err);
	assert_int_equal(options.limits_max.memory, 32 << 20);
	options_done(&options);
	CHECK_OK(options_load(&options, FOR_SERVE, equal, empty, &err), err);
	options_done(&options);
	CHECK_ERROR(options_load(&options, FOR_SERVE, flags, environment, &err), err, ERR_INVALID,
	            "cpu-max is 500, which is less than cpu, which is 1000: raise cpu-max or lower "
	            "cpu");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(table_row_is_complete),
		TEST(variable_of_older_servers_is_understood),
		TEST(settings_of_profiles_hold_where_they_are_served),
		TEST(certificate_needs_its_key),
		TEST(option_name_is_converted_per_source),
		IN_SCRATCH(defaults_are_the_documented_ones),
		TEST(flags_are_separated_from_operands),
		TEST(last_of_two_equal_flags_wins),
		TEST(repeated_list_flag_adds_to_the_list),
		TEST(terminal_flag_has_a_short_form),
		TEST(every_verb_accepts_help),
		TEST(invalid_argument_is_refused_with_the_reason),
		IN_SCRATCH(value_is_read_by_its_type),
		IN_SCRATCH(invalid_value_names_the_flag_and_the_limit),
		IN_SCRATCH(overlong_path_is_refused),
		IN_SCRATCH(environment_is_read),
		IN_SCRATCH(flag_only_options_are_not_read_from_the_environment),
		IN_SCRATCH(invalid_variable_is_refused_with_the_reason),
		IN_SCRATCH(variables_of_other_verbs_are_ignored),
		IN_SCRATCH(flag_wins_over_environment_over_file_over_default),
		IN_SCRATCH(invalid_variable_is_refused_even_if_a_flag_wins),
		IN_SCRATCH(environment_may_name_the_file),
		IN_SCRATCH(doctor_does_not_read_the_file),
		TEST(limit_options_match_the_limits_of_a_sandbox),
		TEST(source_of_each_value_is_recorded),
		TEST(ceiling_options_match_their_limits),
		TEST(ceiling_below_a_given_default_is_refused),
	};

	return RUN_TESTS("server/options", tests);
}
