/* listen.c - subscriptions/listen: a request that stays open and carries notifications; and the
 * notifications of both eras.
 *
 * The server first sends notifications/subscriptions/acknowledged with the part of the filter
 * that it supports. Each notification carries the id of the request as its subscription id. The
 * client ends the request with notifications/cancelled, the server with a response. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "mcp/internal.h"
#include "mcp/request_meta.h"

struct listen {
	struct list node;
	struct mcp_call *call;
	bool lists[MCP_LIST_COUNT];
	json_t *uris;  /* object whose keys are URIs */
	json_t *tasks; /* object whose keys are ids of tasks */
};

static const struct {
	enum capability needs;
	const char *filter_key, *notification;
} lists[] = {
	[MCP_LIST_TOOLS] = { CAPABILITY_TOOLS, "toolsListChanged",
	                     "notifications/tools/list_changed" },
	[MCP_LIST_PROMPTS] = { CAPABILITY_PROMPTS, "promptsListChanged",
	                       "notifications/prompts/list_changed" },
	[MCP_LIST_RESOURCES] = { CAPABILITY_RESOURCES, "resourcesListChanged",
	                         "notifications/resources/list_changed" },
};
_Static_assert(ARRAY_LEN(lists) == MCP_LIST_COUNT, "every list has a row");

/* A new object with the subscription id in its _meta. */
static json_t *new_with_subscription_id(const struct mcp_call *call)
{
	return json_pair("_meta", json_pair(MCP_META_SUBSCRIPTION_ID, json_incref(call->id)));
}

/* The problem with params.notifications, or NULL if they are valid. Unknown members are allowed. */
static const char *find_filter_problem(const json_t *filter)
{
	const json_t *uris = json_object_get(filter, "resourceSubscriptions");
	json_t *uri;
	size_t i;

	if (!json_is_object(filter))
		return "'notifications' must be an object";
	for (size_t list = 0; list < MCP_LIST_COUNT; list++) {
		const json_t *value = json_object_get(filter, lists[list].filter_key);

		if (value != NULL && !json_is_boolean(value))
			return "'notifications': the members for list changes must be true "
			       "or false";
	}
	if (uris != NULL && !json_is_array(uris))
		return "'notifications.resourceSubscriptions' must be an array of URIs";
	json_array_foreach (uris, i, uri)
		if (json_as_text(uri) == NULL || json_string_length(uri) > MCP_URI_MAX)
			return "'notifications.resourceSubscriptions' must hold strings of at most "
			       "8192 bytes";
	return NULL;
}

/* max_subscriptions limits the URIs of all listen requests of a session together. */
static size_t count_listened_uris(const struct mcp_session *session)
{
	size_t count = 0;

	LIST_EACH (node, &session->server->listens) {
		const struct listen *listen = container_of(node, struct listen, node);

		if (listen->call->session == session)
			count += json_object_size(listen->uris);
	}
	return count;
}

/* Stores the part of the filter that the server supports, and returns it for the
 * acknowledgement. */
static json_t *accept_filter(struct listen *listen, const json_t *filter)
{
	const struct mcp_server *server = listen->call->server;
	const json_t *uris = json_object_get(filter, "resourceSubscriptions");
	size_t left = server->config.limits.max_subscriptions -
	              count_listened_uris(listen->call->session);
	json_t *accepted = json_obj();
	json_t *kept, *uri;
	size_t i;

	for (size_t list = 0; list < MCP_LIST_COUNT; list++) {
		listen->lists[list] = server->config.lists_change &&
		                      server_has_capability(server, lists[list].needs) &&
		                      json_is_true(json_object_get(filter, lists[list].filter_key));
		if (listen->lists[list])
			json_set(accepted, lists[list].filter_key, json_true());
	}
	if (!server_has_capability(server, CAPABILITY_SUBSCRIPTIONS) || json_array_size(uris) == 0)
		return accepted;
	kept = json_list();
	json_array_foreach (uris, i, uri) {
		if (json_array_size(kept) >= left)
			break;
		json_set(listen->uris, json_as_text(uri), json_true());
		json_push(kept, json_incref(uri));
	}
	json_set(accepted, "resourceSubscriptions", kept);
	return accepted;
}

/* Only the tasks that exist and belong to the caller. */
static void accept_tasks(struct listen *listen, const json_t *filter, json_t *accepted)
{
	const struct mcp_call *call = listen->call;
	const json_t *ids = json_object_get(filter, "taskIds");
	json_t *kept, *id;
	size_t i;

	if (!json_is_array(ids) || (call->abilities & CLIENT_TASKS) == 0)
		return;
	kept = json_list();
	json_array_foreach (ids, i, id) {
		const char *text = json_as_text(id);

		if (text == NULL || task_find(call->server, call->owner, text) == NULL)
			continue;
		json_set(listen->tasks, text, json_true());
		json_push(kept, json_incref(id));
	}
	if (json_array_size(kept) != 0)
		json_set(accepted, "taskIds", kept);
	else
		json_decref(kept);
}

void listen_notify_task(const struct mcp_task *task)
{
	LIST_EACH (node, &task->server->listens) {
		const struct listen *listen = container_of(node, struct listen, node);
		json_t *params, *ours;

		if (strcmp(listen->call->owner, task->owner) != 0 ||
		    !json_has(listen->tasks, task->id))
			continue;
		params = task_describe(task, true);
		task_add_details(task, params);
		ours = new_with_subscription_id(listen->call);
		(void)json_object_update(params, ours);
		json_decref(ours);
		session_notify(listen->call->session, listen->call->sink, "notifications/tasks",
		               params);
	}
}

static void free_listen(struct listen *listen)
{
	list_remove(&listen->node);
	json_decref(listen->uris);
	json_decref(listen->tasks);
	free(listen);
}

static void on_listen_cancelled(struct mcp_call *call, void *ctx)
{
	free_listen(ctx);
	call_end_without_response(call);
}

void listen_end(struct mcp_call *call)
{
	free_listen(call->cancel_ctx);
	call_respond(call, new_with_subscription_id(call));
}

void listen_method(struct mcp_call *call)
{
	const size_t max = call->server->config.limits.max_subscriptions;
	const json_t *filter = json_object_get(call->params, "notifications");
	const char *problem = find_filter_problem(filter);
	struct listen *listen;
	json_t *acknowledgement, *accepted;

	if (problem != NULL) {
		call_respond_error(call, RPC_INVALID_PARAMS, NULL, "%s", problem);
		return;
	}
	if (call->session->listen_count >= max) {
		call_respond_error(
		        call, RPC_INTERNAL_ERROR, NULL,
		        "%zu listen streams are open (max_subscriptions); cancel one first", max);
		return;
	}
	listen = mem_new(sizeof *listen);
	listen->call = call;
	listen->uris = json_obj();
	listen->tasks = json_obj();
	list_add(&call->server->listens, &listen->node);
	call->is_listen = true;
	call->session->call_count--;
	call->session->listen_count++;
	mcp_call_on_cancel(call, on_listen_cancelled, listen);

	accepted = accept_filter(listen, filter);
	accept_tasks(listen, filter, accepted);
	acknowledgement = new_with_subscription_id(call);
	json_set(acknowledgement, "notifications", json_incref(accepted));
	session_notify(call->session, call->sink, "notifications/subscriptions/acknowledged",
	               acknowledgement);
	if (call->server->config.subscribed != NULL && json_object_size(listen->uris) != 0)
		call->server->config.subscribed(call->server->config.app);
	if (json_object_size(accepted) == 0)
		listen_end(call);
	json_decref(accepted);
}

static bool has_owner(const char *wanted, const char *owner)
{
	return wanted == NULL || strcmp(wanted, owner) == 0;
}

void mcp_server_list_changed(struct mcp_server *server, const char *owner, enum mcp_list list)
{
	LIST_EACH (node, &server->listens) {
		struct listen *listen = container_of(node, struct listen, node);

		if (listen->lists[list] && has_owner(owner, listen->call->owner))
			session_notify(listen->call->session, listen->call->sink,
			               lists[list].notification,
			               new_with_subscription_id(listen->call));
	}
	LIST_EACH (node, &server->sessions) {
		struct mcp_session *session = container_of(node, struct mcp_session, node);

		if (session->is_ready && has_owner(owner, session->owner))
			session_notify(session, session->sink, lists[list].notification, NULL);
	}
}

/* Whether `uri` is the subscribed one, or that of a resource below it: a subscription to a
 * directory covers everything in it. The subscribed URI may end in a slash. */
static bool is_at_or_below(const char *uri, const char *subscribed)
{
	size_t len = strlen(subscribed);

	if (len != 0 && subscribed[len - 1] == '/')
		len--;
	return strncmp(uri, subscribed, len) == 0 && (uri[len] == '\0' || uri[len] == '/');
}

/* Whether a resource with this prefix was subscribed. Subscribers to directories, whose URIs end in
 * a slash, are told which files changed instead. */
static bool has_prefix(const char *subscribed, const char *prefix)
{
	return strncmp(subscribed, prefix, strlen(prefix)) == 0 &&
	       subscribed[strlen(subscribed) - 1] != '/';
}

/* Sends notifications/resources/updated: once, with the URI of what has changed, if a subscription
 * covers it; or, if `is_prefix`, with each subscribed URI that begins with `uri`. */
static void notify_updated(struct mcp_session *session, json_t *uris, const struct mcp_call *listen,
                           const char *uri, bool is_prefix)
{
	const char *subscribed;
	json_t *unused;

	json_object_foreach (uris, subscribed, unused) {
		json_t *params;

		if (is_prefix ? !has_prefix(subscribed, uri) : !is_at_or_below(uri, subscribed))
			continue;
		params = listen != NULL ? new_with_subscription_id(listen) : json_obj();
		json_set(params, "uri", json_str(is_prefix ? subscribed : uri));
		session_notify(session, listen != NULL ? listen->sink : session->sink,
		               "notifications/resources/updated", params);
		if (!is_prefix)
			return;
	}
}

static void notify_all_updated(struct mcp_server *server, const char *owner, const char *uri,
                               bool is_prefix)
{
	LIST_EACH (node, &server->listens) {
		const struct listen *listen = container_of(node, struct listen, node);

		if (has_owner(owner, listen->call->owner))
			notify_updated(listen->call->session, listen->uris, listen->call, uri,
			               is_prefix);
	}
	LIST_EACH (node, &server->sessions) {
		struct mcp_session *session = container_of(node, struct mcp_session, node);

		if (has_owner(owner, session->owner))
			notify_updated(session, session->subscriptions, NULL, uri, is_prefix);
	}
}

void mcp_server_resource_updated(struct mcp_server *server, const char *owner, const char *uri)
{
	notify_all_updated(server, owner, uri, false);
}

void mcp_server_resources_updated(struct mcp_server *server, const char *owner, const char *prefix)
{
	notify_all_updated(server, owner, prefix, true);
}

void mcp_server_each_subscription(struct mcp_server *server,
                                  void (*fn)(void *ctx, const char *owner, const char *uri),
                                  void *ctx)
{
	const char *uri;
	json_t *unused;

	LIST_EACH (node, &server->listens) {
		const struct listen *listen = container_of(node, struct listen, node);

		json_object_foreach (listen->uris, uri, unused)
			fn(ctx, listen->call->owner, uri);
	}
	LIST_EACH (node, &server->sessions) {
		const struct mcp_session *session = container_of(node, struct mcp_session, node);

		json_object_foreach (session->subscriptions, uri, unused)
			fn(ctx, session->owner, uri);
	}
}
