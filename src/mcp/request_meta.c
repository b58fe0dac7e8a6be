#include "mcp/request_meta.h"

#include "base/attr.h"
#include "mcp/rpc.h"

static json_t *get_meta(const json_t *params)
{
	return json_member(params, "_meta", JSON_OBJECT);
}

bool request_meta_has_version(const json_t *params)
{
	return json_has(get_meta(params), MCP_META_VERSION);
}

const char *request_meta_version(const json_t *params)
{
	return json_text(get_meta(params), MCP_META_VERSION);
}

/* The token is stored and repeated in each progress notification, so it has the limits of an id. */
json_t *request_meta_progress_token(const json_t *params)
{
	json_t *token = json_object_get(get_meta(params), "progressToken");

	return rpc_is_id(token) ? token : NULL;
}

static bool check_version(const json_t *value, struct request_meta *ret)
{
	(void)ret;
	return json_as_text(value) != NULL;
}

static bool check_capabilities(const json_t *value, struct request_meta *ret)
{
	(void)ret;
	return json_is_object(value);
}

static bool check_client_info(const json_t *value, struct request_meta *ret)
{
	(void)ret;
	return json_text(value, "name") != NULL && json_text(value, "version") != NULL;
}

static bool check_level(const json_t *value, struct request_meta *ret)
{
	const char *name = json_as_text(value);

	return name != NULL && mcp_level_find(name, &ret->level);
}

static bool check_token(const json_t *value, struct request_meta *ret)
{
	(void)ret;
	return rpc_is_id(value);
}

static const struct member {
	const char *key;
	bool required;
	bool (*check)(const json_t *value, struct request_meta *ret);
	const char *problem;
} members[] = {
	{ MCP_META_VERSION, true, check_version, "must be a string" },
	{ MCP_META_CAPABILITIES, true, check_capabilities, "must be an object" },
	{ MCP_META_CLIENT_INFO, false, check_client_info,
	  "must be an object with the strings name and version" },
	{ MCP_META_LOG_LEVEL, false, check_level, "must be one of " MCP_LEVEL_LIST },
	{ "progressToken", false, check_token,
	  "must be a string of at most 1024 bytes or a number" },
};

bool request_meta_read(const json_t *params, struct request_meta *ret)
{
	const json_t *meta = get_meta(params);
	struct request_meta read = { .level = MCP_LEVEL_NONE };

	read.version = json_text(meta, MCP_META_VERSION);
	read.capabilities = json_member(meta, MCP_META_CAPABILITIES, JSON_OBJECT);
	for (size_t i = 0; i < ARRAY_LEN(members) && read.bad_key == NULL; i++) {
		const struct member *m = &members[i];
		const json_t *value = json_object_get(meta, m->key);

		if (value == NULL ? !m->required : m->check(value, &read))
			continue;
		read.bad_key = m->key;
		read.problem = value == NULL ? "is missing" : m->problem;
	}
	read.progress_token = request_meta_progress_token(params);
	*ret = read;
	return read.bad_key == NULL;
}
