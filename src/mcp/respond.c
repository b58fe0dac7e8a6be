/* respond.c - the results of tools, resources and prompts. */
#include "base/error.h"
#include "base/text/base64.h"
#include "mcp/call.h"
#include "mcp/content.h"
#include "mcp/internal.h"

static json_t *convert_content(const struct mcp_call *call, json_t *content)
{
	json_t *converted = json_list();
	json_t *block;
	size_t i;

	json_array_foreach (content, i, block)
		json_push(converted, mcp_block_for(call->revision, json_incref(block)));
	json_decref(content);
	return converted;
}

static json_t *text_content(json_t *structured)
{
	size_t len;
	AUTO_FREE char *text = json_write(structured, &len);

	return json_list_of(mcp_text_view((struct view){ text, len }));
}

void mcp_respond_content(struct mcp_call *call, json_t *content, json_t *structured)
{
	json_t *result = json_obj();

	if (content == NULL)
		content = text_content(structured);
	json_set(result, "content", convert_content(call, content));
	if (structured != NULL && mcp_revision_has(call->revision, MCP_STRUCTURED))
		json_set(result, "structuredContent", structured);
	else
		json_decref(structured);
	call_respond(call, result);
}

void mcp_respond_tool_error(struct mcp_call *call, const struct error *err)
{
	json_t *result, *content;

	if (!call->is_tool) {
		call_respond_failure(call, err);
		return;
	}
	result = json_obj();
	content = json_list();
	json_push(content, mcp_text("%s", err->msg));
	json_set(result, "content", content);
	json_set(result, "isError", json_true());
	call_respond(call, result);
}

void mcp_respond_error(struct mcp_call *call, const char *message)
{
	call_respond_error(call, RPC_INTERNAL_ERROR, NULL, "%s", message);
}

/* Responds to resources/read. `key` is "text" or "blob". */
static void respond_contents(struct mcp_call *call, const char *mime_type, const char *key,
                             json_t *value)
{
	json_t *entry = json_obj(), *result = json_pair("contents", json_list_of(entry));

	json_set(entry, "uri", json_str(call->uri));
	json_set_text(entry, "mimeType", mime_type);
	json_set(entry, key, value);
	set_cache_hints(call, result, 0);
	call_respond(call, result);
}

void mcp_respond_text(struct mcp_call *call, const char *mime_type, struct view text)
{
	respond_contents(call, mime_type, "text", json_str_view(text));
}

void mcp_respond_blob(struct mcp_call *call, const char *mime_type, struct view bytes)
{
	AUTO_FREE char *encoded = base64_encode(bytes);

	respond_contents(call, mime_type, "blob", json_str(encoded));
}

void mcp_respond_messages(struct mcp_call *call, const char *description, json_t *messages)
{
	json_t *result = json_obj();
	json_t *message;
	size_t i;

	json_array_foreach (messages, i, message) {
		json_t *block = json_object_get(message, "content");

		json_set(message, "content", mcp_block_for(call->revision, json_incref(block)));
	}
	json_set_text(result, "description", description);
	json_set(result, "messages", messages);
	call_respond(call, result);
}
