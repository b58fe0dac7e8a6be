#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "unit/test.h"

/* Each test has a directory of its own. */
static int make_directory(void **state)
{
	char *path = strdup("/tmp/belljar-test-fd-XXXXXX");

	*state = path;
	return path != NULL && mkdtemp(path) != NULL && chdir(path) == 0 ? 0 : -1;
}

static int remove_directory(void **state)
{
	DIR *dir = opendir(".");
	const struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL)
		if (unlink(entry->d_name) != 0)
			(void)rmdir(entry->d_name);
	(void)closedir(dir);
	(void)(chdir("/") + rmdir(*state));
	free(*state);
	return 0;
}

static void write_file(const char *path, size_t len)
{
	AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(write(fd, "x", 1), 1);
}

static void whole_file_is_read(void **state)
{
	static const size_t sizes[] = { 0, 1, 100, 16384, 16385, 40000 };

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		AUTO_BUF struct buf buf;
		struct error err;

		write_file("file", sizes[i]);
		buf_init(&buf, 40000);
		CHECK_OK(fd_read_file("file", &buf, &err), err);
		assert_int_equal(buf.len, sizes[i]);
		assert_int_equal(strspn(buf_text(&buf), "x"), sizes[i]);
	}
}

static void missing_and_special_files_are_errors(void **state)
{
	static const struct {
		const char *path;
		enum error_kind kind;
		const char *why;
	} cases[] = {
		{ "missing", ERR_NOT_FOUND, "open 'missing': No such file or directory" },
		{ "file/x", ERR_NOT_FOUND, "open 'file/x': Not a directory" },
		{ "directory", ERR_INVALID, "'directory' is not a regular file" },
		{ "fifo", ERR_INVALID, "'fifo' is not a regular file" },
		{ "/dev/zero", ERR_INVALID, "'/dev/zero' is not a regular file" },
		{ "loop", ERR_SYSTEM, "open 'loop': Too many levels of symbolic links" },
		{ "file", ERR_LIMIT, "'file': more than 10 bytes" },
	};

	write_file("file", 11);
	assert_int_equal(mkdir("directory", 0700), 0);
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_int_equal(symlink("loop", "loop"), 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_BUF struct buf buf;
		struct error err;

		buf_init(&buf, 10);
		CHECK_ERROR(fd_read_file(cases[i].path, &buf, &err), err, cases[i].kind,
		            cases[i].why);
	}
}

static void number_is_read_from_its_file(void **state)
{
	static const struct {
		const char *text;
		uint64_t number;
	} rows[] = {
		{ "0\n", 0 },           { "4194304\n", 4194304 }, { "7", 7 },
		{ "", UINT64_MAX },     { "max\n", UINT64_MAX },  { "12 13\n", UINT64_MAX },
		{ "-1\n", UINT64_MAX },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO_FD int fd = open("number", O_WRONLY | O_CREAT | O_TRUNC, 0600);

		assert_int_equal(write(fd, rows[i].text, strlen(rows[i].text)),
		                 strlen(rows[i].text));
		assert_int_equal(fd_read_number(AT_FDCWD, "number"), rows[i].number);
	}
	assert_int_equal(fd_read_number(AT_FDCWD, "missing"), UINT64_MAX);
}

static void read_file_closes_its_descriptor(void **state)
{
	int before = dup(0), after;

	(void)close(before);
	write_file("file", 11);
	for (int i = 0; i < 3; i++) {
		static const char *const paths[] = { "file", "missing", "/dev/zero" };
		AUTO_BUF struct buf buf;
		struct error err;

		buf_init(&buf, 10);
		assert_int_equal(fd_read_file(paths[i], &buf, &err), -1);
	}
	after = dup(0);
	(void)close(after);
	assert_int_equal(before, after);
}

static void all_bytes_are_written(void **state)
{
	static const size_t sizes[] = { 0, 1, 300000 }; /* the last is more than a pipe holds */

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		char *bytes = calloc(1, sizes[i] + 1);
		int ends[2], status;
		pid_t child;
		struct error err;

		assert_int_equal(pipe(ends), 0);
		child = fork();
		if (child == 0) {
			size_t got = 0;
			ssize_t n;
			char chunk[1000];

			(void)close(ends[1]);
			while ((n = read(ends[0], chunk, sizeof chunk)) > 0)
				got += (size_t)n;
			_exit(got == sizes[i] ? 0 : 1);
		}
		(void)close(ends[0]);
		CHECK_OK(fd_write_all(ends[1], (struct view){ bytes, sizes[i] }, &err), err);
		(void)close(ends[1]);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
		free(bytes);
	}
}

static void short_write_is_continued_until_the_error(void **state)
{
	AUTO_FD int fd = open("file", O_WRONLY | O_CREAT, 0600);
	AUTO_BUF struct buf buf;
	struct rlimit before, small;
	struct error err;
	int r;

	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = (struct rlimit){ 5, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	r = fd_write_all(fd, view_of("more than five"), &err);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	(void)signal(SIGXFSZ, SIG_DFL);
	assert_int_equal(r, -1);
	assert_string_equal(err.msg, "write: File too large");
	assert_int_equal(err.errnum, EFBIG);
	buf_init(&buf, 100);
	CHECK_OK(fd_read_file("file", &buf, &err), err);
	assert_string_equal(buf_text(&buf), "more ");
}

static void non_blocking_keeps_the_other_flags(void **state)
{
	AUTO_FD int fd = open("file", O_WRONLY | O_CREAT | O_APPEND, 0600);
	struct error err;

	CHECK_OK(fd_set_nonblocking(fd, &err), err);
	assert_int_equal(fcntl(fd, F_GETFL) & (O_NONBLOCK | O_APPEND | O_ACCMODE),
	                 O_NONBLOCK | O_APPEND | O_WRONLY);
	CHECK_ERROR(fd_set_nonblocking(999, &err), err, ERR_SYSTEM,
	            "make descriptor 999 non-blocking: Bad file descriptor");
}

/* In a child: closes the descriptors of the mask and calls fd_ensure_stdio(). Returns which of 0
 * to 3 are open then. */
static int open_after_closing(int mask)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		struct error err;
		int open_now = 0;

		for (int fd = 0; fd < 3; fd++)
			if (mask & 1 << fd)
				(void)close(fd);
		(void)close(3);
		if (fd_ensure_stdio(&err) < 0)
			_exit(255);
		for (int fd = 0; fd < 4; fd++)
			open_now |= fcntl(fd, F_GETFD) == 0 ? 1 << fd : 0; /* and not CLOEXEC */
		_exit(open_now);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void closed_standard_descriptors_are_opened(void **state)
{
	for (int mask = 0; mask < 8; mask++)
		assert_int_equal(open_after_closing(mask), 7);
}

#define IN_DIRECTORY(name) cmocka_unit_test_setup_teardown(name, make_directory, remove_directory)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_DIRECTORY(whole_file_is_read),
		IN_DIRECTORY(missing_and_special_files_are_errors),
		IN_DIRECTORY(number_is_read_from_its_file),
		IN_DIRECTORY(read_file_closes_its_descriptor),
		TEST(all_bytes_are_written),
		IN_DIRECTORY(short_write_is_continued_until_the_error),
		IN_DIRECTORY(non_blocking_keeps_the_other_flags),
		TEST(closed_standard_descriptors_are_opened),
	};

	return RUN_TESTS("base/fd", tests);
}
