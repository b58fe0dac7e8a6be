/* replay.c - runs a fuzz target over saved inputs, as an ordinary test.
 *
 * `replay DIRECTORY...` prints one TAP line per file. The name is printed before the input runs,
 * so that after a crash it is the last line. An empty directory is a failure, so that a corpus
 * that was moved is noticed. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/mem.h"
#include "fuzz/fuzz.h"

enum { INPUT_MAX = 16 * 1024 * 1024 };

static unsigned tests;

static int not_ok(const char *what, const char *why)
{
	(void)printf("not ok %u - %s\n# %s\n", ++tests, what, why);
	return -1;
}

/* The input is in a block of exactly its size, so that ASan detects a read past its end. */
static int replay_file(const char *path)
{
	AUTO_BUF struct buf buf;
	AUTO_FREE void *exact = NULL;
	struct error err;

	buf_init(&buf, INPUT_MAX);
	if (fd_read_file(path, &buf, &err) < 0)
		return not_ok(path, err.msg);
	(void)printf("# %s\n", path);
	(void)fflush(stdout);
	exact = malloc(buf.len != 0 ? buf.len : 1);
	if (exact == NULL)
		return not_ok(path, "out of memory");
	memcpy(exact, buf_text(&buf), buf.len);
	(void)LLVMFuzzerTestOneInput(exact, buf.len);
	(void)printf("ok %u - %s\n", ++tests, path);
	return 0;
}

static int is_input(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int replay_directory(const char *directory)
{
	struct dirent **entries;
	int count = scandir(directory, &entries, is_input, alphasort);
	int r = 0;

	if (count < 0)
		return not_ok(directory, strerror(errno));
	if (count == 0)
		r = not_ok(directory, "an empty corpus");
	for (int i = 0; i < count; i++) {
		AUTO_FREE char *path = mem_format("%s/%s", directory, entries[i]->d_name);

		if (replay_file(path) < 0)
			r = -1;
		free(entries[i]);
	}
	free(entries);
	return r;
}

int main(int argc, char **argv)
{
	int r = 0;

	if (argc < 2)
		r = not_ok("arguments", "no corpus directory given");
	for (int i = 1; i < argc; i++)
		if (replay_directory(argv[i]) < 0)
			r = -1;
	(void)printf("1..%u\n", tests);
	return r < 0 ? 1 : 0;
}
