/* process_list.c - all processes of a sandbox (see process_internal.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "loop/loop.h"
#include "sandbox/process/process_internal.h"
#include "sandbox/sandbox.h"
#include "sandbox/waiters.h"

static struct process *process_of(struct list *node)
{
	return container_of(node, struct process, node);
}

struct processes *processes_new(struct sandbox *sandbox)
{
	struct processes *processes = mem_new(sizeof *processes);

	processes->sandbox = sandbox;
	list_init(&processes->all);
	processes->kernels = kernels_new(sandbox);
	processes->probe = probe_new(sandbox);
	return processes;
}

static void fail_all(struct processes *processes, const struct error *why, const char *lost)
{
	for (struct list *node = processes->all.next; node != &processes->all;) {
		struct process *process = process_of(node);
		struct list *next = node->next;

		/* `kept` may let others go, never one that runs. */
		if (!process_is_over(process)) {
			if (process->interpreter != NULL && process->cell.session != NULL) {
				process->state_is_lost = session_lose(process->cell.session, lost);
				process->interpreter = NULL;
			}
			process_fail(process, why);
			next = processes->all.next;
		}
		node = next;
	}
}

/* In the order of who needs whom. */
void processes_down(struct processes *processes, const struct error *why)
{
	const struct sandbox *sandbox = processes->sandbox;
	const char *reason = sandbox_end_reason(sandbox);
	char text[240] = "the sandbox was put to sleep";
	struct error err;

	if (sandbox_is_resetting(sandbox))
		(void)snprintf(text, sizeof text, "the sandbox was reset");
	else if (reason[0] != '\0')
		(void)snprintf(text, sizeof text, "the sandbox ended: %s", reason);
	(void)error_set(&err, ERR_SYSTEM, "%s", text);
	fail_all(processes, why != NULL ? why : &err, text);
	probe_down(processes->probe, why != NULL ? why : &err);
	kernels_down(processes->kernels, text);
}

bool processes_worth_keeping(const struct processes *processes)
{
	LIST_EACH (node, &processes->all) {
		const struct process *process = process_of(node);

		if (process->is_detached && !process->is_looked_at)
			return true;
	}
	return sessions_any_lost(processes->kernels);
}

/* Those that were not detached belong to whoever started them. */
static void orphan(struct process *process)
{
	process_unwatch(process);
	if (!process_is_over(process)) {
		(void)error_set(&process->why, ERR_SYSTEM, "the sandbox is gone");
		process_let_go(process);
		process->phase = PROCESS_FAILED;
		process->ended_ms = process->started_ms;
	}
	list_remove(&process->node);
	process->processes = NULL;
}

void processes_free(struct processes *processes)
{
	if (processes == NULL)
		return;
	while (!list_is_empty(&processes->all)) {
		struct process *process = process_of(processes->all.next);

		if (process->is_detached)
			process_free(process);
		else
			orphan(process);
	}
	probe_free(processes->probe);
	kernels_free(processes->kernels);
	free(processes);
}

/* One somebody waits for is looked at first; so is the one that has just ended. */
void process_forget_oldest(struct processes *processes, const struct process *newest)
{
	unsigned kept = sandbox_process_limits(processes->sandbox)->kept;
	struct process *oldest = NULL;
	unsigned count = 0;

	LIST_EACH (node, &processes->all) {
		struct process *process = process_of(node);

		if (!process->is_detached || !process_is_over(process))
			continue;
		count++;
		if (process != newest && process->fn == NULL &&
		    (oldest == NULL || process->ended_ms < oldest->ended_ms))
			oldest = process;
	}
	if (count > kept && oldest != NULL)
		process_free(oldest);
}

/* --- calls ------------------------------------------------------------------------------------ */

int process_find(struct sandbox *sandbox, const char *id, struct process **ret, struct error *err)
{
	char names[256];
	struct buf list = buf_fixed(names, sizeof names);
	struct error full;

	names[0] = '\0';
	LIST_EACH (node, &sandbox_processes(sandbox)->all) {
		struct process *process = process_of(node);

		if (strcmp(process->id, id) == 0) {
			*ret = process;
			return 0;
		}
		(void)!buf_printf(&list, &full, "%s%s", list.len != 0 ? ", " : "", process->id);
	}
	return error_set(err, ERR_NOT_FOUND, "process: there is no '%.32s' in this sandbox; %s%s",
	                 id, list.len != 0 ? "there are: " : "nothing was started there", names);
}

void process_each(struct sandbox *sandbox, void (*each)(void *ctx, struct process *process),
                  void *ctx)
{
	for (struct list *node = sandbox_processes(sandbox)->all.next;
	     node != &sandbox_processes(sandbox)->all;) {
		struct list *next = node->next;

		each(ctx, process_of(node));
		node = next;
	}
}

size_t process_count_running(struct sandbox *sandbox)
{
	size_t count = 0;

	LIST_EACH (node, &sandbox_processes(sandbox)->all)
		if (!process_is_over(process_of(node)))
			count++;
	return count;
}

void process_each_session(struct sandbox *sandbox,
                          void (*each)(void *ctx, const char *name, const char *language,
                                       bool is_busy),
                          void *ctx)
{
	sessions_each(sandbox_processes(sandbox)->kernels, each, ctx);
}

void process_probe_languages(struct sandbox *sandbox, bool with_versions,
                             void (*fn)(void *ctx, const struct error *why), void *ctx)
{
	struct probe *probe = sandbox_processes(sandbox)->probe;
	struct probe_waiter *waiter;

	if (probe_found(probe)->known && (!with_versions || probe_has_versions(probe))) {
		waiters_notify_one(sandbox_loop(sandbox), fn, ctx, NULL);
		return;
	}
	waiter = mem_new(sizeof *waiter);
	*waiter = (struct probe_waiter){
		.with_versions = with_versions, .is_owned = true, .fn = fn, .ctx = ctx
	};
	probe_ask(probe, waiter);
}

const struct language_found *process_languages(struct sandbox *sandbox)
{
	return probe_found(sandbox_processes(sandbox)->probe);
}
