#include "wire/tar_pax.h"

#include <string.h>

#include "base/error.h"

/* The decimal digits in front of *text, taken off; false if there are none or too many. */
static bool take_number(struct view *text, uint64_t *ret)
{
	uint64_t value = 0;
	size_t i = 0;

	for (; i < text->len && text->ptr[i] >= '0' && text->ptr[i] <= '9'; i++) {
		if (value > TAR_SIZE_MAX / 10)
			return false;
		value = value * 10 + (uint64_t)(text->ptr[i] - '0');
	}
	text->ptr += i;
	text->len -= i;
	*ret = value;
	return i != 0 && value <= TAR_SIZE_MAX;
}

static int set_text(struct view value, const char *what, char *out, bool *has, struct error *err)
{
	if (value.len > TAR_NAME_MAX)
		return error_set(err, ERR_LIMIT, "its %s has %zu bytes (at most %d)", what,
		                 value.len, TAR_NAME_MAX);
	if (value.len != 0 && memchr(value.ptr, '\0', value.len) != NULL)
		return error_set(err, ERR_SYNTAX, "its %s has a NUL in it", what);
	if (value.len != 0)
		memcpy(out, value.ptr, value.len);
	out[value.len] = '\0';
	*has = value.len != 0;
	return 0;
}

static int set_size(struct view value, struct tar_extra *extra, struct error *err)
{
	uint64_t size = 0;

	extra->has_size = value.len != 0;
	if (value.len != 0 && (!take_number(&value, &size) || value.len != 0))
		return error_set(err, ERR_SYNTAX, "its pax size is not a number of bytes");
	extra->size = size;
	return 0;
}

/* Seconds, perhaps negative, perhaps with a fraction: what is before 1970 becomes 1970. */
static int set_mtime(struct view value, struct tar_extra *extra, struct error *err)
{
	bool negative = view_starts(value, "-");
	uint64_t seconds = 0;

	extra->has_mtime = value.len != 0;
	if (value.len == 0)
		return 0;
	value.ptr += negative ? 1 : 0;
	value.len -= negative ? 1 : 0;
	if (!take_number(&value, &seconds) || (value.len != 0 && value.ptr[0] != '.'))
		return error_set(err, ERR_SYNTAX, "its pax mtime is not a time");
	if (negative)
		seconds = 0;
	extra->mtime = seconds > TAR_TIME_MAX ? TAR_TIME_MAX : (int64_t)seconds;
	return 0;
}

static int take_record(struct view key, struct view value, struct tar_extra *extra,
                       struct error *err)
{
	if (view_is(key, "path"))
		return set_text(value, "pax path", extra->name, &extra->has_name, err);
	if (view_is(key, "linkpath"))
		return set_text(value, "pax linkpath", extra->link, &extra->has_link, err);
	if (view_is(key, "size"))
		return set_size(value, extra, err);
	if (view_is(key, "mtime"))
		return set_mtime(value, extra, err);
	if (view_starts(key, "GNU.sparse."))
		extra->sparse = true;
	return 0;
}

/* Cuts "LENGTH KEY=VALUE\n" off *records. */
static bool cut_record(struct view *records, struct view *key, struct view *value)
{
	struct view left = *records;
	const char *equals;
	uint64_t len;
	size_t used;

	if (!take_number(&left, &len) || len > records->len || left.len == 0 || left.ptr[0] != ' ')
		return false;
	used = records->len - left.len + 1; /* the digits and the space */
	if (len <= used || records->ptr[len - 1] != '\n')
		return false;
	left = (struct view){ records->ptr + used, (size_t)len - used - 1 };
	equals = memchr(left.ptr, '=', left.len);
	if (equals == NULL || equals == left.ptr)
		return false;
	*key = (struct view){ left.ptr, (size_t)(equals - left.ptr) };
	*value = (struct view){ equals + 1, left.len - key->len - 1 };
	records->ptr += len;
	records->len -= (size_t)len;
	return true;
}

int tar_pax_read(struct view records, struct tar_extra *extra, struct error *err)
{
	struct view key, value;

	while (records.len != 0) {
		if (!cut_record(&records, &key, &value))
			return error_set(err, ERR_SYNTAX, "a broken record in its pax header");
		if (take_record(key, value, extra, err) < 0)
			return -1;
	}
	return 0;
}

int tar_long_read(struct view bytes, bool is_link, struct tar_extra *extra, struct error *err)
{
	/* Programs disagree on how many NULs end it. */
	while (bytes.len != 0 && bytes.ptr[bytes.len - 1] == '\0')
		bytes.len--;
	if (is_link)
		return set_text(bytes, "GNU long link", extra->link, &extra->has_link, err);
	return set_text(bytes, "GNU long name", extra->name, &extra->has_name, err);
}
