#include "mcp/content.h"

#include <stdarg.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text/base64.h"

static json_t *new_block(const char *type)
{
	json_t *b = json_obj();

	json_set(b, "type", json_str(type));
	return b;
}

json_t *mcp_text_view(struct view text)
{
	json_t *b = new_block("text");

	json_set(b, "text", json_str_view(text));
	return b;
}

json_t *mcp_text(const char *fmt, ...)
{
	AUTO_FREE char *text = NULL;
	va_list args;

	va_start(args, fmt);
	text = mem_vformat(fmt, args);
	va_end(args);
	return mcp_text_view(view_of(text));
}

static json_t *media_block(const char *type, struct view bytes, const char *mime_type)
{
	AUTO_FREE char *encoded = base64_encode(bytes);
	json_t *b = new_block(type);

	json_set(b, "data", json_str(encoded));
	json_set(b, "mimeType", json_str(mime_type));
	return b;
}

json_t *mcp_image(struct view bytes, const char *mime_type)
{
	return media_block("image", bytes, mime_type);
}

json_t *mcp_audio(struct view bytes, const char *mime_type)
{
	return media_block("audio", bytes, mime_type);
}

/* `key` is "text" or "blob". */
static json_t *resource_block(const char *uri, const char *mime_type, const char *key,
                              const char *value)
{
	json_t *b = new_block("resource");
	json_t *resource = json_obj();

	json_set(resource, "uri", json_str(uri));
	json_set_text(resource, "mimeType", mime_type);
	json_set(resource, key, json_str(value));
	json_set(b, "resource", resource);
	return b;
}

json_t *mcp_embedded(const char *uri, const char *mime_type, const char *text)
{
	return resource_block(uri, mime_type, "text", text);
}

json_t *mcp_embedded_blob(const char *uri, const char *mime_type, struct view bytes)
{
	AUTO_FREE char *encoded = base64_encode(bytes);

	return resource_block(uri, mime_type, "blob", encoded);
}

json_t *mcp_link(const char *uri, const char *name, const char *mime_type)
{
	json_t *b = new_block("resource_link");

	json_set(b, "uri", json_str(uri));
	json_set(b, "name", json_str(name));
	json_set_text(b, "mimeType", mime_type);
	return b;
}

json_t *mcp_message(const char *role, json_t *content)
{
	json_t *message = json_obj();

	json_set(message, "role", json_str(role));
	json_set(message, "content", content);
	return message;
}

json_t *mcp_block_for(enum mcp_revision revision, json_t *b)
{
	const char *type = json_text(b, "type");
	json_t *replacement = NULL;

	if (strcmp(type, "audio") == 0 && !mcp_revision_has(revision, MCP_AUDIO))
		replacement = mcp_text("[%s audio: this protocol revision cannot carry it]",
		                       json_text(b, "mimeType"));
	else if (strcmp(type, "resource_link") == 0 && !mcp_revision_has(revision, MCP_LINKS))
		replacement = mcp_text("%s: %s", json_text(b, "name"), json_text(b, "uri"));
	if (replacement == NULL)
		return b;
	json_decref(b);
	return replacement;
}
