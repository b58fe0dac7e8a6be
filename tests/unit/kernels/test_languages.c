#include <ctype.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/buf.h"
#include "kernels/kernels.h"
#include "kernels/languages.h"
#include "unit/test.h"

static size_t index_of(const char *name)
{
	return (size_t)(language_find(name) - languages);
}

/* Each word of " a b " in small letters, with one space on both sides. */
static void check_list(const char *list, const char *of)
{
	size_t len = strlen(list);

	if (len == 0 || list[0] != ' ' || list[len - 1] != ' ' || strstr(list, "  ") != NULL)
		fail_msg("\"%s\" of %s is not a list", list, of);
	for (const char *c = list; *c != '\0'; c++)
		if (isupper((unsigned char)*c))
			fail_msg("\"%s\" of %s has capital letters", list, of);
}

static void every_language_is_complete(void **state)
{
	for (size_t i = 0; i < language_count; i++) {
		const struct language *l = &languages[i];

		check_list(l->aliases, l->name);
		check_list(l->extensions, l->name);
		assert_non_null(l->title);
		assert_non_null(strchr(l->file, '.'));
		if (strcmp(l->extensions, " ") != 0 && language_by_file(l->file) != l)
			fail_msg("%s: %s has the extension of another language", l->name, l->file);
		if (language_find(l->name) != l)
			fail_msg("%s is an alias of %s", l->name, language_find(l->name)->name);
		assert_non_null(l->runners[0].program);
		if (l->kernel != NULL)
			assert_string_equal(l->kernel->language, l->name);
	}
}

static void check_command(const char *const *command, const struct language *l)
{
	size_t n = 0;

	while (n < LANGUAGE_ARGS_MAX && command[n] != NULL)
		n++;
	if (n == 0 || n == LANGUAGE_ARGS_MAX)
		fail_msg("%s: a command of %zu words without an end", l->name, n);
}

static void every_runner_runs_the_file_or_the_compiled_program(void **state)
{
	for (size_t i = 0; i < language_count; i++) {
		for (size_t j = 0; j < LANGUAGE_RUNNERS_MAX; j++) {
			const struct language_runner *r = &languages[i].runners[j];
			bool compiles = r->compile[0] != NULL, has = false, starts = false;
			const char *const *first = compiles ? r->compile : r->run;

			if (r->program == NULL)
				continue;
			check_command(r->run, &languages[i]);
			if (compiles)
				check_command(r->compile, &languages[i]);
			for (size_t k = 0; first[k] != NULL; k++)
				starts |= strcmp(first[k], "{program}") == 0;
			assert_true(starts);
			for (size_t k = 0; r->run[k] != NULL; k++)
				has |= strstr(r->run[k], compiles ? "{out}" : "{file}") != NULL;
			if (!has)
				fail_msg("%s with %s runs nothing", languages[i].name, r->program);
		}
	}
}

static void aliases_and_extensions_are_unique(void **state)
{
	for (size_t i = 0; i < language_count; i++) {
		char words[128];
		char *save, *word;

		(void)snprintf(words, sizeof(words), "%s", languages[i].aliases);
		for (word = strtok_r(words, " ", &save); word; word = strtok_r(NULL, " ", &save))
			if (language_find(word) != &languages[i])
				fail_msg("%s: %s is %s", languages[i].name, word,
				         language_find(word)->name);
		(void)snprintf(words, sizeof(words), "%s", languages[i].extensions);
		for (word = strtok_r(words, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
			char path[64];

			(void)snprintf(path, sizeof(path), "/a.b/x.%s", word);
			if (language_by_file(path) != &languages[i])
				fail_msg("%s: .%s is %s", languages[i].name, word,
				         language_by_file(path)->name);
		}
	}
}

static void language_find_takes_names_and_aliases(void **state)
{
	static const struct {
		const char *name, *want;
	} cases[] = {
		{ "python", "python" },
		{ "PY", "python" },
		{ "Python3", "python" },
		{ "node", "javascript" },
		{ "ts", "typescript" },
		{ "shell", "bash" },
		{ "sh", "sh" },
		{ "C++", "cpp" },
		{ "c", "c" },
		{ "C#", "csharp" },
		{ "golang", "go" },
		{ "rs", "rust" },
		{ "R", "r" },
		{ "sql", "sqlite" },
		{ "", NULL },
		{ " ", NULL },
		{ "py python3", NULL },
		{ "pyth", NULL },
		{ "klingon", NULL },
		{ "a-name-that-is-longer-than-any-of-them-could-be", NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct language *got = language_find(cases[i].name);

		if ((got == NULL) != (cases[i].want == NULL) ||
		    (got != NULL && strcmp(got->name, cases[i].want) != 0))
			fail_msg("%s is %s", cases[i].name, got != NULL ? got->name : "nothing");
	}
}

static void language_by_file_takes_extensions(void **state)
{
	static const struct {
		const char *path, *want;
	} cases[] = {
		{ "x.py", "python" },
		{ "/a/b.c/x.mjs", "javascript" },
		{ "x.sh", "bash" },
		{ "X.R", "r" },
		{ "a.tar.rs", "rust" },
		{ "x.h", NULL },
		{ "py", NULL },
		{ ".py", "python" },
		{ "dir.py/file", NULL },
		{ "x.", NULL },
		{ "", NULL },
		{ "x.py ", NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct language *got = language_by_file(cases[i].path);

		if ((got == NULL) != (cases[i].want == NULL) ||
		    (got != NULL && strcmp(got->name, cases[i].want) != 0))
			fail_msg("%s is %s", cases[i].path, got != NULL ? got->name : "nothing");
	}
}

static void language_names_writes_whole_names(void **state)
{
	char all[1024], some[20], none[3];

	assert_memory_equal(language_names(all, sizeof(all)), "python, javascript, typescript, ",
	                    32);
	assert_string_equal(all + strlen(all) - 7, ", cobol");
	assert_string_equal(language_names(some, sizeof(some)), "python, javascript");
	assert_string_equal(language_names(none, sizeof(none)), "");
	assert_string_equal(language_session_names(all, sizeof(all)),
	                    "python, javascript, typescript, bash, ruby, r, java");
	assert_string_equal(language_session_names(some, sizeof(some)), "python, javascript");
}

static void language_argument_replaces_words_in_braces(void **state)
{
	static const struct language_paths paths = { "/bin/p", "/d/f", "/d", "/d/o{file}", "1024" };
	static const struct {
		const char *argument, *want;
	} cases[] = {
		{ "{program}", "/bin/p" },
		{ "-o{out}", "-o/d/o{file}" },
		{ ".read '{file}'", ".read '/d/f'" },
		{ "{dir}/{dir}", "/d//d" },
		{ "{other}{", "{other}{" },
		{ "", "" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_BUF struct buf got;
		struct error err;

		buf_init(&got, 100);
		assert_int_equal(language_argument(cases[i].argument, &paths, &got, &err), 0);
		assert_string_equal(buf_text(&got), cases[i].want);
	}
}

static void language_argument_refuses_too_long_text(void **state)
{
	static const struct language_paths paths = { "p", "a long path", "d", "o", "1" };
	AUTO_BUF struct buf got;
	struct error err;

	buf_init(&got, 8);
	assert_int_equal(language_argument("{file}", &paths, &got, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
}

static void language_command_takes_long_arguments(void **state)
{
	static const struct language_paths paths = { "/bin/java", "/d/Main.java", "/d", "/d/o",
		                                     "7" };
	const char *const *argv;
	struct arena arena = { 0 };

	argv = language_command(language_find("java")->runners[0].run, &paths, NULL, &arena);
	assert_string_equal(argv[3], java_snippets_text);
	assert_string_equal(argv[4], "/bin/java");
	assert_string_equal(argv[7], "-XX:MaxRAM=7");
	assert_null(argv[8]);
	arena_done(&arena);
}

/* Runs the probe with this PATH. */
static void run_probe(bool versions, const char *path, struct language_found *ret)
{
	AUTO_BUF struct buf script;
	AUTO_BUF struct buf said;
	struct error err;
	char piece[4096];
	FILE *shell;
	size_t n;
	const char *file = "build/san/probe-test.sh";

	buf_init(&script, 40 * 1024);
	buf_init(&said, 64 * 1024);
	if (language_probe_script(&script, versions, &err) < 0)
		fail_msg("%s", err.msg);
	shell = fopen(file, "w");
	assert_non_null(shell);
	assert_int_equal(fputs(buf_text(&script), shell) < 0, 0);
	assert_int_equal(fclose(shell), 0);
	(void)snprintf(piece, sizeof(piece), "PATH='%s' /bin/sh %s 2>&1", path, file);
	shell = popen(piece, "r");
	assert_non_null(shell);
	while ((n = fread(piece, 1, sizeof(piece), shell)) != 0)
		assert_int_equal(buf_add(&said, (struct view){ piece, n }, &err), 0);
	assert_int_equal(pclose(shell), 0);
	(void)remove(file);
	language_probe_parse(buf_view(&said), ret);
}

static void probe_finds_installed_languages(void **state)
{
	struct language_found found;

	run_probe(false, "relative:/nowhere:/usr/bin:/bin", &found);
	assert_true(found.known);
	assert_int_equal(found.of[index_of("sh")].runner, 0);
	assert_string_equal(found.of[index_of("sh")].path, "/usr/bin/sh");
	assert_int_equal(found.of[index_of("bash")].runner, 0);
	assert_string_equal(found.of[index_of("bash")].version, "");
	assert_int_equal(found.of[index_of("c")].runner, 0);

	run_probe(false, "/nowhere::.", &found);
	for (size_t i = 0; i < LANGUAGES_MAX; i++)
		assert_int_equal(found.of[i].runner, -1);
}

static void probe_finds_versions(void **state)
{
	struct language_found found;

	run_probe(true, "/usr/bin:/bin", &found);
	assert_string_equal(found.of[index_of("sh")].path, "/usr/bin/sh");
	assert_string_equal(found.of[index_of("sh")].version, "");
	assert_memory_equal(found.of[index_of("bash")].version, "GNU bash, version ", 18);
	/* Perl's first line is empty. */
	assert_memory_equal(found.of[index_of("perl")].version, "This is perl ", 13);
}

static void make_program(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, 0700), 0);
}

/* A compiler that cannot compile, and one whose linker is missing. */
static void probe_leaves_out_what_cannot_run(void **state)
{
	char dir[] = "/tmp/belljar-probe-XXXXXX", path[512], cc[64], rustc[64];
	struct language_found found;

	assert_non_null(mkdtemp(dir));
	(void)snprintf(cc, sizeof cc, "%s/cc", dir);
	(void)snprintf(rustc, sizeof rustc, "%s/rustc", dir);
	make_program(rustc, "#!/bin/sh\necho rustc 1\n");
	run_probe(false, dir, &found);
	assert_int_equal(found.of[index_of("rust")].runner, -1);
	make_program(cc, "#!/bin/sh\necho \"cannot execute 'cc1'\" >&2\nexit 1\n");
	run_probe(false, dir, &found);
	assert_int_equal(found.of[index_of("rust")].runner, 0);
	assert_int_equal(found.of[index_of("c")].runner, 0);
	run_probe(true, dir, &found);
	assert_int_equal(found.of[index_of("c")].runner, -1);
	(void)snprintf(path, sizeof path, "%s:/usr/bin:/bin", dir);
	run_probe(true, path, &found);
	assert_int_equal(found.of[index_of("c")].runner, 1); /* gcc */
	assert_string_equal(found.of[index_of("c")].path, "/usr/bin/gcc");
	assert_int_equal(found.of[index_of("cpp")].runner, 0);
	assert_int_equal(unlink(cc) + unlink(rustc) + rmdir(dir), 0);
}

/* Every sandbox has such a `python`, also where the image has no Python. */
static void probe_leaves_out_a_python_without_python3(void **state)
{
	char dir[] = "/tmp/belljar-probe-XXXXXX", python[64];
	struct language_found found;

	assert_non_null(mkdtemp(dir));
	(void)snprintf(python, sizeof python, "%s/python", dir);
	make_program(python, "#!/bin/sh\nexec python3 \"$@\"\n");
	run_probe(false, dir, &found);
	assert_int_equal(found.of[index_of("python")].runner, -1);
	make_program(python, "#!/bin/sh\ntest \"$1\" = -c\n");
	run_probe(false, dir, &found);
	assert_int_equal(found.of[index_of("python")].runner, 1);
	assert_int_equal(unlink(python) + rmdir(dir), 0);
}

static void probe_parser_ignores_malformed_lines(void **state)
{
	struct language_found found;
	char text[4096];
	char longest[128], too_long[129];

	memset(longest, 'a', sizeof(longest));
	memset(too_long, 'a', sizeof(too_long));
	longest[0] = too_long[0] = '/';
	longest[127] = too_long[128] = '\0';
	(void)snprintf(text, sizeof(text),
	               "0 1 /usr/bin/python\t Python\x1b[1m 3 \r\n" /* good */
	               "0 0 /usr/bin/python3\n"                     /* the second one */
	               "1 4 /usr/bin/node\n"                        /* there is no such runner */
	               "1 -1 /x\n1 0 relative\n1 0 /\n1 0 /a\xff\n1 0 \n1 0\n1\n\n 1 0 /x\n"
	               "60 0 /x\n99 0 /x\n100 0 /x\n18446744073709551616 0 /x\n"
	               "1 0 %s\n"
	               "2 0 %s\n"
	               "3 0 /bin/bash",
	               too_long, longest);
	language_probe_parse(view_of(text), &found);
	assert_true(found.known);
	assert_int_equal(found.of[0].runner, 1);
	assert_string_equal(found.of[0].path, "/usr/bin/python");
	assert_string_equal(found.of[0].version, "Python\\x1b[1m 3");
	assert_int_equal(found.of[1].runner, -1);
	assert_string_equal(found.of[1].path, "");
	assert_int_equal(found.of[2].runner, 0);
	assert_string_equal(found.of[2].path, longest);
	assert_string_equal(found.of[3].path, "/bin/bash");
	for (size_t i = 4; i < LANGUAGES_MAX; i++)
		assert_int_equal(found.of[i].runner, -1);
}

static void kernels_carry_their_text(void **state)
{
	static const struct kernel_program *const all[] = { &kernel_python,     &kernel_node,
		                                            &kernel_typescript, &kernel_bash,
		                                            &kernel_ruby,       &kernel_r };

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		assert_in_range(kernel_source(all[i]).len, 1000, 500000);
		assert_ptr_equal(language_find(all[i]->language)->kernel, all[i]);
	}
}

static void language_by_shebang_reads_the_first_line(void **state)
{
	static const struct {
		const char *code, *want;
	} cases[] = {
		{ "#!/usr/bin/env python3\nprint(1)\n", "python" },
		{ "#!/usr/bin/python3.12 -u", "python" },
		{ "#! /bin/sh -e\n", "sh" },
		{ "#!/usr/bin/env -S FOO=1 node --no-warnings\r\n", "javascript" },
		{ "#!/usr/bin/perl5.36.0\n", "perl" },
		{ "#!/usr/bin/env\n", NULL },
		{ "#!\n", NULL },
		{ "#!/a/b/\n", NULL },
		{ "#!/usr/bin/a-name-that-no-list-of-languages-can-have\n", NULL },
		{ "print(1)\n#!/bin/sh\n", NULL },
		{ "", NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct language *found = language_by_shebang(view_of(cases[i].code));

		assert_string_equal(found != NULL ? found->name : "none",
		                    cases[i].want != NULL ? cases[i].want : "none");
	}
}

int main(void)
{
	static const struct CMUnitTest all[] = {
		TEST(every_language_is_complete),
		TEST(every_runner_runs_the_file_or_the_compiled_program),
		TEST(aliases_and_extensions_are_unique),
		TEST(language_find_takes_names_and_aliases),
		TEST(language_by_file_takes_extensions),
		TEST(language_by_shebang_reads_the_first_line),
		TEST(language_names_writes_whole_names),
		TEST(language_argument_replaces_words_in_braces),
		TEST(language_argument_refuses_too_long_text),
		TEST(language_command_takes_long_arguments),
		TEST(probe_finds_installed_languages),
		TEST(probe_finds_versions),
		TEST(probe_leaves_out_what_cannot_run),
		TEST(probe_leaves_out_a_python_without_python3),
		TEST(probe_parser_ignores_malformed_lines),
		TEST(kernels_carry_their_text),
	};

	return RUN_TESTS("languages", all);
}
