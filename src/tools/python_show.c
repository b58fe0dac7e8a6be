#include "tools/python_show.h"

#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "tools/python_doc.h"

struct view python_summary(const char *doc)
{
	struct view rest = view_of(doc), line = { doc, 0 };

	(void)view_next_line(&rest, &line);
	return line;
}

static bool is_public(const char *name)
{
	const char *dot = strrchr(name, '.');
	const char *last = dot != NULL ? dot + 1 : name;

	if (strcmp(last, "__init__") == 0 || strcmp(last, "__call__") == 0)
		return true;
	/* A class within a private one is private too. */
	return name[0] != '_' && strstr(name, "._") == NULL;
}

/* The item itself, or something in it. */
static bool is_wanted(const char *name, const char *only)
{
	size_t len;

	if (only == NULL)
		return is_public(name);
	len = strlen(only);
	return strncmp(name, only, len) == 0 &&
	       (name[len] == '\0' || (name[len] == '.' && is_public(name)));
}

/* Every line behind `indent` spaces. */
static int add_indented(struct buf *text, struct view lines, int indent, struct error *full)
{
	struct view line;

	while (view_next_line(&lines, &line))
		if (buf_printf(text, full, "%*s%.*s\n", line.len != 0 ? indent : 0, "",
		               (int)line.len, line.ptr) < 0)
			return -1;
	return 0;
}

static int add_item(const struct python_item *item, struct view doc, struct buf *text)
{
	int indent = strchr(item->name, '.') != NULL ? 4 : 0;
	size_t before = text->len;
	struct error full;

	if ((item->decorators[0] == '\0' ||
	     buf_printf(text, &full, "%*s%s\n", indent, "", item->decorators) == 0) &&
	    buf_printf(text, &full, "%*s%s%s\n", indent, "",
	               item->kind == PYTHON_CLASS ? "class " : "", item->signature) == 0 &&
	    add_indented(text, doc, indent + 4, &full) == 0)
		return 0;
	buf_truncate(text, before);
	return -1;
}

static json_t *describe(const struct python_item *item, struct view doc)
{
	json_t *object = json_obj();

	json_set(object, "name", json_str(item->name));
	json_set(object, "kind", json_str(item->kind == PYTHON_CLASS ? "class" : "function"));
	json_set(object, "signature", json_str(item->signature));
	if (item->decorators[0] != '\0')
		json_set(object, "decorators", json_str(item->decorators));
	json_set(object, "doc", json_str_view(doc));
	return object;
}

size_t python_show(const struct python_doc *doc, const char *only, struct buf *text, json_t *list,
                   size_t *ret_count)
{
	size_t left_out = 0;

	*ret_count = 0;
	for (size_t i = 0; i < doc->count; i++) {
		const struct python_item *item = &doc->items[i];
		struct view said = only != NULL ? view_of(item->doc) : python_summary(item->doc);

		if (!is_wanted(item->name, only))
			continue;
		(*ret_count)++;
		if (left_out != 0 || add_item(item, said, text) < 0)
			left_out++;
		else
			json_push(list, describe(item, said));
	}
	return left_out;
}
