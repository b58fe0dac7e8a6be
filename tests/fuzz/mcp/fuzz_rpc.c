/* fuzz_rpc.c - any JSON is an error with a reason, or a request, notification or response with the
 * members of its kind. Its _meta is valid, or the invalid member is named. An id that is found at the
 * ends of a text is one. */
#include <stdint.h>
#include <stdlib.h>

#include "base/error.h"
#include "fuzz/fuzz.h"
#include "mcp/request_meta.h"
#include "mcp/rpc.h"
#include "json/json.h"

static void check_meta(const json_t *params)
{
	struct request_meta meta;

	if (!request_meta_has_version(params))
		return;
	if (request_meta_read(params, &meta) ? meta.version == NULL : meta.problem == NULL)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct json_limits limits = { .depth = 64, .values = 200000 };
	struct view half = { (const char *)data, size / 2 };
	AUTO_JSON json_t *value = NULL;
	AUTO_JSON json_t *id = rpc_find_id(half,
	                                   (struct view){ half.ptr + half.len, size - half.len });
	struct rpc_message rpc;
	struct error err;

	if (id != NULL && !rpc_is_id(id))
		abort();
	if (json_read((struct view){ (const char *)data, size }, &limits, &value, NULL, &err) < 0)
		return 0;
	if (rpc_decode(value, &rpc, &err) < 0) {
		if (err.msg[0] == '\0')
			abort();
		return 0;
	}
	if (rpc.kind == RPC_REQUEST && (rpc.method == NULL || !rpc_is_id(rpc.id)))
		abort();
	if (rpc.kind == RPC_NOTIFICATION && (rpc.method == NULL || rpc.id != NULL))
		abort();
	if (rpc.params != NULL && !json_is_object(rpc.params))
		abort();
	check_meta(rpc.params);
	return 0;
}
