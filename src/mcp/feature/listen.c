/* listen.c - subscriptions/listen: a request that stays open and carries notifications.
 *
 * The first message on it acknowledges what is honoured; each later one bears the
 * request's id, so that several can share a connection. The client ends it by
 * cancelling, the server by answering. */
#include <stdlib.h>

#include "base/mem.h"
#include "mcp/envelope.h"
#include "mcp/internal.h"

struct listen {
	struct list node;
	struct mcp_call *call;
	bool lists[MCP_LIST_COUNT];
	json_t *uris; /* object: the URIs are the keys */
};

static const struct {
	enum offer needs;
	const char *wish, *notification;
} lists[] = {
	[MCP_LIST_TOOLS] = { OFFER_TOOLS, "toolsListChanged", "notifications/tools/list_changed" },
	[MCP_LIST_PROMPTS] = { OFFER_PROMPTS, "promptsListChanged",
	                       "notifications/prompts/list_changed" },
	[MCP_LIST_RESOURCES] = { OFFER_RESOURCES, "resourcesListChanged",
	                         "notifications/resources/list_changed" },
};
_Static_assert(ARRAY_LEN(lists) == MCP_LIST_COUNT, "a wish for each list");

static json_t *stamped(const struct mcp_call *call)
{
	json_t *object = json_obj();
	json_t *meta = json_obj();

	json_set(meta, MCP_META_SUBSCRIPTION_ID, json_incref(call->id));
	json_set(object, "_meta", meta);
	return object;
}

/* What is wrong with the wishes; NULL: nothing. What we do not know is let be. */
static const char *fault_in(const json_t *wishes)
{
	const json_t *uris = json_object_get(wishes, "resourceSubscriptions");
	json_t *uri;
	size_t i;

	if (!json_is_object(wishes))
		return "'notifications' must be an object";
	for (size_t list = 0; list < MCP_LIST_COUNT; list++) {
		const json_t *wish = json_object_get(wishes, lists[list].wish);

		if (wish != NULL && !json_is_boolean(wish))
			return "'notifications': a wish for list changes must be true or false";
	}
	if (uris != NULL && !json_is_array(uris))
		return "'notifications.resourceSubscriptions' must be an array of URIs";
	json_array_foreach (uris, i, uri)
		if (json_as_text(uri) == NULL || json_string_length(uri) > MCP_URI_MAX)
			return "'notifications.resourceSubscriptions' must hold strings of at most "
			       "8192 bytes";
	return NULL;
}

/* All listen streams of a session share one allowance of URIs. */
static size_t uris_listened_to(const struct mcp_session *session)
{
	size_t count = 0;

	LIST_EACH (node, &session->server->listens) {
		const struct listen *listen = container_of(node, struct listen, node);

		if (listen->call->session == session)
			count += json_object_size(listen->uris);
	}
	return count;
}

/* Keeps the wishes that can come true, and returns them as the client is told. */
static json_t *honour(struct listen *listen, const json_t *wishes)
{
	const struct mcp_server *server = listen->call->server;
	const json_t *uris = json_object_get(wishes, "resourceSubscriptions");
	size_t left = server->config.limits.max_subscriptions -
	              uris_listened_to(listen->call->session);
	json_t *honoured = json_obj();
	json_t *kept, *uri;
	size_t i;

	for (size_t list = 0; list < MCP_LIST_COUNT; list++) {
		listen->lists[list] = server->config.lists_change &&
		                      server_offers(server, lists[list].needs) &&
		                      json_is_true(json_object_get(wishes, lists[list].wish));
		if (listen->lists[list])
			json_set(honoured, lists[list].wish, json_true());
	}
	if (!server_offers(server, OFFER_SUBSCRIPTIONS) || json_array_size(uris) == 0)
		return honoured;
	kept = json_list();
	json_array_foreach (uris, i, uri) {
		if (json_array_size(kept) >= left)
			break;
		json_set(listen->uris, json_as_text(uri), json_true());
		json_push(kept, json_incref(uri));
	}
	json_set(honoured, "resourceSubscriptions", kept);
	return honoured;
}

static void free_listen(struct listen *listen)
{
	list_remove(&listen->node);
	json_decref(listen->uris);
	free(listen);
}

static void stopped(struct mcp_call *call, void *ctx)
{
	free_listen(ctx);
	call_drop(call);
}

void listen_finish(struct mcp_call *call)
{
	free_listen(call->cancel_ctx);
	call_reply(call, stamped(call));
}

void listen_method(struct mcp_call *call)
{
	const size_t max = call->server->config.limits.max_subscriptions;
	const json_t *wishes = json_object_get(call->params, "notifications");
	const char *fault = fault_in(wishes);
	struct listen *listen;
	json_t *acknowledged, *honoured;

	if (fault != NULL) {
		call_refuse(call, RPC_INVALID_PARAMS, NULL, "%s", fault);
		return;
	}
	if (call->session->listen_count >= max) {
		call_refuse(call, RPC_INTERNAL_ERROR, NULL,
		            "%zu listen streams are open (max_subscriptions); cancel one first",
		            max);
		return;
	}
	listen = mem_new(sizeof *listen);
	listen->call = call;
	listen->uris = json_obj();
	list_add(&call->server->listens, &listen->node);
	call->is_listen = true;
	call->session->call_count--;
	call->session->listen_count++;
	mcp_call_on_cancel(call, stopped, listen);

	honoured = honour(listen, wishes);
	acknowledged = stamped(call);
	json_set(acknowledged, "notifications", json_incref(honoured));
	session_notify(call->session, "notifications/subscriptions/acknowledged", acknowledged);
	if (json_object_size(honoured) == 0)
		listen_finish(call);
	json_decref(honoured);
}

void mcp_server_list_changed(struct mcp_server *server, enum mcp_list list)
{
	LIST_EACH (node, &server->listens) {
		struct listen *listen = container_of(node, struct listen, node);

		if (listen->lists[list])
			session_notify(listen->call->session, lists[list].notification,
			               stamped(listen->call));
	}
	LIST_EACH (node, &server->sessions) {
		struct mcp_session *session = container_of(node, struct mcp_session, node);

		if (session->is_ready)
			session_notify(session, lists[list].notification, NULL);
	}
}

/* `below`: every URI that begins so counts, else this very one. */
static void tell_updated(struct mcp_session *session, json_t *uris, const struct mcp_call *listen,
                         const char *uri, bool below)
{
	const char *wanted;
	json_t *ignored;

	json_object_foreach (uris, wanted, ignored) {
		json_t *params;

		if (below ? strncmp(wanted, uri, strlen(uri)) != 0 : strcmp(wanted, uri) != 0)
			continue;
		params = listen != NULL ? stamped(listen) : json_obj();
		json_set(params, "uri", json_str(wanted));
		session_notify(session, "notifications/resources/updated", params);
	}
}

static void updated(struct mcp_server *server, const char *uri, bool below)
{
	LIST_EACH (node, &server->listens) {
		const struct listen *listen = container_of(node, struct listen, node);

		tell_updated(listen->call->session, listen->uris, listen->call, uri, below);
	}
	LIST_EACH (node, &server->sessions) {
		struct mcp_session *session = container_of(node, struct mcp_session, node);

		tell_updated(session, session->subscriptions, NULL, uri, below);
	}
}

void mcp_server_resource_updated(struct mcp_server *server, const char *uri)
{
	updated(server, uri, false);
}

void mcp_server_resources_updated(struct mcp_server *server, const char *prefix)
{
	updated(server, prefix, true);
}
