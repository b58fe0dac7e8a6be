/* What processes hold that has no name: however they hold it, it is found, and counts once. */
#include "unit/engine/native/native_test.h"

#include <linux/magic.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "engine/native/usage/nameless.h"
#include "engine/native/usage/tree_pids.h"

enum { KIB = 1024, SIZE = 64 * KIB, CHILDREN = 1000 };

static int place_fd, ready;

static void say_ready(void)
{
	(void)!write(ready, "", 1);
}

/* A file without a name, and its descriptor. */
static int hold(void)
{
	static const char bytes[SIZE] = "x";
	int fd = openat(place_fd, "file", O_RDWR | O_CREAT | O_EXCL, 0600);

	if (fd < 0 || write(fd, bytes, SIZE) != SIZE || fsync(fd) < 0 ||
	    unlinkat(place_fd, "file", 0) < 0)
		_exit(1);
	return fd;
}

static void map(int fd, size_t from, size_t size)
{
	if (mmap(NULL, size, PROT_READ, MAP_SHARED, fd, (off_t)from) == MAP_FAILED)
		_exit(1);
}

static void open_(void)
{
	(void)hold();
}

static void open_and_mapped(void)
{
	map(hold(), 0, SIZE);
}

static void open_in_a_child_too(void)
{
	(void)hold();
	if (fork() == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		(void)pause();
	}
}

/* Root is told the size; others how far it is mapped. */
static void mapped_in_parts(void)
{
	int fd = hold();

	map(fd, 0, 4 * KIB);
	map(fd, 16 * KIB, 16 * KIB);
	map(fd, 8 * KIB, 4 * KIB);
	(void)close(fd);
}

static void *own_table(void *unused)
{
	(void)unused;
	if (unshare(CLONE_FILES) < 0)
		_exit(1);
	(void)hold();
	say_ready();
	(void)pause();
	return NULL;
}

static void *just_wait(void *unused)
{
	say_ready();
	(void)pause();
	return unused;
}

static void open_in_a_thread_of_its_own_table(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, own_table, NULL) != 0)
		_exit(1);
	(void)pause();
}

static void without_its_first_thread(void)
{
	int fd = hold();
	pthread_t thread;

	(void)hold();
	map(fd, 0, 32 * KIB);
	(void)close(fd);
	if (pthread_create(&thread, NULL, just_wait, NULL) != 0)
		_exit(1);
	(void)syscall(SYS_exit, 0);
}

static void with_a_name(void)
{
	int fd = openat(place_fd, "named", O_RDWR | O_CREAT, 0600);

	if (fd < 0 || ftruncate(fd, SIZE) < 0)
		_exit(1);
	map(fd, 0, SIZE);
}

static const struct way {
	const char *name;
	void (*hold)(void);
	unsigned files, root_kib, user_kib;
} ways[] = {
	{ "open", open_, 1, 64, 64 },
	{ "open and mapped", open_and_mapped, 1, 64, 64 },
	{ "open in a child too", open_in_a_child_too, 1, 64, 64 },
	{ "mapped in parts", mapped_in_parts, 1, 64, 32 },
	{ "thread", open_in_a_thread_of_its_own_table, 1, 64, 64 },
	{ "leaderless", without_its_first_thread, 2, 128, 96 },
	{ "with a name", with_a_name, 0, 0, 0 },
};

static bool become_nobody(void)
{
	return geteuid() != 0 ||
	       (setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0 &&
	        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0);
}

static pid_t start_holder(const struct way *way)
{
	int fds[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		ready = fds[1];
		if (!become_nobody())
			_exit(1);
		way->hold();
		say_ready();
		(void)pause();
		_exit(0);
	}
	(void)close(fds[1]);
	if (read(fds[0], &byte, 1) != 1)
		fail_msg("%s: it did not begin", way->name);
	(void)close(fds[0]);
	usleep(20000); /* until the first thread has really gone */
	return pid;
}

/* In a process that may not become what it was again. */
static struct disk_use count(pid_t pid, bool as_root)
{
	struct nameless_where where;
	struct disk_use use = { 0 };
	struct statfs fs;
	struct stat st;
	int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), fds[2], status;
	pid_t child;

	assert_int_equal(fstatfs(place_fd, &fs), 0);
	assert_int_equal(fstat(place_fd, &st), 0);
	where = (struct nameless_where){ (unsigned long)fs.f_type, st.st_dev };
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	child = fork();
	if (child == 0) {
		if (!as_root && !become_nobody())
			_exit(1);
		use = nameless_files(proc, pid, &where);
		_exit(write(fds[1], &use, sizeof use) == sizeof use ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(read(fds[0], &use, sizeof use), sizeof use);
	(void)close(fds[0]);
	(void)close(fds[1]);
	(void)close(proc);
	return use;
}

static void check(const struct way *way, bool as_root)
{
	unsigned kib = as_root ? way->root_kib : way->user_kib;
	pid_t pid = start_holder(way);
	struct disk_use use = count(pid, as_root);

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	/* File systems take some more for themselves. */
	if (use.inodes != way->files || use.bytes < kib * KIB ||
	    use.bytes > (kib + way->files * 8) * KIB)
		fail_msg("%s, %s: %llu bytes in %llu files", way->name, as_root ? "root" : "user",
		         (unsigned long long)use.bytes, (unsigned long long)use.inodes);
}

static void finds_what_is_held_however_it_is(void **state)
{
	struct place place;

	(void)state;
	place_start(&place);
	place_fd = place.fd;
	assert_int_equal(fchmod(place.fd, 0777), 0);
	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		check(&ways[i], false);
		if (geteuid() == 0)
			check(&ways[i], true);
	}
	place_stop(&place);
}

static void counts_no_files_of_another_kind(void **state)
{
	AUTO_FD int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), memory = -1;
	const struct nameless_where where[] = { { .type = TMPFS_MAGIC },
		                                { .type = OVERLAYFS_SUPER_MAGIC } };
	struct disk_use before[2], after[2];

	(void)state;
	for (int i = 0; i < 2; i++)
		before[i] = nameless_files(proc, getpid(), &where[i]);
	memory = memfd_create("test", MFD_CLOEXEC);
	assert_int_equal(ftruncate(memory, SIZE), 0);
	assert_int_equal(pwrite(memory, "x", 1, 0), 1);
	for (int i = 0; i < 2; i++)
		after[i] = nameless_files(proc, getpid(), &where[i]);
	assert_int_equal(after[0].inodes - before[0].inodes, 1);
	assert_int_equal(after[0].bytes - before[0].bytes, 4 * KIB);
	assert_int_equal(after[1].inodes - before[1].inodes, 0);
}

static int wait_forever(void *unused)
{
	(void)unused;
	for (;;)
		(void)pause();
	return 0;
}

/* They share our memory: a thousand cost nothing. */
static void finds_every_one_of_many_children(void **state)
{
	static char stacks[CHILDREN][8192] __attribute__((aligned(16)));
	static pid_t children[CHILDREN], all[TREE_PIDS_MAX];
	AUTO_FD int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	size_t count;

	(void)state;
	for (size_t i = 0; i < CHILDREN; i++) {
		children[i] = clone(wait_forever, stacks[i] + sizeof stacks[i], CLONE_VM | SIGCHLD,
		                    NULL);
		assert_true(children[i] > 0);
	}
	count = tree_pids(proc, getpid(), all);
	for (size_t i = 0; i < CHILDREN; i++)
		assert_int_equal(kill(children[i], SIGKILL), 0);
	for (size_t i = 0; i < CHILDREN; i++)
		assert_int_equal(waitpid(children[i], NULL, 0), children[i]);
	assert_int_equal(count, CHILDREN + 1);
	for (size_t i = 0; i < CHILDREN; i++)
		assert_int_equal(all[i + 1], children[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(finds_what_is_held_however_it_is),
		TEST(counts_no_files_of_another_kind),
		TEST(finds_every_one_of_many_children),
	};

	return RUN_TESTS("engine/nameless", tests);
}
