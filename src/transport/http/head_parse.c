#include <assert.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "transport/http/chars.h"
#include "transport/http/head.h"

enum field_id {
	FIELD_OTHER,
	FIELD_HOST,
	FIELD_LENGTH,
	FIELD_CODING,
	FIELD_CONNECTION,
	FIELD_EXPECT
};

/* Fields that the parser reads, or that a request may have once. The others may be repeated. */
static const struct known_field {
	const char *name;
	enum field_id id;
	bool is_single;
} known_fields[] = {
	{ "host", FIELD_HOST, true },
	{ "content-length", FIELD_LENGTH, true },
	{ "transfer-encoding", FIELD_CODING, true },
	{ "connection", FIELD_CONNECTION, false },
	{ "expect", FIELD_EXPECT, true },
	{ "access-control-request-method", FIELD_OTHER, true },
	{ "authorization", FIELD_OTHER, true },
	{ "content-location", FIELD_OTHER, true },
	{ "content-range", FIELD_OTHER, true },
	{ "content-type", FIELD_OTHER, true },
	{ "date", FIELD_OTHER, true },
	{ "from", FIELD_OTHER, true },
	{ "last-event-id", FIELD_OTHER, true },
	{ "max-forwards", FIELD_OTHER, true },
	{ "origin", FIELD_OTHER, true },
	{ "proxy-authorization", FIELD_OTHER, true },
	{ "referer", FIELD_OTHER, true },
	{ "user-agent", FIELD_OTHER, true },
};

static const struct {
	const char *name;
	enum http_method method;
} methods[] = {
	{ "GET", HTTP_GET },       { "HEAD", HTTP_HEAD },       { "POST", HTTP_POST },
	{ "DELETE", HTTP_DELETE }, { "OPTIONS", HTTP_OPTIONS }, { "PUT", HTTP_OTHER },
	{ "PATCH", HTTP_OTHER },
};

/* The state of a parse: facts of the fields that struct head has no member for. */
struct parse {
	const struct head_rules *rules;
	char *text;
	struct head *head;
	bool has_host, has_length, has_coding, says_close, says_keep_alive;
};

/* Of HTTP/1.2 and later versions the parser cannot know where a message ends. */
static enum head_verdict read_version(struct parse *parse, struct view version)
{
	if (version.len != 8 || memcmp(version.ptr, "HTTP/", 5) != 0 ||
	    !char_is(version.ptr[5], CHAR_DIGIT) || version.ptr[6] != '.' ||
	    !char_is(version.ptr[7], CHAR_DIGIT))
		return HEAD_BAD_LINE;
	if (version.ptr[5] != '1' || version.ptr[7] > '1')
		return HEAD_OTHER_VERSION;
	parse->head->is_1_0 = version.ptr[7] == '0';
	return HEAD_VALID;
}

static enum head_verdict read_method(struct parse *parse, struct view method)
{
	if (method.len == 0)
		return HEAD_BAD_LINE;
	for (size_t i = 0; i < method.len; i++)
		if (!char_is(method.ptr[i], CHAR_TOKEN))
			return HEAD_BAD_LINE;
	for (size_t i = 0; i < ARRAY_LEN(methods); i++)
		if (view_is(method, methods[i].name)) {
			parse->head->method = methods[i].method;
			return HEAD_VALID;
		}
	return HEAD_UNKNOWN_METHOD;
}

/* Splits the target at its first '?' and decodes the path. `target` is terminated. A target with a
 * host ("GET http://host/") is refused: the server would have to decide which of two hosts counts,
 * that or the one of the field Host. */
static enum head_verdict read_target(struct parse *parse, char *target)
{
	struct head *head = parse->head;
	size_t len = strlen(target);
	char *query;

	head->path = (uint32_t)(target - parse->text);
	head->query = head->path + (uint32_t)len;
	if (head->method == HTTP_OPTIONS && strcmp(target, "*") == 0)
		return HEAD_VALID;
	if (target[0] != '/')
		return HEAD_BAD_TARGET;
	for (size_t i = 0; i < len; i++)
		if (!char_is(target[i], CHAR_TARGET))
			return HEAD_BAD_TARGET;
	query = memchr(target, '?', len);
	if (query != NULL) {
		*query = '\0';
		head->query = (uint32_t)(query + 1 - parse->text);
	}
	return target_decode_path(target) < 0 ? HEAD_BAD_PATH : HEAD_VALID;
}

/* `line` has `len` bytes, without its CRLF; the byte after it may be overwritten. */
static enum head_verdict read_request_line(struct parse *parse, char *line, size_t len)
{
	char *target = memchr(line, ' ', len);
	char *version = target != NULL ? memchr(target + 1, ' ', len - (size_t)(target + 1 - line))
	                               : NULL;
	enum head_verdict verdict;

	if (version == NULL)
		return HEAD_BAD_LINE;
	verdict = read_version(parse,
	                       (struct view){ version + 1, len - (size_t)(version + 1 - line) });
	if (verdict == HEAD_VALID)
		verdict = read_method(parse, (struct view){ line, (size_t)(target - line) });
	if (verdict != HEAD_VALID)
		return verdict;
	if (memchr(target + 1, '\0', (size_t)(version - target - 1)) != NULL)
		return HEAD_BAD_TARGET;
	*target = *version = '\0';
	parse->head->method_text = (uint32_t)(line - parse->text);
	return read_target(parse, target + 1);
}

/* Whether `text` is a host with or without a port, as in the field Host. The field is compared with
 * the names of this server (guard.c, against DNS rebinding), so no form passes that a browser or a
 * proxy could read as another host: no user, no path, no space. */
static bool is_host(struct view text)
{
	const char *end = text.ptr + text.len, *at = text.ptr;
	size_t digits = 0;

	if (text.len != 0 && *at == '[') {
		const char *close = memchr(at, ']', text.len);

		if (close == NULL || close - at < 3)
			return false;
		for (at++; at < close; at++)
			if (!char_is(*at, CHAR_HEX) && *at != ':' && *at != '.')
				return false;
		at++;
	} else {
		while (at < end && char_is(*at, CHAR_HOST))
			at++;
		if (at == text.ptr)
			return false;
	}
	if (at == end)
		return true;
	if (*at++ != ':')
		return false;
	for (; at < end && char_is(*at, CHAR_DIGIT); at++)
		digits++;
	return at == end && digits >= 1 && digits <= 5;
}

/* Only digits, without zeros in front: "+5", "5,5", "0x5" and "05" mean different lengths to
 * different programs. */
static enum head_verdict read_length(struct parse *parse, const char *value)
{
	if (!num_read_length(view_of(value), &parse->head->length) ||
	    (value[0] == '0' && value[1] != '\0'))
		return HEAD_BAD_LENGTH;
	parse->has_length = true;
	return HEAD_VALID;
}

static void read_connection(struct parse *parse, const char *value)
{
	struct view rest = view_of(value);

	while (rest.len != 0) {
		struct view option = view_trim(view_cut(&rest, ','));

		if (view_is_nocase(option, "close"))
			parse->says_close = true;
		if (view_is_nocase(option, "keep-alive"))
			parse->says_keep_alive = true;
	}
}

static enum head_verdict read_known_field(struct parse *parse, enum field_id id, const char *value)
{
	switch (id) {
	case FIELD_HOST:
		parse->has_host = true;
		return is_host(view_of(value)) ? HEAD_VALID : HEAD_BAD_HOST;
	case FIELD_LENGTH:
		return read_length(parse, value);
	case FIELD_CODING:
		parse->has_coding = parse->head->is_chunked = true;
		return strcasecmp(value, "chunked") == 0 ? HEAD_VALID : HEAD_UNKNOWN_CODING;
	case FIELD_CONNECTION:
		read_connection(parse, value);
		return HEAD_VALID;
	case FIELD_EXPECT:
		parse->head->expects_continue = !parse->head->is_1_0;
		return strcasecmp(value, "100-continue") == 0 ? HEAD_VALID
		                                              : HEAD_UNKNOWN_EXPECTATION;
	case FIELD_OTHER:
		break;
	}
	return HEAD_VALID;
}

/* Whether the caller's rules forbid that the field is repeated. A rule "x-*" stands for all names
 * with that beginning. */
static bool is_in_single_fields(const struct head_rules *rules, const char *name)
{
	for (const char *const *single = rules->single_fields; single != NULL && *single != NULL;
	     single++) {
		size_t len = strlen(*single);

		if ((*single)[len - 1] == '*' ? strncmp(name, *single, len - 1) == 0
		                              : strcmp(name, *single) == 0)
			return true;
	}
	return false;
}

static bool is_repeated(const struct parse *parse, const char *name)
{
	for (size_t i = 0; i < parse->head->field_count; i++)
		if (strcmp(parse->text + parse->head->fields[i].name, name) == 0)
			return true;
	return false;
}

/* A field such as Content-Length or Authorization that stands twice is refused: a proxy in front of
 * this server may use the first one, and this server the last. */
static enum head_verdict add_field(struct parse *parse, const char *name, const char *value)
{
	struct head *head = parse->head;
	const struct known_field *known = NULL;

	for (size_t i = 0; i < ARRAY_LEN(known_fields) && known == NULL; i++)
		if (strcmp(known_fields[i].name, name) == 0)
			known = &known_fields[i];
	if ((known != NULL ? known->is_single : is_in_single_fields(parse->rules, name)) &&
	    is_repeated(parse, name))
		return HEAD_REPEATED;
	if (head->field_count == parse->rules->max_fields)
		return HEAD_MANY_FIELDS;
	head->fields[head->field_count++] = (struct head_field){
		(uint32_t)(name - parse->text),
		(uint32_t)(value - parse->text),
	};
	return known != NULL ? read_known_field(parse, known->id, value) : HEAD_VALID;
}

/* `line` has `len` bytes, without its CRLF; the byte after it may be overwritten. */
static enum head_verdict read_field(struct parse *parse, char *line, size_t len)
{
	char *end = line + len, *at = line, *value;

	/* Some programs take such a line for a part of the value before it, others for a field. */
	if (*line == ' ' || *line == '\t')
		return HEAD_FOLDED;
	for (; at < end && char_is(*at, CHAR_TOKEN); at++)
		if (*at >= 'A' && *at <= 'Z')
			*at = (char)(*at + ('a' - 'A'));
	/* No space before the colon: "Content-Length : 5" is that field to some programs only. */
	if (at == line || at == end || *at != ':')
		return HEAD_BAD_NAME;
	*at++ = '\0';
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	value = at;
	for (; at < end; at++)
		if (!char_is(*at, CHAR_VALUE))
			return HEAD_BAD_VALUE;
	while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	*end = '\0';
	return add_field(parse, line, value);
}

/* Checks the fields against each other: Host, the length of the body, the connection. A request
 * with both Content-Length and Transfer-Encoding has two ends, of which a proxy in front of this
 * server may have chosen the other one. */
static enum head_verdict check_head(struct parse *parse)
{
	struct head *head = parse->head;

	if (!parse->has_host && !head->is_1_0)
		return HEAD_NO_HOST;
	if (parse->has_coding && parse->has_length)
		return HEAD_LENGTH_AND_CODING;
	if (parse->has_coding && head->is_1_0)
		return HEAD_CODING_IN_1_0;
	head->wants_keep_alive = head->is_1_0 && parse->says_keep_alive && !parse->says_close;
	head->wants_close = parse->says_close || (head->is_1_0 && !parse->says_keep_alive);
	return HEAD_VALID;
}

enum head_verdict head_parse(const struct head_rules *rules, char *text, size_t len,
                             struct head *ret)
{
	struct parse parse = { .rules = rules, .text = text, .head = ret };
	enum head_verdict verdict = HEAD_VALID;
	char *line = text, *end = text + len;
	bool is_first = true;

	assert(len >= 4 && memcmp(end - 4, "\r\n\r\n", 4) == 0 && len <= UINT32_MAX);
	*ret = (struct head){ .fields = ret->fields };
	if (line[0] == '\r' && line[1] == '\n')
		line += 2;
	while (verdict == HEAD_VALID && line < end) {
		char *lf = memchr(line, '\n', (size_t)(end - line));
		size_t line_len;

		if (lf == line || lf[-1] != '\r')
			return HEAD_BARE_LF;
		line_len = (size_t)(lf - 1 - line);
		if (is_first)
			verdict = read_request_line(&parse, line, line_len);
		else if (line_len != 0)
			verdict = read_field(&parse, line, line_len);
		is_first = false;
		line = lf + 1;
	}
	return verdict == HEAD_VALID ? check_head(&parse) : verdict;
}
