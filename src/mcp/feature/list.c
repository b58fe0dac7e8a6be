/* list.c - the list methods: one page of a table per request.
 *
 * A cursor is the name of the list and the index of the next entry, such as "tools.100". Clients
 * may send any cursor, so it is checked. */
#include <string.h>

#include "base/error.h"
#include "base/num.h"
#include "mcp/internal.h"

struct page {
	size_t from, to;
};

static size_t count_records(const void *table)
{
	const void *const *entries = table;
	size_t count = 0;

	while (entries != NULL && entries[count] != NULL)
		count++;
	return count;
}

static bool read_cursor(const char *cursor, const char *key, size_t count, size_t *ret)
{
	size_t prefix = strlen(key);
	struct error ignored;
	uint64_t from;

	if (strncmp(cursor, key, prefix) != 0 || cursor[prefix] != '.' || count < 2)
		return false;
	if (num_parse_u64(cursor + prefix + 1, 1, count - 1, &from, &ignored) < 0)
		return false;
	*ret = (size_t)from;
	return true;
}

/* An absent, null or empty cursor means the first page: some clients send null or "". */
static bool find_page(struct mcp_call *call, const char *key, size_t count, struct page *ret)
{
	const size_t size = call->server->config.limits.page_size;
	const json_t *given = json_object_get(call->params, "cursor");
	const char *cursor = json_text(call->params, "cursor");
	size_t from = 0;

	if (given != NULL && !json_is_null(given) && (cursor == NULL || cursor[0] != '\0') &&
	    (cursor == NULL || !read_cursor(cursor, key, count, &from))) {
		call_respond_error(
		        call, RPC_INVALID_PARAMS, NULL,
		        "'cursor' was not returned by this server; omit it to get the first page");
		return false;
	}
	*ret = (struct page){ .from = from, .to = count - from > size ? from + size : count };
	return true;
}

void set_cache_hints(const struct mcp_call *call, json_t *result, uint32_t ms)
{
	if (!mcp_revision_has(call->revision, MCP_STATELESS))
		return;
	json_set(result, "ttlMs", json_int(ms));
	json_set(result, "cacheScope", json_str("private"));
}

void list_respond(struct mcp_call *call, const char *key, const void *table, describe_fn *describe)
{
	const void *const *records = table;
	size_t count = count_records(table);
	json_t *result, *entries;
	struct page page;

	if (!find_page(call, key, count, &page))
		return;
	entries = json_list();
	for (size_t i = page.from; i < page.to; i++) {
		json_t *entry = describe(call, records[i]);

		if (entry != NULL)
			json_push(entries, entry);
	}
	result = json_obj();
	json_set(result, key, entries);
	if (page.to < count)
		json_set(result, "nextCursor", json_format("%s.%zu", key, page.to));
	set_cache_hints(call, result, call->server->config.cache_ms);
	call_respond(call, result);
}
