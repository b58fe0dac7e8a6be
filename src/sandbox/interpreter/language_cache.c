#include "sandbox/interpreter/language_cache.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "sandbox/run/sandbox_run.h"
#include "sandbox/sandbox.h"

enum {
	SCRIPT_MAX = 64 * 1024,
	TEXT_MAX = 64 * 1024,
	QUICK_MS = 10000,
	VERSIONS_MS = 60000, /* some compilers take a second to say theirs */
};

struct probe {
	struct sandbox *sandbox;
	struct language_found found;
	bool has_versions;
	struct list waiters;
	struct run *run;
	bool is_slow; /* this one asks for versions too */
	struct buf text;
	struct loop_timer *start; /* due at once: whoever asked has returned */
};

static void tell(struct probe_waiter *waiter, const struct error *why)
{
	void (*fn)(void *, const struct error *) = waiter->fn;
	void *ctx = waiter->ctx;

	list_remove(&waiter->node);
	if (waiter->is_owned)
		free(waiter);
	fn(ctx, why);
}

/* Those who ask again from within wait for the next one. */
static void tell_all(struct probe *probe, bool with_versions, const struct error *why)
{
	struct list told;

	list_init(&told);
	for (struct list *node = probe->waiters.next; node != &probe->waiters;) {
		struct list *next = node->next;

		if (!container_of(node, struct probe_waiter, node)->with_versions ||
		    with_versions) {
			list_remove(node);
			list_add(&told, node);
		}
		node = next;
	}
	while (!list_is_empty(&told))
		tell(container_of(told.next, struct probe_waiter, node), why);
}

/* --- the run ---------------------------------------------------------------------------------- */

static void on_output(void *ctx, bool is_stderr, struct view bytes)
{
	struct probe *probe = ctx;
	struct error err;

	run_consumed(probe->run, is_stderr, bytes.len);
	if (!is_stderr) /* what is too much makes no sense anyway */
		(void)!buf_add(&probe->text, bytes, &err);
}

static void finish(struct probe *probe, const struct error *why)
{
	bool is_slow = probe->is_slow;

	probe->run = NULL;
	if (why == NULL) {
		language_probe_parse(buf_view(&probe->text), &probe->found);
		probe->found.known = true;
		probe->has_versions = is_slow;
	}
	buf_clear(&probe->text);
	tell_all(probe, is_slow, why);
	if (!list_is_empty(&probe->waiters))
		loop_timer_start(probe->start, 0);
}

static void on_ended(void *ctx, const struct run_end *end)
{
	struct error err;

	if (!end->timed_out && end->signal == 0) {
		finish(ctx, NULL);
		return;
	}
	(void)error_set(&err, ERR_SYSTEM, "looking for interpreters in the sandbox %s%s%s",
	                end->timed_out ? "took too long" : "failed: its shell was killed",
	                end->note[0] != '\0' ? ": " : "", end->note);
	finish(ctx, &err);
}

static void on_failed(void *ctx, const struct error *why)
{
	struct error err = *why;

	(void)error_wrap(&err, "looking for interpreters in the sandbox");
	finish(ctx, &err);
}

static const struct run_events run_events = { .output = on_output,
	                                      .ended = on_ended,
	                                      .failed = on_failed };

static bool is_slow_wanted(const struct probe *probe)
{
	LIST_EACH (node, &probe->waiters)
		if (!container_of(node, struct probe_waiter, node)->with_versions)
			return false; /* the quick ones first */
	return true;
}

static int start(struct probe *probe, struct error *err)
{
	AUTO_BUF struct buf script;
	const char *argv[] = { "sh", "-c", NULL, NULL };
	struct run_options wish = { .argv = argv };

	buf_init(&script, SCRIPT_MAX);
	probe->is_slow = is_slow_wanted(probe);
	wish.deadline_ms = probe->is_slow ? VERSIONS_MS : QUICK_MS;
	if (language_probe_script(&script, probe->is_slow, err) < 0)
		return -1;
	argv[2] = buf_text(&script);
	return run_start(probe->sandbox, &wish, &run_events, probe, &probe->run, err);
}

static void on_start(void *ctx)
{
	struct probe *probe = ctx;
	struct error err;

	if (probe->run == NULL && !list_is_empty(&probe->waiters) && start(probe, &err) < 0)
		tell_all(probe, true, &err);
}

/* --- calls ------------------------------------------------------------------------------------ */

void probe_ask(struct probe *probe, struct probe_waiter *waiter)
{
	list_add(&probe->waiters, &waiter->node);
	loop_timer_start(probe->start, 0);
}

struct probe *probe_new(struct sandbox *sandbox)
{
	struct probe *probe = mem_new(sizeof *probe);

	probe->sandbox = sandbox;
	list_init(&probe->waiters);
	buf_init(&probe->text, TEXT_MAX);
	probe->start = loop_timer_new(sandbox_loop(sandbox), on_start, probe);
	return probe;
}

void probe_down(struct probe *probe, const struct error *why)
{
	if (probe->run != NULL)
		run_cancel(probe->run);
	probe->run = NULL;
	probe->found.known = false;
	probe->has_versions = false;
	buf_clear(&probe->text);
	tell_all(probe, true, why);
}

void probe_free(struct probe *probe)
{
	if (probe == NULL)
		return;
	if (probe->run != NULL)
		run_cancel(probe->run);
	while (!list_is_empty(&probe->waiters)) {
		struct probe_waiter *waiter = container_of(probe->waiters.next, struct probe_waiter,
		                                           node);

		list_remove(&waiter->node);
		if (waiter->is_owned)
			free(waiter);
	}
	(void)loop_timer_free(probe->start);
	buf_done(&probe->text);
	free(probe);
}

const struct language_found *probe_found(const struct probe *probe)
{
	return &probe->found;
}

bool probe_has_versions(const struct probe *probe)
{
	return probe->has_versions;
}
