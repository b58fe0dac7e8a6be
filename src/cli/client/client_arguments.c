#include "cli/client/client_arguments.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"

static const struct json_limits limits = { .depth = 64, .values = 200000 };
enum { VALUE_MAX = 10 * 1024 * 1024 };

static int read_object(const char *text, json_t **ret, struct error *err)
{
	if (json_read(view_of(text), &limits, ret, NULL, err) < 0)
		return error_wrap(err, "arguments");
	if (json_is_object(*ret))
		return 0;
	json_decref(*ret);
	*ret = NULL;
	return error_set(err, ERR_INVALID,
	                 "arguments: expected an object, such as '{\"seconds\": 1}'");
}

/* Reads a value up to the next space outside quotes. Within '...' nothing is special; within
 * "..." and outside, a backslash takes the next character as it is, and \n is a line end. */
static int read_value(const char **at, struct buf *ret, struct error *err)
{
	char quote = '\0';

	for (; **at != '\0' && (quote != '\0' || (**at != ' ' && **at != '\t')); (*at)++) {
		char c = **at;

		if (c == quote || (quote == '\0' && (c == '\'' || c == '"'))) {
			quote = quote == '\0' ? c : '\0';
			continue;
		}
		if (c == '\\' && quote != '\'' && (*at)[1] != '\0') {
			(*at)++;
			c = **at == 'n' ? '\n' : **at;
		}
		if (buf_add(ret, (struct view){ &c, 1 }, err) < 0)
			return -1;
	}
	return quote == '\0' ? 0 : error_set(err, ERR_INVALID, "a quote (%c) is not closed", quote);
}

static json_t *make_value(const json_t *property, struct view text)
{
	const char *type = json_text(property, "type");
	json_t *value = NULL;
	struct error ignored;

	if (type != NULL && strcmp(type, "string") == 0)
		return json_str_view(text);
	return json_read(text, &limits, &value, NULL, &ignored) == 0 ? value : json_str_view(text);
}

int client_arguments(const char *text, const json_t *schema, json_t **ret, struct error *err)
{
	const json_t *properties = json_object_get(schema, "properties");
	AUTO_JSON json_t *arguments = json_obj();
	AUTO_BUF struct buf value;
	char name[100];

	buf_init(&value, VALUE_MAX);
	text += strspn(text, " \t");
	if (*text == '{')
		return read_object(text, ret, err);
	while (*text != '\0') {
		size_t len = strcspn(text, "= \t");

		if (text[len] != '=' || len == 0 || len >= sizeof name)
			return error_set(err, ERR_INVALID,
			                 "arguments: expected name=value or a JSON object, found "
			                 "'%.*s'",
			                 (int)(len < 80 ? len : 80), text);
		memcpy(name, text, len);
		name[len] = '\0';
		text += len + 1;
		buf_truncate(&value, 0);
		if (read_value(&text, &value, err) < 0)
			return -1;
		json_set(arguments, name,
		         make_value(json_object_get(properties, name), buf_view(&value)));
		text += strspn(text, " \t");
	}
	*ret = TAKE_PTR(arguments);
	return 0;
}
