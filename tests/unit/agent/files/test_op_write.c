#include "unit/agent/files/job_test.h"

#include <dirent.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <linux/sockios.h>

#include "agent/files/ops.h"
#include "base/error.h"
#include "base/text/utf8.h"

#define ALL UINT64_MAX

static void check_write(struct job_test *t, struct wire_write request, struct view bytes)
{
	struct wire_done done;
	struct error err;

	job_test_again(t);
	job_test_feed(t, bytes);
	CHECK_OK(op_write(&t->job, &request, &done, &err), err);
	job_test_finish(t);
	assert_int_equal(done.bytes, bytes.len);
	assert_int_equal(done.count, 0);
	assert_int_equal(done.flags, 0);
	if (request.mode != WIRE_WRITE_APPEND)
		assert_int_equal(done.total, bytes.len);
}

static void check_refusal(struct job_test *t, struct wire_write request, struct view bytes,
                          enum error_kind kind, int errnum, const char *message)
{
	struct wire_done done;
	struct error err;

	job_test_again(t);
	job_test_feed(t, bytes);
	CHECK_ERROR(op_write(&t->job, &request, &done, &err), err, kind, message);
	assert_int_equal(err.errnum, errnum);
	job_test_finish(t);
}

#define REQUEST(mode_, path_)                                                                      \
	(struct wire_write)                                                                        \
	{                                                                                          \
		.mode = (mode_), .perm = 0644, .max = ALL, .path = VIEW_INIT(path_)                \
	}

static void new_file_has_requested_mode_less_umask(void **state)
{
	static const struct {
		uint16_t perm;
		mode_t mask, want;
	} cases[] = {
		{ 0644, 022, 0644 },  { 0666, 027, 0640 }, { 0755, 022, 0755 },
		{ 07777, 022, 0755 }, { 0444, 0, 0444 },   { 0, 0, 0 },
	};
	static struct job_test t;

	job_test_start(&t);
	for (uint8_t mode = 0; mode < WIRE_WRITE_COUNT; mode++)
		for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
			struct wire_write request = REQUEST(mode, "new");
			mode_t old = umask(cases[i].mask);

			request.perm = cases[i].perm;
			check_write(&t, request, VIEW("text"));
			(void)umask(old);
			assert_int_equal(job_test_mode(&t, "workspace/new"),
			                 S_IFREG | cases[i].want);
			assert_int_equal(chmod(job_test_path(&t, "workspace/new"), 0600), 0);
			job_test_holds(&t, "workspace/new", "text");
			assert_int_equal(unlink(job_test_path(&t, "workspace/new")), 0);
		}
	job_test_stop(&t);
}

static void replaced_file_keeps_its_mode(void **state)
{
	static struct job_test t;
	struct stat before, after;

	job_test_start(&t);
	job_test_file(&t, "workspace/a", VIEW("the old text, which is longer"));
	assert_int_equal(chmod(job_test_path(&t, "workspace/a"), 06751), 0);
	assert_int_equal(stat(job_test_path(&t, "workspace/a"), &before), 0);
	check_write(&t, REQUEST(WIRE_WRITE_REPLACE, "a"), VIEW("new"));
	assert_int_equal(stat(job_test_path(&t, "workspace/a"), &after), 0);
	assert_int_not_equal(before.st_ino, after.st_ino);
	assert_int_equal(after.st_mode, S_IFREG | 0751); /* the set-user-id bit is dropped */
	job_test_holds(&t, "workspace/a", "new");
	check_write(&t, REQUEST(WIRE_WRITE_REPLACE, "a"), VIEW(""));
	job_test_holds(&t, "workspace/a", "");
	assert_int_equal(job_test_count(&t, "workspace"), 1);
	job_test_stop(&t);
}

/* Every way out ends below the root. */
static void write_follows_a_final_link_and_keeps_it(void **state)
{
	static const struct {
		const char *target, *written; /* below the root */
	} cases[] = {
		{ "plain", "workspace/plain" },
		{ "/etc/passwd", "etc/passwd" },
		{ "../../../../../../../etc/passwd", "etc/passwd" },
		{ "second", "etc/chained" },
		{ "/tmp-not-there", "tmp-not-there" },
	};
	static struct job_test t;

	job_test_start(&t);
	job_test_directory(&t, "etc");
	job_test_link(&t, "/etc/chained", "workspace/second");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		for (uint8_t mode = 0; mode < WIRE_WRITE_COUNT; mode++) {
			if (mode == WIRE_WRITE_CREATE)
				continue;
			job_test_link(&t, cases[i].target, "workspace/link");
			check_write(&t, REQUEST(mode, "link"), VIEW("written"));
			assert_true(S_ISLNK(job_test_mode(&t, "workspace/link")));
			job_test_holds(&t, cases[i].written, "written");
			assert_int_equal(unlink(job_test_path(&t, cases[i].written)), 0);
			assert_int_equal(unlink(job_test_path(&t, "workspace/link")), 0);
		}
	job_test_stop(&t);
}

static void create_refuses_any_existing_name(void **state)
{
	static struct job_test t;

	job_test_start(&t);
	check_write(&t, REQUEST(WIRE_WRITE_CREATE, "a"), VIEW("first"));
	check_refusal(&t, REQUEST(WIRE_WRITE_CREATE, "a"), VIEW("second"), ERR_SYSTEM, EEXIST,
	              "a: File exists");
	job_test_holds(&t, "workspace/a", "first");
	job_test_link(&t, "nowhere", "workspace/dangling");
	check_refusal(&t, REQUEST(WIRE_WRITE_CREATE, "dangling"), VIEW("x"), ERR_SYSTEM, EEXIST,
	              "dangling: File exists");
	assert_int_equal(job_test_count(&t, "workspace"), 2);
	job_test_stop(&t);
}

/* --- interrupted writes ---------------------------------------------------------------- */

/* From now on O_TMPFILE fails in this process. */
static void deny_o_tmpfile(void)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_TMPFILE & ~O_DIRECTORY, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { .len = ARRAY_LEN(rules), .filter = rules };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		_exit(99);
}

static bool has_o_tmpfile(const struct job_test *t)
{
	int fd = open(job_test_path(t, "workspace"), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

	if (fd >= 0)
		(void)close(fd);
	return fd >= 0;
}

/* A child does it; it has taken the first bytes when this returns. Its status becomes 0, or
 * errno's value. */
static pid_t begin_write(struct job_test *t, struct wire_write request, bool nameless)
{
	struct wire_done done;
	struct error err;
	int waiting = 1;
	pid_t child;

	job_test_again(t);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		if (!nameless)
			deny_o_tmpfile();
		_exit(op_write(&t->job, &request, &done, &err) == 0 ? 0 : err.errnum);
	}
	job_test_packet(t, WIRE_DATA, VIEW("text"));
	for (int ms = 0; waiting != 0; ms++) {
		assert_int_equal(ioctl(t->peer, SIOCOUTQ, &waiting), 0);
		assert_true(ms < 10000); /* the operation has not read them */
		(void)usleep(1000);
	}
	return child;
}

static void end_write(struct job_test *t, pid_t child, int want)
{
	int status = -1;

	job_test_packet(t, WIRE_END, VIEW(""));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), want);
}

static void kill_write(pid_t child)
{
	int status = -1;

	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
}

/* What another process creates between the check and the commit. */
static void only_replace_overwrites_a_file_that_appears_late(void **state)
{
	static const struct {
		uint8_t mode;
		int errnum;
		const char *holds;
	} cases[] = {
		{ WIRE_WRITE_CREATE, EEXIST, "late" },
		{ WIRE_WRITE_REPLACE, 0, "text" },
	};
	static struct job_test t;

	job_test_start(&t);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		for (int nameless = 0; nameless < 2; nameless++) {
			pid_t child = begin_write(&t, REQUEST(cases[i].mode, "a"), nameless != 0);

			job_test_file(&t, "workspace/a", VIEW("late"));
			end_write(&t, child, cases[i].errnum);
			job_test_holds(&t, "workspace/a", cases[i].holds);
			assert_int_equal(job_test_count(&t, "workspace"), 1);
			assert_int_equal(unlink(job_test_path(&t, "workspace/a")), 0);
		}
	job_test_stop(&t);
}

/* Neither the temporary name nor the contents stay. */
static void rename_keeps_directory_that_appears_late(void **state)
{
	static struct job_test t;

	job_test_start(&t);
	for (int nameless = 0; nameless < 2; nameless++) {
		pid_t child = begin_write(&t, REQUEST(WIRE_WRITE_REPLACE, "a"), nameless != 0);

		job_test_directory(&t, "workspace/a");
		end_write(&t, child, EISDIR);
		assert_int_equal(job_test_count(&t, "workspace"), 1);
		assert_int_equal(rmdir(job_test_path(&t, "workspace/a")), 0);
	}
	job_test_stop(&t);
}

static void write_works_without_o_tmpfile(void **state)
{
	static struct job_test t;

	job_test_start(&t);
	end_write(&t, begin_write(&t, REQUEST(WIRE_WRITE_CREATE, "a"), false), 0);
	job_test_holds(&t, "workspace/a", "text");
	job_test_file(&t, "workspace/a", VIEW("the old text"));
	assert_int_equal(chmod(job_test_path(&t, "workspace/a"), 0751), 0);
	end_write(&t, begin_write(&t, REQUEST(WIRE_WRITE_REPLACE, "a"), false), 0);
	job_test_holds(&t, "workspace/a", "text");
	assert_int_equal(job_test_mode(&t, "workspace/a"), S_IFREG | 0751);
	assert_int_equal(job_test_count(&t, "workspace"), 1);
	job_test_stop(&t);
}

static void killed_write_leaves_nothing(void **state)
{
	static struct job_test t;

	job_test_start(&t);
	if (!has_o_tmpfile(&t)) {
		job_test_stop(&t);
		SKIP_TEST("this file system has no O_TMPFILE");
	}
	job_test_file(&t, "workspace/a", VIEW("old"));
	kill_write(begin_write(&t, REQUEST(WIRE_WRITE_REPLACE, "a"), true));
	kill_write(begin_write(&t, REQUEST(WIRE_WRITE_REPLACE, "b"), true));
	kill_write(begin_write(&t, REQUEST(WIRE_WRITE_CREATE, "b"), true));
	job_test_holds(&t, "workspace/a", "old");
	assert_int_equal(job_test_count(&t, "workspace"), 1);
	job_test_stop(&t);
}

static void append_adds_to_the_end(void **state)
{
	static struct job_test t;
	struct wire_done done;
	struct error err;
	struct wire_write request = REQUEST(WIRE_WRITE_APPEND, "log");

	job_test_start(&t);
	check_write(&t, request, VIEW("one\n"));
	check_write(&t, request, VIEW(""));
	job_test_again(&t);
	job_test_feed(&t, VIEW("two\n"));
	CHECK_OK(op_write(&t.job, &request, &done, &err), err);
	assert_int_equal(done.bytes, 4);
	assert_int_equal(done.total, 8);
	job_test_holds(&t, "workspace/log", "one\ntwo\n");
	job_test_stop(&t);
}

/* Sends "ours\n", waits until it is there, appends "theirs\n" as another program, and goes away
 * or, if it is to go on, sends more than is allowed. */
static void *interfere(void *ctx)
{
	struct job_test *t = ctx;
	struct stat st = { 0 };
	int fd = open(job_test_path(t, "workspace/log"), O_WRONLY | O_APPEND | O_CLOEXEC);

	job_test_packet(t, WIRE_DATA, VIEW("ours\n"));
	for (int ms = 0; ms < 10000 && fstat(fd, &st) == 0 && st.st_size != 4 + 5; ms++)
		(void)usleep(1000);
	(void)!write(fd, "theirs\n", 7);
	(void)close(fd);
	if (t->with_end)
		job_test_packet(t, WIRE_DATA, VIEW("more"));
	else
		(void)shutdown(t->peer, SHUT_RDWR);
	return NULL;
}

static void undo_keeps_bytes_others_appended(void **state)
{
	static const struct {
		bool goes_on;
		enum error_kind kind;
		int errnum;
		const char *message;
	} cases[] = {
		{ false, ERR_SYSTEM, EPIPE, "the request was closed: 5 bytes were appended" },
		{ true, ERR_LIMIT, 0, "log: more than 5 bytes to append: 5 bytes were appended" },
	};
	struct wire_write request = REQUEST(WIRE_WRITE_APPEND, "log");
	static struct job_test t;
	struct wire_done done;
	struct error err;

	job_test_start(&t);
	request.max = 5;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		job_test_file(&t, "workspace/log", VIEW("old\n"));
		job_test_again(&t);
		t.with_end = cases[i].goes_on;
		t.fed = true;
		assert_int_equal(pthread_create(&t.feeder, NULL, interfere, &t), 0);
		CHECK_ERROR(op_write(&t.job, &request, &done, &err), err, cases[i].kind,
		            cases[i].message);
		assert_int_equal(err.errnum, cases[i].errnum);
		job_test_finish(&t);
		job_test_holds(&t, "workspace/log", "old\nours\ntheirs\n");
	}
	job_test_stop(&t);
}

/* The kernel writes as much as RLIMIT_FSIZE allows and fails only with the next write. */
static int write_with_little_room(struct job *job, const struct wire_write *request,
                                  struct wire_done *done, struct error *err)
{
	struct rlimit old, small;
	int r;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = (struct rlimit){ .rlim_cur = 10, .rlim_max = old.rlim_max };
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	r = op_write(job, request, done, err);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	(void)signal(SIGXFSZ, SIG_DFL);
	return r;
}

static void failed_append_is_undone(void **state)
{
	struct wire_write request = REQUEST(WIRE_WRITE_APPEND, "log");
	static struct job_test t;
	struct wire_done done;
	struct error err;

	job_test_start(&t);
	job_test_file(&t, "workspace/log", VIEW("old"));
	job_test_feed(&t, VIEW("more than fits"));
	CHECK_ERROR(write_with_little_room(&t.job, &request, &done, &err), err, ERR_SYSTEM,
	            "log: write: File too large");
	assert_int_equal(done.bytes, 7); /* they had been written */
	job_test_holds(&t, "workspace/log", "old");
	job_test_stop(&t);
}

static void large_file_is_written_completely(void **state)
{
	static char bytes[5 * 1000 * 1000 + 1];
	static struct job_test t;
	static char got[sizeof bytes];
	int fd;

	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (char)(i ^ i >> 8 ^ i >> 16);
	job_test_start(&t);
	check_write(&t, REQUEST(WIRE_WRITE_REPLACE, "big"), (struct view){ bytes, sizeof bytes });
	fd = open(job_test_path(&t, "workspace/big"), O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, got, sizeof got), sizeof got);
	(void)close(fd);
	assert_memory_equal(got, bytes, sizeof bytes);
	job_test_stop(&t);
}

static void write_creates_missing_parents_on_request(void **state)
{
	static struct job_test t;
	struct wire_write request = REQUEST(WIRE_WRITE_REPLACE, "a/b/c.txt");

	job_test_start(&t);
	check_refusal(&t, request, VIEW("x"), ERR_SYSTEM, ENOENT,
	              "a/b/c.txt: No such file or directory");
	request.flags = WIRE_PARENTS;
	check_write(&t, request, VIEW("x"));
	job_test_holds(&t, "workspace/a/b/c.txt", "x");
	request.path = view_of("d/e/");
	check_refusal(&t, request, VIEW("x"), ERR_INVALID, 0,
	              "d/e/: the name of a file does not end in a slash");
	assert_false(job_test_exists(&t, "workspace/d"));
	job_test_stop(&t);
}

static void too_many_bytes_change_nothing(void **state)
{
	static char large[200000];
	static struct job_test t;
	struct wire_write request = REQUEST(WIRE_WRITE_REPLACE, "a");

	job_test_start(&t);
	job_test_file(&t, "workspace/a", VIEW("old"));
	request.max = 5;
	check_write(&t, request, VIEW("12345"));
	check_refusal(&t, request, VIEW("123456"), ERR_LIMIT, 0,
	              "a: would be larger than 5 bytes: nothing was changed");
	job_test_holds(&t, "workspace/a", "12345");
	request.mode = WIRE_WRITE_APPEND;
	check_refusal(&t, request, VIEW("123456"), ERR_LIMIT, 0,
	              "a: more than 5 bytes to append: nothing was changed");
	job_test_holds(&t, "workspace/a", "12345");
	request.max = 100000;
	check_refusal(&t, request, (struct view){ large, sizeof large }, ERR_LIMIT, 0,
	              "a: more than 100000 bytes to append: nothing was changed");
	job_test_holds(&t, "workspace/a", "12345");
	assert_int_equal(job_test_count(&t, "workspace"), 1);
	job_test_stop(&t);
}

static void closed_request_leaves_nothing(void **state)
{
	static char part[3 * JOB_PACKET_MAX];
	static struct job_test t;
	struct wire_done done;
	struct error err;

	job_test_start(&t);
	job_test_file(&t, "workspace/a", VIEW("old"));
	for (uint8_t mode = 0; mode < WIRE_WRITE_COUNT; mode++) {
		struct wire_write request = REQUEST(mode, "a");

		if (mode == WIRE_WRITE_CREATE)
			request.path = view_of("b");
		job_test_again(&t);
		job_test_feed_and_close(&t, (struct view){ part, sizeof part });
		CHECK_ERROR(op_write(&t.job, &request, &done, &err), err, ERR_SYSTEM,
		            "the request was closed");
		assert_int_equal(err.errnum, EPIPE);
		job_test_finish(&t);
		job_test_holds(&t, "workspace/a", "old");
		assert_int_equal(job_test_count(&t, "workspace"), 1);
	}
	job_test_stop(&t);
}

static void read_refuses_other_types(void **state)
{
	static const struct {
		const char *path, *message;
	} cases[] = {
		{ "dir", "dir: is a directory, not a regular file" },
		{ "to-dir", "to-dir: is a directory, not a regular file" },
		{ "fifo", "fifo: is a FIFO, not a regular file" },
		{ "socket", "socket: is a socket, not a regular file" },
	};
	static struct job_test t;

	job_test_start(&t);
	job_test_directory(&t, "workspace/dir");
	job_test_link(&t, "dir", "workspace/to-dir");
	assert_int_equal(mkfifo(job_test_path(&t, "workspace/fifo"), 0666), 0);
	assert_int_equal(mknod(job_test_path(&t, "workspace/socket"), S_IFSOCK | 0666, 0), 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		for (uint8_t mode = 0; mode < WIRE_WRITE_COUNT; mode++) {
			struct wire_write request = REQUEST(mode, "");

			if (mode == WIRE_WRITE_CREATE)
				continue;
			request.path = view_of(cases[i].path);
			check_refusal(&t, request, VIEW("x"), ERR_INVALID, 0, cases[i].message);
		}
	assert_int_equal(job_test_count(&t, "workspace"), 4);
	job_test_stop(&t);
}

/* The one entry that is there while the operation waits for bytes. */
static void find_temporary(struct job_test *t, char *out, size_t size)
{
	DIR *dir = opendir(job_test_path(t, "workspace"));
	const struct dirent *entry;

	out[0] = '\0';
	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL)
		if (entry->d_name[0] == '.' && strlen(entry->d_name) > 2)
			(void)snprintf(out, size, "%s", entry->d_name);
	(void)closedir(dir);
}

static void temporary_name_fits_any_name(void **state)
{
	static const size_t lengths[] = { 1, 100, 228, 229, 230, 231, 254, 255 };
	static struct job_test t;
	char name[256], path[300], temporary[300];

	job_test_start(&t);
	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		struct wire_write request = REQUEST(WIRE_WRITE_REPLACE, "");
		const char *tail;
		pid_t child;

		for (size_t k = 0; k + 1 < lengths[i]; k += 2)
			memcpy(name + k, "\xc3\xa4", 2);
		if (lengths[i] % 2 != 0)
			name[lengths[i] - 1] = 'x';
		name[lengths[i]] = '\0';
		request.path = view_of(name);
		child = begin_write(&t, request, false);
		find_temporary(&t, temporary, sizeof temporary);
		end_write(&t, child, 0);
		tail = strstr(temporary, ".belljar-");
		assert_non_null(tail);
		assert_int_equal(strlen(tail), strlen(".belljar-0123456789abcdef"));
		assert_true(utf8_is_valid(view_of(temporary)));
		(void)snprintf(path, sizeof path, "workspace/%s", name);
		job_test_holds(&t, path, "text");
		assert_int_equal(unlink(job_test_path(&t, path)), 0);
		assert_int_equal(job_test_count(&t, "workspace"), 0);
	}
	job_test_stop(&t);
}

/* linkat() works also for a file that its owner may neither read nor write. */
static int nobody_makes(struct job_test *t, struct error *err)
{
	struct wire_write request = REQUEST(WIRE_WRITE_CREATE, "mine");
	struct wire_done done;

	request.perm = 0;
	if (op_write(&t->job, &request, &done, err) < 0 ||
	    chmod(job_test_path(t, "workspace/mine"), 0644) < 0)
		return -1;
	request.mode = WIRE_WRITE_REPLACE;
	job_test_packet(t, WIRE_DATA, VIEW("second"));
	job_test_packet(t, WIRE_END, VIEW(""));
	return op_write(&t->job, &request, &done, err);
}

static void user_writes_and_replaces_own_files(void **state)
{
	static struct job_test t;

	job_test_start(&t);
	job_test_packet(&t, WIRE_DATA, VIEW("first"));
	job_test_packet(&t, WIRE_END, VIEW(""));
	job_test_as_nobody(&t, nobody_makes);
	job_test_holds(&t, "workspace/mine", "second");
	assert_int_equal(job_test_count(&t, "workspace"), 1);
	job_test_stop(&t);
}

static int nobody_writes(struct job_test *t, struct error *err)
{
	static const struct {
		struct wire_write request;
		int errnum;
	} cases[] = {
		{ { .mode = WIRE_WRITE_REPLACE, .max = 9, .path = VIEW_INIT("read-only") },
		  EACCES },
		{ { .mode = WIRE_WRITE_APPEND, .max = 9, .path = VIEW_INIT("read-only") }, EACCES },
		{ { .mode = WIRE_WRITE_REPLACE, .max = 9, .path = VIEW_INIT("/new") }, EACCES },
		{ { .mode = WIRE_WRITE_CREATE, .max = 9, .path = VIEW_INIT("/new") }, EACCES },
		{ { .mode = WIRE_WRITE_APPEND, .max = 9, .path = VIEW_INIT("/new") }, EACCES },
	};
	struct wire_done done;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (op_write(&t->job, &cases[i].request, &done, err) == 0 ||
		    err->errnum != cases[i].errnum)
			return -1;
	return 0;
}

static void write_does_not_replace_read_only_file(void **state)
{
	static struct job_test t;

	job_test_start(&t);
	job_test_file(&t, "workspace/read-only", VIEW("old"));
	if (geteuid() == 0)
		job_test_as_nobody(&t, nobody_writes);
	job_test_holds(&t, "workspace/read-only", "old");
	job_test_stop(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(new_file_has_requested_mode_less_umask),
		TEST(replaced_file_keeps_its_mode),
		TEST(write_follows_a_final_link_and_keeps_it),
		TEST(create_refuses_any_existing_name),
		TEST(only_replace_overwrites_a_file_that_appears_late),
		TEST(rename_keeps_directory_that_appears_late),
		TEST(write_works_without_o_tmpfile),
		TEST(killed_write_leaves_nothing),
		TEST(undo_keeps_bytes_others_appended),
		TEST(failed_append_is_undone),
		TEST(append_adds_to_the_end),
		TEST(large_file_is_written_completely),
		TEST(write_creates_missing_parents_on_request),
		TEST(too_many_bytes_change_nothing),
		TEST(closed_request_leaves_nothing),
		TEST(read_refuses_other_types),
		TEST(temporary_name_fits_any_name),
		TEST(user_writes_and_replaces_own_files),
		TEST(write_does_not_replace_read_only_file),
	};

	return RUN_TESTS("op_write", tests);
}
