#include "tools/files/file_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/text/utf8.h"
#include "tools/support/params.h"

static const char utf8_name[] = "utf-8", base64_name[] = "base64";

const char *const encoding_names[] = {
	[ENCODING_UTF8] = utf8_name,
	[ENCODING_BASE64] = base64_name,
	[ENCODING_LATIN1] = "latin-1",
	[ENCODING_UTF16] = "utf-16",
	NULL,
};
const char *const content_encoding_names[] = { utf8_name, base64_name, NULL };

const char *file_picture(struct view head)
{
	static const struct {
		const char *mime_type, *magic;
		size_t len;
	} kinds[] = {
		{ "image/png", "\x89PNG\r\n\x1a\n", 8 },
		{ "image/jpeg", "\xff\xd8\xff", 3 },
		{ "image/gif", "GIF87a", 6 },
		{ "image/gif", "GIF89a", 6 },
	};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (head.len >= kinds[i].len && memcmp(head.ptr, kinds[i].magic, kinds[i].len) == 0)
			return kinds[i].mime_type;
	if (head.len >= 12 && memcmp(head.ptr, "RIFF", 4) == 0 &&
	    memcmp(head.ptr + 8, "WEBP", 4) == 0)
		return "image/webp";
	return NULL;
}

const char *file_mime_type(const char *path, struct view bytes)
{
	static const char *const by_name[][2] = {
		{ ".md", "text/markdown" },      { ".html", "text/html" },
		{ ".csv", "text/csv" },          { ".json", "application/json" },
		{ ".xml", "application/xml" },   { ".svg", "image/svg+xml" },
		{ ".py", "text/x-python" },      { ".js", "text/javascript" },
		{ ".yaml", "application/yaml" }, { ".yml", "application/yaml" },
		{ ".toml", "application/toml" }, { ".css", "text/css" },
		{ ".sh", "application/x-sh" },
	};
	const char *dot = strrchr(path, '.'), *picture = file_picture(bytes);

	if (picture != NULL)
		return picture;
	if (!file_is_text(&bytes, false))
		return view_starts(bytes, "%PDF-") ? "application/pdf" : "application/octet-stream";
	for (size_t i = 0; dot != NULL && i < ARRAY_LEN(by_name); i++)
		if (strcasecmp(dot, by_name[i][0]) == 0)
			return by_name[i][1];
	return "text/plain";
}

bool file_is_text(struct view *bytes, bool is_cut)
{
	if (bytes->len == 0)
		return true;
	if (is_cut)
		bytes->len = utf8_prefix(bytes->ptr, bytes->len, bytes->len);
	return memchr(bytes->ptr, '\0', bytes->len) == NULL && utf8_is_valid(*bytes);
}

bool file_has_bom(struct view text)
{
	return view_starts(text, "\xef\xbb\xbf");
}

/* Takes the next line, with its line end, off *rest. */
static struct view take_line(struct view *rest)
{
	const char *end = memchr(rest->ptr, '\n', rest->len);
	struct view line = { rest->ptr, end != NULL ? (size_t)(end - rest->ptr) + 1 : rest->len };

	rest->ptr += line.len;
	rest->len -= line.len;
	return line;
}

/* Adds the whole line, or nothing. */
static bool add_line(struct buf *out, const char *number, struct view line)
{
	size_t before = out->len;

	if (buf_put(out, view_of(number)) && buf_put(out, line))
		return true;
	buf_truncate(out, before);
	return false;
}

void file_lines_show(struct view text, bool is_open, uint64_t first, bool numbers, struct buf *out,
                     struct file_lines *ret)
{
	struct view rest = text;

	*ret = (struct file_lines){ 0 };
	while (rest.len != 0) {
		struct view line = take_line(&rest);
		bool is_last_open = is_open && rest.len == 0;
		char number[32] = "";

		if (numbers)
			(void)snprintf(number, sizeof number, "%6" PRIu64 "\t", first + ret->count);
		if ((!is_last_open || ret->count == 0) && add_line(out, number, line)) {
			ret->count++;
			ret->is_full = ret->is_cut = is_last_open;
			continue;
		}
		ret->is_full = true;
		if (ret->count != 0)
			return;
		/* A first line that does not fit is cut: otherwise no call could get past it. */
		line.len = out->max - out->len > strlen(number)
		                   ? out->max - out->len - strlen(number)
		                   : 0;
		line.len = utf8_prefix(line.ptr, line.len, line.len);
		ret->is_cut = add_line(out, number, line);
		ret->count = 1;
		return;
	}
}
