#include "server/http/side_paths.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"
#include "mcp/caller.h"
#include "sandbox/channel/files.h"
#include "sandbox/sandbox.h"
#include "tools/catalogue.h"
#include "tools/files/file_text.h"
#include "tools/files/file_work.h"
#include "tools/profiles/profiles.h"
#include "tools/resources/resources.h"
#include "transport/http/http.h"
#include "json/json.h"

enum { LIST_MAX = 4 * 1024 * 1024, STAT_MAX = 16 * 1024, ENTRIES_MAX = 10000, DEPTH_MAX = 16 };

#define ARTIFACTS "/artifacts"

/* A request that needs the caller's sandbox. */
struct fetch {
	struct http_request *request; /* NULL: the client has gone, while the sandbox wakes */
	struct sandbox *sandbox;      /* held */
	struct files_op *op;
	char *path; /* in the sandbox */
	enum { FETCH_FILE, FETCH_LIST, FETCH_SKILL } kind;
	struct skill_info skill; /* of FETCH_SKILL */
	size_t max;              /* bytes of the file */
	size_t reserved;         /* of file_memory_reserve() */
};

static void respond_json(struct http_request *request, int status, json_t *body)
{
	static const struct http_field fields[] = { { "content-type", "application/json" },
		                                    { "cache-control", "no-store" },
		                                    { NULL, NULL } };
	size_t len;
	AUTO_FREE char *text = json_write(body, &len);

	json_decref(body);
	http_respond(request, status, fields, (struct view){ text, len });
}

static void respond_failure(struct http_request *request, int status, const char *why)
{
	respond_json(request, status, json_pair("error", json_str(why)));
}

static void free_fetch(struct fetch *fetch)
{
	files_cancel(fetch->op);
	sandbox_release(fetch->sandbox);
	file_memory_release(&fetch->reserved);
	free(fetch->path);
	free(fetch);
}

/* The status of an error: what a client asked for is missing, too large, or this server failed. */
static void fail_fetch(struct fetch *fetch, const struct error *why)
{
	struct http_request *request = fetch->request;
	const int status = why->kind == ERR_NOT_FOUND || why->kind == ERR_INVALID ? 404
	                   : why->kind == ERR_LIMIT                               ? 413
	                                                                          : 500;

	free_fetch(fetch);
	if (request != NULL)
		respond_failure(request, status, status == 404 ? "not found" : why->msg);
}

static void respond_list(struct http_request *request, struct view records)
{
	json_t *body = json_obj(), *list = json_list();
	struct wire_entry entry;

	while (files_next_entry(&records, &entry)) {
		char when[FILE_TIME_SIZE];
		json_t *item;

		if (entry.type != WIRE_FILE_REGULAR)
			continue;
		item = json_obj();
		json_set(item, "name", json_str_view(entry.path));
		json_set(item, "size", json_int((json_int_t)entry.size));
		json_set(item, "modified", json_str(file_time(entry.modified_ms, when)));
		json_push(list, item);
	}
	json_set(body, "count", json_int((json_int_t)json_array_size(list)));
	json_set(body, "artifacts", list);
	respond_json(request, 200, body);
}

/* An artifact is downloaded and never shown: a page that sandboxed code wrote must not run with the
 * origin of this server. */
static void respond_file(struct http_request *request, const char *path, struct view bytes)
{
	const struct http_field fields[] = { { "content-type", file_mime_type(path, bytes) },
		                             { "content-disposition", "attachment" },
		                             { "x-content-type-options", "nosniff" },
		                             { "cache-control", "no-store" },
		                             { NULL, NULL } };

	http_respond(request, 200, fields, bytes);
}

static json_t *describe_skill(const struct skill_info *skill)
{
	json_t *object = json_obj();

	json_set(object, "skill_id", json_str(skill->id));
	json_set(object, "name", json_str(skill->name));
	json_set(object, "description", json_str(skill->description));
	json_set(object, "version", json_str(skill->version));
	return object;
}

static void respond_skill(struct http_request *request, const struct skill_info *skill,
                          struct view text)
{
	json_t *body = describe_skill(skill);

	json_set(body, "dependencies", json_str(skill->dependencies));
	json_set(body, "content", json_str_view(skills_body(text)));
	respond_json(request, 200, body);
}

static void on_files(void *ctx, const struct files_reply *reply, const struct error *why)
{
	struct fetch *fetch = ctx;

	fetch->op = NULL;
	if (why != NULL) {
		fail_fetch(fetch, why);
		return;
	}
	if (fetch->kind == FETCH_LIST)
		respond_list(fetch->request, reply->bytes);
	else if (fetch->kind == FETCH_SKILL)
		respond_skill(fetch->request, &fetch->skill, reply->bytes);
	else
		respond_file(fetch->request, fetch->path, reply->bytes);
	free_fetch(fetch);
}

static void send_request(struct fetch *fetch, const struct wire_message *request, size_t max,
                         files_fn *fn)
{
	struct channel *channel = sandbox_channel(fetch->sandbox);
	struct error err;

	if (channel == NULL)
		(void)error_set(&err, ERR_SYSTEM, "the sandbox has ended meanwhile");
	else if (file_memory_reserve(&fetch->reserved, max, &err) == 0 &&
	         files_start(channel, request, (struct view){ 0 }, max, fn, fetch, &fetch->op,
	                     &err) == 0)
		return;
	fail_fetch(fetch, &err);
}

static void on_stat(void *ctx, const struct files_reply *reply, const struct error *why)
{
	struct fetch *fetch = ctx;
	struct wire_message request = { .type = WIRE_READ };
	struct view records = why == NULL ? reply->bytes : (struct view){ 0 };
	struct wire_entry entry = { .type = WIRE_FILE_OTHER };
	struct error err;

	fetch->op = NULL;
	if (why == NULL &&
	    (!files_next_entry(&records, &entry) || entry.type != WIRE_FILE_REGULAR)) {
		(void)error_set(&err, ERR_NOT_FOUND, "it is no file");
		why = &err;
	} else if (why == NULL && entry.size > fetch->max) {
		(void)error_set(&err, ERR_LIMIT,
		                "the file has %" PRIu64
		                " bytes, and artifacts have at most %zu MiB",
		                entry.size, fetch->max >> 20);
		why = &err;
	}
	if (why != NULL) {
		fail_fetch(fetch, why);
		return;
	}
	request.read = (struct wire_read){ .unit = WIRE_UNIT_BYTES,
		                           .count = entry.size,
		                           .max = entry.size,
		                           .path = view_of(fetch->path) };
	send_request(fetch, &request, (size_t)entry.size + 1, on_files);
}

static void on_awake(void *ctx, const struct error *why)
{
	struct fetch *fetch = ctx;
	struct wire_message request = { .type = fetch->kind == FETCH_LIST ? WIRE_TREE : WIRE_STAT };

	if (fetch->request == NULL) {
		free_fetch(fetch);
		return;
	}
	if (why != NULL) {
		fail_fetch(fetch, why);
		return;
	}
	if (fetch->kind == FETCH_LIST) {
		request.tree = (struct wire_tree){ .depth = DEPTH_MAX,
			                           .limit = ENTRIES_MAX,
			                           .path = view_of(fetch->path) };
		send_request(fetch, &request, LIST_MAX, on_files);
	} else {
		request.stat = (struct wire_stat){ .path = view_of(fetch->path) };
		send_request(fetch, &request, STAT_MAX, on_stat);
	}
}

static void on_closed(void *ctx)
{
	struct fetch *fetch = ctx;

	fetch->request = NULL;
	if (fetch->op != NULL)
		free_fetch(fetch);
}

/* Continues in the caller's sandbox, which is made at the first use. `what` has the path and the
 * kind. */
static void start_fetch(const struct side_paths *paths, struct http_request *request,
                        const struct mcp_caller *caller, const char *path, struct fetch what)
{
	struct sandbox *sandbox;
	struct fetch *fetch;
	struct error err;

	if (profile_execution_sandbox(paths->tools, caller->owner, NULL, &sandbox, &err) < 0) {
		respond_failure(request, 500, err.msg);
		return;
	}
	fetch = mem_new(sizeof *fetch);
	*fetch = what;
	fetch->request = request;
	fetch->sandbox = sandbox;
	fetch->path = mem_dup(path);
	fetch->max = paths->max_artifact;
	sandbox_hold(sandbox);
	http_on_close(request, on_closed, fetch);
	sandbox_wake(sandbox, on_awake, fetch);
}

static void respond_skills(const struct side_paths *paths, struct http_request *request)
{
	const struct skills *skills = paths->tools->skills;
	const size_t count = skills != NULL ? skills_count(skills) : 0;
	json_t *body = json_obj(), *list = json_list();

	for (size_t i = 0; i < count; i++) {
		const struct skill_info skill = skills_info(skills, i);

		json_push(list, describe_skill(&skill));
	}
	json_set(body, "skills", list);
	json_set(body, "count", json_int((json_int_t)count));
	respond_json(request, 200, body);
}

static void start_skill(const struct side_paths *paths, struct http_request *request,
                        const struct mcp_caller *caller, const char *id)
{
	const struct skills *skills = paths->tools->skills;

	for (size_t i = 0; skills != NULL && i < skills_count(skills); i++) {
		const struct skill_info skill = skills_info(skills, i);
		AUTO_FREE char *path = NULL;

		if (strcmp(skill.id, id) != 0)
			continue;
		path = mem_format("/skills/%s/%s", skill.id, skill.file);
		start_fetch(paths, request, caller, path,
		            (struct fetch){ .kind = FETCH_SKILL, .skill = skill });
		return;
	}
	respond_failure(request, 404, "not found");
}

static void respond_health(const struct side_paths *paths, struct http_request *request)
{
	const bool is_healthy = paths->tools->manager != NULL;
	json_t *body = json_obj();

	json_set(body, "status", json_str(is_healthy ? "healthy" : "unhealthy"));
	if (!is_healthy)
		json_set(body, "error", json_str(paths->tools->why_not));
	respond_json(request, is_healthy ? 200 : 503, body);
}

bool side_paths_serve(void *ctx, struct http_request *request, const struct mcp_caller *caller,
                      const char *path)
{
	const struct side_paths *paths = ctx;

	if ((caller->scopes & MCP_SCOPE_FILES) == 0) {
		respond_failure(request, 403, "the token does not have the scope files");
		return true;
	}
	if (strcmp(path, "/health") == 0) {
		respond_health(paths, request);
	} else if (strcmp(path, "/skills") == 0) {
		respond_skills(paths, request);
	} else if (strncmp(path, "/skills/", 8) == 0) {
		start_skill(paths, request, caller, path + 8);
	} else if (strcmp(path, ARTIFACTS) == 0) {
		start_fetch(paths, request, caller, path, (struct fetch){ .kind = FETCH_LIST });
	} else if (strncmp(path, ARTIFACTS "/", sizeof ARTIFACTS) == 0) {
		start_fetch(paths, request, caller, path, (struct fetch){ .kind = FETCH_FILE });
	} else {
		return false;
	}
	return true;
}
