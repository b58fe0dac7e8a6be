/* idle.c - puts idle sandboxes to sleep and deletes those whose lifetime is over.
 *
 * One timer serves all sandboxes. The timer fires every second while a sandbox is ready and may
 * become idle, else once a minute, for lifetimes. */
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "loop/loop.h"
#include "sandbox/internal.h"

enum {
	CHECK_MS = 1000,
	RELAXED_MS = 60 * 1000,
	EXPIRY_CHECK_S = 60,
	EXPIRED_MAX = 64,           /* sleeping sandboxes that one check deletes */
	UNLOAD_MS = 10 * 60 * 1000, /* of sleep, after which the struct is freed */
};

static bool is_expired(const struct sandbox *sandbox, int64_t now_s)
{
	return sandbox->row.lifetime_s != 0 &&
	       sandbox->row.created_s + (int64_t)sandbox->row.lifetime_s <= now_s;
}

int64_t sandbox_expiry_s(const struct sandbox_row *row)
{
	return row->lifetime_s != 0 ? row->created_s + (int64_t)row->lifetime_s : 0;
}

int64_t sandbox_expires_in_s(const struct sandbox *sandbox)
{
	int64_t left = sandbox_expiry_s(&sandbox->row) - time(NULL);

	if (sandbox->row.lifetime_s == 0)
		return -1;
	return left > 0 ? left : 0;
}

int64_t sandbox_sleeps_in_s(const struct sandbox *sandbox)
{
	uint64_t idle_ms = clock_now_ms() - sandbox->active_ms;
	uint64_t most_ms = (uint64_t)sandbox->row.idle_s * 1000;

	if (sandbox->phase != PHASE_READY || sandbox->row.idle_s == 0)
		return -1;
	if (sandbox->holds != 0)
		return sandbox->row.idle_s;
	return idle_ms < most_ms ? (int64_t)((most_ms - idle_ms) / 1000) : 0;
}

static void check_sandbox(struct manager *manager, struct sandbox *sandbox, int64_t now_s)
{
	if (is_expired(sandbox, now_s)) {
		/* A sandbox that another server has awake is deleted by that server. A sandbox that
		 * is asleep here may be awake elsewhere: delete_expired() reads its row. */
		if (!sandbox->delete_pending && sandbox_is_awake_here(sandbox)) {
			log_info("sandbox %s: its lifetime of %u s is over, it is deleted",
			         sandbox->row.spec.id, sandbox->row.lifetime_s);
			sandbox_delete(sandbox, NULL, NULL);
		}
		return;
	}
	if (sandbox->phase == PHASE_READY && sandbox->row.idle_s != 0 && sandbox->holds == 0 &&
	    sandbox_sleeps_in_s(sandbox) == 0) {
		if (manager->config.deletes_idle && sandbox->row.temporary && !sandbox->is_guest)
			sandbox_delete(sandbox, NULL, NULL);
		else
			sandbox_sleep(sandbox, NULL, NULL);
	} else if (sandbox->phase == PHASE_ASLEEP && sandbox->holds == 0 &&
	           !sandbox->row.temporary && waiters_is_empty(&sandbox->waiters) &&
	           !processes_worth_keeping(sandbox->processes) &&
	           clock_now_ms() - sandbox->active_ms >= UNLOAD_MS)
		sandbox_unload(sandbox);
}

/* Every server that shares the database does this; registry_claim() in sandbox_delete() lets one of
 * them win. */
static void delete_expired(struct manager *manager, int64_t now_s)
{
	static char ids[EXPIRED_MAX][SPEC_ID_LEN + 1];
	struct sandbox_row row;
	struct sandbox *sandbox;
	struct error err;
	size_t count = 0;

	if (registry_list_expired(manager->store, now_s, ids, EXPIRED_MAX, &count, &err) < 0)
		log_warning("cannot look for expired sandboxes: %s", err.msg);
	for (size_t i = 0; i < count; i++)
		if (registry_get(manager->store, ids[i], &row, &err) == 0 &&
		    sandbox_find(manager, row.owner, ids[i], &sandbox, &err) == 0)
			sandbox_delete(sandbox, NULL, NULL);
}

static bool any_ready(const struct manager *manager)
{
	LIST_EACH (node, &manager->sandboxes)
		if (container_of(node, struct sandbox, node)->phase == PHASE_READY)
			return true;
	return false;
}

static void on_timer(void *ctx)
{
	struct manager *manager = ctx;
	int64_t now_s = time(NULL);

	if (manager->is_stopping)
		return;
	if (now_s - manager->expiry_checked_s >= EXPIRY_CHECK_S ||
	    now_s < manager->expiry_checked_s) {
		manager->expiry_checked_s = now_s;
		delete_expired(manager, now_s);
	}
	for (struct list *node = manager->sandboxes.next; node != &manager->sandboxes;) {
		struct sandbox *sandbox = container_of(node, struct sandbox, node);

		node = node->next;
		check_sandbox(manager, sandbox, now_s);
	}
	loop_timer_start(manager->timer, any_ready(manager) ? CHECK_MS : RELAXED_MS);
}

void idle_start(struct manager *manager)
{
	manager->timer = loop_timer_new(manager->loop, on_timer, manager);
	loop_timer_start(manager->timer, CHECK_MS);
}

void idle_check_soon(struct manager *manager)
{
	loop_timer_start(manager->timer, CHECK_MS);
}

void idle_stop(struct manager *manager)
{
	manager->timer = loop_timer_free(manager->timer);
}
