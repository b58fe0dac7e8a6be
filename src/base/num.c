#include "base/num.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/text/utf8.h"

bool num_read_length(struct view digits, uint64_t *ret)
{
	*ret = 0;
	for (size_t i = 0; i < digits.len; i++) {
		if (digits.ptr[i] < '0' || digits.ptr[i] > '9')
			return false;
		*ret = *ret * 10 + (uint64_t)(digits.ptr[i] - '0');
	}
	return digits.len >= 1 && digits.len <= 18; /* which fit into 64 bits */
}

/* Parses decimal digits; signs, spaces and other bases are not accepted. Returns what follows
 * them, or NULL if there is no digit or the number does not fit into 64 bits. */
static const char *parse_digits(const char *text, uint64_t *ret)
{
	uint64_t value = 0;
	const char *p = text;

	for (; *p >= '0' && *p <= '9'; p++) {
		uint64_t digit = (uint64_t)(*p - '0');

		if (value > (UINT64_MAX - digit) / 10)
			return NULL;
		value = value * 10 + digit;
	}
	*ret = value;
	return p != text ? p : NULL;
}

static int set_range_error(const char *text, const char *expected, uint64_t min, uint64_t max,
                           struct error *err)
{
	return error_set(err, ERR_INVALID, "expected %s from %" PRIu64 " to %" PRIu64 ", got '%s'",
	                 expected, min, max, UTF8_ESCAPED(view_of(text), 64));
}

int num_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *ret, struct error *err)
{
	uint64_t value;
	const char *rest = parse_digits(text, &value);

	if (rest == NULL || *rest != '\0' || value < min || value > max)
		return set_range_error(text, "a whole number", min, max, err);
	*ret = value;
	return 0;
}

int num_parse_size(const char *text, uint64_t min, uint64_t max, uint64_t *ret, struct error *err)
{
	static const char units[] = "KMG";
	const char *expected = "a size in bytes (K, M or G may follow)";
	uint64_t value;
	const char *rest = parse_digits(text, &value);
	const char *unit;
	unsigned shift = 0;

	if (rest != NULL && *rest != '\0' && (unit = strchr(units, *rest)) != NULL) {
		shift = 10 * (unsigned)(unit - units + 1);
		rest++;
	}
	if (rest == NULL || *rest != '\0' || value > (UINT64_MAX >> shift))
		return set_range_error(text, expected, min, max, err);
	value <<= shift;
	if (value < min || value > max)
		return set_range_error(text, expected, min, max, err);
	*ret = value;
	return 0;
}
