/* head.h - the head of a request: finding its end in a byte stream, and parsing it.
 *
 * Both functions are pure: they know nothing of connections. head_scan() looks for the empty line
 * while bytes arrive, whatever their pieces; head_parse() then checks the whole head and splits it
 * in place. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/view.h"
#include "transport/http/http.h"

/* Faults of a request: the name, the status that answers it and the text for its sender. */
#define HEAD_VERDICTS(X)                                                                           \
	X(VALID, 0, "")                                                                            \
	X(BAD_FIRST_BYTE, 400, "this is not HTTP/1.1")                                             \
	X(BARE_LF, 400, "a line of the head does not end with CRLF")                               \
	X(BAD_LINE, 400, "the request line is malformed")                                          \
	X(BAD_TARGET, 400, "the request target is not a path of valid characters")                 \
	X(BAD_PATH, 400, "the path has a forbidden or badly encoded character or segment")         \
	X(LONG_LINE, 414, "the request line is too long")                                          \
	X(LONG_HEAD, 431, "the head of the request is too long")                                   \
	X(MANY_FIELDS, 431, "the request has too many fields")                                     \
	X(UNKNOWN_METHOD, 501, "the method is not known")                                          \
	X(OTHER_VERSION, 505, "the version is neither HTTP/1.1 nor HTTP/1.0")                      \
	X(FOLDED, 400, "a field is continued on the next line")                                    \
	X(BAD_NAME, 400, "the name of a field is malformed")                                       \
	X(BAD_VALUE, 400, "the value of a field has a forbidden character")                        \
	X(REPEATED, 400, "a field that may appear once appears again")                             \
	X(NO_HOST, 400, "the field Host is missing")                                               \
	X(BAD_HOST, 400, "the field Host is malformed")                                            \
	X(BAD_LENGTH, 400, "the field Content-Length is not a number")                             \
	X(LENGTH_AND_CODING, 400, "the request has both Content-Length and Transfer-Encoding")     \
	X(CODING_IN_1_0, 400, "HTTP/1.0 has no Transfer-Encoding")                                 \
	X(UNKNOWN_CODING, 501, "the only transfer coding is chunked")                              \
	X(UNKNOWN_EXPECTATION, 417, "the only expectation is 100-continue")

#define X(name, status, text) HEAD_##name,
enum head_verdict { HEAD_VERDICTS(X) HEAD_VERDICT_COUNT };
#undef X

int head_verdict_status(enum head_verdict verdict);
const char *head_verdict_text(enum head_verdict verdict);

/* The progress of head_scan(). The caller zeroes it for each request. */
struct head_scan {
	size_t len;      /* bytes of the head so far */
	size_t line_len; /* bytes of its last line so far */
	size_t lines;    /* complete lines, without empty ones: at most the fields and one more */
	char last;       /* the last byte */
	bool is_complete;
};

/* Moves bytes of the head from the front of *bytes to *ret_head, up to and including the empty line
 * (`is_complete`). One empty line may stand before the request line: some clients send one after
 * a body. */
enum head_verdict head_scan(struct head_scan *scan, size_t max, struct view *bytes,
                            struct view *ret_head);

struct head_field {
	uint32_t name, value; /* offsets in the head's text */
};

/* The texts are parts of the text that was parsed, at these offsets, and are terminated. */
struct head {
	enum http_method method;
	uint32_t method_text, path, query;
	bool is_1_0;               /* HTTP/1.0 */
	bool wants_close;          /* the connection ends after this request */
	bool wants_keep_alive;     /* HTTP/1.0 with "Connection: keep-alive" */
	bool expects_continue;     /* the client waits before it sends the body */
	bool is_chunked;           /* the length of the body is not known */
	uint64_t length;           /* of the body, unless it is chunked */
	struct head_field *fields; /* memory of the caller: max_fields elements */
	size_t field_count;
};

struct head_rules {
	size_t max_fields;
	const char *const *single_fields; /* as in struct http_config */
};

/* Parses a head that head_scan() found, and splits it in place: terminates texts, makes names lower
 * case, decodes the path. `text` has `len` bytes, which end with an empty line. */
enum head_verdict head_parse(const struct head_rules *rules, char *text, size_t len,
                             struct head *ret);

/* Decodes the percent-encoding of a path in place. Fails if an encoded byte is malformed, a control
 * character, a slash or a backslash, if the result is not UTF-8, or if a segment is "." or "..":
 * programs disagree about what these mean. */
MUST_CHECK int target_decode_path(char *path);
