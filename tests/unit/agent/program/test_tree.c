/* test_tree.c - finding, signalling and killing the descendants of a process, and no others.
 *
 * Every test runs in a child process that is a subreaper, as a keeper is, and kills only
 * descendants of that child. A process beside it must survive. */
#include "agent/program/tree.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "unit/test.h"

/* Runs fn in a subreaper; fn returns 0 on success. */
static void check_in_child(int (*fn)(void))
{
	pid_t bystander = fork(), child;
	int status;

	if (bystander == 0)
		for (;;)
			(void)pause();
	child = fork();
	if (child == 0) {
		(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
		_exit(fn());
	}
	assert_true(bystander > 0 && child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(waitpid(bystander, NULL, WNOHANG), 0);
	assert_int_equal(kill(bystander, SIGKILL), 0);
	assert_int_equal(waitpid(bystander, NULL, 0), bystander);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("status %#x", (unsigned)status);
}

static pid_t start_sleeper(bool ignores_term)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)signal(SIGTERM, ignores_term ? SIG_IGN : SIG_DFL);
		for (;;)
			(void)pause();
	}
	return pid;
}

/* A child, a grandchild in its own session, and an orphan of that, which this process inherits. */
static void start_family(void)
{
	if (fork() == 0) {
		if (fork() == 0) {
			(void)setsid();
			if (fork() == 0)
				(void)start_sleeper(true);
			else
				_exit(0);
		}
		for (;;)
			(void)pause();
	}
	(void)poll(NULL, 0, 100);
}

static int end_a_family(void)
{
	start_family();
	if (tree_signal(0) < 4)
		return 1;
	if (!tree_kill_all(5000, NULL, NULL))
		return 2;
	return waitpid(-1, NULL, WNOHANG) == -1 ? 0 : 3;
}

static void tree_kills_all_descendants(void **state)
{
	check_in_child(end_a_family);
}

static int end_nobody(void)
{
	if (tree_signal(SIGKILL) != 0)
		return 1;
	if (tree_reap(NULL, NULL))
		return 2;
	return tree_kill_all(0, NULL, NULL) ? 0 : 3;
}

static void tree_without_descendants_is_done_at_once(void **state)
{
	check_in_child(end_nobody);
}

struct heard {
	pid_t pid;
	int status, count;
};

static void on_reaped(void *ctx, pid_t pid, int status)
{
	struct heard *heard = ctx;

	heard->count++;
	heard->pid = pid;
	heard->status = status;
}

static int tell_of_each(void)
{
	struct heard heard = { 0 };
	pid_t pid = start_sleeper(false);

	if (!tree_reap(on_reaped, &heard) || heard.count != 0)
		return 1;
	if (tree_signal(SIGTERM) != 1)
		return 2;
	for (int i = 0; i < 1000 && tree_reap(on_reaped, &heard); i++)
		(void)poll(NULL, 0, 5);
	return heard.count == 1 && heard.pid == pid && WTERMSIG(heard.status) == SIGTERM ? 0 : 3;
}

static void tree_reports_each_reaped_child(void **state)
{
	check_in_child(tell_of_each);
}

/* Forks and exits, forever, each time in a new session. */
static int end_a_chain_of_forks(void)
{
	uint64_t start;

	if (fork() == 0)
		for (;;) {
			if (fork() > 0)
				_exit(0);
			(void)setsid();
		}
	(void)poll(NULL, 0, 100);
	start = clock_now_ms();
	if (!tree_kill_all(5000, NULL, NULL))
		return 1;
	return clock_now_ms() - start < 5000 ? 0 : 2;
}

static void tree_kills_a_process_that_forks_and_exits_in_turn(void **state)
{
	check_in_child(end_a_chain_of_forks);
}

static bool is_this(void *ctx, pid_t pid)
{
	return pid == *(pid_t *)ctx;
}

/* Known children survive with their descendants; all others are killed with theirs. */
static int end_strangers(void)
{
	pid_t friend = fork();
	int status;

	if (friend == 0) {
		(void)start_sleeper(true);
		(void)start_sleeper(true);
		for (;;)
			(void)pause();
	}
	start_family();
	if (tree_signal(0) < 7 || tree_kill_unknown(is_this, &friend))
		return 1;
	for (int i = 0; i < 1000 && !tree_kill_unknown(is_this, &friend); i++) {
		(void)tree_reap(NULL, NULL);
		(void)poll(NULL, 0, 5);
	}
	if (!tree_kill_unknown(is_this, &friend))
		return 2;
	if (waitpid(friend, &status, WNOHANG) != 0 || tree_signal(0) != 3)
		return 3;
	return tree_kill_all(5000, NULL, NULL) ? 0 : 4;
}

static void tree_spares_known_children(void **state)
{
	check_in_child(end_strangers);
}

/* A process name may look like the fields after it in /proc/PID/stat. */
static int end_a_liar(void)
{
	if (fork() == 0) {
		(void)prctl(PR_SET_NAME, ") S 1 1 1 (", 0, 0, 0);
		for (;;)
			(void)pause();
	}
	(void)poll(NULL, 0, 50);
	return tree_signal(0) == 1 && tree_kill_all(5000, NULL, NULL) ? 0 : 1;
}

static void tree_is_not_misled_by_a_process_name(void **state)
{
	check_in_child(end_a_liar);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(tree_kills_all_descendants),
		TEST(tree_without_descendants_is_done_at_once),
		TEST(tree_reports_each_reaped_child),
		TEST(tree_kills_a_process_that_forks_and_exits_in_turn),
		TEST(tree_spares_known_children),
		TEST(tree_is_not_misled_by_a_process_name),
	};

	struct error err;

	if (tree_open(&err) < 0)
		return 1;
	return RUN_TESTS("tree", all);
}
