/* question.c - the kinds of questions: who can answer them, and what an answer looks like. */
#include <string.h>

#include "mcp/ask/asks.h"
#include "mcp/request_meta.h"

/* --- answers --- */

static bool is_string(const json_t *value)
{
	return json_is_string(value);
}

static bool is_number(const json_t *value)
{
	return json_is_number(value);
}

static bool is_integer(const json_t *value)
{
	json_int_t ignored;

	return json_as_int(value, &ignored);
}

static bool is_boolean(const json_t *value)
{
	return json_is_boolean(value);
}

static bool is_array(const json_t *value)
{
	return json_is_array(value);
}

static const struct {
	const char *name;
	bool (*has)(const json_t *value);
} types[] = {
	{ "string", is_string },   { "number", is_number }, { "integer", is_integer },
	{ "boolean", is_boolean }, { "array", is_array },
};

static bool has_type(const json_t *value, const char *type)
{
	for (size_t i = 0; type != NULL && i < ARRAY_LEN(types); i++)
		if (strcmp(types[i].name, type) == 0)
			return types[i].has(value);
	return true;
}

/* The fields of a form are checked by type only; the client has checked the rest. */
static bool fits_schema(const json_t *content, const json_t *schema)
{
	json_t *properties = json_object_get(schema, "properties");
	const json_t *required = json_object_get(schema, "required");
	json_t *name, *property;
	const char *key;
	size_t i;

	json_array_foreach (required, i, name)
		if (json_object_get(content, json_string_value(name)) == NULL)
			return false;
	json_object_foreach (properties, key, property) {
		const json_t *value = json_object_get(content, key);

		if (value != NULL && !has_type(value, json_text(property, "type")))
			return false;
	}
	return true;
}

static bool has_action(const json_t *value, const char *action)
{
	const char *given = json_text(value, "action");

	return given != NULL && strcmp(given, action) == 0;
}

static bool accepts_page(const json_t *params, const json_t *value)
{
	(void)params;
	return has_action(value, "accept") || has_action(value, "decline") ||
	       has_action(value, "cancel");
}

static bool accepts_form(const json_t *params, const json_t *value)
{
	const json_t *content = json_object_get(value, "content");

	if (!has_action(value, "accept"))
		return accepts_page(params, value);
	return json_is_object(content) &&
	       fits_schema(content, json_object_get(params, "requestedSchema"));
}

static bool accepts_sampling(const json_t *params, const json_t *value)
{
	const json_t *content = json_object_get(value, "content");

	(void)params;
	return json_text(value, "role") != NULL &&
	       (json_is_object(content) || json_is_array(content));
}

static bool accepts_roots(const json_t *params, const json_t *value)
{
	(void)params;
	return json_is_array(json_object_get(value, "roots"));
}

static const struct {
	const char *method;
	bool (*accepts)(const json_t *params, const json_t *value);
} kinds[] = {
	[MCP_ASK_FORM] = { "elicitation/create", accepts_form },
	[MCP_ASK_URL] = { "elicitation/create", accepts_page },
	[MCP_ASK_SAMPLING] = { "sampling/createMessage", accepts_sampling },
	[MCP_ASK_ROOTS] = { "roots/list", accepts_roots },
};
_Static_assert(ARRAY_LEN(kinds) == MCP_QUESTION_COUNT, "a row for each kind of question");

const char *question_method(enum mcp_question kind)
{
	return kinds[kind].method;
}

enum mcp_question question_kind(const json_t *question)
{
	const char *method = json_text(question, "method");
	enum mcp_question kind = MCP_ASK_FORM;

	if (json_has(json_object_get(question, "params"), "url"))
		return MCP_ASK_URL;
	while (strcmp(kinds[kind].method, method) != 0)
		kind++;
	return kind;
}

bool question_accepts(enum mcp_question kind, const json_t *params, const json_t *value)
{
	return json_is_object(value) && kinds[kind].accepts(params, value);
}

/* --- capabilities --- */

/* {"elicitation":{}} stands for forms alone, as it did before there were pages. */
static unsigned elicitation_abilities(const json_t *elicitation, enum mcp_revision revision)
{
	bool has_url = json_has(elicitation, "url");
	unsigned all = 0;

	if (!json_is_object(elicitation) || !mcp_revision_has(revision, MCP_FORMS))
		return 0;
	if (!has_url || json_has(elicitation, "form"))
		all |= CLIENT_FORM;
	if (has_url && mcp_revision_has(revision, MCP_PAGES))
		all |= CLIENT_URL;
	return all;
}

unsigned client_abilities(const json_t *capabilities, enum mcp_revision revision)
{
	const json_t *extensions = json_object_get(capabilities, "extensions");
	unsigned all = elicitation_abilities(json_object_get(capabilities, "elicitation"),
	                                     revision);

	if (json_is_object(json_object_get(capabilities, "sampling")))
		all |= CLIENT_SAMPLING;
	if (json_is_object(json_object_get(capabilities, "roots")))
		all |= CLIENT_ROOTS;
	if (mcp_revision_has(revision, MCP_STATELESS) &&
	    json_is_object(json_object_get(extensions, MCP_TASKS_EXTENSION)))
		all |= CLIENT_TASKS;
	return all;
}

json_t *describe_abilities(unsigned abilities)
{
	json_t *all = json_obj();

	if ((abilities & (CLIENT_FORM | CLIENT_URL)) != 0) {
		json_t *modes = json_obj();

		if ((abilities & CLIENT_FORM) != 0)
			json_set(modes, "form", json_obj());
		if ((abilities & CLIENT_URL) != 0)
			json_set(modes, "url", json_obj());
		json_set(all, "elicitation", modes);
	}
	if ((abilities & CLIENT_SAMPLING) != 0)
		json_set(all, "sampling", json_obj());
	if ((abilities & CLIENT_ROOTS) != 0)
		json_set(all, "roots", json_obj());
	if ((abilities & CLIENT_TASKS) != 0)
		json_set(all, "extensions", json_pair(MCP_TASKS_EXTENSION, json_obj()));
	return all;
}

/* --- parameters --- */

json_t *mcp_form(const char *message, json_t *properties)
{
	json_t *params = json_obj(), *schema = json_obj(), *required = json_list(), *unused;
	const char *key;

	json_object_foreach (properties, key, unused)
		json_push(required, json_str(key));
	json_set(schema, "type", json_str("object"));
	json_set(schema, "properties", properties);
	if (json_array_size(required) != 0)
		json_set(schema, "required", required);
	else
		json_decref(required);
	json_set(params, "message", json_str(message));
	json_set(params, "requestedSchema", schema);
	return params;
}

json_t *mcp_page(const char *message, const char *url)
{
	json_t *params = json_obj();

	json_set(params, "mode", json_str("url"));
	json_set(params, "message", json_str(message));
	json_set(params, "url", json_str(url));
	return params;
}
