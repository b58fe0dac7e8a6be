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

enum { FILE_MAX = 1024 * 1024, FETCH_MS = 60000 };

struct preparation {
	struct broker *broker;
	char name[PREPARED_NAME_SIZE];
	char container[DOCKER_ID_MAX];
	struct buf users, groups; /* as the image has them */
	prepare_fn *done;
	void *ctx;
	bool failed;
	struct error why;
};

static void on_removed(void *ctx, int status, const json_t *answer, const struct error *why)
{
	struct preparation *preparation = ctx;

	(void)status;
	(void)answer;
	(void)why; /* leftovers_remove() of the next start removes a container that stays */
	preparation->done(preparation->ctx, preparation->failed ? &preparation->why : NULL);
	buf_done(&preparation->users);
	buf_done(&preparation->groups);
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
		on_removed(preparation, 0, NULL, NULL);
	else
		api_remove_container(preparation->broker, preparation->container, on_removed,
		                     preparation);
}

static void on_committed(void *ctx, int status, const json_t *answer, const struct error *why)
{
	(void)status;
	(void)answer;
	finish_preparation(ctx, why);
}

static void on_uploaded(void *ctx, int status, const json_t *answer, const struct error *why)
{
	struct preparation *preparation = ctx;
	const char *tag = strchr(preparation->name, ':') + 1;

	(void)status;
	(void)answer;
	if (why != NULL) {
		finish_preparation(preparation, why);
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
	(void)!prepare_read_file(buf_view(&preparation->users), &users);
	(void)!prepare_read_file(buf_view(&preparation->groups), &groups);
	if (prepare_archive(agent_image(AGENT_IN_SANDBOX), users, groups, &archive, &err) < 0) {
		finish_preparation(preparation, &err);
		return;
	}
	api_upload(preparation->broker, buf_view(&archive), on_uploaded, preparation,
	           "/containers/%s/archive?path=%%2F", preparation->container);
}

/* A status other than 200 means that the image has no such file. */
static void on_groups(void *ctx, int status, struct view body, const struct error *why)
{
	struct preparation *preparation = ctx;
	struct error err;

	if (why != NULL || (status == 200 && buf_add(&preparation->groups, body, &err) < 0)) {
		finish_preparation(preparation, why != NULL ? why : &err);
		return;
	}
	upload_agent(preparation);
}

static void fetch_file(struct preparation *preparation, const char *file,
                       void (*done)(void *ctx, int status, struct view body,
                                    const struct error *why))
{
	struct broker *broker = preparation->broker;
	char *path = mem_format("%s/containers/%s/archive?path=%%2Fetc%%2F%s", broker->prefix,
	                        preparation->container, file);

	http_client_send(broker->http, &(struct http_client_request){ .method = "GET",
	                                                              .path = path,
	                                                              .max = FILE_MAX,
	                                                              .timeout_ms = FETCH_MS,
	                                                              .done = done,
	                                                              .ctx = preparation });
	free(path);
}

static void on_users(void *ctx, int status, struct view body, const struct error *why)
{
	struct preparation *preparation = ctx;
	struct error err;

	if (why != NULL || (status == 200 && buf_add(&preparation->users, body, &err) < 0)) {
		finish_preparation(preparation, why != NULL ? why : &err);
		return;
	}
	fetch_file(preparation, "group", on_groups);
}

static void on_created(void *ctx, int status, const json_t *answer, const struct error *why)
{
	struct preparation *preparation = ctx;
	struct error err;

	(void)status;
	if (why == NULL && answer_id(answer, preparation->container, &err) < 0)
		why = &err;
	if (why != NULL)
		finish_preparation(preparation, why);
	else
		fetch_file(preparation, "passwd", on_users);
}

void prepare_image(struct broker *broker, const char *id, const char *name, prepare_fn *done,
                   void *ctx)
{
	struct preparation *preparation = mem_new(sizeof *preparation);
	json_t *json = json_obj(), *entry = json_list(), *labels, *host = json_obj();

	preparation->broker = broker;
	preparation->done = done;
	preparation->ctx = ctx;
	(void)snprintf(preparation->name, sizeof preparation->name, "%s", name);
	buf_init(&preparation->users, FILE_MAX);
	buf_init(&preparation->groups, FILE_MAX);
	json_push(entry, json_str(DOCKER_AGENT_PATH));
	json_set(json, "Image", json_str(id));
	json_set(json, "Entrypoint", entry);
	labels = docker_labels(broker, ROLE_PREPARE, NULL);
	json_set(labels, LABEL_AGENT, json_str(broker->agent));
	json_set(json, "Labels", labels);
	json_set(host, "NetworkMode", json_str("none"));
	json_set(json, "HostConfig", host);
	api_send(broker, "POST", json, on_created, preparation,
	         "/containers/create?name=" DOCKER_PREFIX "prepare-%s-%llu",
	         broker->options->instance, (unsigned long long)++broker->last_preparation);
}
