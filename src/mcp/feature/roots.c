/* roots.c - roots/list: requests the roots of the client, after the handshake and again after
 * notifications/roots/list_changed; in the stateless era when a handler needs them. Only file:
 * URIs of this machine are passed on, as paths. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "mcp/internal.h"

enum { ROOTS_MAX = 64, ROOT_URI_MAX = 3 * 4096 };

/* The path of a file: URI of this machine as a JSON string, or NULL for other URIs. */
static json_t *path_from_uri(const char *uri)
{
	const char *path = uri + strlen("file://");
	json_t *decoded;

	if (strncmp(uri, "file://", strlen("file://")) != 0)
		return NULL;
	if (strncmp(path, "localhost/", strlen("localhost/")) == 0)
		path += strlen("localhost");
	if (path[0] != '/' || strlen(path) > ROOT_URI_MAX)
		return NULL;
	decoded = uri_percent_decode((struct view){ path, strcspn(path, "?#") });
	if (decoded != NULL && json_as_text(decoded) == NULL) {
		json_decref(decoded);
		return NULL;
	}
	return decoded;
}

/* The id has a number, so that a late response to an earlier request is not taken for this
 * one's. */
void roots_request(struct mcp_session *session)
{
	char id[sizeof session->roots_id];
	AUTO_JSON json_t *message = NULL;
	AUTO_FREE char *text = NULL;
	size_t len;

	if (!session->has_roots)
		return;
	(void)snprintf(id, sizeof id, "roots-%u", ++session->roots_requests);
	memcpy(session->roots_id, id, sizeof id);
	message = rpc_notification("roots/list", NULL);
	json_set(message, "id", json_str(id));
	text = json_write(message, &len);
	sink_send(session->sink, MCP_REQUEST, (struct view){ text, len });
}

/* Passes the result of roots/list to mcp_config.roots. */
static void take_roots(struct mcp_server *server, const json_t *result)
{
	AUTO_JSON json_t *owners = json_list(); /* keeps the strings of `paths` */
	const char *paths[ROOTS_MAX];
	size_t count = 0, i;
	json_t *list, *root;

	list = json_member(result, "roots", JSON_ARRAY);
	json_array_foreach (list, i, root) {
		const char *uri = json_text(root, "uri");
		json_t *path = uri != NULL && count < ROOTS_MAX ? path_from_uri(uri) : NULL;

		if (path == NULL) {
			log_info("a root of the client is ignored: it is no file: URI of this "
			         "machine, or there are more than %d",
			         ROOTS_MAX);
			continue;
		}
		json_push(owners, path);
		paths[count++] = json_as_text(path);
	}
	server->config.roots(server->config.app, paths, count);
}

bool roots_receive_response(struct mcp_session *session, const struct rpc_message *rpc)
{
	const char *id = json_as_text(rpc->id);

	if (id == NULL || session->roots_id[0] == '\0' || strcmp(id, session->roots_id) != 0)
		return false;
	session->roots_id[0] = '\0';
	take_roots(session->server, rpc->result);
	return true;
}

bool mcp_await_roots(struct mcp_call *call)
{
	static const char key[] = "roots";

	if (!mcp_revision_has(call->revision, MCP_STATELESS) || call->server == NULL ||
	    call->server->config.roots == NULL || !call->may_have_roots ||
	    !mcp_can_ask(call, MCP_ASK_ROOTS))
		return true;
	mcp_ask(call, key, MCP_ASK_ROOTS, NULL);
	if (!mcp_await_answers(call))
		return false;
	take_roots(call->server, mcp_answer(call, key));
	return true;
}
