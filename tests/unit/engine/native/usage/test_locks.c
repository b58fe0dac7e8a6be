/* Record locks of all processes and threads are found, and those of shared descriptors count once. */
#include "unit/engine/native/rig.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "engine/native/usage/internal.h"

enum { FILES = 3, PER_FILE = 400, LOCKS = FILES * PER_FILE };

static void need(bool done)
{
	if (!done)
		_exit(1);
}

static void take_locks(void)
{
	for (int i = 0; i < FILES; i++) {
		int fd = memfd_create("locked", 0);

		for (int k = 0; k < PER_FILE; k++) {
			const struct flock lock = { .l_type = F_WRLCK,
				                    .l_start = k * 2,
				                    .l_len = 1 };

			need(fcntl(fd, F_SETLK, &lock) == 0);
		}
	}
}

static void take_nothing(void)
{
}

static void take_locks_in_child(void)
{
	int ready[2];
	char byte;

	need(pipe(ready) == 0);
	if (fork() == 0) {
		take_locks();
		need(write(ready[1], "", 1) == 1);
		(void)pause();
	}
	need(read(ready[0], &byte, 1) == 1);
}

static void *wait_forever(void *ctx)
{
	(void)ctx;
	(void)pause();
	return NULL;
}

static void take_locks_among_threads(void)
{
	pthread_t thread;

	for (int i = 0; i < 4; i++)
		need(pthread_create(&thread, NULL, wait_forever, NULL) == 0);
	take_locks();
}

static void *take_own_locks(void *ready)
{
	need(unshare(CLONE_FILES) == 0);
	take_locks();
	need(write(*(int *)ready, "", 1) == 1);
	return wait_forever(NULL);
}

static void take_locks_in_thread_with_own_files(void)
{
	int ready[2];
	pthread_t thread;
	char byte;

	need(pipe(ready) == 0);
	need(pthread_create(&thread, NULL, take_own_locks, &ready[1]) == 0);
	need(read(ready[0], &byte, 1) == 1);
}

static void lock_whole_file(void)
{
	need(flock(memfd_create("locked", 0), LOCK_EX) == 0);
}

/* The number of locks that a process has after calling `take`. */
static uint64_t count_after(void (*take)(void), uint64_t limit)
{
	int ready[2], proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	uint64_t count;
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		need(setpgid(0, 0) == 0);
		take();
		need(write(ready[1], "", 1) == 1);
		(void)pause();
	}
	(void)close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	count = process_tree_locks(proc, pid, limit);
	(void)kill(-pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	(void)close(ready[0]);
	(void)close(proc);
	return count;
}

static void locks_of_every_process_and_thread_count_once(void **state)
{
	assert_int_equal(count_after(take_nothing, UINT64_MAX), 0);
	assert_int_equal(count_after(lock_whole_file, UINT64_MAX), 1);
	assert_int_equal(count_after(take_locks, UINT64_MAX), LOCKS);
	assert_int_equal(count_after(take_locks_in_child, UINT64_MAX), LOCKS);
	assert_int_equal(count_after(take_locks_among_threads, UINT64_MAX), LOCKS);
	assert_int_equal(count_after(take_locks_in_thread_with_own_files, UINT64_MAX), LOCKS);
}

static void counting_stops_above_limit(void **state)
{
	assert_in_range(count_after(take_locks, 10), 11, PER_FILE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(locks_of_every_process_and_thread_count_once),
		TEST(counting_stops_above_limit),
	};

	return RUN_TESTS("engine/locks", tests);
}
