#include "tools/python_doc.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "tools/python_scan.h"

enum { BLOCKS_MAX = 16, NAME_MAX_BYTES = 200, DECORATORS_MAX = 400 };

/* A definition whose body we are in. */
struct block {
	size_t indent; /* of its head */
	size_t item;   /* its number, or NONE: what is in it does not count */
	bool is_class;
};
#define NONE ((size_t)-1)

struct reader {
	struct python_doc *doc;
	struct block blocks[BLOCKS_MAX];
	size_t depth;
	char **wants;          /* whose docstring the next line may be, or NULL */
	size_t wants_indent;   /* it is indented deeper than this */
	struct buf decorators; /* of the definition to come */
};

static char *take_text(struct buf *buf)
{
	size_t len = utf8_prefix(buf_text(buf), buf->len, buf->len);

	return mem_dup_len(buf_text(buf), len);
}

static struct view skip(struct view v, size_t n)
{
	return (struct view){ v.ptr + n, v.len - n };
}

/* Takes the word off the front, and the white space behind it. */
static bool take_word(struct view *text, const char *word)
{
	size_t len = strlen(word);

	if (!view_starts(*text, word) || text->len == len ||
	    strchr(" \t\\", text->ptr[len]) == NULL || text->ptr[len] == '\0')
		return false;
	*text = view_trim(skip(*text, len));
	return true;
}

static size_t name_len(struct view text)
{
	size_t n = 0;

	while (n < text.len && n < NAME_MAX_BYTES &&
	       ((text.ptr[n] & 0x80) != 0 || text.ptr[n] == '_' ||
	        (text.ptr[n] >= '0' && text.ptr[n] <= '9') ||
	        (text.ptr[n] >= 'a' && text.ptr[n] <= 'z') ||
	        (text.ptr[n] >= 'A' && text.ptr[n] <= 'Z')))
		n++;
	return n;
}

static bool take_docstring(struct view text, char **ret)
{
	AUTO_BUF struct buf buf;

	buf_init(&buf, PYTHON_DOC_MAX);
	if (!python_docstring(text, &buf))
		return false;
	free(*ret);
	*ret = take_text(&buf);
	return true;
}

static char *signature_of(struct view head, bool is_async)
{
	AUTO_BUF struct buf buf;
	struct error full;

	buf_init(&buf, PYTHON_SIGNATURE_MAX);
	if (is_async)
		(void)!buf_add(&buf, view_of("async "), &full);
	python_one_line(head, &buf);
	return take_text(&buf);
}

/* NONE: it is in something that does not count, or there are too many. */
static size_t add_item(struct reader *reader, enum python_kind kind, struct view head,
                       bool is_async)
{
	const struct block *inside = reader->depth != 0 ? &reader->blocks[reader->depth - 1] : NULL;
	struct python_doc *doc = reader->doc;
	struct view name = { head.ptr, name_len(head) };
	struct python_item *item;

	if (name.len == 0 || (inside != NULL && (!inside->is_class || inside->item == NONE)))
		return NONE;
	if (doc->count == PYTHON_ITEMS_MAX) {
		doc->is_cut = true;
		return NONE;
	}
	item = &doc->items[doc->count];
	item->kind = kind;
	item->name = inside == NULL ? mem_dup_len(name.ptr, name.len)
	                            : mem_format("%s.%.*s", doc->items[inside->item].name,
	                                         (int)name.len, name.ptr);
	item->signature = signature_of(head, is_async);
	item->decorators = take_text(&reader->decorators);
	item->doc = mem_dup("");
	return doc->count++;
}

static void push(struct reader *reader, size_t indent, size_t item, bool is_class)
{
	/* So deep that nobody asks: it counts as part of what it is in. */
	if (reader->depth < BLOCKS_MAX)
		reader->blocks[reader->depth++] = (struct block){ indent, item, is_class };
}

/* def or class: its head, and perhaps a body on the same line. */
static void take_definition(struct reader *reader, const struct python_line *line, struct view text,
                            enum python_kind kind, bool is_async)
{
	size_t colon = python_head(text);
	size_t item = add_item(reader, kind, view_trim((struct view){ text.ptr, colon }), is_async);
	struct view body = colon < text.len ? view_trim(skip(text, colon + 1))
	                                    : (struct view){ text.ptr, 0 };

	buf_truncate(&reader->decorators, 0);
	push(reader, line->indent, item, kind == PYTHON_CLASS);
	if (item == NONE)
		return;
	reader->wants = &reader->doc->items[item].doc;
	reader->wants_indent = line->indent;
	if (body.len != 0 && body.ptr[0] != '#') {
		(void)take_docstring(body, reader->wants);
		reader->wants = NULL;
	}
}

static void take_decorator(struct reader *reader, struct view text)
{
	struct buf *buf = &reader->decorators;
	size_t before = buf->len;
	struct error full;

	if (before != 0 && buf_add(buf, view_of(" "), &full) < 0)
		return;
	python_one_line(text, buf);
	/* One that was cut would say something else. */
	if (buf->len == buf->max)
		buf_truncate(buf, before);
}

static void take_line(struct reader *reader, const struct python_line *line)
{
	char **wants = TAKE_PTR(reader->wants);
	struct view text = line->text;
	bool is_async;

	while (reader->depth != 0 && line->indent <= reader->blocks[reader->depth - 1].indent)
		reader->depth--;
	if (wants == &reader->doc->doc || line->indent > reader->wants_indent)
		if (wants != NULL && take_docstring(text, wants))
			return;
	if (text.ptr[0] == '@') {
		take_decorator(reader, text);
		return;
	}
	is_async = take_word(&text, "async");
	if (take_word(&text, "def"))
		take_definition(reader, line, text, PYTHON_FUNCTION, is_async);
	else if (!is_async && take_word(&text, "class"))
		take_definition(reader, line, text, PYTHON_CLASS, false);
	else
		buf_truncate(&reader->decorators, 0);
}

struct python_doc *python_doc_read(struct view source)
{
	struct python_doc *doc = mem_new(sizeof *doc);
	struct reader reader = { .doc = doc, .wants = &doc->doc };
	struct python_line line;

	doc->doc = mem_dup("");
	/* Docstrings are filled in by address, so the items may not move. */
	doc->items = mem_array(PYTHON_ITEMS_MAX, sizeof *doc->items);
	buf_init(&reader.decorators, DECORATORS_MAX);
	if (view_starts(source, "\xef\xbb\xbf"))
		source = skip(source, 3);
	while (python_next_line(&source, &line))
		take_line(&reader, &line);
	buf_done(&reader.decorators);
	return doc;
}

struct python_doc *python_doc_free(struct python_doc *doc)
{
	if (doc == NULL)
		return NULL;
	for (size_t i = 0; i < doc->count; i++) {
		free(doc->items[i].name);
		free(doc->items[i].signature);
		free(doc->items[i].decorators);
		free(doc->items[i].doc);
	}
	free(doc->items);
	free(doc->doc);
	free(doc);
	return NULL;
}

bool python_is_name(const char *text, bool dotted)
{
	bool starts = true;

	for (; *text != '\0'; text++) {
		bool letter = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
		              *text == '_';

		if (*text == '.' && dotted && !starts) {
			starts = true;
			continue;
		}
		if (!letter && (starts || *text < '0' || *text > '9'))
			return false;
		starts = false;
	}
	return !starts;
}
