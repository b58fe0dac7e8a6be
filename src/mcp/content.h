/* content.h - content blocks, of which tool results and prompt messages consist.
 *
 * Each function returns a new block. A block that the client's revision does not have is sent as
 * text. */
#pragma once
#include "base/view.h"
#include "mcp/revision.h"
#include "json/json.h"

json_t *mcp_text(const char *fmt, ...) PRINTF_LIKE(1, 2);
json_t *mcp_text_view(struct view text);
json_t *mcp_image(struct view bytes, const char *mime_type);
json_t *mcp_audio(struct view bytes, const char *mime_type);
json_t *mcp_embedded(const char *uri, const char *mime_type, const char *text);
json_t *mcp_embedded_blob(const char *uri, const char *mime_type, struct view bytes);
json_t *mcp_link(const char *uri, const char *name, const char *mime_type);

/* A message of a prompt. role: "user" or "assistant". Takes over the block. */
json_t *mcp_message(const char *role, json_t *block);

/* Takes over a block. Returns it, or a text block if the revision does not have its type. */
json_t *mcp_block_for(enum mcp_revision revision, json_t *block);
