#include <signal.h>

#include "base/clock.h"
#include "cli/connect/client_file.h"
#include "unit/scratch.h"

static struct error err;

static char *replace(const char *path, const char *text)
{
	struct client_file file;
	char *backup = NULL;

	CHECK_OK(client_file_open(&file, path, &err), err);
	assert_int_equal(client_file_replace(&file, view_of(text), &backup, &err), 1);
	client_file_close(&file);
	return backup;
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st.st_mode & 07777;
}

static void new_file_and_its_directories_are_private(void **state)
{
	struct client_file file;

	CHECK_OK(client_file_open(&file, "a/b/f", &err), err);
	assert_null(file.target);
	assert_int_equal(file.text.len, 0);
	client_file_close(&file);
	assert_null(replace("a/b/f", "new"));
	assert_string_equal(scratch_read("a/b/f"), "new");
	assert_int_equal(mode_of("a/b/f"), 0600);
	assert_int_equal(mode_of("a/b"), 0700);
	assert_int_equal(access("a/b/f.belljar-backup", F_OK), -1);
}

static void replace_keeps_the_mode_and_makes_a_backup(void **state)
{
	char *backup;

	scratch_write("f", "old");
	assert_int_equal(chmod("f", 0640), 0);
	backup = replace("f", "new");
	assert_string_equal(backup, "f.belljar-backup");
	assert_string_equal(scratch_read("f"), "new");
	assert_string_equal(scratch_read(backup), "old");
	assert_int_equal(mode_of("f"), 0640);
	assert_int_equal(mode_of(backup), 0640);
	free(backup);
}

static void backups_are_numbered_and_never_overwritten(void **state)
{
	static const char *const names[] = { "f.belljar-backup", "f.belljar-backup-2",
		                             "f.belljar-backup-3" };

	scratch_write("f", "text 0");
	for (int i = 0; i < 3; i++) {
		char text[32];
		char *backup;

		(void)snprintf(text, sizeof text, "text %d", i + 1);
		backup = replace("f", text);
		assert_string_equal(backup, names[i]);
		free(backup);
	}
	assert_string_equal(scratch_read(names[0]), "text 0");
	assert_string_equal(scratch_read(names[2]), "text 2");
	assert_string_equal(scratch_read("f"), "text 3");
}

static void backup_does_not_follow_a_planted_link(void **state)
{
	char *backup;

	scratch_write("f", "old");
	scratch_write("victim", "untouched");
	assert_int_equal(symlink("victim", "f.belljar-backup"), 0);
	backup = replace("f", "new");
	assert_string_equal(backup, "f.belljar-backup-2");
	assert_string_equal(scratch_read("victim"), "untouched");
	free(backup);
}

static void replace_follows_a_link_and_keeps_it(void **state)
{
	struct stat st;
	char *backup;

	assert_int_equal(mkdir("dotfiles", 0755), 0);
	scratch_write("dotfiles/f", "old");
	assert_int_equal(symlink("dotfiles/f", "f"), 0);
	backup = replace("f", "new");
	assert_int_equal(lstat("f", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_string_equal(scratch_read("dotfiles/f"), "new");
	assert_string_equal(backup, "f.belljar-backup");
	assert_string_equal(scratch_read(backup), "old");
	free(backup);
}

static void open_refuses_directories_and_files_of_others(void **state)
{
	struct client_file file = { .path = "before" };

	assert_int_equal(symlink("nowhere", "dangling"), 0);
	CHECK_ERROR(client_file_open(&file, "dangling", &err), err, ERR_NOT_FOUND,
	            "'dangling' is a link to nothing; remove it or create its target");
	assert_int_equal(symlink("loop", "loop"), 0);
	CHECK_ERROR(client_file_open(&file, "loop", &err), err, ERR_SYSTEM,
	            "'loop': Too many levels of symbolic links");
	assert_int_equal(mkdir("directory", 0700), 0);
	assert_int_equal(client_file_open(&file, "directory", &err), -1);
	assert_non_null(strstr(err.msg, "/directory' is not a regular file"));
	scratch_write("plain", "");
	CHECK_ERROR(client_file_open(&file, "plain/f", &err), err, ERR_SYSTEM,
	            "'plain/f': Not a directory");
	scratch_write("huge", "");
	assert_int_equal(truncate("huge", 16 * 1024 * 1024 + 1), 0);
	assert_int_equal(client_file_open(&file, "huge", &err), -1);
	assert_non_null(strstr(err.msg, "more than 16777216 bytes"));
	assert_string_equal(file.path, "before");
}

static void failed_write_changes_nothing(void **state)
{
	struct client_file file;
	struct rlimit all, small = { 2, RLIM_INFINITY };
	char *backup = scratch_path;

	scratch_write("f", "x");
	CHECK_OK(client_file_open(&file, "f", &err), err);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
	(void)signal(SIGXFSZ, SIG_IGN);
	small.rlim_max = all.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(client_file_replace(&file, VIEW("much longer"), &backup, &err), -1);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
	client_file_close(&file);
	assert_non_null(strstr(err.msg, "File too large"));
	assert_ptr_equal(backup, scratch_path);
	assert_string_equal(scratch_read("f"), "x");
	assert_int_equal(access("f.belljar-backup", F_OK), -1);
}

/* A client rewrites its file without taking the lock. */
static void replace_detects_a_changed_file(void **state)
{
	struct client_file file;
	char *backup = scratch_path;

	scratch_write("f", "old");
	CHECK_OK(client_file_open(&file, "f", &err), err);
	scratch_write("f", "new"); /* the same length, the same inode */
	assert_int_equal(client_file_replace(&file, VIEW("ours"), &backup, &err), 0);
	assert_string_equal(scratch_read("f"), "new");
	assert_int_equal(unlink("f"), 0);
	assert_int_equal(client_file_replace(&file, VIEW("ours"), &backup, &err), 0);
	assert_int_equal(access("f", F_OK), -1);
	client_file_close(&file);

	CHECK_OK(client_file_open(&file, "f", &err), err);
	scratch_write("f", "theirs");
	assert_int_equal(client_file_replace(&file, VIEW("ours"), &backup, &err), 0);
	assert_string_equal(scratch_read("f"), "theirs");
	client_file_close(&file);
	assert_ptr_equal(backup, scratch_path);
	assert_int_equal(unlink("f"), 0);
	assert_int_equal(chdir("/") | rmdir(scratch_path), 0); /* nothing is left behind */
	assert_int_equal(mkdir(scratch_path, 0700) | chdir(scratch_path), 0);
}

static void open_waits_for_the_lock_for_a_limited_time(void **state)
{
	struct client_file file, second = { .path = "before" };
	uint64_t start = clock_now_ms();
	char want[200];

	scratch_write("f", "old");
	assert_int_equal(symlink("f", "link"), 0);
	CHECK_OK(client_file_open(&file, "link", &err), err);
	(void)snprintf(want, sizeof want,
	               "another program has held the lock on '%s' for 5 seconds; try again",
	               scratch_path);
	CHECK_ERROR(client_file_open(&second, "f", &err), err, ERR_LIMIT, want);
	assert_string_equal(second.path, "before");
	assert_in_range(clock_now_ms() - start, 4900, 60000);
	client_file_close(&file);
	CHECK_OK(client_file_open(&second, "f", &err), err);
	client_file_close(&second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_SCRATCH(new_file_and_its_directories_are_private),
		IN_SCRATCH(replace_keeps_the_mode_and_makes_a_backup),
		IN_SCRATCH(backups_are_numbered_and_never_overwritten),
		IN_SCRATCH(backup_does_not_follow_a_planted_link),
		IN_SCRATCH(replace_follows_a_link_and_keeps_it),
		IN_SCRATCH(open_refuses_directories_and_files_of_others),
		IN_SCRATCH(replace_detects_a_changed_file),
		IN_SCRATCH(open_waits_for_the_lock_for_a_limited_time),
		IN_SCRATCH(failed_write_changes_nothing),
	};

	return RUN_TESTS("cli/client_file", tests);
}
