#include "mcp/caller.h"

#include <ctype.h>
#include <string.h>

#include "base/attr.h"
#include "base/view.h"

static const struct {
	enum mcp_scope scope;
	const char *name;
} scopes[] = {
	{ MCP_SCOPE_RUN, "run" },
	{ MCP_SCOPE_FILES, "files" },
	{ MCP_SCOPE_ADMIN, "admin" },
};

const char *mcp_scope_name(enum mcp_scope scope)
{
	for (size_t i = 0; i < ARRAY_LEN(scopes); i++)
		if (scopes[i].scope == scope)
			return scopes[i].name;
	return "";
}

bool mcp_scope_find(const char *name, enum mcp_scope *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(scopes); i++) {
		if (strcmp(scopes[i].name, name) != 0)
			continue;
		*ret = scopes[i].scope;
		return true;
	}
	return false;
}

/* The weight of one element of Accept-Language in thousandths ("zh-CN;q=0.8"): 1000 without a "q=",
 * 0 if it cannot be read. */
static unsigned read_weight(struct view element)
{
	unsigned weight = 0, unit = 1000;
	const char *at = memchr(element.ptr, ';', element.len), *end = element.ptr + element.len;

	if (at == NULL)
		return 1000;
	for (at++; at < end && *at == ' ';)
		at++;
	if (end - at < 3 || tolower((unsigned char)at[0]) != 'q' || at[1] != '=')
		return 0;
	for (at += 2; at < end && unit > 0; at++) {
		if (*at == '.')
			continue;
		if (!isdigit((unsigned char)*at))
			break;
		weight += (unsigned)(*at - '0') * unit;
		unit /= 10;
	}
	return weight <= 1000 ? weight : 0;
}

/* Writes the letters at the front of the element, if they are a language and no such name as "C" or
 * "POSIX". */
static bool read_language(struct view element, char out[MCP_LANGUAGE_SIZE])
{
	size_t len = 0;

	while (len < element.len && isalpha((unsigned char)element.ptr[len]))
		len++;
	if (len < 2 || len >= MCP_LANGUAGE_SIZE)
		return false;
	for (size_t i = 0; i < len; i++)
		out[i] = (char)tolower((unsigned char)element.ptr[i]);
	out[len] = '\0';
	return true;
}

void mcp_caller_set_language(struct mcp_caller *caller, const char *text)
{
	struct view rest = view_of(text != NULL ? text : "");
	char language[MCP_LANGUAGE_SIZE];
	unsigned best = 0;

	caller->language[0] = '\0';
	while (rest.len != 0) {
		struct view element = view_trim(view_cut(&rest, ','));
		unsigned weight = read_weight(element);

		if (weight > best && read_language(element, language)) {
			memcpy(caller->language, language, sizeof language);
			best = weight;
		}
	}
}
