#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "engine/native/cdi/internal.h"

struct builder {
	yaml_parser_t parser;
	json_t *root;
	json_t *open[CDI_DEPTH_MAX]; /* unfinished containers, outermost first; parts of root */
	size_t depth, values;
	char *key; /* of the object open[depth - 1]; its value comes next */
	struct error *err;
};

static int refuse_event(struct builder *b, const yaml_event_t *event, enum error_kind kind,
                        const char *why)
{
	return error_set(b->err, kind, "line %zu: %s", event->start_mark.line + 1, why);
}

static int report_syntax(struct builder *b)
{
	const yaml_parser_t *parser = &b->parser;
	const char *problem = parser->problem != NULL ? parser->problem : "cannot be read";

	/* libyaml decodes ahead of the lines: a byte that is not UTF-8 has only an offset. */
	if (parser->error == YAML_READER_ERROR)
		return error_set(b->err, ERR_SYNTAX, "not YAML: byte %zu: %s",
		                 parser->problem_offset + 1, problem);
	return error_set(b->err, ERR_SYNTAX, "not YAML: line %zu: %s",
	                 parser->problem_mark.line + 1, problem);
}

static bool expects_key(const struct builder *b)
{
	return b->depth != 0 && json_is_object(b->open[b->depth - 1]) && b->key == NULL;
}

static int take_key(struct builder *b, const yaml_event_t *event, const char *key)
{
	/* Readers disagree on which of two equal keys counts, so that one could check the first
	 * value and another use the second. */
	if (json_has(b->open[b->depth - 1], key))
		return error_set(b->err, ERR_INVALID, "line %zu: the key '%s' appears twice",
		                 event->start_mark.line + 1, UTF8_ESCAPED(view_of(key), 64));
	b->key = mem_dup(key);
	return 0;
}

/* Takes over the reference. */
static void add_value(struct builder *b, json_t *value)
{
	if (b->depth == 0) {
		b->root = value;
	} else if (b->key != NULL) {
		json_set(b->open[b->depth - 1], b->key, value);
		free(b->key);
		b->key = NULL;
	} else {
		json_push(b->open[b->depth - 1], value);
	}
}

static bool is_one_of(const char *text, const char *const *words)
{
	for (; *words != NULL; words++)
		if (strcasecmp(text, *words) == 0)
			return true;
	return false;
}

/* The value of a scalar without quotes, by the rules of YAML 1.1 as far as generators of CDI files
 * use them: words for null and booleans, octal numbers as file modes are written (0666, 0o666), and
 * the numbers of JSON. Everything else is text, also numbers that do not fit into 64 bits. */
static json_t *plain_value(const char *text)
{
	static const char *const nulls[] = { "", "~", "null", NULL };
	static const char *const trues[] = { "true", "yes", "on", NULL };
	static const char *const falses[] = { "false", "no", "off", NULL };
	static const struct json_limits scalar = { .depth = 0, .values = 1 };
	size_t prefix = strncmp(text, "0o", 2) == 0 ? 2 : text[0] == '0';
	struct error not_a_number;
	json_t *number;

	if (is_one_of(text, nulls))
		return json_null();
	if (is_one_of(text, trues) || is_one_of(text, falses))
		return json_boolean(is_one_of(text, trues));
	if (prefix != 0 && text[prefix] != '\0' && strlen(text) < 20 &&
	    strspn(text + prefix, "01234567") == strlen(text + prefix))
		return json_int(strtoll(text + prefix, NULL, 8));
	if (strchr("-0123456789", text[0]) != NULL &&
	    json_read(view_of(text), &scalar, &number, NULL, &not_a_number) == 0)
		return number;
	return json_str(text);
}

static int check_plain_node(struct builder *b, const yaml_event_t *event, const void *anchor,
                            const void *tag)
{
	/* An alias to a list of aliases doubles with each line: a few hundred bytes could become
	 * gigabytes. Without anchors there is nothing for an alias to name. */
	if (anchor != NULL)
		return refuse_event(b, event, ERR_UNSUPPORTED,
		                    "anchors (&) are not supported; write the value out");
	if (tag != NULL)
		return refuse_event(b, event, ERR_UNSUPPORTED,
		                    "tags (!) are not supported; leave the tag out");
	return 0;
}

static int take_scalar(struct builder *b, const yaml_event_t *event)
{
	const char *text = (const char *)event->data.scalar.value;

	if (check_plain_node(b, event, event->data.scalar.anchor, event->data.scalar.tag) < 0)
		return -1;
	/* The code behind works with C strings: "/dev/dri\0/../sda" must not pass as "/dev/dri". */
	if (strlen(text) != event->data.scalar.length)
		return refuse_event(b, event, ERR_INVALID, "text contains a NUL character");
	if (expects_key(b))
		return take_key(b, event, text);
	add_value(b, event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE ? plain_value(text)
	                                                                 : json_str(text));
	return 0;
}

static int take_container(struct builder *b, const yaml_event_t *event)
{
	bool is_map = event->type == YAML_MAPPING_START_EVENT;
	const void *anchor = is_map ? event->data.mapping_start.anchor
	                            : event->data.sequence_start.anchor;
	const void *tag = is_map ? event->data.mapping_start.tag : event->data.sequence_start.tag;
	json_t *value;

	if (check_plain_node(b, event, anchor, tag) < 0)
		return -1;
	if (expects_key(b))
		return refuse_event(b, event, ERR_INVALID, "a key must be text");
	if (b->depth == CDI_DEPTH_MAX)
		return error_set(b->err, ERR_LIMIT, "line %zu: nested deeper than %d levels",
		                 event->start_mark.line + 1, CDI_DEPTH_MAX);
	value = is_map ? json_obj() : json_list();
	add_value(b, value);
	b->open[b->depth++] = value;
	return 0;
}

static int take_event(struct builder *b, const yaml_event_t *event)
{
	if (++b->values > CDI_VALUES_MAX)
		return error_set(b->err, ERR_LIMIT, "more than %d values", CDI_VALUES_MAX);
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return take_scalar(b, event);
	case YAML_SEQUENCE_START_EVENT:
	case YAML_MAPPING_START_EVENT:
		return take_container(b, event);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		b->depth--;
		return 0;
	case YAML_ALIAS_EVENT:
		return refuse_event(b, event, ERR_UNSUPPORTED,
		                    "aliases (*) are not supported; write the value out");
	case YAML_DOCUMENT_START_EVENT:
		if (b->root != NULL)
			return refuse_event(b, event, ERR_UNSUPPORTED,
			                    "a second document; a file may have one");
		return 0;
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_STREAM_END_EVENT:
	case YAML_DOCUMENT_END_EVENT:
		return 0;
	}
	return 0;
}

static int read_events(struct builder *b)
{
	for (;;) {
		yaml_event_t event;
		bool is_last;
		int r;

		if (yaml_parser_parse(&b->parser, &event) == 0)
			return report_syntax(b);
		is_last = event.type == YAML_STREAM_END_EVENT;
		r = take_event(b, &event);
		yaml_event_delete(&event);
		if (r < 0)
			return -1;
		if (is_last)
			return 0;
	}
}

/* Refuses lines that begin with %, the directives %TAG and %YAML, before libyaml sees them:
 * libyaml compares each %TAG with all before, so that one MiB of them would keep the server busy
 * for minutes. Besides LF and CR libyaml knows three line breaks of several bytes, whose last byte
 * is enough here. */
static int refuse_directives(struct view bytes, struct error *err)
{
	size_t line = 1;
	char before = '\n';

	for (size_t i = 0; i < bytes.len; i++) {
		if (bytes.ptr[i] == '%' && strchr("\n\r\x85\xa8\xa9\xbf", before) != NULL)
			return error_set(err, ERR_UNSUPPORTED,
			                 "line %zu: directives (%%) are not supported", line);
		before = bytes.ptr[i];
		line += before == '\n';
	}
	return 0;
}

int cdi_yaml_read(struct view bytes, json_t **ret, struct error *err)
{
	struct builder b = { .err = err };
	int r;

	if (refuse_directives(bytes, err) < 0)
		return -1;
	if (yaml_parser_initialize(&b.parser) == 0)
		return error_set(err, ERR_SYSTEM, "no memory for the YAML parser");
	yaml_parser_set_encoding(&b.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&b.parser, (const unsigned char *)bytes.ptr, bytes.len);
	r = read_events(&b);
	yaml_parser_delete(&b.parser);
	free(b.key);
	if (r == 0 && b.root == NULL)
		r = error_set(err, ERR_SYNTAX, "the file is empty");
	if (r < 0) {
		json_decref(b.root);
		return -1;
	}
	*ret = b.root;
	return 0;
}
