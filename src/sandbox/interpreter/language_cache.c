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
	VERSIONS_MS = 60000, /* some compilers take a second to print their version */
};

struct language_cache {
	struct sandbox *sandbox;
	struct language_found found;
	bool has_versions;
	struct list requests;
	struct run *run;    /* of the script; NULL: none */
	bool with_versions; /* this script prints versions too */
	struct buf text;    /* its output */
	struct loop_timer
	        *start_timer; /* due at once: starts the script after the caller returned */
};

static void answer_request(struct language_request *request, const struct error *why)
{
	void (*fn)(void *, const struct error *) = request->fn;
	void *ctx = request->ctx;

	list_remove(&request->node);
	if (request->is_owned)
		free(request);
	fn(ctx, why);
}

static bool is_found(const struct language_cache *cache, const struct language_request *request)
{
	const struct language *language = request->language;

	return language != NULL && !request->with_versions &&
	       cache->found.of[language - languages].runner >= 0;
}

/* Answers the requests that this result satisfies; while the script runs, only those whose language
 * is found. These requests are moved to a list of their own first, so that a request made from a
 * callback waits for the next script. */
static void answer_requests(struct language_cache *cache, bool with_versions,
                            const struct error *why)
{
	struct list answered;

	list_init(&answered);
	for (struct list *node = cache->requests.next; node != &cache->requests;) {
		const struct language_request *request = container_of(node, struct language_request,
		                                                      node);
		struct list *next = node->next;

		if (cache->run != NULL ? is_found(cache, request)
		                       : with_versions || !request->with_versions) {
			list_remove(node);
			list_add(&answered, node);
		}
		node = next;
	}
	while (!list_is_empty(&answered))
		answer_request(container_of(answered.next, struct language_request, node), why);
}

/* --- the script ------------------------------------------------------------------------------- */

static void on_output(void *ctx, bool is_stderr, struct view bytes)
{
	struct language_cache *cache = ctx;

	run_consumed(cache->run, is_stderr, bytes.len);
	/* The script prints less than TEXT_MAX. Only another program in the shell's place prints
	 * more, and the rest of its output is ignored. */
	if (is_stderr || !buf_put(&cache->text, bytes) || cache->found.known || bytes.len == 0 ||
	    bytes.ptr[bytes.len - 1] != '\n')
		return;
	language_probe_parse(buf_view(&cache->text), &cache->found);
	cache->found.known = false;
	answer_requests(cache, false, NULL);
}

static void finish_script(struct language_cache *cache, const struct error *why)
{
	bool with_versions = cache->with_versions;

	cache->run = NULL;
	if (why == NULL) {
		language_probe_parse(buf_view(&cache->text), &cache->found);
		cache->found.known = true;
		cache->has_versions = with_versions;
	}
	buf_clear(&cache->text);
	answer_requests(cache, with_versions, why);
	if (!list_is_empty(&cache->requests))
		loop_timer_start(cache->start_timer, 0);
}

static void on_ended(void *ctx, const struct run_end *end)
{
	struct error err;

	if (!end->timed_out && end->signal == 0) {
		finish_script(ctx, NULL);
		return;
	}
	(void)error_set(&err, ERR_SYSTEM, "looking for interpreters in the sandbox %s%s%s",
	                end->timed_out ? "took too long" : "failed: its shell was killed",
	                end->note[0] != '\0' ? ": " : "", end->note);
	finish_script(ctx, &err);
}

static void on_failed(void *ctx, const struct error *why)
{
	struct error err = *why;

	/* An image without a shell: nothing is found. */
	if (why->kind == ERR_NOT_FOUND) {
		finish_script(ctx, NULL);
		return;
	}
	(void)error_wrap(&err, "looking for interpreters in the sandbox");
	finish_script(ctx, &err);
}

static const struct run_events script_events = { .output = on_output,
	                                         .ended = on_ended,
	                                         .failed = on_failed };

/* A request that needs no versions must not wait for the slow script. */
static bool all_want_versions(const struct language_cache *cache)
{
	LIST_EACH (node, &cache->requests)
		if (!container_of(node, struct language_request, node)->with_versions)
			return false;
	return true;
}

static int start_script(struct language_cache *cache, struct error *err)
{
	AUTO_BUF struct buf script;
	const char *argv[] = { "sh", "-c", NULL, NULL };
	struct run_options options = { .argv = argv };

	buf_init(&script, SCRIPT_MAX);
	cache->with_versions = all_want_versions(cache);
	options.deadline_ms = cache->with_versions ? VERSIONS_MS : QUICK_MS;
	if (language_probe_script(&script, cache->with_versions, err) < 0)
		return -1;
	argv[2] = buf_text(&script);
	return run_start(cache->sandbox, &options, &script_events, cache, &cache->run, err);
}

static void on_start_timer(void *ctx)
{
	struct language_cache *cache = ctx;
	struct error err;

	if (cache->run == NULL && !list_is_empty(&cache->requests) && start_script(cache, &err) < 0)
		answer_requests(cache, true, &err);
}

/* --- the cache -------------------------------------------------------------------------------- */

void language_cache_request(struct language_cache *cache, struct language_request *request)
{
	list_add(&cache->requests, &request->node);
	loop_timer_start(cache->start_timer, 0);
}

struct language_cache *language_cache_new(struct sandbox *sandbox)
{
	struct language_cache *cache = mem_new(sizeof *cache);

	cache->sandbox = sandbox;
	list_init(&cache->requests);
	buf_init(&cache->text, TEXT_MAX);
	cache->start_timer = loop_timer_new(sandbox_loop(sandbox), on_start_timer, cache);
	return cache;
}

void language_cache_stop(struct language_cache *cache, const struct error *why)
{
	if (cache->run != NULL)
		run_cancel(cache->run);
	cache->run = NULL;
	cache->found.known = false;
	cache->has_versions = false;
	buf_clear(&cache->text);
	answer_requests(cache, true, why);
}

void language_cache_free(struct language_cache *cache)
{
	if (cache == NULL)
		return;
	if (cache->run != NULL)
		run_cancel(cache->run);
	while (!list_is_empty(&cache->requests)) {
		struct language_request *request = container_of(cache->requests.next,
		                                                struct language_request, node);

		list_remove(&request->node);
		if (request->is_owned)
			free(request);
	}
	(void)loop_timer_free(cache->start_timer);
	buf_done(&cache->text);
	free(cache);
}

const struct language_found *language_cache_get(const struct language_cache *cache)
{
	return &cache->found;
}

bool language_cache_has_versions(const struct language_cache *cache)
{
	return cache->has_versions;
}
