#include "mcp/header/header_value.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/num.h"
#include "base/text/base64.h"
#include "base/text/utf8.h"

static const char prefix[] = "=?base64?", suffix[] = "?=";

/* The base64 between prefix and suffix; empty with ptr NULL if the value stands for itself. */
static struct view find_encoded(const char *value)
{
	size_t len = strlen(value), around = strlen(prefix) + strlen(suffix);

	if (len < around || strncmp(value, prefix, strlen(prefix)) != 0 ||
	    strcmp(value + len - strlen(suffix), suffix) != 0)
		return (struct view){ NULL, 0 };
	return (struct view){ value + strlen(prefix), len - around };
}

/* Only one text encodes to a given base64, so that two readers of a header cannot differ: bits
 * behind the last byte must be zero, which comparing with the encoded result checks. */
static bool is_encoded_text(struct view encoded, const char *text)
{
	AUTO_FREE char *decoded = NULL;
	AUTO_FREE char *canonical = NULL;
	struct error ignored;
	size_t len;

	if (base64_decode(encoded, &decoded, &len, &ignored) < 0)
		return false;
	canonical = base64_encode((struct view){ decoded, len });
	return view_is(encoded, canonical) && utf8_is_valid((struct view){ decoded, len }) &&
	       view_is((struct view){ decoded, len }, text);
}

bool header_value_is_text(const char *value, const char *text)
{
	struct view encoded = find_encoded(value);

	return encoded.ptr != NULL ? is_encoded_text(encoded, text) : strcmp(value, text) == 0;
}

/* -?digits, optionally with a fraction of zeros. Integers in headers have at most 53 bits. */
static bool is_integer(const char *value, json_int_t wanted)
{
	bool negative = value[0] == '-';
	const char *start = value + (negative ? 1 : 0);
	size_t len = strspn(start, "0123456789");
	const char *fraction = start + len;
	struct error ignored;
	uint64_t number;
	char digits[20];

	if (len == 0 || len >= sizeof digits)
		return false;
	if (fraction[0] == '.' && fraction[1] != '\0')
		fraction += 1 + strspn(fraction + 1, "0");
	if (fraction[0] != '\0')
		return false;
	memcpy(digits, start, len);
	digits[len] = '\0';
	if (num_parse_u64(digits, 0, (uint64_t)1 << 53, &number, &ignored) < 0)
		return false;
	return (negative ? -(json_int_t)number : (json_int_t)number) == wanted;
}

bool header_value_is_json(const char *value, const json_t *json)
{
	json_int_t number;

	if (json_is_string(json))
		return json_as_text(json) != NULL &&
		       header_value_is_text(value, json_as_text(json));
	if (json_is_boolean(json))
		return strcmp(value, json_is_true(json) ? "true" : "false") == 0;
	return json_as_int(json, &number) && is_integer(value, number);
}
