/* page_pip.c - the pages of Python's indexes (see pages.h). */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "egress/mirror/pages.h"

enum { ATTRIBUTE_MAX = 500 };

bool page_is_file_name(struct view name)
{
	return name.len != 0 && name.len <= PAGE_FILE_MAX && isalnum((unsigned char)name.ptr[0]) &&
	       view_has_only(name, "._+!-");
}

bool pip_project_is(struct view name)
{
	if (name.len == 0 || name.len > PAGE_NAME_MAX)
		return false;
	for (size_t i = 0; i < name.len; i++)
		if (!islower((unsigned char)name.ptr[i]) && !isdigit((unsigned char)name.ptr[i]) &&
		    (name.ptr[i] != '-' || i == 0 || i + 1 == name.len))
			return false;
	return true;
}

/* --- tags --- */

static void skip_spaces(struct view *rest)
{
	while (rest->len != 0 && isspace((unsigned char)rest->ptr[0])) {
		rest->ptr++;
		rest->len--;
	}
}

static struct view cut_bytes(struct view *rest, size_t len)
{
	struct view cut = { rest->ptr, len };

	rest->ptr += len;
	rest->len -= len;
	return cut;
}

static size_t count_until(struct view rest, const char *ends)
{
	size_t len = 0;

	while (len < rest.len && rest.ptr[len] != '\0' && strchr(ends, rest.ptr[len]) == NULL)
		len++;
	return len;
}

/* One attribute of a tag. False: the tag has ended; rest is behind its '>'. */
static bool next_attribute(struct view *rest, struct view *name, struct view *value)
{
	skip_spaces(rest);
	while (rest->len != 0 && (rest->ptr[0] == '/' || rest->ptr[0] == '\0'))
		(void)cut_bytes(rest, 1);
	skip_spaces(rest);
	if (rest->len == 0)
		return false;
	if (rest->ptr[0] == '>') {
		(void)cut_bytes(rest, 1);
		return false;
	}
	*name = cut_bytes(rest, count_until(*rest, "= \t\r\n\f\v/>"));
	*value = (struct view){ rest->ptr, 0 };
	skip_spaces(rest);
	if (rest->len == 0 || rest->ptr[0] != '=')
		return name->len != 0 || rest->len != 0;
	(void)cut_bytes(rest, 1);
	skip_spaces(rest);
	if (rest->len != 0 && (rest->ptr[0] == '"' || rest->ptr[0] == '\'')) {
		const char end[] = { rest->ptr[0], '\0' };

		(void)cut_bytes(rest, 1);
		*value = cut_bytes(rest, count_until(*rest, end));
		if (rest->len != 0)
			(void)cut_bytes(rest, 1);
	} else
		*value = cut_bytes(rest, count_until(*rest, " \t\r\n\f\v>"));
	return true;
}

/* Moves rest behind the next "<a" that begins a link; comments are passed over. */
static bool find_tag(struct view *rest)
{
	while (rest->len != 0) {
		const char *at = memchr(rest->ptr, '<', rest->len);

		if (at == NULL)
			return false;
		(void)cut_bytes(rest, (size_t)(at - rest->ptr));
		if (view_starts(*rest, "<!--")) {
			const char *end = memmem(rest->ptr, rest->len, "-->", 3);

			if (end == NULL)
				return false;
			(void)cut_bytes(rest, (size_t)(end + 3 - rest->ptr));
			continue;
		}
		if (rest->len > 2 && (rest->ptr[1] == 'a' || rest->ptr[1] == 'A') &&
		    isspace((unsigned char)rest->ptr[2])) {
			(void)cut_bytes(rest, 2);
			return true;
		}
		(void)cut_bytes(rest, 1);
	}
	return false;
}

/* --- links --- */

static int digit_value(char digit)
{
	const char *digits = "0123456789abcdef";
	const char *at = digit != '\0' ? strchr(digits, tolower((unsigned char)digit)) : NULL;

	return at != NULL ? (int)(at - digits) : -1;
}

/* The last part of the path, decoded. */
static bool read_file_name(struct view url, char ret[PAGE_FILE_MAX + 1])
{
	struct view path = { url.ptr, count_until(url, "?#") };
	const char *slash = path.len != 0 ? memrchr(path.ptr, '/', path.len) : NULL;
	size_t len = 0;

	if (slash != NULL)
		path = (struct view){ slash + 1, path.len - (size_t)(slash + 1 - path.ptr) };
	for (size_t i = 0; i < path.len && len < PAGE_FILE_MAX; i++) {
		char byte = path.ptr[i];

		if (byte == '%') {
			int high = i + 2 < path.len ? digit_value(path.ptr[i + 1]) : -1;
			int low = i + 2 < path.len ? digit_value(path.ptr[i + 2]) : -1;

			if (high < 0 || low < 0)
				return false;
			byte = (char)(high * 16 + low);
			i += 2;
		}
		ret[len++] = byte;
	}
	ret[len] = '\0';
	return page_is_file_name((struct view){ ret, len });
}

/* Writes the address without the fragment; "&amp;" is the only entity that addresses have. */
static bool read_url(struct view href, char ret[PAGE_URL_MAX + 1])
{
	size_t len = 0, count = count_until(href, "#");

	for (size_t i = 0; i < count; i++) {
		struct view rest = { href.ptr + i, count - i };

		if (len == PAGE_URL_MAX || (unsigned char)rest.ptr[0] <= ' ')
			return false;
		ret[len++] = rest.ptr[0];
		if (view_starts(rest, "&amp;"))
			i += strlen("amp;");
	}
	ret[len] = '\0';
	return len != 0;
}

static bool read_link(struct view *rest, struct pip_link *ret)
{
	struct view name, value, href = { "", 0 };

	*ret = (struct pip_link){ 0 };
	while (next_attribute(rest, &name, &value)) {
		if (value.len > PAGE_URL_MAX)
			continue;
		if (view_is_nocase(name, "href"))
			href = value;
		else if (view_is(name, "data-requires-python"))
		ret->requires = value;
		else if (view_is(name, "data-core-metadata") ||
		         (view_is(name, "data-dist-info-metadata") && ret->metadata.len == 0))
		        ret->metadata = value;
		else if (view_is(name, "data-yanked"))
		{
			ret->has_yanked = true;
			ret->yanked = value;
		}
	}
	if (!read_file_name(href, ret->file.name) || !read_url(href, ret->file.url))
		return false;
	ret->fragment = href;
	(void)cut_bytes(&ret->fragment, count_until(href, "#"));
	if (ret->fragment.len != 0)
		(void)cut_bytes(&ret->fragment, 1);
	ret->file.digest = digest_from_fragment(ret->fragment);
	ret->file.metadata = digest_from_fragment(ret->metadata);
	return true;
}

bool pip_page_next(struct view *rest, struct pip_link *ret)
{
	while (find_tag(rest))
		if (read_link(rest, ret))
			return true;
	return false;
}

bool pip_page_find(struct view page, const char *name, struct page_file *ret)
{
	struct pip_link link;

	while (pip_page_next(&page, &link))
		if (strcmp(link.file.name, name) == 0) {
			*ret = link.file;
			return true;
		}
	return false;
}

/* --- writing --- */

/* Adds NAME="VALUE". The value stays encoded as it was, so only what ends it is replaced. */
static int write_attribute(const char *name, struct view value, struct buf *out, struct error *err)
{
	if (value.len > ATTRIBUTE_MAX)
		value.len = 0;
	if (buf_printf(out, err, " %s=\"", name) < 0)
		return -1;
	for (size_t i = 0; i < value.len; i++) {
		const char *text = value.ptr[i] == '"'   ? "&quot;"
		                   : value.ptr[i] == '<' ? "&lt;"
		                   : value.ptr[i] == '>' ? "&gt;"
		                                         : NULL;
		struct view part = text != NULL ? view_of(text) : (struct view){ value.ptr + i, 1 };

		if (buf_add(out, part, err) < 0)
			return -1;
	}
	return buf_add(out, view_of("\""), err);
}

/* A hash that the mirror does not verify is passed on: the installer may. */
static bool is_hash(struct view fragment)
{
	return fragment.len != 0 && fragment.len <= 200 && view_has_only(fragment, "=");
}

static int write_link(const struct pip_link *link, const char *project, struct buf *out,
                      struct error *err)
{
	struct view fragment = is_hash(link->fragment) ? link->fragment : (struct view){ "", 0 };

	if (buf_printf(out, err, "<a href=\"/files/%s/%s%s%.*s\"", project, link->file.name,
	               fragment.len != 0 ? "#" : "", (int)fragment.len, fragment.ptr) < 0)
		return -1;
	if (link->requires.len != 0 &&
	    write_attribute("data-requires-python", link->requires, out, err) < 0)
		return -1;
	if (link->has_yanked && write_attribute("data-yanked", link->yanked, out, err) < 0)
		return -1;
	/* Metadata without a hash is not kept, so that installers read it from the file itself. */
	if (link->file.metadata.kind != DIGEST_NONE &&
	    (write_attribute("data-core-metadata", link->metadata, out, err) < 0 ||
	     write_attribute("data-dist-info-metadata", link->metadata, out, err) < 0))
		return -1;
	return buf_printf(out, err, ">%s</a>\n", link->file.name);
}

int pip_page_write(struct view page, const char *project, struct buf *out, struct error *err)
{
	struct pip_link link;

	if (buf_printf(out, err,
	               "<!DOCTYPE html>\n<html><head><meta name=\"pypi:repository-version\" "
	               "content=\"1.0\"></head><body>\n") < 0)
		return -1;
	while (pip_page_next(&page, &link))
		if (write_link(&link, project, out, err) < 0)
			return -1;
	return buf_printf(out, err, "</body></html>\n");
}
