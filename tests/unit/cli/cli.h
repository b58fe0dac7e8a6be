/* cli.h - runs the program in this process and keeps what it printed. */
#pragma once
#include "cli/cli.h"
#include "unit/scratch.h"

struct ran {
	int status;
	char out[128 * 1024];
	char err[4 * 1024];
};

static inline int ran_redirect(int fd, FILE *file)
{
	int saved = dup(fd);

	assert_true(saved >= 0 && dup2(fileno(file), fd) >= 0);
	return saved;
}

static inline void ran_restore(int fd, int saved, FILE *file, char *text, size_t size)
{
	size_t len;

	assert_true(dup2(saved, fd) >= 0);
	(void)close(saved);
	rewind(file);
	len = fread(text, 1, size - 1, file);
	text[len] = '\0';
	(void)fclose(file);
}

/* args without the program's name; NULL-terminated. The result is static. */
static inline const struct ran *run_list(const char *const *args)
{
	static struct ran ran;
	FILE *out = tmpfile(), *err = tmpfile();
	char *argv[16] = { strdup("belljar") };
	size_t count = 1;
	int saved_out, saved_err;

	for (; *args != NULL && count < ARRAY_LEN(argv) - 1; args++)
		argv[count++] = strdup(*args);
	(void)fflush(stdout);
	saved_out = ran_redirect(STDOUT_FILENO, out);
	saved_err = ran_redirect(STDERR_FILENO, err);
	ran.status = cli_run(argv, environ);
	(void)fflush(stdout);
	ran_restore(STDOUT_FILENO, saved_out, out, ran.out, sizeof ran.out);
	ran_restore(STDERR_FILENO, saved_err, err, ran.err, sizeof ran.err);
	while (count > 0)
		free(argv[--count]);
	return &ran;
}

#define RUN(...) run_list((const char *const[]){ __VA_ARGS__, NULL })

#define CHECK_HAS(text, part)                                                                      \
	do {                                                                                       \
		if (strstr((text), (part)) == NULL)                                                \
			fail_msg("'%s' is not in:\n%s", (part), (text));                           \
	} while (0)
