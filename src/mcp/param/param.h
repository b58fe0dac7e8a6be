/* param.h - tables of parameters, from which schema, checks, decoding and manual are made.
 *
 * A table is an array of struct param that ends in { 0 }. Each row names a member of a JSON object
 * and the field of the caller's struct that its value is stored in:
 *
 *   type            field                     min and max limit
 *   PARAM_STRING    const char *              bytes; no NUL inside
 *   PARAM_TEXT      struct view               bytes; any character
 *   PARAM_ENUM      const char *              one of `values`, the table's own pointer
 *   PARAM_BOOL      bool
 *   PARAM_INT       int64_t                   the value
 *   PARAM_NUMBER    double                    the value
 *   PARAM_STRINGS   struct param_strings      entries; each at most item_max bytes
 *   PARAM_MAP       struct param_map          entries; keys and values at most item_max
 *   PARAM_RECORD    the struct itself         (an object described by `fields`)
 *   PARAM_RECORDS   struct param_records      entries, each described by `fields`
 *   PARAM_JSON      json_t * (borrowed)
 *
 * Models often write 30 as "30", true as "true", an array as a string of JSON, utf-8 as "UTF8", a
 * list of one word as that word, and text that looks like a number as a number: where only one
 * meaning is possible, decoding accepts these (param_meaning.c). Limits and names are not
 * relaxed.
 *
 * An optional member that is absent or null gives `fallback` (or zero, NULL, empty). Strings point
 * into the JSON value, lists into the arena: both must outlive the struct. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "json/json.h"

struct error;

enum param_type {
	PARAM_END,
	PARAM_STRING,
	PARAM_TEXT,
	PARAM_ENUM,
	PARAM_BOOL,
	PARAM_INT,
	PARAM_NUMBER,
	PARAM_STRINGS,
	PARAM_MAP,
	PARAM_RECORD,
	PARAM_RECORDS,
	PARAM_JSON,
};

/* Appends strings to `values` as candidates for completion, for a call of this owner. The caller
 * removes those that do not begin with `typed`. */
typedef void param_complete_fn(void *app, const char *owner, const char *typed, json_t *values);

struct param {
	const char *name;
	const char *help; /* in the schema, which every model reads: short, or "" */
	const char *more; /* further sentences for the manual; or NULL */
	/* Other names that decoding accepts and the schema does not show; ends in NULL. See
	 * PARAM_ALSO. If a row of STRINGS shares a name with another row, it gets the arrays. */
	const char *const *also;
	enum param_type type;
	bool required;
	bool hidden;      /* decoded, but neither in the schema nor in the manual nor in errors */
	bool shows_zero;  /* INT, NUMBER, BOOL: the schema has a default of 0 or false too */
	int64_t min, max; /* see the table above */
	size_t item_max;  /* bytes of one string in STRINGS and MAP */
	union {
		const char *text; /* STRING, ENUM */
		int64_t integer;  /* INT */
		double number;    /* NUMBER */
		bool boolean;     /* BOOL */
	} fallback;
	const char *const *values;   /* ends in NULL; ENUM: all values, STRING: suggestions */
	param_complete_fn *complete; /* STRING: more suggestions */
	const struct param *fields;  /* RECORD, RECORDS */
	size_t record_size;          /* RECORDS: bytes of one entry's struct */
	size_t offset;               /* of the field in the caller's struct */
	/* STRING, ENUM, BOOL, INT: over HTTP the header Mcp-Param-{header} repeats the value, so
	 * that proxies can route by it (x-mcp-header); or NULL. Not for secrets. */
	const char *header;
};

struct param_strings {
	size_t count;
	const char **items;
};

struct param_pair {
	const char *name, *value;
};

struct param_map {
	size_t count;
	struct param_pair *items;
};

struct param_records {
	size_t count;
	void *items;
};

/* Names that models know from other tools: .also = PARAM_ALSO("file_path", "filename"). */
#define PARAM_ALSO(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* A JSON Schema of type object, as short as it can be, because a model reads all input schemas
 * before its first call. An input schema leaves out bounds that no call meets by accident: decoding
 * checks all of them, and the error names the bound. An output schema is for programs that check an
 * answer: it has only the members that every answer has, without descriptions; the manual has all
 * of them. Neither forbids further members: decoding knows other names of some arguments, and later
 * versions may add fields to answers. */
json_t *param_schema(const struct param *params, bool is_input);

/* Checks `object` (NULL counts as {}) against the table and fills `ret`, which must be zeroed.
 * The error names the argument, what was expected and what was found. */
MUST_CHECK int param_decode(const struct param *params, json_t *object, struct arena *arena,
                            void *ret, struct error *err);

/* Describes the accepted values, for errors: "an integer from 1 to 600". Returns out. */
const char *param_expected(const struct param *param, char *out, size_t size);
/* Describes the accepted values for the manual, with ", required" or ", default 30". Returns
 * out. */
const char *param_describe(const struct param *param, char *out, size_t size);

const struct param *param_find(const struct param *params, const char *name);
