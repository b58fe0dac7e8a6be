/* Unlinked files are found however a process holds them, and count once. */
#include "unit/engine/native/rig.h"

#include <linux/magic.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "engine/native/usage/internal.h"

enum { KIB = 1024, SIZE = 64 * KIB, CHILDREN = 1000 };

static int dir_fd, ready_pipe;

static void report_ready(void)
{
	(void)!write(ready_pipe, "", 1);
}

/* Returns the descriptor of an unlinked file of SIZE bytes. */
static int open_unlinked(void)
{
	static const char bytes[SIZE] = "x";
	int fd = openat(dir_fd, "file", O_RDWR | O_CREAT | O_EXCL, 0600);

	if (fd < 0 || write(fd, bytes, SIZE) != SIZE || fsync(fd) < 0 ||
	    unlinkat(dir_fd, "file", 0) < 0)
		_exit(1);
	return fd;
}

static void map_file(int fd, size_t from, size_t size)
{
	if (mmap(NULL, size, PROT_READ, MAP_SHARED, fd, (off_t)from) == MAP_FAILED)
		_exit(1);
}

static void keep_open(void)
{
	(void)open_unlinked();
}

static void keep_open_and_mapped(void)
{
	map_file(open_unlinked(), 0, SIZE);
}

static void keep_open_in_child_too(void)
{
	(void)open_unlinked();
	if (fork() == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		(void)pause();
	}
}

/* Root can read the size; other users see how far the file is mapped. */
static void keep_parts_mapped(void)
{
	int fd = open_unlinked();

	map_file(fd, 0, 4 * KIB);
	map_file(fd, 16 * KIB, 16 * KIB);
	map_file(fd, 8 * KIB, 4 * KIB);
	(void)close(fd);
}

static void *hold_in_own_table(void *unused)
{
	(void)unused;
	if (unshare(CLONE_FILES) < 0)
		_exit(1);
	(void)open_unlinked();
	report_ready();
	(void)pause();
	return NULL;
}

static void *wait_in_thread(void *unused)
{
	report_ready();
	(void)pause();
	return unused;
}

static void keep_open_in_thread_with_own_table(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, hold_in_own_table, NULL) != 0)
		_exit(1);
	(void)pause();
}

static void exit_first_thread(void)
{
	int fd = open_unlinked();
	pthread_t thread;

	(void)open_unlinked();
	map_file(fd, 0, 32 * KIB);
	(void)close(fd);
	if (pthread_create(&thread, NULL, wait_in_thread, NULL) != 0)
		_exit(1);
	(void)syscall(SYS_exit, 0);
}

static void keep_named_file_mapped(void)
{
	int fd = openat(dir_fd, "named", O_RDWR | O_CREAT, 0600);

	if (fd < 0 || ftruncate(fd, SIZE) < 0)
		_exit(1);
	map_file(fd, 0, SIZE);
}

static const struct holder {
	const char *name;
	void (*hold)(void);
	unsigned files, root_kib, user_kib;
} holders[] = {
	{ "open", keep_open, 1, 64, 64 },
	{ "open and mapped", keep_open_and_mapped, 1, 64, 64 },
	{ "open in a child too", keep_open_in_child_too, 1, 64, 64 },
	{ "mapped in parts", keep_parts_mapped, 1, 64, 32 },
	{ "thread with its own descriptors", keep_open_in_thread_with_own_table, 1, 64, 64 },
	{ "first thread exited", exit_first_thread, 2, 128, 96 },
	{ "with a name", keep_named_file_mapped, 0, 0, 0 },
};

/* After a change of ids the kernel makes a process non-dumpable, and its /proc entry belongs to
 * root. */
static bool become_readable_nobody(void)
{
	return become_nobody() && prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0;
}

/* A first thread that has exited while others run stays as a zombie. */
static void wait_for_first_thread(pid_t pid)
{
	char path[32], stat[256];

	(void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
	for (int i = 0; i < 10000; i++) {
		AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t n = read(fd, stat, sizeof stat - 1);

		assert_true(n > 0);
		stat[n] = '\0';
		if (strstr(stat, ") Z ") != NULL)
			return;
		usleep(1000);
	}
	fail_msg("the first thread of %d did not exit", pid);
}

static pid_t start_holder(const struct holder *holder)
{
	int fds[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		ready_pipe = fds[1];
		if (!become_readable_nobody())
			_exit(1);
		holder->hold();
		report_ready();
		(void)pause();
		_exit(0);
	}
	(void)close(fds[1]);
	if (read(fds[0], &byte, 1) != 1)
		fail_msg("%s: it did not start", holder->name);
	(void)close(fds[0]);
	if (holder->hold == exit_first_thread)
		wait_for_first_thread(pid);
	return pid;
}

/* In a child: root that became nobody cannot become root again. */
static struct disk_usage measure(pid_t pid, bool as_root)
{
	struct unlinked_filter filter;
	struct disk_usage use = { 0 };
	struct statfs fs;
	struct stat st;
	int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), fds[2], status;
	pid_t child;

	assert_int_equal(fstatfs(dir_fd, &fs), 0);
	assert_int_equal(fstat(dir_fd, &st), 0);
	filter = (struct unlinked_filter){ (unsigned long)fs.f_type, st.st_dev };
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	child = fork();
	if (child == 0) {
		if (!as_root && !become_readable_nobody())
			_exit(1);
		use = unlinked_files_usage(proc, pid, &filter);
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

static void check_holder(const struct holder *holder, bool as_root)
{
	unsigned kib = as_root ? holder->root_kib : holder->user_kib;
	pid_t pid = start_holder(holder);
	struct disk_usage use = measure(pid, as_root);

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	/* File systems allocate some blocks for themselves. */
	if (use.inodes != holder->files || use.bytes < kib * KIB ||
	    use.bytes > (kib + holder->files * 8) * KIB)
		fail_msg("%s, %s: %llu bytes in %llu files", holder->name,
		         as_root ? "root" : "user", (unsigned long long)use.bytes,
		         (unsigned long long)use.inodes);
}

static void unlinked_file_is_found_however_it_is_held(void **state)
{
	struct test_dir dir;

	test_dir_open(&dir);
	dir_fd = dir.fd;
	assert_int_equal(fchmod(dir.fd, 0777), 0);
	for (size_t i = 0; i < ARRAY_LEN(holders); i++) {
		check_holder(&holders[i], false);
		if (geteuid() == 0)
			check_holder(&holders[i], true);
	}
	test_dir_remove(&dir);
}

static void files_of_another_file_system_are_not_counted(void **state)
{
	AUTO_FD int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), memory = -1;
	const struct unlinked_filter filters[] = { { .type = TMPFS_MAGIC },
		                                   { .type = OVERLAYFS_SUPER_MAGIC } };
	struct disk_usage before[2], after[2];

	for (int i = 0; i < 2; i++)
		before[i] = unlinked_files_usage(proc, getpid(), &filters[i]);
	memory = memfd_create("test", MFD_CLOEXEC);
	assert_int_equal(ftruncate(memory, SIZE), 0);
	assert_int_equal(pwrite(memory, "x", 1, 0), 1);
	for (int i = 0; i < 2; i++)
		after[i] = unlinked_files_usage(proc, getpid(), &filters[i]);
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

/* CLONE_VM: the children share this process's memory, so a thousand are cheap. */
static void process_tree_has_all_of_many_children(void **state)
{
	static char stacks[CHILDREN][8192] __attribute__((aligned(16)));
	static pid_t children[CHILDREN], all[PROCESS_TREE_MAX];
	AUTO_FD int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	size_t count;

	for (size_t i = 0; i < CHILDREN; i++) {
		children[i] = clone(wait_forever, stacks[i] + sizeof stacks[i], CLONE_VM | SIGCHLD,
		                    NULL);
		assert_true(children[i] > 0);
	}
	count = process_tree_pids(proc, getpid(), all);
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
		TEST(unlinked_file_is_found_however_it_is_held),
		TEST(files_of_another_file_system_are_not_counted),
		TEST(process_tree_has_all_of_many_children),
	};

	return RUN_TESTS("engine/unlinked", tests);
}
