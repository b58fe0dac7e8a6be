#include "cli/client/client_show.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text/ansi_strip.h"
#include "base/text/utf8.h"
#include "base/view.h"
#include "cli/support/out.h"

enum { NAME_COLUMN = 20 };

static void write_line(struct view line, bool is_plain)
{
	struct ansi_strip plain = { 0 };
	AUTO_FREE char *text = NULL;

	if (is_plain) {
		text = mem_array(line.len + 1, 1);
		line.len = ansi_strip_bytes(&plain, line.ptr, line.len, text);
		line.ptr = text;
	}
	(void)fwrite(line.ptr, 1, line.len, stdout);
	out("\n");
}

static void show_text(struct view text, size_t indent, size_t lines)
{
	bool is_plain = isatty(STDOUT_FILENO) == 1;
	struct view line;
	size_t shown = 0, left = 0;

	while (view_next_line(&text, &line)) {
		if (lines != 0 && shown == lines) {
			left++;
			continue;
		}
		shown++;
		out("%*s", (int)indent, "");
		write_line(line, is_plain);
	}
	if (left != 0)
		out("%*s(%zu more %s)\n", (int)indent, "", left, left == 1 ? "line" : "lines");
}

static struct view text_of(const json_t *object, const char *key)
{
	const json_t *text = json_member(object, key, JSON_STRING);

	return text != NULL ? json_view(text) : (struct view){ "", 0 };
}

/* The number of bytes that this Base64 text encodes. */
static size_t decoded_len(struct view base64)
{
	size_t padding = 0;

	while (padding < 2 && padding < base64.len && base64.ptr[base64.len - 1 - padding] == '=')
		padding++;
	return base64.len / 4 * 3 - (base64.len >= 4 ? padding : 0);
}

static void show_size(const char *what, const json_t *object, const char *key, size_t indent)
{
	char kind[80];
	const char *mime = json_text(object, "mimeType");

	(void)utf8_escape(view_of(mime != NULL ? mime : "of unknown kind"), kind, sizeof kind);
	out("%*s[%s %s, %zu bytes]\n", (int)indent, "", what, kind,
	    decoded_len(text_of(object, key)));
}

void show_block(const json_t *block, size_t indent, size_t lines)
{
	const char *type = json_text(block, "type");
	const json_t *resource = json_object_get(block, "resource");

	if (type == NULL)
		type = "nothing";
	if (strcmp(type, "text") == 0)
		show_text(text_of(block, "text"), indent, lines);
	else if (strcmp(type, "image") == 0)
		show_size("picture", block, "data", indent);
	else if (strcmp(type, "audio") == 0)
		show_size("sound", block, "data", indent);
	else if (strcmp(type, "resource") == 0 && json_has(resource, "text"))
		show_text(text_of(resource, "text"), indent, lines);
	else if (strcmp(type, "resource") == 0)
		show_size("file", resource, "blob", indent);
	else if (strcmp(type, "resource_link") == 0)
		out("%*s[%s]\n", (int)indent, "", UTF8_ESCAPED(text_of(block, "uri"), 240));
	else
		out("%*s[%s]\n", (int)indent, "", UTF8_ESCAPED(view_of(type), 240));
}

void show_content(const json_t *blocks, size_t indent, size_t lines)
{
	for (size_t i = 0; i < json_array_size(blocks); i++)
		show_block(json_array_get(blocks, i), indent, lines);
}

/* Copies the first sentence of the text as one escaped line. */
static const char *first_sentence(struct view text, char *shown, size_t size)
{
	size_t len = 0;

	while (len < text.len && text.ptr[len] != '\n' &&
	       !(text.ptr[len] == '.' &&
	         (len + 1 == text.len || text.ptr[len + 1] == ' ' || text.ptr[len + 1] == '\n')))
		len++;
	if (len < text.len && text.ptr[len] == '.')
		len++;
	return utf8_escape((struct view){ text.ptr, len }, shown, size);
}

void show_list(const json_t *list, const char *name)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *entry = json_array_get(list, i);
		char shown[200], title[120], sentence[400], line[600];
		int len;

		(void)utf8_escape(text_of(entry, name), shown, sizeof shown);
		(void)utf8_escape(text_of(entry, "title"), title, sizeof title);
		(void)first_sentence(text_of(entry, "description"), sentence, sizeof sentence);
		(void)snprintf(line, sizeof line, "%s%s%s", title, title[0] != '\0' ? ": " : "",
		               sentence);
		len = (int)strlen(shown);
		out("%s", shown);
		if (len >= NAME_COLUMN)
			out("\n");
		out_wrapped(NAME_COLUMN, len >= NAME_COLUMN ? 0 : (size_t)len, line);
	}
}

void show_json(json_t *value)
{
	size_t len;
	AUTO_FREE char *text = json_write(value, &len);

	(void)fwrite(text, 1, len, stdout);
	out("\n");
}

void show_progress(const json_t *params)
{
	static bool is_shown;
	char message[100] = "";

	if (params != NULL)
		(void)utf8_escape(text_of(params, "message"), message, sizeof message);
	if (message[0] != '\0' || is_shown)
		(void)fprintf(stderr, "\r\x1b[K%s", message);
	is_shown = message[0] != '\0';
}
