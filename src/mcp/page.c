/* page.c - long lists in pieces. A cursor names the list and the entry to go on with; it
 * is checked like any other input, since a client may send what it likes. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/num.h"
#include "mcp/internal.h"

size_t table_count(const void *table)
{
	const void *const *entries = table;
	size_t count = 0;

	while (entries != NULL && entries[count] != NULL)
		count++;
	return count;
}

static bool read_cursor(const char *cursor, const char *what, size_t count, size_t *ret)
{
	size_t prefix = strlen(what);
	struct error ignored;
	uint64_t from;

	if (strncmp(cursor, what, prefix) != 0 || cursor[prefix] != '.' || count < 2)
		return false;
	if (num_parse_u64(cursor + prefix + 1, 1, count - 1, &from, &ignored) < 0)
		return false;
	*ret = (size_t)from;
	return true;
}

/* An absent, null or empty cursor is the beginning: some clients send them. */
bool page_find(struct mcp_call *call, const char *what, size_t count, struct page *ret)
{
	const size_t size = call->server->config.limits.page_size;
	const json_t *given = json_object_get(call->params, "cursor");
	const char *cursor = json_text(call->params, "cursor");
	size_t from = 0;

	if (given != NULL && !json_is_null(given) && (cursor == NULL || cursor[0] != '\0') &&
	    (cursor == NULL || !read_cursor(cursor, what, count, &from))) {
		call_refuse(
		        call, RPC_INVALID_PARAMS, NULL,
		        "'cursor' is not one this server gave out; leave it away to start anew");
		return false;
	}
	*ret = (struct page){ .from = from, .to = count - from > size ? from + size : count };
	return true;
}

void cache_hints(const struct mcp_call *call, json_t *result, uint32_t ms)
{
	if (!mcp_revision_has(call->revision, MCP_STATELESS))
		return;
	json_set(result, "ttlMs", json_int(ms));
	json_set(result, "cacheScope", json_str("private"));
}

void page_reply(struct mcp_call *call, const char *what, const struct page *page, size_t count,
                json_t *entries)
{
	json_t *result = json_obj();

	json_set(result, what, entries);
	if (page->to < count)
		json_set(result, "nextCursor", json_format("%s.%zu", what, page->to));
	cache_hints(call, result, call->server->config.cache_ms);
	call_reply(call, result);
}
