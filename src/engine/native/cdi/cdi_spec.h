/* cdi_spec.h - one specification: the bytes of a file, and the devices in it.
 *
 * Looks at nothing but the bytes. All of it is right, or none of it is used. */
#pragma once
#include "base/attr.h"
#include "base/view.h"
#include "engine/native/cdi/cdi.h"

struct error;

enum { CDI_SPEC_DEVICES_MAX = 128 };

struct cdi_spec {
	struct cdi_device *devices;
	size_t count;
	size_t left_out_count;           /* mounts that are of no use inside */
	char left_out[CDI_PATH_MAX + 1]; /* the first of them */
};

/* The struct is the caller's, and is to be done if this succeeds. */
MUST_CHECK int cdi_spec_read(struct view bytes, struct cdi_spec *ret, struct error *err);
void cdi_spec_done(struct cdi_spec *spec);
static inline void cleanup_cdi_spec(struct cdi_spec *spec)
{
	cdi_spec_done(spec);
}
