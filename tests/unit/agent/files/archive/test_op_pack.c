#include "unit/agent/files/job_test.h"
#include "unit/wire/tar_test.h"

#include <sched.h>
#include <sys/mount.h>

#include "agent/files/archive/archive.h"
#include "unit/refuse.h"

static int pack_limited(struct job_test *t, const char *path, uint64_t max, uint32_t max_count,
                        struct wire_done *done, struct error *err)
{
	struct wire_pack request = { .max = max, .max_count = max_count, .path = view_of(path) };

	return op_pack(&t->job, &request, done, err);
}

static int pack(struct job_test *t, const char *path, struct wire_done *done, struct error *err)
{
	return pack_limited(t, path, 32 * 1024 * 1024, 100000, done, err);
}

/* Writes the complete archive to /a.tar. */
static void save_archive(struct job_test *t, const struct wire_done *done)
{
	job_test_finish(t);
	assert_int_equal(t->data.len, done->bytes);
	assert_int_equal(t->data.len % 512, 0);
	job_test_file(t, "a.tar", buf_view(&t->data));
}

static void tar_program_extracts_what_pack_writes(void **state)
{
	struct job_test t;
	struct wire_done done;
	struct error err;

	job_test_start(&t);
	tar_test_run(
	        job_test_path(&t, "workspace"),
	        "mkdir -p src/d/e src/empty && cd src && printf hello >d/a && : >d/e/none &&"
	        " head -c 100000 /dev/urandom >d/e/big && head -c 1024 /dev/urandom >d/even &&"
	        " ln d/a hard && ln -s d/a soft && ln -s /nowhere/at/all abs &&"
	        " printf x >\"$(printf 'n\\344me \\n')\" && chmod 751 d/a && chmod 4755 hard &&"
	        " long=$(printf %0100d 1) && mkdir -p $long/$long/$long &&"
	        " printf deep >$long/$long/$long/$long$long && ln -s $long/$long/$long link &&"
	        " printf y >$long/$(printf %099d 2) && printf z >$long/$(printf %0101d 3) &&"
	        " find . -exec touch -h -d @1600000000 {} +");
	CHECK_OK(pack(&t, "src", &done, &err), err);
	save_archive(&t, &done);
	assert_int_equal(done.count, 18);
	assert_int_equal(done.skipped, 0);
	assert_non_null(done.cursor.ptr);
	tar_test_run(job_test_path(&t, ""),
	             "mkdir x && tar -xpf a.tar -C x 2>said && ! test -s said &&"
	             " diff -r --no-dereference workspace/src x &&"
	             " list() { cd $1 && find . -mindepth 1 -printf '%p %y %m %T@ %l %U %G\\n' |"
	             " sed 's/ 4755 / 755 /' | LC_ALL=C sort; } &&"
	             " (list workspace/src) >one && (list x) >two && diff one two");
	job_test_stop(&t);
}

static void empty_directory_is_an_empty_archive(void **state)
{
	struct job_test t;
	struct wire_done done;
	struct error err;

	job_test_start(&t);
	CHECK_OK(pack(&t, ".", &done, &err), err);
	save_archive(&t, &done);
	assert_int_equal(done.count, 0);
	assert_int_equal(done.bytes, 1024);
	job_test_stop(&t);
}

static void pack_leaves_out_fifos(void **state)
{
	struct job_test t;
	struct wire_done done;
	struct error err;

	job_test_start(&t);
	job_test_directory(&t, "workspace/d");
	assert_int_equal(mkfifo(job_test_path(&t, "workspace/d/fifo"), 0666), 0);
	CHECK_OK(pack(&t, "/workspace", &done, &err), err);
	assert_int_equal(done.count, 1);
	assert_int_equal(done.skipped, 1);
	CHECK_VIEW(done.cursor, "d/fifo");
	job_test_again(&t);
	CHECK_ERROR(pack(&t, "d/fifo", &done, &err), err, ERR_SYSTEM, "d/fifo: Not a directory");
	CHECK_ERROR(pack(&t, "nothing", &done, &err), err, ERR_SYSTEM,
	            "nothing: No such file or directory");
	job_test_stop(&t);
}

/* DONE carries 255 bytes of the first name that is left out. */
static void long_name_left_out_is_cut_at_a_character(void **state)
{
	struct job_test t;
	struct wire_done done;
	struct error err;

	job_test_start(&t);
	tar_test_run(job_test_path(&t, "workspace"),
	             "d=$(printf %0200d 0) && mkdir $d && mkfifo $d/$(printf %053d 0)\xc3\xa4");
	CHECK_OK(pack(&t, ".", &done, &err), err);
	assert_int_equal(done.skipped, 1);
	assert_int_equal(done.cursor.len, 254);
	job_test_stop(&t);
}

static int pack_as_nobody(struct job_test *t, struct error *err)
{
	struct wire_done done;

	if (pack(t, ".", &done, err) < 0)
		return -1;
	return done.count == 1 && done.skipped == 2 ? 0 : -1;
}

static void pack_leaves_out_unreadable_files(void **state)
{
	struct job_test t;

	if (geteuid() != 0)
		SKIP_TEST("only root can act for two users");
	job_test_start(&t);
	job_test_directory(&t, "workspace/closed");
	job_test_file(&t, "workspace/closed/x", VIEW("x"));
	job_test_file(&t, "workspace/secret", VIEW("x"));
	job_test_file(&t, "workspace/open", VIEW("x"));
	assert_int_equal(chmod(job_test_path(&t, "workspace/closed"), 0700), 0);
	assert_int_equal(chmod(job_test_path(&t, "workspace/secret"), 0600), 0);
	job_test_as_nobody(&t, pack_as_nobody);
	job_test_stop(&t);
}

static void pack_keeps_to_its_limits(void **state)
{
	struct job_test t;
	struct wire_done done;
	struct error err;

	job_test_start(&t);
	job_test_file(&t, "workspace/a", VIEW("A"));
	job_test_file(&t, "workspace/b", VIEW("B"));
	CHECK_OK(pack_limited(&t, ".", 3072, 2, &done, &err), err);
	assert_int_equal(done.bytes, 3072);
	CHECK_ERROR(pack_limited(&t, ".", 3071, 2, &done, &err), err, ERR_LIMIT,
	            "the archive would have more than 3071 bytes: copy a directory further down");
	CHECK_ERROR(pack_limited(&t, ".", 3072, 1, &done, &err), err, ERR_LIMIT,
	            "more than 1 entries: copy a directory further down");
	assert_int_equal(truncate(job_test_path(&t, "workspace/a"), INT64_C(1) << 40), 0);
	CHECK_ERROR(
	        pack(&t, ".", &done, &err), err, ERR_LIMIT,
	        "the archive would have more than 33554432 bytes: copy a directory further down");
	assert_int_equal(unlink(job_test_path(&t, "workspace/a")), 0);
	assert_int_equal(unlink(job_test_path(&t, "workspace/b")), 0);
	CHECK_ERROR(pack_limited(&t, ".", 1023, 1, &done, &err), err, ERR_LIMIT,
	            "the limit of 1023 bytes is too small: even an empty archive has 1024");
	job_test_stop(&t);
}

/* Deep and wide at every tenth level, with few descriptors. */
static void pack_reads_two_thousand_levels_with_few_descriptors(void **state)
{
	struct rlimit saved, few = { 40, 40 };
	struct job_test t;
	struct wire_done done;
	struct error err;
	int r;

	job_test_start(&t);
	tar_test_run(job_test_path(&t, "workspace"),
	             "python3 -c '\n"
	             "import os\n"
	             "for i in range(2040):\n"
	             "  for n in \"abc\" if i % 10 == 0 else \"\":\n"
	             "    os.mkdir(n)\n"
	             "    open(n + \"/f\", \"w\").write(n)\n"
	             "  os.mkdir(\"d\")\n"
	             "  os.chdir(\"d\")\n'");
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &saved), 0);
	few.rlim_max = saved.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	r = pack(&t, ".", &done, &err);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &saved), 0);
	if (r < 0)
		fail_msg("%s", err.msg);
	save_archive(&t, &done);
	assert_int_equal(done.skipped, 0);
	assert_int_equal(done.count, 2040 + 204 * 6);
	tar_test_run(job_test_path(&t, ""), "test $(tar tf a.tar | sort -u | wc -l) = 3264");
	job_test_stop(&t);
}

/* A directory whose path is too long is left out with everything below it. */
static void pack_leaves_out_paths_beyond_the_limit(void **state)
{
	struct job_test t;
	struct wire_done done;
	struct error err;

	job_test_start(&t);
	tar_test_run(job_test_path(&t, "workspace"),
	             "python3 -c '\n"
	             "import os\n"
	             "for i in range(3000): os.mkdir(\"d\"); os.chdir(\"d\")\n'");
	CHECK_OK(pack(&t, ".", &done, &err), err);
	assert_int_equal(done.skipped, 1);
	assert_int_equal(done.count, 2047);
	assert_int_equal(done.cursor.len, 255);
	job_test_stop(&t);
}

static void pack_reads_directory_with_many_names(void **state)
{
	struct job_test t;
	struct wire_done done;
	struct error err;

	job_test_start(&t);
	tar_test_run(job_test_path(&t, "workspace"),
	             "python3 -c '\n"
	             "import os\n"
	             "for i in range(3000): os.mkdir(\"d%d\" % i); open(\"f%d\" % i, \"w\")\n'");
	CHECK_OK(pack(&t, ".", &done, &err), err);
	save_archive(&t, &done);
	assert_int_equal(done.count, 6000);
	tar_test_run(job_test_path(&t, ""), "test $(tar tf a.tar | sort -u | wc -l) = 6000");
	job_test_stop(&t);
}

/* Files of sysfs claim 4096 bytes and have a few, files of procfs claim none and have some: like
 * files that shrink or grow while they are read. */
static void packed_file_has_the_size_of_its_header(void **state)
{
	static const char shrinking[] = "/sys/class/net/lo/statistics";
	static const char growing[] = "/proc/sys/fs/inotify";
	struct job_test t;
	struct wire_done done;
	struct error err;
	size_t shrunk;
	int root;

	if (access(shrinking, R_OK) != 0 || access(growing, R_OK) != 0)
		SKIP_TEST("no files in /sys or /proc whose size is wrong");
	job_test_start(&t);
	root = t.job.root;
	t.job.root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	CHECK_OK(pack(&t, shrinking, &done, &err), err);
	assert_true(done.count > 0);
	shrunk = done.bytes;
	assert_int_equal(shrunk, done.count * (512 + 4096) + 1024);
	CHECK_OK(pack(&t, growing, &done, &err), err);
	assert_true(done.count > 0);
	assert_int_equal(done.bytes, done.count * 512 + 1024);
	(void)close(t.job.root);
	t.job.root = root;
	job_test_finish(&t);
	assert_int_equal(t.data.len, shrunk + done.bytes);
	assert_in_range(t.data.ptr[512], '0', '9');
	for (size_t i = 512 + 32; i < 512 + 4096; i++)
		assert_int_equal(t.data.ptr[i], 0);
	job_test_stop(&t);
}

enum { NO_MOUNTS = 77 };

/* Runs in a child with a mount namespace of its own. Returns how many entries were left out. */
static int pack_mounted(struct job_test *t, const char *type, bool tells)
{
	struct wire_done done;
	struct error err;

	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", job_test_path(t, "workspace/m"), type, 0, NULL) < 0)
		return NO_MOUNTS;
	/* The old descriptor is of the old namespace, where nothing is mounted. */
	t->job.root = open(t->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (!tells)
		refuse_call(SYS_fstatfs, EIO);
	if (pack(t, ".", &done, &err) < 0 || done.count + done.skipped != 2)
		return -1;
	return (int)done.skipped;
}

/* The same mounts as walk.h leaves out, counted here. fstatfs() that fails counts as pseudo. */
static void pack_leaves_out_pseudo_file_systems(void **state)
{
	static const struct {
		const char *type;
		bool tells;
		int skipped;
	} rows[] = {
		{ "tmpfs", true, 0 },  { "tmpfs", false, 1 },      { "proc", true, 1 },
		{ "pstore", true, 1 }, { "binfmt_misc", true, 1 },
	};
	size_t mounted = 0;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct job_test t;
		int status = -1;
		pid_t child;

		job_test_start(&t);
		job_test_directory(&t, "workspace/m");
		job_test_file(&t, "workspace/n", VIEW("n"));
		child = fork();
		if (child == 0)
			_exit(pack_mounted(&t, rows[i].type, rows[i].tells));
		assert_int_equal(waitpid(child, &status, 0), child);
		job_test_stop(&t);
		assert_true(WIFEXITED(status));
		if (WEXITSTATUS(status) == NO_MOUNTS) /* or not this type */
			continue;
		assert_int_equal(WEXITSTATUS(status), rows[i].skipped);
		mounted++;
	}
	if (mounted == 0)
		SKIP_TEST("nothing may be mounted here");
}

static void cancelled_pack_stops(void **state)
{
	struct job_test t;
	struct wire_done done;
	struct error err;

	job_test_start(&t);
	job_test_file(&t, "workspace/big", VIEW(""));
	assert_int_equal(truncate(job_test_path(&t, "workspace/big"), 20 << 20), 0);
	(void)shutdown(t.peer, SHUT_RDWR);
	CHECK_ERROR(pack(&t, ".", &done, &err), err, ERR_SYSTEM, "the request was closed");
	assert_int_equal(err.errnum, EPIPE);
	job_test_stop(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(tar_program_extracts_what_pack_writes),
		TEST(empty_directory_is_an_empty_archive),
		TEST(pack_leaves_out_fifos),
		TEST(long_name_left_out_is_cut_at_a_character),
		TEST(pack_leaves_out_unreadable_files),
		TEST(pack_keeps_to_its_limits),
		TEST(pack_reads_two_thousand_levels_with_few_descriptors),
		TEST(pack_leaves_out_paths_beyond_the_limit),
		TEST(pack_reads_directory_with_many_names),
		TEST(packed_file_has_the_size_of_its_header),
		TEST(pack_leaves_out_pseudo_file_systems),
		TEST(cancelled_pack_stops),
	};

	return RUN_TESTS("op_pack", tests);
}
