/* reap.c - child processes that have started or exited: sandboxes and janitors. */
#include <signal.h>
#include <sys/wait.h>

#include "base/error.h"
#include "base/log.h"
#include "engine/native/spawner/internal.h"

void spawner_check_started(struct spawner *spawner, struct spawner_sandbox *sandbox)
{
	struct error err;
	int r = spawner_sandbox_check_started(&spawner->host, sandbox, &err);

	if (r > 0 && sandbox->has_image && !sandbox->is_fresh)
		disk_image_settle(sandbox->image_fs);
	/* No program runs in a spare, so the image of a spare claims nothing. */
	if (r > 0 && sandbox->has_image && sandbox->number != SPARE_NUMBER &&
	    image_watch_start(spawner, sandbox, &err) < 0)
		r = -1;
	if (r > 0) {
		limit_watch_start(&spawner->host, sandbox);
		if (sandbox->number != SPARE_NUMBER)
			spawner_reply_started(&spawner->replies, &spawner->host, sandbox);
	} else if (r < 0)
		spawner_sandbox_fail(sandbox, &err);
}

/* --- sandboxes that exited ----------------------------------------------------------- */

/* The cgroup's counter says whether the kernel killed a process at the memory limit. A SIGKILL
 * alone could have been sent by any process of the host. */
static void note_exit(struct spawner_sandbox *sandbox, int status)
{
	sandbox->is_dead = true;
	if (sandbox->end == ENGINE_END_AGENT_DIED && WIFSIGNALED(status) &&
	    WTERMSIG(status) == SIGKILL && cgroup_counters_now(&sandbox->cgroup).memory_kills != 0)
		sandbox->end = ENGINE_END_OUT_OF_MEMORY;
}

static void report_end(struct spawner *spawner, const struct spawner_sandbox *sandbox)
{
	const struct engine_reply reply = { .kind = REPLY_ENDED,
		                            .number = sandbox->number,
		                            .failed = sandbox->failed,
		                            .err = sandbox->why,
		                            .end = sandbox->end };

	replies_add(&spawner->replies, &reply);
}

/* A spare that failed is not tried again: the next request fails in the same way and gets the
 * error. */
static void finish_spare(struct spawner *spawner, const struct spawner_sandbox *sandbox)
{
	sandbox_dirs_remove(spawner, sandbox->id);
	if (sandbox->failed)
		spawner->spare_until_ms = 0;
}

bool spawner_finish_dead(struct spawner *spawner)
{
	bool busy = false;

	for (size_t i = 0; i < spawner->sandbox_top; i++) {
		struct spawner_sandbox *sandbox = &spawner->sandboxes[i];

		if (sandbox->number == 0 || !sandbox->is_dead)
			continue;
		/* The process exited before its set-up pipe was read: REPLY_STARTED or the error of
		 * the set-up comes before REPLY_ENDED. */
		if (sandbox->setup_pipe >= 0)
			spawner_check_started(spawner, sandbox);
		if (!spawner_sandbox_finish(spawner, sandbox)) {
			busy = true;
			continue;
		}
		if (sandbox->number == SPARE_NUMBER)
			finish_spare(spawner, sandbox);
		else
			report_end(spawner, sandbox);
		sandbox->number = 0;
		if (sandbox->erase_number != 0)
			spawner_erase(spawner, sandbox->id, sandbox->erase_number);
	}
	while (spawner->sandbox_top > 0 && spawner->sandboxes[spawner->sandbox_top - 1].number == 0)
		spawner->sandbox_top--;
	return busy;
}

/* --- janitors that exited ------------------------------------------------------------ */

/* Ids and quota are free for another sandbox only when no file has the old owner any more.
 * ERR_INVALID: another server uses the directory after all. */
static void finish_removal(struct spawner *spawner, const struct janitor *janitor,
                           const struct janitor_result *result)
{
	if (!result->failed) {
		disk_clear_quota(&spawner->host.disk, janitor->ids.number);
		ids_release(&spawner->host.ids, &janitor->ids, janitor->name);
	} else if (result->err.kind != ERR_INVALID)
		log_warning("files of a removed sandbox are left: %s", result->err.msg);
}

static void finish_janitor(struct spawner *spawner, struct janitor *janitor,
                           const struct rusage *used)
{
	const struct janitor was = *janitor;
	struct janitor_result result = janitor_finish(janitor, used);
	struct spawner_sandbox *sandbox;

	if (was.kind == JANITOR_REMOVE)
		finish_removal(spawner, &was, &result);
	else if (was.kind == JANITOR_UNMOUNT) {
		sandbox = spawner_find_sandbox(spawner, was.number);
		if (sandbox != NULL)
			sandbox->is_unmounting = false;
	} else
		limit_watch_result(spawner, was.number, &result);
	sandbox_dirs_start_removals(spawner);
}

void spawner_reap(struct spawner *spawner)
{
	struct rusage used;
	int status;
	pid_t pid;

	while ((pid = wait4(-1, &status, WNOHANG, &used)) > 0) {
		for (size_t i = 0; i < spawner->sandbox_top; i++)
			if (spawner->sandboxes[i].number != 0 && spawner->sandboxes[i].pid == pid)
				note_exit(&spawner->sandboxes[i], status);
		for (size_t i = 0; i < JANITORS_MAX; i++)
			if (spawner->janitors[i].pid == pid)
				finish_janitor(spawner, &spawner->janitors[i], &used);
	}
}
