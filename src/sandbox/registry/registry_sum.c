/* registry_sum.c - what the rows say together: how much an owner has, and whose time is over. */
#include <stdio.h>

#include "base/error.h"
#include "sandbox/registry/registry_internal.h"
#include "store/store.h"

static bool on_sums(void *ctx, struct store_row *columns)
{
	struct registry_sums *sums = ctx;

	sums->sandboxes = (uint64_t)store_row_int(columns, 0);
	sums->disk = (uint64_t)store_row_int(columns, 1);
	sums->memory = (uint64_t)store_row_int(columns, 2);
	return false;
}

int registry_sum(struct store *store, const char *owner, struct registry_sums *ret,
                 struct error *err)
{
	*ret = (struct registry_sums){ 0 };
	return store_query(store, on_sums, ret,
	                   "SELECT count(*), coalesce(sum(limit_disk), 0),"
	                   " coalesce(sum(CASE WHEN state IN ('awake', 'creating')"
	                   "  THEN limit_memory ELSE 0 END), 0)"
	                   " FROM sandboxes WHERE owner = ? AND state <> 'deleting'",
	                   err, "s", owner);
}

struct expired {
	char (*ids)[SPEC_ID_LEN + 1];
	size_t max, count;
};

static bool on_expired(void *ctx, struct store_row *columns)
{
	struct expired *expired = ctx;

	if (expired->count == expired->max)
		return false;
	(void)snprintf(expired->ids[expired->count], SPEC_ID_LEN + 1, "%s",
	               store_row_text(columns, 0));
	expired->count++;
	return true;
}

int registry_list_expired(struct store *store, int64_t now_s, char (*ids)[SPEC_ID_LEN + 1],
                          size_t max, size_t *count, struct error *err)
{
	struct expired expired = { ids, max, 0 };

	if (store_query(store, on_expired, &expired,
	                "SELECT id FROM sandboxes WHERE state = 'asleep' AND instance = ''"
	                " AND lifetime_s <> 0 AND created_s + lifetime_s <= ?",
	                err, "i", now_s) < 0)
		return -1;
	*count = expired.count;
	return 0;
}
