/* prepare.c - makes a prepared image: a container of the image is created but never started, the
 * agent and its directories are uploaded, and the result is saved (see internal.h).
 *
 * This way needs no shell and no other program in the image, and no file of the daemon's machine,
 * which may be another one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "engine/agent_image.h"
#include "engine/docker/internal.h"

enum { FILE_MAX = 1024 * 1024, FETCH_MS = 60000, FILES = 2 };

struct preparation {
	struct broker *broker;
	char name[PREPARED_NAME_SIZE];
	char container[DOCKER_ID_MAX];
	struct buf files[FILES]; /* passwd and group, as the image has them */
	size_t fetched;          /* how many of them */
	prepare_fn *done;
	void *ctx;
	bool failed;
	struct error why;
};

/* A container that stays is removed by leftovers_remove() of the next start. */
static void on_removed(void *ctx, UNUSED const struct api_answer *answer)
{
	struct preparation *preparation = ctx;

	preparation->done(preparation->ctx, preparation->failed ? &preparation->why : NULL);
	for (size_t i = 0; i < FILES; i++)
		buf_done(&preparation->files[i]);
	free(preparation);
}

static void finish_preparation(struct preparation *preparation, const struct error *why)
{
	if (why != NULL) {
		preparation->failed = true;
		preparation->why = *why;
		(void)error_wrap(&preparation->why, "the image cannot be prepared");
	}
	if (preparation->container[0] == '\0')
		on_removed(preparation, NULL);
	else
		api_remove_container(preparation->broker, preparation->container, on_removed,
		                     preparation);
}

static void on_committed(void *ctx, const struct api_answer *answer)
{
	finish_preparation(ctx, answer->why);
}

static void on_uploaded(void *ctx, const struct api_answer *answer)
{
	struct preparation *preparation = ctx;
	const char *tag = strchr(preparation->name, ':') + 1;

	if (answer->why != NULL) {
		finish_preparation(preparation, answer->why);
		return;
	}
	api_send(preparation->broker, "POST", json_obj(), on_committed, preparation,
	         "/commit?container=%s&repo=" DOCKER_PREPARED "&tag=%s&pause=0",
	         preparation->container, tag);
}

static void upload_agent(struct preparation *preparation)
{
	struct view users = { "", 0 }, groups = { "", 0 };
	AUTO_BUF struct buf archive = { 0 };
	struct error err;

	buf_init(&archive, PREPARED_ARCHIVE_MAX);
	(void)!prepare_read_file(buf_view(&preparation->files[0]), &users);
	(void)!prepare_read_file(buf_view(&preparation->files[1]), &groups);
	if (prepare_archive(agent_image(AGENT_IN_SANDBOX), users, groups, &archive, &err) < 0) {
		finish_preparation(preparation, &err);
		return;
	}
	api_upload(preparation->broker, buf_view(&archive), on_uploaded, preparation,
	           "/containers/%s/archive?path=%%2F", preparation->container);
}

static void fetch_file(struct preparation *preparation);

/* A status other than 200 means that the image has no such file. */
static void on_file(void *ctx, int status, struct view body, const struct error *why)
{
	struct preparation *preparation = ctx;
	struct error err;

	if (why == NULL && status == 200 &&
	    buf_add(&preparation->files[preparation->fetched], body, &err) < 0)
		why = &err;
	if (why != NULL)
		finish_preparation(preparation, why);
	else if (++preparation->fetched < FILES)
		fetch_file(preparation);
	else
		upload_agent(preparation);
}

static void fetch_file(struct preparation *preparation)
{
	static const char *const names[FILES] = { "passwd", "group" };

	api_send_raw(preparation->broker,
	             &(struct http_client_request){ .method = "GET",
	                                            .max = FILE_MAX,
	                                            .timeout_ms = FETCH_MS,
	                                            .done = on_file,
	                                            .ctx = preparation },
	             "/containers/%s/archive?path=%%2Fetc%%2F%s", preparation->container,
	             names[preparation->fetched]);
}

static void on_created(void *ctx, const struct api_answer *answer)
{
	struct preparation *preparation = ctx;
	struct error err;
	const struct error *why = answer->why;

	if (why == NULL && answer_id(answer->json, preparation->container, &err) < 0)
		why = &err;
	if (why != NULL)
		finish_preparation(preparation, why);
	else
		fetch_file(preparation);
}

void prepare_image(struct broker *broker, const char *id, const char *name, prepare_fn *done,
                   void *ctx)
{
	struct preparation *preparation = mem_new(sizeof *preparation);
	json_t *json = json_obj(), *labels;

	preparation->broker = broker;
	preparation->done = done;
	preparation->ctx = ctx;
	(void)snprintf(preparation->name, sizeof preparation->name, "%s", name);
	for (size_t i = 0; i < FILES; i++)
		buf_init(&preparation->files[i], FILE_MAX);
	json_set(json, "Image", json_str(id));
	json_set(json, "Entrypoint", json_list_of(json_str(DOCKER_AGENT_PATH)));
	labels = docker_labels(broker, ROLE_PREPARE, NULL);
	json_set(labels, LABEL_AGENT, json_str(broker->agent));
	json_set(json, "Labels", labels);
	json_set(json, "HostConfig", json_pair("NetworkMode", json_str("none")));
	api_send(broker, "POST", json, on_created, preparation,
	         "/containers/create?name=" DOCKER_PREFIX "prepare-%s-%llu",
	         broker->options->instance, (unsigned long long)++broker->last_preparation);
}
