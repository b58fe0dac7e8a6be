/* cdi_doc.h - a small tree of values out of a text in YAML or JSON.
 *
 * One reader for both: every JSON text is YAML (the tools that made this format read it the same
 * way), and two readers would be two sets of limits. Of YAML only what JSON could say is taken:
 * no anchors, no aliases, no tags, one document, keys that are text, each of them once. Depth,
 * values and keys are counted while the text is read, before anything is kept.
 *
 * The tree lives in the caller's arena. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/view.h"

struct arena;
struct error;

enum {
	CDI_DOC_BYTES_MAX = 1024 * 1024,
	CDI_DOC_DEPTH_MAX = 12,
	CDI_DOC_VALUES_MAX = 50000,
	CDI_DOC_KEYS_MAX = 64, /* of one object */
};

enum cdi_doc_kind { CDI_DOC_SCALAR, CDI_DOC_LIST, CDI_DOC_MAP };

struct cdi_doc {
	enum cdi_doc_kind kind;
	bool plain;       /* a scalar without quotes: it may be a number, a truth value, nothing */
	const char *text; /* of a scalar: UTF-8 without NUL */
	const char *key;  /* in its object; NULL elsewhere */
	size_t count;     /* of children */
	struct cdi_doc *first, *next;
};

MUST_CHECK int cdi_doc_read(struct view bytes, struct arena *arena, const struct cdi_doc **ret,
                            struct error *err);

/* NULL: not there, or there as "null". */
const struct cdi_doc *cdi_doc_member(const struct cdi_doc *map, const char *key);

/* The four of them fail with "must be ..., not ..." if it is something else; a missing value
 * (NULL) is something else too. */
MUST_CHECK int cdi_doc_text(const struct cdi_doc *value, const char **ret, struct error *err);
MUST_CHECK int cdi_doc_int(const struct cdi_doc *value, uint64_t max, uint64_t *ret,
                           struct error *err);
MUST_CHECK int cdi_doc_is(const struct cdi_doc *value, enum cdi_doc_kind kind, struct error *err);
/* A list of texts, or nothing. */
MUST_CHECK int cdi_doc_texts(const struct cdi_doc *value, struct error *err);
