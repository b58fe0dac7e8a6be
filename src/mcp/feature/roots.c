/* roots.c - roots/list: requests the roots of the client, after the handshake and again after
 * notifications/roots/list_changed. Only file: URIs of this machine are passed on, as paths. */
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
	session_send(session, (struct view){ text, len });
}

bool roots_receive_response(struct mcp_session *session, const struct rpc_message *rpc)
{
	const char *id = json_as_text(rpc->id);
	AUTO_JSON json_t *owners = json_list(); /* keeps the strings of `paths` */
	const char *paths[ROOTS_MAX];
	size_t count = 0, i;
	json_t *list, *root;

	if (id == NULL || session->roots_id[0] == '\0' || strcmp(id, session->roots_id) != 0)
		return false;
	session->roots_id[0] = '\0';
	list = json_member(rpc->result, "roots", JSON_ARRAY);
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
	session->server->config.roots(session->server->config.app, paths, count);
	return true;
}
