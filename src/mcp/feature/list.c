/* list.c - tables as lists, the long ones in pieces. A cursor names the list and the entry
 * to go on with; it is checked like any other input. */
#include <string.h>

#include "base/error.h"
#include "base/num.h"
#include "mcp/internal.h"

struct page {
	size_t from, to;
};

static size_t count_of(const void *table)
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
static bool find_page(struct mcp_call *call, const char *what, size_t count, struct page *ret)
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

void list_reply(struct mcp_call *call, const char *what, const void *table, describe_fn *describe)
{
	const void *const *records = table;
	size_t count = count_of(table);
	json_t *result, *entries;
	struct page page;

	if (!find_page(call, what, count, &page))
		return;
	entries = json_list();
	for (size_t i = page.from; i < page.to; i++)
		json_push(entries, describe(records[i], call->revision));
	result = json_obj();
	json_set(result, what, entries);
	if (page.to < count)
		json_set(result, "nextCursor", json_format("%s.%zu", what, page.to));
	cache_hints(call, result, call->server->config.cache_ms);
	call_reply(call, result);
}
