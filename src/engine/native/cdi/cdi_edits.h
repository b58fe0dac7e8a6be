/* cdi_edits.h - what a device adds to a sandbox: one or more "containerEdits", checked and put
 * together.
 *
 *   zeroed -> cdi_edits_add ... -> cdi_edits_finish -> cdi_edits_done
 *
 * What is added later stands in place of the same node, mount or variable added before: the
 * edits of the whole file come first, then those of the device. */
#pragma once
#include <stddef.h>

#include "base/attr.h"
#include "engine/native/cdi/cdi.h"

struct cdi_doc;
struct error;

enum {
	CDI_NODES_MAX = 128, /* of one device, as the next three */
	CDI_MOUNTS_MAX = 256,
	CDI_ENV_MAX = 64,
	CDI_FOLDERS_MAX = 64,
};

/* Versions as one number: 1.0 is 100, 0.7 is 7. Those that come after are taken as they
 * are understood: what they added to containerEdits is passed over. */
enum { CDI_VERSION_FIRST = 3, CDI_VERSION_ZERO_LAST = 8, CDI_VERSION_LAST = 101 };

struct cdi_field {
	const char *name;
	unsigned since; /* the version that has it first */
};

/* value is an object that has no other fields than these, and none that is too new for the
 * file's own version. */
MUST_CHECK int cdi_fields_check(const struct cdi_doc *value, const struct cdi_field *fields,
                                size_t count, unsigned version, struct error *err);

struct cdi_edits {
	struct cdi_device device;
	char **folders; /* where the loader is to look */
	size_t folder_count;
	size_t left_out_count;           /* mounts that do not help inside */
	char left_out[CDI_PATH_MAX + 1]; /* the first of them */
};

MUST_CHECK int cdi_edits_add(struct cdi_edits *edits, const struct cdi_doc *value, unsigned version,
                             struct error *err);
/* Hands the device on: the folders are in its environment now. */
void cdi_edits_finish(struct cdi_edits *edits, struct cdi_device *ret);
void cdi_edits_done(struct cdi_edits *edits);
static inline void cleanup_cdi_edits(struct cdi_edits *edits)
{
	cdi_edits_done(edits);
}

void cdi_device_done(struct cdi_device *device);
