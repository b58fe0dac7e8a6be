/* deaths.c - processes of the spawner that ended, and sandboxes that begin. */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "engine/native/spawner/spare.h"
#include "engine/native/spawner/spawner_internal.h"
#include "engine/native/usage/watch.h"

/* --- beginnings --------------------------------------------------------------------- */

void spawner_hand_over(struct spawner *spawner, struct box *box)
{
	struct answer answer = { .kind = ANSWER_MADE,
		                 .number = box->number,
		                 .pid = (uint32_t)box->pid,
		                 .user = { SPEC_UID, SPEC_GID,
		                           spawner->shop.home.mode == HOME_ALONE } };
	int counts[CGROUP_COUNTER_FILES], fds[ANSWER_FDS_MAX] = { box->channel };
	size_t used = 1;

	box->channel = -1;
	cgroup_open_counters(&box->group, counts);
	for (unsigned i = 0; i < CGROUP_COUNTER_FILES; i++)
		if (counts[i] >= 0) {
			answer.counts |= 1U << i;
			fds[used++] = counts[i];
		}
	answers_add(&spawner->answers, &answer, fds, used);
}

void spawner_started(struct spawner *spawner, struct box *box)
{
	struct error err;
	int r = box_is_started(&spawner->shop, box, &err);

	if (r > 0) {
		watch_begin(&spawner->shop, box);
		if (box->number != SPARE_NUMBER)
			spawner_hand_over(spawner, box);
	} else if (r < 0)
		box_failed(box, &err);
}

/* --- ends --------------------------------------------------------------------------- */

static void count_kills(struct box *box)
{
	struct engine_counters counts = { 0 };
	int fds[CGROUP_COUNTER_FILES];

	if (box->group.in == NULL)
		return;
	cgroup_open_counters(&box->group, fds);
	cgroup_read_counters(fds, box->group.in->kind, &counts);
	for (int i = 0; i < CGROUP_COUNTER_FILES; i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
	box->memory_kills = counts.memory_kills;
}

static void box_died(struct box *box, int status)
{
	box->is_dead = true;
	count_kills(box);
	if (box->end == ENGINE_END_AGENT_DIED && WIFSIGNALED(status) &&
	    WTERMSIG(status) == SIGKILL && box->memory_kills != 0)
		box->end = ENGINE_END_OUT_OF_MEMORY;
}

static void janitor_died(struct spawner *spawner, struct janitor *janitor)
{
	const struct janitor was = *janitor;
	struct janitor_result result = janitor_end(janitor);

	if (was.kind == JANITOR_REMOVE) {
		/* It may be another server's after all. */
		if (result.failed && result.err.kind != ERR_INVALID)
			log_warning("files of a removed sandbox are left: %s", result.err.msg);
		if (!result.failed) {
			disk_release(&spawner->shop.disk, was.ids.number);
			ids_release(&spawner->shop.ids, &was.ids, was.name);
		}
	} else
		watch_counted(spawner, was.number, &result);
	spawner_start_erasing(spawner);
}

void spawner_reap(struct spawner *spawner)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (size_t i = 0; i < spawner->box_top; i++)
			if (spawner->boxes[i].number != 0 && spawner->boxes[i].pid == pid)
				box_died(&spawner->boxes[i], status);
		for (size_t i = 0; i < JANITORS_MAX; i++)
			if (spawner->janitors[i].pid == pid)
				janitor_died(spawner, &spawner->janitors[i]);
	}
}

static void tell_gone(struct spawner *spawner, const struct box *box)
{
	struct answer answer = { .kind = ANSWER_GONE,
		                 .number = box->number,
		                 .failed = box->failed,
		                 .err = box->why,
		                 .end = box->end };

	answers_add(&spawner->answers, &answer, NULL, 0);
}

bool spawner_bury(struct spawner *spawner)
{
	bool busy = false;

	for (size_t i = 0; i < spawner->box_top; i++) {
		struct box *box = &spawner->boxes[i];

		if (box->number == 0 || !box->is_dead)
			continue;
		/* It ended before it said that it had started: that is to be told first. */
		if (box->report >= 0)
			spawner_started(spawner, box);
		if (!box_bury(box)) {
			busy = true;
			continue;
		}
		if (box->number == SPARE_NUMBER) {
			spawner_remove(spawner, box->id);
			if (box->failed)
				spawner->wanted_until = 0; /* whoever asks next will hear why */
		} else
			tell_gone(spawner, box);
		box->number = 0;
		if (box->erase != 0)
			spawner_erase(spawner, box->id, box->erase);
	}
	while (spawner->box_top > 0 && spawner->boxes[spawner->box_top - 1].number == 0)
		spawner->box_top--;
	return busy;
}
