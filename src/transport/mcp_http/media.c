/* media.c - the media types of requests: Content-Type and Accept. */
#include <string.h>

#include "transport/mcp_http/internal.h"

/* Moves what is in front of the next `separator` from *rest to *ret, without white space around
 * it. False: *rest is empty. Media types have no quoted separators except in parameters, which
 * only matter for q. */
static bool next_part(struct view *rest, char separator, struct view *ret)
{
	const char *end;

	if (rest->len == 0)
		return false;
	end = memchr(rest->ptr, separator, rest->len);
	*ret = (struct view){ rest->ptr, end != NULL ? (size_t)(end - rest->ptr) : rest->len };
	rest->ptr += ret->len + (end != NULL);
	rest->len -= ret->len + (end != NULL);
	*ret = view_trim(*ret);
	return true;
}

bool media_is_json(const char *content_type)
{
	struct view rest = view_of(content_type != NULL ? content_type : "");
	struct view essence;

	return next_part(&rest, ';', &essence) && view_is_nocase(essence, "application/json");
}

/* "q=0", "q=0.0" and so on: the client does not want the type. */
static bool is_refused(struct view parameter)
{
	if (!view_starts_nocase(parameter, "q=0"))
		return false;
	for (size_t i = 3; i < parameter.len; i++) {
		if (parameter.ptr[i] != '.' && parameter.ptr[i] != '0')
			return false;
	}
	return true;
}

static bool range_includes(struct view range, const char *type, const char *subtype)
{
	struct view major;

	if (!next_part(&range, '/', &major))
		return false;
	if (view_is(major, "*"))
		return view_is(range, "*");
	return view_is_nocase(major, type) &&
	       (view_is(range, "*") || view_is_nocase(range, subtype));
}

/* The most exact range decides, as RFC 9110 section 12.5.1 says only for its weight, so a range
 * that is refused with q=0 counts only if no other range takes the type. */
bool media_accepts(const char *accept, const char *type, const char *subtype)
{
	struct view rest = view_of(accept != NULL ? accept : "*/*");
	struct view element, range, parameter;

	while (next_part(&rest, ',', &element)) {
		bool refused = false;

		if (!next_part(&element, ';', &range))
			continue;
		while (next_part(&element, ';', &parameter))
			refused = refused || is_refused(parameter);
		if (!refused && range_includes(range, type, subtype))
			return true;
	}
	return false;
}
