#include "engine/native/cdi/cdi_doc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/text/utf8.h"

struct reader {
	yaml_parser_t parser;
	struct arena *arena;
	struct error *err;
	struct cdi_doc *open[CDI_DOC_DEPTH_MAX]; /* the containers we are in, outermost first */
	struct cdi_doc *last[CDI_DOC_DEPTH_MAX]; /* the youngest child of each */
	const char *key;                         /* read, its value is to come */
	size_t depth, values;
	struct cdi_doc *root;
};

static int refuse(struct reader *r, const yaml_event_t *event, enum error_kind kind,
                  const char *why)
{
	return error_set(r->err, kind, "line %zu: %s", event->start_mark.line + 1, why);
}

static int syntax_error(struct reader *r)
{
	const yaml_parser_t *parser = &r->parser;
	const char *problem = parser->problem != NULL ? parser->problem : "cannot be read";

	/* Bytes that are no text are found before there are lines to count. */
	if (parser->error == YAML_READER_ERROR)
		return error_set(r->err, ERR_SYNTAX, "neither YAML nor JSON: byte %zu: %s",
		                 parser->problem_offset + 1, problem);
	return error_set(r->err, ERR_SYNTAX, "neither YAML nor JSON: line %zu: %s",
	                 parser->problem_mark.line + 1, problem);
}

static bool awaits_key(const struct reader *r)
{
	return r->depth != 0 && r->open[r->depth - 1]->kind == CDI_DOC_MAP && r->key == NULL;
}

static int take_key(struct reader *r, const yaml_event_t *event)
{
	const struct cdi_doc *map = r->open[r->depth - 1];
	const char *key = (const char *)event->data.scalar.value;
	char shown[64];

	if (map->count >= CDI_DOC_KEYS_MAX)
		return error_set(r->err, ERR_LIMIT, "line %zu: more than %d keys in an object",
		                 event->start_mark.line + 1, CDI_DOC_KEYS_MAX);
	for (const struct cdi_doc *child = map->first; child != NULL; child = child->next)
		if (strcmp(child->key, key) == 0)
			return error_set(r->err, ERR_INVALID, "line %zu: the key '%s' twice",
			                 event->start_mark.line + 1,
			                 utf8_escape(view_of(key), shown, sizeof shown));
	r->key = arena_text(r->arena, key);
	return 0;
}

static struct cdi_doc *add_value(struct reader *r, enum cdi_doc_kind kind)
{
	struct cdi_doc *value = arena_new(r->arena, 1, sizeof *value);

	value->kind = kind;
	value->key = r->key;
	r->key = NULL;
	if (r->depth == 0) {
		r->root = value;
		return value;
	}
	if (r->last[r->depth - 1] != NULL)
		r->last[r->depth - 1]->next = value;
	else
		r->open[r->depth - 1]->first = value;
	r->last[r->depth - 1] = value;
	r->open[r->depth - 1]->count++;
	return value;
}

static int take_scalar(struct reader *r, const yaml_event_t *event)
{
	const char *text = (const char *)event->data.scalar.value;
	struct cdi_doc *value;

	if (event->data.scalar.anchor != NULL)
		return refuse(r, event, ERR_UNSUPPORTED, "an anchor (&); write the value out");
	if (event->data.scalar.tag != NULL)
		return refuse(r, event, ERR_UNSUPPORTED, "a tag (!); leave it out");
	/* Cut short it could pass for something else. */
	if (strlen(text) != event->data.scalar.length)
		return refuse(r, event, ERR_INVALID, "text with a NUL character");
	if (awaits_key(r))
		return take_key(r, event);
	value = add_value(r, CDI_DOC_SCALAR);
	value->text = arena_text(r->arena, text);
	value->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	return 0;
}

static int take_container(struct reader *r, const yaml_event_t *event, enum cdi_doc_kind kind)
{
	bool is_map = kind == CDI_DOC_MAP;
	const void *anchor = is_map ? event->data.mapping_start.anchor
	                            : event->data.sequence_start.anchor;
	const void *tag = is_map ? event->data.mapping_start.tag : event->data.sequence_start.tag;
	struct cdi_doc *value;

	if (anchor != NULL)
		return refuse(r, event, ERR_UNSUPPORTED, "an anchor (&); write the value out");
	if (tag != NULL)
		return refuse(r, event, ERR_UNSUPPORTED, "a tag (!); leave it out");
	if (awaits_key(r))
		return refuse(r, event, ERR_INVALID, "a key that is no text");
	if (r->depth == CDI_DOC_DEPTH_MAX)
		return error_set(r->err, ERR_LIMIT, "line %zu: nested deeper than %d levels",
		                 event->start_mark.line + 1, CDI_DOC_DEPTH_MAX);
	value = add_value(r, kind);
	r->last[r->depth] = NULL;
	r->open[r->depth++] = value;
	return 0;
}

static int take_event(struct reader *r, const yaml_event_t *event)
{
	if (++r->values > CDI_DOC_VALUES_MAX)
		return error_set(r->err, ERR_LIMIT, "more than %d values", CDI_DOC_VALUES_MAX);
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return take_scalar(r, event);
	case YAML_SEQUENCE_START_EVENT:
		return take_container(r, event, CDI_DOC_LIST);
	case YAML_MAPPING_START_EVENT:
		return take_container(r, event, CDI_DOC_MAP);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		r->depth--;
		return 0;
	case YAML_ALIAS_EVENT:
		return refuse(r, event, ERR_UNSUPPORTED, "an alias (*); write the value out");
	case YAML_DOCUMENT_START_EVENT:
		if (r->root != NULL)
			return refuse(r, event, ERR_UNSUPPORTED, "a second document in the file");
		return 0;
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_STREAM_END_EVENT:
	case YAML_DOCUMENT_END_EVENT:
		return 0;
	}
	return 0;
}

static int read_events(struct reader *r)
{
	for (;;) {
		yaml_event_t event;
		bool ended;
		int taken;

		if (yaml_parser_parse(&r->parser, &event) == 0)
			return syntax_error(r);
		ended = event.type == YAML_STREAM_END_EVENT;
		taken = take_event(r, &event);
		yaml_event_delete(&event);
		if (taken < 0)
			return -1;
		if (ended)
			return 0;
	}
}

/* %TAG and %YAML. Nobody needs them, and libyaml compares each with all before it: a file of
 * nothing else would keep it busy for minutes. So they are found before it looks. Besides LF and
 * CR it knows three ends of lines of more bytes than one: here their last byte is enough. */
static int refuse_directives(struct view bytes, struct error *err)
{
	size_t line = 1;
	char before = '\n';

	for (size_t i = 0; i < bytes.len; i++) {
		if (bytes.ptr[i] == '%' && strchr("\n\r\x85\xa8\xa9\xbf", before) != NULL)
			return error_set(err, ERR_UNSUPPORTED,
			                 "line %zu: a directive (%%); leave it out", line);
		before = bytes.ptr[i];
		line += before == '\n';
	}
	return 0;
}

int cdi_doc_read(struct view bytes, struct arena *arena, const struct cdi_doc **ret,
                 struct error *err)
{
	struct reader r = { .arena = arena, .err = err };
	int done;

	if (bytes.len > CDI_DOC_BYTES_MAX)
		return error_set(err, ERR_LIMIT, "more than %d bytes", CDI_DOC_BYTES_MAX);
	if (refuse_directives(bytes, err) < 0)
		return -1;
	if (yaml_parser_initialize(&r.parser) == 0)
		return error_set(err, ERR_SYSTEM, "no memory for the YAML reader");
	yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)bytes.ptr, bytes.len);
	done = read_events(&r);
	yaml_parser_delete(&r.parser);
	if (done < 0)
		return -1;
	if (r.root == NULL)
		return error_set(err, ERR_SYNTAX, "empty");
	*ret = r.root;
	return 0;
}

/* --- what a value is --- */

static bool is_one_of(const char *text, const char *const *words)
{
	for (; *words != NULL; words++)
		if (strcasecmp(text, *words) == 0)
			return true;
	return false;
}

static bool is_null(const struct cdi_doc *value)
{
	static const char *const words[] = { "", "~", "null", NULL };

	return value->kind == CDI_DOC_SCALAR && value->plain && is_one_of(value->text, words);
}

static bool is_truth(const struct cdi_doc *value)
{
	static const char *const words[] = { "true", "false", "yes", "no", "on", "off", NULL };

	return value->plain && is_one_of(value->text, words);
}

/* Decimal, or octal as file modes are written: 0666, 0o666. Anything else that begins like a
 * number and is one (1.5, 1e3, -1, 0x1) is a number, but none we have a use for. */
static bool is_number(const struct cdi_doc *value)
{
	const char *digits = value->text;
	char *end;

	if (!value->plain)
		return false;
	digits += *digits == '-' || *digits == '+';
	digits += *digits == '.';
	if (*digits < '0' || *digits > '9')
		return false;
	if (digits[0] == '0' && digits[1] == 'o')
		return strspn(digits + 2, "01234567") == strlen(digits + 2);
	(void)strtod(value->text, &end);
	return *end == '\0';
}

static const char *name_kind(const struct cdi_doc *value)
{
	if (value == NULL)
		return "missing";
	if (value->kind == CDI_DOC_LIST)
		return "a list";
	if (value->kind == CDI_DOC_MAP)
		return "an object";
	if (is_null(value))
		return "nothing";
	if (is_truth(value))
		return "a truth value (put it in quotes)";
	return is_number(value) ? "a number (put it in quotes)" : "text";
}

const struct cdi_doc *cdi_doc_member(const struct cdi_doc *map, const char *key)
{
	for (const struct cdi_doc *child = map->first; child != NULL; child = child->next)
		if (strcmp(child->key, key) == 0)
			return is_null(child) ? NULL : child;
	return NULL;
}

int cdi_doc_text(const struct cdi_doc *value, const char **ret, struct error *err)
{
	if (value == NULL || value->kind != CDI_DOC_SCALAR || is_null(value) || is_truth(value) ||
	    is_number(value))
		return error_set(err, ERR_INVALID, "must be text, not %s", name_kind(value));
	*ret = value->text;
	return 0;
}

int cdi_doc_int(const struct cdi_doc *value, uint64_t max, uint64_t *ret, struct error *err)
{
	unsigned long long number;
	const char *digits;
	int base = 10;

	if (value == NULL || value->kind != CDI_DOC_SCALAR || !is_number(value))
		return error_set(err, ERR_INVALID, "must be a whole number, not %s",
		                 name_kind(value));
	digits = value->text;
	if (digits[0] == '0' && digits[1] != '\0') {
		base = 8;
		digits += digits[1] == 'o' ? 2 : 1;
	}
	if (*digits == '\0' ||
	    strspn(digits, base == 8 ? "01234567" : "0123456789") != strlen(digits))
		return error_set(err, ERR_INVALID, "must be a whole number, not '%.40s'",
		                 value->text);
	errno = 0;
	number = strtoull(digits, NULL, base);
	if (errno != 0 || number > max)
		return error_set(err, ERR_INVALID, "'%.40s' is more than %llu", value->text,
		                 (unsigned long long)max);
	*ret = number;
	return 0;
}

int cdi_doc_is(const struct cdi_doc *value, enum cdi_doc_kind kind, struct error *err)
{
	if (value == NULL || value->kind != kind)
		return error_set(err, ERR_INVALID, "must be %s, not %s",
		                 kind == CDI_DOC_MAP ? "an object" : "a list", name_kind(value));
	return 0;
}

int cdi_doc_texts(const struct cdi_doc *value, struct error *err)
{
	const char *text;
	size_t i = 0;

	if (value == NULL)
		return 0;
	if (cdi_doc_is(value, CDI_DOC_LIST, err) < 0)
		return -1;
	for (const struct cdi_doc *item = value->first; item != NULL; item = item->next, i++)
		if (cdi_doc_text(item, &text, err) < 0)
			return error_wrap(err, "[%zu]", i);
	return 0;
}
