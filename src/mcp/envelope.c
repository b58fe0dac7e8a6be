#include "mcp/envelope.h"

#include "base/attr.h"
#include "mcp/rpc.h"

static json_t *meta_of(const json_t *params)
{
	return json_member(params, "_meta", JSON_OBJECT);
}

bool envelope_is_claimed(const json_t *params)
{
	return json_has(meta_of(params), MCP_META_VERSION);
}

/* It comes back with each progress message, so it is held to the bounds of an id. */
static bool is_token(const json_t *value)
{
	return rpc_is_id(value);
}

json_t *envelope_progress_token(const json_t *params)
{
	json_t *token = json_object_get(meta_of(params), "progressToken");

	return is_token(token) ? token : NULL;
}

static bool version_ok(const json_t *value, struct envelope *ret)
{
	(void)ret;
	return json_as_text(value) != NULL;
}

static bool capabilities_ok(const json_t *value, struct envelope *ret)
{
	(void)ret;
	return json_is_object(value);
}

static bool client_info_ok(const json_t *value, struct envelope *ret)
{
	(void)ret;
	return json_text(value, "name") != NULL && json_text(value, "version") != NULL;
}

static bool level_ok(const json_t *value, struct envelope *ret)
{
	const char *name = json_as_text(value);

	return name != NULL && mcp_level_find(name, &ret->level);
}

static bool token_ok(const json_t *value, struct envelope *ret)
{
	(void)ret;
	return is_token(value);
}

static const struct member {
	const char *key;
	bool required;
	bool (*ok)(const json_t *value, struct envelope *ret);
	const char *problem;
} members[] = {
	{ MCP_META_VERSION, true, version_ok, "must be a string" },
	{ MCP_META_CAPABILITIES, true, capabilities_ok, "must be an object" },
	{ MCP_META_CLIENT_INFO, false, client_info_ok,
	  "must be an object with the strings name and version" },
	{ MCP_META_LOG_LEVEL, false, level_ok, "must be one of " MCP_LEVEL_LIST },
	{ "progressToken", false, token_ok, "must be a string of at most 1024 bytes or a number" },
};

bool envelope_read(const json_t *params, struct envelope *ret)
{
	const json_t *meta = meta_of(params);
	struct envelope env = { .level = MCP_LEVEL_NONE };

	env.version = json_text(meta, MCP_META_VERSION);
	for (size_t i = 0; i < ARRAY_LEN(members) && env.bad_key == NULL; i++) {
		const struct member *m = &members[i];
		const json_t *value = json_object_get(meta, m->key);

		if (value == NULL ? !m->required : m->ok(value, &env))
			continue;
		env.bad_key = m->key;
		env.problem = value == NULL ? "is missing" : m->problem;
	}
	env.progress_token = envelope_progress_token(params);
	*ret = env;
	return env.bad_key == NULL;
}
