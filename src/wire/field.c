#include "wire/field.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "wire/bytes.h"

enum { TEXT_MAX = 65000 }; /* bytes of one text in a list */

/* --- checks of values, for both directions ----------------------------------------- */

/* The error is the sentence "path has 5000 bytes, not 1 to 4095", with `verb` and `unit`. */
static int fail_range(const struct wire_field *field, const char *verb, uint64_t value,
                      const char *unit, struct error *err)
{
	enum error_kind kind = value > field->max ? ERR_LIMIT : ERR_INVALID;

	if (field->min == field->max)
		return error_set(err, kind, "%s %s %" PRIu64 "%s, not %" PRIu64, field->name, verb,
		                 value, unit, field->max);
	return error_set(err, kind, "%s %s %" PRIu64 "%s, not %" PRIu64 " to %" PRIu64, field->name,
	                 verb, value, unit, field->min, field->max);
}

static int check_number(const struct wire_field *field, uint64_t value, struct error *err)
{
	/* An unknown flag is refused, not ignored: its sender relies on something this end does not
	 * do. */
	if (field->kind == WIRE_FLAGS && (value & ~field->max) != 0)
		return error_set(err, ERR_INVALID, "%s has unknown bits: %#" PRIx64, field->name,
		                 value & ~field->max);
	if (field->kind != WIRE_FLAGS && (value < field->min || value > field->max))
		return fail_range(field, "is", value, "", err);
	return 0;
}

static int check_len(const struct wire_field *field, size_t len, struct error *err)
{
	if (len < field->min || len > field->max)
		return fail_range(field, "has", len, " bytes", err);
	return 0;
}

static int check_count(const struct wire_field *field, size_t count, struct error *err)
{
	if (count < field->min || count > field->max)
		return fail_range(field, "has", count, " items", err);
	return 0;
}

/* Texts become arguments of system calls, which end at the first NUL. With a NUL within, the text
 * that was checked and shown would be another one than the text that is used. */
static int check_no_nul(const struct wire_field *field, struct view text, struct error *err)
{
	if (text.len != 0 && memchr(text.ptr, '\0', text.len) != NULL)
		return error_set(err, ERR_INVALID, "%s has a NUL within", field->name);
	return 0;
}

/* --- decoding ---------------------------------------------------------------------- */

static int take_bytes(const struct wire_field *field, struct view *rest, size_t len,
                      struct view *ret, struct error *err)
{
	/* `len` comes from the other end; every read of the payload passes this check. */
	if (rest->len < len) {
		(void)error_set(err, ERR_SYNTAX, "%s is cut off", field->name);
		return -1; /* explicit for the static analyser, which does not know error_set() */
	}
	*ret = (struct view){ rest->ptr, len };
	rest->ptr += len;
	rest->len -= len;
	return 0;
}

static size_t number_size(enum wire_field_kind kind)
{
	switch ((int)kind) {
	case WIRE_U16:
		return 2;
	case WIRE_U32:
		return 4;
	case WIRE_U64:
		return 8;
	default:
		return 1;
	}
}

static int decode_number(const struct wire_field *field, struct view *rest, char *member,
                         struct error *err)
{
	struct view bytes = { 0 };
	uint64_t value;

	if (take_bytes(field, rest, number_size(field->kind), &bytes, err) < 0)
		return -1;
	value = bytes.len == 1   ? (uint8_t)bytes.ptr[0]
	        : bytes.len == 2 ? bytes_get16(bytes.ptr)
	        : bytes.len == 4 ? bytes_get32(bytes.ptr)
	                         : bytes_get64(bytes.ptr);
	if (check_number(field, value, err) < 0)
		return -1;
	switch (bytes.len) {
	case 1:
		*(uint8_t *)member = (uint8_t)value;
		break;
	case 2:
		*(uint16_t *)(void *)member = (uint16_t)value;
		break;
	case 4:
		*(uint32_t *)(void *)member = (uint32_t)value;
		break;
	default:
		*(uint64_t *)(void *)member = value;
		break;
	}
	return 0;
}

static int take_count(const struct wire_field *field, struct view *rest, size_t *ret,
                      struct error *err)
{
	struct view bytes = { 0 };

	if (take_bytes(field, rest, 2, &bytes, err) < 0)
		return -1;
	*ret = bytes_get16(bytes.ptr);
	return 0;
}

static int take_text(const struct wire_field *field, struct view *rest, struct view *ret,
                     struct error *err)
{
	struct view text = { 0 };
	size_t len = 0;

	if (take_count(field, rest, &len, err) < 0 ||
	    take_bytes(field, rest, len + 1, &text, err) < 0)
		return -1;
	if (text.ptr[len] != '\0')
		return error_set(err, ERR_SYNTAX, "%s does not end in a NUL", field->name);
	text.len = len;
	*ret = text;
	return check_no_nul(field, text, err);
}

static int decode_text(const struct wire_field *field, struct view *rest, struct view *ret,
                       struct error *err)
{
	if (take_text(field, rest, ret, err) < 0)
		return -1;
	return check_len(field, ret->len, err);
}

static int decode_bytes(const struct wire_field *field, struct view *rest, struct view *ret,
                        struct error *err)
{
	size_t len = 0;

	if (take_count(field, rest, &len, err) < 0 || check_len(field, len, err) < 0)
		return -1;
	return take_bytes(field, rest, len, ret, err);
}

/* Walks over all texts once, so that wire_texts_next() can rely on lengths and terminators. */
static int decode_texts(const struct wire_field *field, struct view *rest, struct wire_texts *ret,
                        struct error *err)
{
	struct view text;

	if (take_count(field, rest, &ret->count, err) < 0 ||
	    check_count(field, ret->count, err) < 0)
		return -1;
	ret->items = *rest;
	for (size_t i = 0; i < ret->count; i++)
		if (take_text(field, rest, &text, err) < 0)
			return -1;
	ret->items.len -= rest->len;
	return 0;
}

/* Numbers and limits: lists whose items have a fixed size. */
static int decode_items(const struct wire_field *field, size_t size, struct view *rest,
                        size_t *count, struct view *items, struct error *err)
{
	if (take_count(field, rest, count, err) < 0 || check_count(field, *count, err) < 0)
		return -1;
	/* The product cannot overflow: count has 16 bits, and size is at most WIRE_LIMIT_SIZE. */
	return take_bytes(field, rest, *count * size, items, err);
}

static int decode_field(const struct wire_field *field, struct view *rest, char *member,
                        struct error *err)
{
	struct wire_numbers *numbers = (void *)member;
	struct wire_limits *limits = (void *)member;

	switch (field->kind) {
	case WIRE_U8:
	case WIRE_U16:
	case WIRE_U32:
	case WIRE_U64:
	case WIRE_FLAGS:
	case WIRE_ENUM:
		return decode_number(field, rest, member, err);
	case WIRE_TEXT:
		return decode_text(field, rest, (void *)member, err);
	case WIRE_BYTES:
		return decode_bytes(field, rest, (void *)member, err);
	case WIRE_TEXTS:
		return decode_texts(field, rest, (void *)member, err);
	case WIRE_NUMBERS:
		return decode_items(field, 4, rest, &numbers->count, &numbers->items, err);
	case WIRE_LIMITS:
		return decode_items(field, WIRE_LIMIT_SIZE, rest, &limits->count, &limits->items,
		                    err);
	case WIRE_REST:
		if (check_len(field, rest->len, err) < 0)
			return -1;
		return take_bytes(field, rest, rest->len, (void *)member, err);
	}
	return error_set(err, ERR_UNSUPPORTED, "%s: no such kind of field", field->name);
}

int wire_record_decode(const struct wire_record *record, struct view *bytes, void *out,
                       struct error *err)
{
	struct view rest = *bytes;

	for (size_t i = 0; i < record->count; i++)
		if (decode_field(&record->fields[i], &rest, (char *)out + record->fields[i].offset,
		                 err) < 0)
			return -1;
	*bytes = rest;
	return 0;
}

/* --- encoding ---------------------------------------------------------------------- */

static int put_number(struct buf *out, uint64_t value, size_t size, struct error *err)
{
	char bytes[8];

	bytes_put64(bytes, value);
	return buf_add(out, (struct view){ bytes + 8 - size, size }, err);
}

static int encode_number(const struct wire_field *field, const char *member, struct buf *out,
                         struct error *err)
{
	size_t size = number_size(field->kind);
	uint64_t value = size == 1   ? *(const uint8_t *)member
	                 : size == 2 ? *(const uint16_t *)(const void *)member
	                 : size == 4 ? *(const uint32_t *)(const void *)member
	                             : *(const uint64_t *)(const void *)member;

	if (check_number(field, value, err) < 0)
		return -1;
	return put_number(out, value, size, err);
}

static int put_text(struct buf *out, struct view text, struct error *err)
{
	if (put_number(out, text.len, 2, err) < 0 || buf_add(out, text, err) < 0)
		return -1;
	return put_number(out, 0, 1, err);
}

static int put_items(size_t count, struct view items, struct buf *out, struct error *err)
{
	if (put_number(out, count, 2, err) < 0)
		return -1;
	return buf_add(out, items, err);
}

static int fail_items(const struct wire_field *field, size_t count, size_t len, struct error *err)
{
	return error_set(err, ERR_INVALID, "%s has %zu items that are not in its %zu bytes",
	                 field->name, count, len);
}

/* A list is encoded already. Its bytes are checked again, because its count and its items were set
 * by the caller and the receiver would treat a mismatch as a violation. */
static int encode_texts(const struct wire_field *field, const struct wire_texts *list,
                        struct buf *out, struct error *err)
{
	struct view rest = list->items;
	struct view text;

	if (check_count(field, list->count, err) < 0)
		return -1;
	for (size_t i = 0; i < list->count; i++)
		if (take_text(field, &rest, &text, err) < 0)
			return -1;
	if (rest.len != 0)
		return fail_items(field, list->count, list->items.len, err);
	return put_items(list->count, list->items, out, err);
}

static int encode_items(const struct wire_field *field, size_t size, size_t count,
                        struct view items, struct buf *out, struct error *err)
{
	if (check_count(field, count, err) < 0)
		return -1;
	if (items.len != count * size)
		return fail_items(field, count, items.len, err);
	return put_items(count, items, out, err);
}

static int encode_field(const struct wire_field *field, const char *member, struct buf *out,
                        struct error *err)
{
	const struct view *text = (const void *)member;
	const struct wire_texts *texts = (const void *)member;
	const struct wire_numbers *numbers = (const void *)member;
	const struct wire_limits *limits = (const void *)member;

	switch (field->kind) {
	case WIRE_U8:
	case WIRE_U16:
	case WIRE_U32:
	case WIRE_U64:
	case WIRE_FLAGS:
	case WIRE_ENUM:
		return encode_number(field, member, out, err);
	case WIRE_TEXT:
		if (check_len(field, text->len, err) < 0 || check_no_nul(field, *text, err) < 0)
			return -1;
		return put_text(out, *text, err);
	case WIRE_BYTES:
		if (check_len(field, text->len, err) < 0 || put_number(out, text->len, 2, err) < 0)
			return -1;
		return buf_add(out, *text, err);
	case WIRE_TEXTS:
		return encode_texts(field, texts, out, err);
	case WIRE_NUMBERS:
		return encode_items(field, 4, numbers->count, numbers->items, out, err);
	case WIRE_LIMITS:
		return encode_items(field, WIRE_LIMIT_SIZE, limits->count, limits->items, out, err);
	case WIRE_REST:
		return check_len(field, text->len, err) < 0 ? -1 : buf_add(out, *text, err);
	}
	return error_set(err, ERR_UNSUPPORTED, "%s: no such kind of field", field->name);
}

int wire_record_encode(const struct wire_record *record, const void *in, struct buf *out,
                       struct error *err)
{
	size_t start = out->len;

	for (size_t i = 0; i < record->count; i++)
		if (encode_field(&record->fields[i], (const char *)in + record->fields[i].offset,
		                 out, err) < 0) {
			buf_truncate(out, start);
			return -1;
		}
	return 0;
}

/* --- lists ------------------------------------------------------------------------- */

/* No checks: the list was checked when it was decoded, or built by wire_texts_add(). */
bool wire_texts_next(struct view *rest, struct view *ret)
{
	if (rest->len == 0)
		return false;
	ret->len = bytes_get16(rest->ptr);
	ret->ptr = rest->ptr + 2;
	rest->ptr += 2 + ret->len + 1;
	rest->len -= 2 + ret->len + 1;
	return true;
}

uint32_t wire_number_at(const struct wire_numbers *list, size_t i)
{
	return bytes_get32(list->items.ptr + 4 * i);
}

struct wire_limit wire_limit_at(const struct wire_limits *list, size_t i)
{
	const char *at = list->items.ptr + WIRE_LIMIT_SIZE * i;

	return (struct wire_limit){ (uint8_t)at[0], bytes_get64(at + 1), bytes_get64(at + 9) };
}

int wire_texts_add(struct wire_texts *list, struct buf *buf, struct view text, struct error *err)
{
	size_t start = buf->len;

	if (text.len > TEXT_MAX)
		return error_set(err, ERR_LIMIT, "a text of %zu bytes: at most %d", text.len,
		                 TEXT_MAX);
	if (text.len != 0 && memchr(text.ptr, '\0', text.len) != NULL)
		return error_set(err, ERR_INVALID, "a text with a NUL within");
	if (put_text(buf, text, err) < 0) {
		buf_truncate(buf, start); /* remove the part of the text that did fit */
		return -1;
	}
	list->count++;
	list->items = buf_view(buf);
	return 0;
}

int wire_numbers_add(struct wire_numbers *list, struct buf *buf, uint32_t number, struct error *err)
{
	if (put_number(buf, number, 4, err) < 0)
		return -1;
	list->count++;
	list->items = buf_view(buf);
	return 0;
}

int wire_limits_add(struct wire_limits *list, struct buf *buf, struct wire_limit limit,
                    struct error *err)
{
	char item[WIRE_LIMIT_SIZE] = { (char)limit.resource };

	bytes_put64(item + 1, limit.soft);
	bytes_put64(item + 9, limit.hard);
	if (buf_add(buf, (struct view){ item, sizeof item }, err) < 0)
		return -1;
	list->count++;
	list->items = buf_view(buf);
	return 0;
}
