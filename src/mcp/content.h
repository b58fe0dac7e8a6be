/* content.h - the blocks results and prompt messages are made of.
 *
 * Each function returns a new block. Blocks that a client's revision does not know yet
 * are turned into text when the result is sent. */
#pragma once
#include "base/view.h"
#include "mcp/revision.h"
#include "json/json.h"

json_t *mcp_text(const char *fmt, ...) PRINTF_LIKE(1, 2);
json_t *mcp_text_view(struct view text);
json_t *mcp_image(struct view bytes, const char *mime_type);
json_t *mcp_audio(struct view bytes, const char *mime_type);
json_t *mcp_embedded(const char *uri, const char *mime_type, const char *text);
json_t *mcp_link(const char *uri, const char *name, const char *mime_type);

/* A prompt's message: role is "user" or "assistant"; takes over the block. */
json_t *mcp_message(const char *role, json_t *block);

/* The block as `revision` can carry it. Takes over and returns it or its stand-in. */
json_t *mcp_block_for(enum mcp_revision revision, json_t *block);
