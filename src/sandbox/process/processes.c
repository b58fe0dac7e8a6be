/* processes.c - all processes of a sandbox (see internal.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "loop/loop.h"
#include "sandbox/process/internal.h"
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
	processes->interpreters = interpreter_pool_new(sandbox);
	processes->languages = language_cache_new(sandbox);
	processes->spare_timer = loop_timer_new(sandbox_loop(sandbox), processes_on_spare_timer,
	                                        processes);
	return processes;
}

static struct process *find_running(struct processes *processes)
{
	LIST_EACH (node, &processes->all)
		if (!process_is_over(process_of(node)))
			return process_of(node);
	return NULL;
}

/* Processes are stopped first, because they use interpreters and the cache of languages. */
void processes_stop(struct processes *processes, const struct error *why)
{
	const struct sandbox *sandbox = processes->sandbox;
	const char *reason = sandbox_end_reason(sandbox);
	char text[240] = "the sandbox was put to sleep";
	struct process *process;

	if (sandbox_is_resetting(sandbox))
		(void)snprintf(text, sizeof text, "the sandbox was reset");
	else if (reason[0] != '\0')
		(void)snprintf(text, sizeof text, "the sandbox ended: %s", reason);
	interpreter_pool_set_loss_reason(processes->interpreters, text);
	/* A process that ends may free other processes that have ended, so search anew each
	 * time. */
	while ((process = find_running(processes)) != NULL)
		process_fail(process, why);
	loop_timer_stop(processes->spare_timer);
	language_cache_stop(processes->languages, why);
	interpreter_pool_stop(processes->interpreters, text);
}

bool processes_worth_keeping(const struct processes *processes)
{
	LIST_EACH (node, &processes->all) {
		const struct process *process = process_of(node);

		if (process->is_detached && !process->is_read)
			return true;
	}
	return interpreter_pool_has_lost_session(processes->interpreters);
}

/* A process that was not detached belongs to its caller and survives the sandbox as FAILED. */
static void orphan_process(struct process *process)
{
	if (!process_is_over(process)) {
		(void)error_set(&process->why, ERR_SYSTEM,
		                "the sandbox ended before the process did");
		process_release(process);
		process->phase = PROCESS_FAILED;
		process->ended_ms = process->started_ms;
	}
	process_changed(process);
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
			orphan_process(process);
	}
	(void)loop_timer_free(processes->spare_timer);
	language_cache_free(processes->languages);
	interpreter_pool_free(processes->interpreters);
	free(processes);
}

/* A process with a watch, and the process that has just ended, stay: a call is about to read
 * them. */
void process_free_oldest(struct processes *processes, const struct process *newest)
{
	unsigned kept = sandbox_process_limits(processes->sandbox)->kept;
	struct process *oldest = NULL;
	unsigned count = 0;

	LIST_EACH (node, &processes->all) {
		struct process *process = process_of(node);

		if (!process->is_detached || !process_is_over(process))
			continue;
		count++;
		if (process != newest && list_is_empty(&process->watches) &&
		    (oldest == NULL || process->ended_ms < oldest->ended_ms))
			oldest = process;
	}
	if (count > kept && oldest != NULL)
		process_free(oldest);
}

/* --- for callers ------------------------------------------------------------------------------ */

int process_find(struct sandbox *sandbox, const char *id, struct process **ret, struct error *err)
{
	char names[256];
	struct buf list = buf_fixed(names, sizeof names);

	names[0] = '\0';
	LIST_EACH (node, &sandbox_processes(sandbox)->all) {
		struct process *process = process_of(node);

		if (strcmp(process->id, id) == 0) {
			*ret = process;
			return 0;
		}
		buf_putf(&list, "%s%s", list.len != 0 ? ", " : "", process->id);
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
	interpreter_pool_each_session(sandbox_processes(sandbox)->interpreters, each, ctx);
}

int process_end_session(struct sandbox *sandbox, const char *name, struct error *err)
{
	return interpreter_pool_end_session(sandbox_processes(sandbox)->interpreters, name, err);
}

void process_renew_env(struct sandbox *sandbox)
{
	interpreter_pool_renew(sandbox_processes(sandbox)->interpreters);
}

void process_probe_languages(struct sandbox *sandbox, bool with_versions,
                             void (*fn)(void *ctx, const struct error *why), void *ctx)
{
	struct language_cache *cache = sandbox_processes(sandbox)->languages;
	struct language_request *request;

	if (language_cache_get(cache)->known &&
	    (!with_versions || language_cache_has_versions(cache))) {
		waiters_notify_one(sandbox_loop(sandbox), fn, ctx, NULL);
		return;
	}
	request = mem_new(sizeof *request);
	*request = (struct language_request){
		.with_versions = with_versions, .is_owned = true, .fn = fn, .ctx = ctx
	};
	language_cache_request(cache, request);
}

const struct language_found *process_languages(struct sandbox *sandbox)
{
	return language_cache_get(sandbox_processes(sandbox)->languages);
}
