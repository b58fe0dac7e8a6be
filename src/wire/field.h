/* field.h - the fields of a message, described by a table, and their encoding.
 *
 * One encoder and one decoder convert between bytes and a struct as the table says. Both check
 * every value against its row, so neither end can send or accept a value that the table forbids.
 * The views of a decoded struct point into the bytes; nothing is allocated.
 *
 *   kind      bytes                                          struct member
 *   u8-u64    the number, big endian, from min to max        uint8_t .. uint64_t
 *   flags     u8; no bit outside max                         uint8_t
 *   enum      u8; at most max                                uint8_t
 *   text      u16 length (min to max), bytes, one NUL;       struct view, terminated
 *             no NUL within
 *   bytes     u16 length (min to max), bytes                 struct view
 *   texts     u16 count (min to max), each a text            struct wire_texts
 *   numbers   u16 count (min to max), each a u32             struct wire_numbers
 *   limits    u16 count (min to max), each u8 u64 u64        struct wire_limits
 *   rest      all remaining bytes, min to max                struct view */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/view.h"

struct buf;
struct error;

enum wire_field_kind {
	WIRE_U8,
	WIRE_U16,
	WIRE_U32,
	WIRE_U64,
	WIRE_FLAGS,
	WIRE_ENUM,
	WIRE_TEXT,
	WIRE_BYTES,
	WIRE_TEXTS,
	WIRE_NUMBERS,
	WIRE_LIMITS,
	WIRE_REST,
};

/* The name is an array instead of a pointer: the agent has about 150 of these, and each pointer
 * would need a relocation in the agent's program. */
struct wire_field {
	char name[16];
	enum wire_field_kind kind : 8;
	unsigned offset : 16; /* of the member in the struct */
	uint64_t min, max;
};

struct wire_record { /* a list of fields and the struct they belong to */
	const struct wire_field *fields;
	size_t count;
	size_t size; /* of the struct */
};

struct wire_texts {
	size_t count;
	struct view items; /* encoded */
};

struct wire_numbers {
	size_t count;
	struct view items;
};

struct wire_limit { /* arguments of setrlimit() */
	uint8_t resource;
	uint64_t soft, hard;
};

struct wire_limits {
	size_t count;
	struct view items;
};

enum { WIRE_LIMIT_SIZE = 1 + 8 + 8 };

/* Decodes one record and cuts it off the front of *bytes. After a failure *bytes is unchanged, but
 * *out is not. */
MUST_CHECK int wire_record_decode(const struct wire_record *record, struct view *bytes, void *out,
                                  struct error *err);
/* Appends one record. A value that the table forbids is ERR_INVALID or ERR_LIMIT, and the error
 * names the field. */
MUST_CHECK int wire_record_encode(const struct wire_record *record, const void *in, struct buf *out,
                                  struct error *err);

/* The next text of a list, terminated; false at the end. Starts with *rest = list.items. */
bool wire_texts_next(struct view *rest, struct view *ret);
uint32_t wire_number_at(const struct wire_numbers *list, size_t i);
struct wire_limit wire_limit_at(const struct wire_limits *list, size_t i);

/* Append to a list. `buf` belongs to the caller, holds this list only, is empty before the first
 * call and must outlive the list. */
MUST_CHECK int wire_texts_add(struct wire_texts *list, struct buf *buf, struct view text,
                              struct error *err);
MUST_CHECK int wire_numbers_add(struct wire_numbers *list, struct buf *buf, uint32_t number,
                                struct error *err);
MUST_CHECK int wire_limits_add(struct wire_limits *list, struct buf *buf, struct wire_limit limit,
                               struct error *err);
