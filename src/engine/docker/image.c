/* image.c - images: present, pulled, prepared (see internal.h).
 *
 *   look for the image -> pull it, if it is missing and may be pulled -> look again
 *   -> look for its prepared image -> make that
 *
 * Callers that want the same image wait for one chain. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "engine/docker/internal.h"
#include "loop/loop.h"

enum { LINE_MAX_BYTES = 64 * 1024, PROGRESS_MS = 250, REPORT_MAX = 1024 * 1024 };

struct image {
	struct list node;
	struct broker *broker;
	char wanted[SPEC_IMAGE_MAX + 1]; /* as in the spec; "": the default one */
	char name[SPEC_IMAGE_MAX + 1];   /* the image itself */
	bool is_ready;                   /* `prepared` is valid */
	bool is_pulled;                  /* by this chain */
	struct docker_image found;
	struct prepared_image prepared;
	struct list waiters;
	struct buf line; /* of the pull's answer, until its end */
	struct pull_progress pull;
	uint64_t reported_ms;
};

struct waiter {
	struct list node;
	void (*progress)(void *ctx, const struct engine_progress *progress);
	image_fn *done;
	void *ctx;
};

/* The image must have no waiters. */
static void free_image(struct image *image)
{
	buf_done(&image->line);
	list_remove(&image->node);
	free(image);
}

static struct image *find_image(struct broker *broker, const char *wanted)
{
	LIST_EACH (node, &broker->images) {
		struct image *image = container_of(node, struct image, node);

		if (strcmp(image->wanted, wanted) == 0)
			return image;
	}
	return NULL;
}

void image_invalidate(struct broker *broker, const char *name)
{
	struct image *image = find_image(broker, name);

	if (image != NULL && image->is_ready && list_is_empty(&image->waiters))
		free_image(image);
}

/* Calls all waiters. A failed image is freed first, so that the next image_get(), which may be
 * called by a waiter, tries again. */
static void finish_image(struct image *image, const struct error *why)
{
	struct prepared_image prepared = image->prepared;
	struct list waiters;

	list_init(&waiters);
	while (!list_is_empty(&image->waiters)) {
		struct list *node = image->waiters.next;

		list_remove(node);
		list_add(&waiters, node);
	}
	image->is_ready = why == NULL;
	if (why != NULL)
		free_image(image);
	while (!list_is_empty(&waiters)) {
		struct waiter *waiter = container_of(waiters.next, struct waiter, node);

		list_remove(&waiter->node);
		waiter->done(waiter->ctx, why == NULL ? &prepared : NULL, why);
		free(waiter);
	}
}

static void report_progress(struct image *image, const char *what)
{
	struct engine_progress progress = { .done = 0 };

	(void)snprintf(progress.text, sizeof progress.text, "%s %.120s", what, image->name);
	pull_progress_sum(&image->pull, &progress);
	LIST_EACH (node, &image->waiters) {
		struct waiter *waiter = container_of(node, struct waiter, node);

		if (waiter->progress != NULL)
			waiter->progress(waiter->ctx, &progress);
	}
}

/* --- the prepared image --- */

static void on_prepared(void *ctx, const struct error *why)
{
	finish_image(ctx, why);
}

static void on_prepared_found(void *ctx, const struct api_answer *answer)
{
	struct image *image = ctx;

	if (answer->why != NULL && answer->status == 404) {
		report_progress(image, "preparing");
		prepare_image(image->broker, image->found.id, image->prepared.name, on_prepared,
		              image);
		return;
	}
	finish_image(image, answer->why);
}

static int check_platform(const struct image *image, struct error *err)
{
	const char *arch = image->broker->version.arch;

	if (strcmp(image->found.os, "linux") == 0 &&
	    (arch[0] == '\0' || strcmp(image->found.arch, arch) == 0))
		return 0;
	return error_set(err, ERR_UNSUPPORTED,
	                 "image: '%s' is made for %s/%s, and sandboxes here are linux/%s: pull it "
	                 "for that platform, or use another image",
	                 image->name, image->found.os, image->found.arch, arch);
}

static void find_prepared(struct image *image)
{
	const char *colon = strchr(image->found.id, ':');
	struct error err;

	if (check_platform(image, &err) < 0) {
		finish_image(image, &err);
		return;
	}
	(void)snprintf(image->prepared.name, sizeof image->prepared.name,
	               DOCKER_PREPARED ":%.24s-%s", colon != NULL ? colon + 1 : image->found.id,
	               image->broker->agent);
	(void)snprintf(image->prepared.id, sizeof image->prepared.id, "%s", image->found.id);
	(void)snprintf(image->prepared.path, sizeof image->prepared.path, "%s", image->found.path);
	api_send(image->broker, "GET", NULL, on_prepared_found, image, "/images/%s/json",
	         image->prepared.name);
}

/* --- pulling --- */

static void look_for_image(struct image *image);

static void on_pull_bytes(void *ctx, struct view bytes)
{
	struct image *image = ctx;
	uint64_t now = clock_now_ms();

	while (bytes.len != 0) {
		const char *end = memchr(bytes.ptr, '\n', bytes.len);
		size_t n = end != NULL ? (size_t)(end - bytes.ptr) : bytes.len;

		/* The lines that answer_pull_line() reads are far shorter than LINE_MAX_BYTES. */
		if (!buf_put(&image->line, (struct view){ bytes.ptr, n }))
			buf_clear(&image->line);
		if (end != NULL) {
			answer_pull_line(buf_view(&image->line), &image->pull);
			buf_clear(&image->line);
			n++;
		}
		bytes = (struct view){ bytes.ptr + n, bytes.len - n };
	}
	if (now >= image->reported_ms + PROGRESS_MS) {
		image->reported_ms = now;
		report_progress(image, "pulling");
	}
}

/* The daemon reports why a pull failed only as text. The words below occur in the texts of Docker
 * and of Podman. */
static void explain_pull(const struct image *image, int status, const char *text, struct error *err)
{
	static const struct {
		const char *part, *advice;
	} known[] = {
		{ "no space left", "Docker's disk is full: remove images or containers" },
		{ "no such host", "Docker cannot reach the registry: see its network" },
		{ "connection refused", "Docker cannot reach the registry: see its network" },
		{ "i/o timeout", "Docker cannot reach the registry: see its network" },
		{ "network is unreachable", "Docker has no network: load the image by hand" },
		{ "no basic auth credentials",
		  "the registry wants a login: run 'docker login' for it" },
		{ "unauthorized", "the registry wants a login: run 'docker login' for it" },
		{ "denied", "the registry wants a login, or has no such image: check the name, or "
		            "run 'docker login' for it" },
		{ "no matching manifest", "the registry has it for other platforms only" },
		{ "not found", "the registry has no such image: check the name and the tag" },
		{ "manifest unknown",
		  "the registry has no such image: check the name and the tag" },
	};
	const char *advice = status == 404
	                             ? "the registry has no such image: check the name and the tag"
	                             : "see the daemon's log";

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strstr(text, known[i].part) != NULL) {
			advice = known[i].advice;
			break;
		}
	(void)error_set(err, ERR_SYSTEM, "image: '%s' cannot be pulled (%.200s): %s", image->name,
	                text, advice);
}

static void on_pulled(void *ctx, const struct api_answer *answer)
{
	struct image *image = ctx;
	struct error err;

	answer_pull_line(buf_view(&image->line), &image->pull); /* the last, without a newline */
	if (answer->why != NULL && answer->status == 0) {
		finish_image(image, answer->why);
		return;
	}
	if (answer->why != NULL || image->pull.error[0] != '\0') {
		explain_pull(image, answer->status,
		             answer->why != NULL ? answer->why->msg : image->pull.error, &err);
		finish_image(image, &err);
		return;
	}
	image->is_pulled = true;
	look_for_image(image);
}

static void on_pull_done(void *ctx, int status, struct view body, const struct error *why)
{
	api_decode(status, body, why, on_pulled, ctx);
}

/* A tag stands behind the last "/": a colon before it is that of the registry's port. */
static bool has_tag(const char *name)
{
	const char *slash = strrchr(name, '/');

	return strchr(name, '@') != NULL || strchr(slash != NULL ? slash : name, ':') != NULL;
}

/* The image is pulled for the platform of the agent, which is a program for this machine. Without a
 * tag the daemon would pull all tags of the repository. */
static void on_credentials(void *ctx, const char *header, const struct error *why)
{
	struct image *image = ctx;
	struct broker *broker = image->broker;
	AUTO_FREE char *name = NULL;

	if (why != NULL) {
		finish_image(image, why);
		return;
	}
	name = api_encode(image->name);
	report_progress(image, "pulling");
	api_send_raw(broker,
	             &(struct http_client_request){ .method = "POST",
	                                            .header = header,
	                                            .max = REPORT_MAX,
	                                            .bytes = on_pull_bytes,
	                                            .done = on_pull_done,
	                                            .ctx = image },
	             "/images/create?fromImage=%s%s&platform=linux%%2F%s", name,
	             has_tag(image->name) ? "" : "&tag=latest", broker->version.arch);
}

bool image_may_be_pulled(const struct broker_options *options, const char *name)
{
	struct view list = view_of(options->images != NULL ? options->images : "");

	if (install_is_image(name))
		return false;
	if (options->any_image || strcmp(name, DOCKER_DEFAULT_PULL) == 0 ||
	    (options->image != NULL && strcmp(options->image, name) == 0))
		return true;
	while (list.len != 0) {
		struct view pattern = view_cut(&list, ',');

		if (view_ends(pattern, "*") ? strncmp(pattern.ptr, name, pattern.len - 1) == 0
		                            : view_is(pattern, name))
			return true;
	}
	return false;
}

/* --- looking for an image --- */

static void on_found(void *ctx, const struct api_answer *answer)
{
	struct image *image = ctx;
	const struct broker_options *options = image->broker->options;
	struct error err;

	if (answer->why == NULL) {
		if (answer_image(answer->json, &image->found, &err) < 0)
			finish_image(image, &err);
		else
			find_prepared(image);
		return;
	}
	if (answer->status != 404 || image->is_pulled) {
		finish_image(image, answer->why);
		return;
	}
	/* DOCKER_DEFAULT_OWN exists only where `make image` was run. Elsewhere the default is a
	 * public image. */
	if (image->wanted[0] == '\0' && options->image == NULL &&
	    strcmp(image->name, DOCKER_DEFAULT_OWN) == 0) {
		(void)snprintf(image->name, sizeof image->name, DOCKER_DEFAULT_PULL);
		look_for_image(image);
		return;
	}
	if (!image_may_be_pulled(options, image->name)) {
		(void)error_set(&err, ERR_NOT_FOUND,
		                "image: Docker has no '%s', and this server may not pull it: use "
		                "an image that is there, or have the operator pull it or start "
		                "the server with --images",
		                image->name);
		finish_image(image, &err);
		return;
	}
	credentials_get(image->broker, image->name, on_credentials, image);
}

static void look_for_image(struct image *image)
{
	api_send(image->broker, "GET", NULL, on_found, image, "/images/%s/json", image->name);
}

static void finish_ready(void *ctx)
{
	struct image *image = ctx;

	finish_image(image, NULL);
}

void image_get(struct broker *broker, const char *name,
               void (*progress)(void *ctx, const struct engine_progress *progress), image_fn *done,
               void *ctx)
{
	struct image *image = find_image(broker, name);
	struct waiter *waiter = mem_new(sizeof *waiter);
	const char *usual = broker->options->image != NULL ? broker->options->image
	                                                   : DOCKER_DEFAULT_OWN;

	*waiter = (struct waiter){ .progress = progress, .done = done, .ctx = ctx };
	if (image != NULL) {
		bool was_waiting = !list_is_empty(&image->waiters);

		list_add(&image->waiters, &waiter->node);
		if (image->is_ready && !was_waiting)
			loop_defer(broker->loop, finish_ready, image);
		return;
	}
	image = mem_new(sizeof *image);
	image->broker = broker;
	list_init(&image->waiters);
	list_add(&image->waiters, &waiter->node);
	buf_init(&image->line, LINE_MAX_BYTES);
	(void)snprintf(image->wanted, sizeof image->wanted, "%s", name);
	(void)snprintf(image->name, sizeof image->name, "%s", name[0] != '\0' ? name : usual);
	list_add(&broker->images, &image->node);
	look_for_image(image);
}
