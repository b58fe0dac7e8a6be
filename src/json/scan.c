#include "json/scan.h"

struct cursor {
	const char *at, *end;
};

/* Moves the cursor from the opening quote behind the closing one. Returns the text between them. */
static struct view skip_string(struct cursor *c)
{
	const char *start = ++c->at;
	struct view inside;

	while (c->at < c->end && *c->at != '"')
		c->at += *c->at == '\\' && c->end - c->at > 1 ? 2 : 1;
	inside = (struct view){ start, (size_t)(c->at - start) };
	if (c->at < c->end)
		c->at++;
	return inside;
}

/* The text from here to the comma or bracket that ends the member. */
static struct view scalar_after_colon(const struct cursor *from)
{
	struct cursor c = *from;
	const char *start = c.at;

	while (c.at < c.end && *c.at != ',' && *c.at != '}' && *c.at != '[' && *c.at != '{') {
		if (*c.at == '"')
			(void)skip_string(&c);
		else
			c.at++;
	}
	return view_trim((struct view){ start, (size_t)(c.at - start) });
}

static void note_id(const struct cursor *c, struct view key, size_t depth, struct json_scan *ret)
{
	if (depth != 1 || !view_is(key, "id"))
		return;
	if (ret->ids++ == 0)
		ret->id = scalar_after_colon(c);
}

void json_scan(struct view text, struct json_scan *ret)
{
	struct cursor c = { text.ptr, text.len != 0 ? text.ptr + text.len : text.ptr };
	struct view last_string = { 0 };
	size_t depth = 0;

	*ret = (struct json_scan){ .values = 1 };
	while (c.at < c.end) {
		switch (*c.at) {
		case '"':
			last_string = skip_string(&c);
			continue;
		case '[':
		case '{':
			ret->values++;
			if (++depth > ret->depth)
				ret->depth = depth;
			break;
		case ']':
		case '}':
			depth -= depth != 0;
			break;
		case ',':
			ret->values++;
			break;
		case ':':
			c.at++;
			note_id(&c, last_string, depth, ret);
			continue;
		default:
			break;
		}
		c.at++;
	}
}
