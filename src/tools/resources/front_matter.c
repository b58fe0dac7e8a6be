#include "tools/resources/internal.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/text/utf8.h"

static struct view skip_bytes(struct view v, size_t n)
{
	return (struct view){ v.ptr + n, v.len - n };
}

static bool is_fence(struct view line)
{
	return view_is(view_trim(line), "---") && line.ptr[0] == '-';
}

/* Adds the value without the quotes around it. As in YAML, a quote inside '...' is doubled, and a
 * quote inside "..." has a backslash in front. */
static void add_unquoted(struct view value, struct buf *out)
{
	char quote = value.len >= 2 ? value.ptr[0] : '\0';

	if ((quote != '"' && quote != '\'') || value.ptr[value.len - 1] != quote) {
		buf_put(out, value);
		return;
	}
	value = (struct view){ value.ptr + 1, value.len - 2 };
	for (size_t i = 0; i < value.len; i++) {
		bool escapes = quote == '"' ? value.ptr[i] == '\\' : value.ptr[i] == '\'';

		if (escapes && i + 1 < value.len)
			i++;
		if (!buf_put(out, (struct view){ value.ptr + i, 1 }))
			return;
	}
}

static bool is_indented(struct view line)
{
	return line.len != 0 && (line.ptr[0] == ' ' || line.ptr[0] == '\t');
}

/* Adds the indented lines that follow, joined by single spaces, and takes them off *rest. */
static void add_indented_lines(struct view *rest, struct buf *out)
{
	struct view line, next = *rest;

	while (view_next_line(&next, &line) && (is_indented(line) || view_trim(line).len == 0)) {
		struct view words = view_trim(line);

		*rest = next;
		if (words.len == 0)
			continue;
		if (out->len != 0)
			buf_put(out, view_of(" "));
		words.len = utf8_prefix(words.ptr, words.len, out->max - out->len);
		buf_put(out, words);
	}
}

static void read_value(struct view value, struct view *rest, char *out, size_t size)
{
	AUTO_BUF struct buf buf;

	buf_init(&buf, 4096);
	value = view_trim(value);
	if (value.len != 0 && (value.ptr[0] == '>' || value.ptr[0] == '|'))
		value.len = 0;
	value.len = value.len == 0 ? 0 : utf8_prefix(value.ptr, value.len, 4000);
	add_unquoted(value, &buf);
	add_indented_lines(rest, &buf);
	(void)utf8_escape(buf_view(&buf), out, size);
}

/* Reads the value of a known key; of a key that comes twice, the first value holds. */
static void read_line(struct view line, struct view *rest, struct front_matter *ret)
{
	const struct {
		const char *key;
		char *out;
		size_t size;
	} keys[] = {
		{ "name:", ret->name, sizeof ret->name },
		{ "description:", ret->description, sizeof ret->description },
		{ "version:", ret->version, sizeof ret->version },
		{ "dependencies:", ret->dependencies, sizeof ret->dependencies },
	};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (view_starts(line, keys[i].key) && keys[i].out[0] == '\0') {
			read_value(skip_bytes(line, strlen(keys[i].key)), rest, keys[i].out,
			           keys[i].size);
			return;
		}
}

void front_matter_read(struct view text, struct front_matter *ret)
{
	struct view rest = text, line;

	*ret = (struct front_matter){ 0 };
	if (view_starts(rest, "\xef\xbb\xbf"))
		rest = skip_bytes(rest, 3);
	if (!view_next_line(&rest, &line) || line.len == 0 || !is_fence(line))
		return;
	while (view_next_line(&rest, &line)) {
		if (line.len != 0 && is_fence(line)) {
			ret->body = (size_t)(rest.ptr - text.ptr);
			return;
		}
		read_line(line, &rest, ret);
	}
	/* Without a closing "---" the text is no front matter. */
	*ret = (struct front_matter){ 0 };
}
