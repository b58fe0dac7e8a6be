/* fuzz_mounts.c - any text in the registry's column of mounts is an error, or it is read, and
 * written and read again with the same result. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "fuzz/fuzz.h"
#include "sandbox/registry/internal.h"

static void write_mounts(const struct spec *spec, char out[REGISTRY_MOUNTS_MAX + 1])
{
	struct buf text = buf_fixed(out, REGISTRY_MOUNTS_MAX + 1);

	out[0] = '\0';
	registry_write_mounts(spec, &text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view text = { (const char *)data, size };
	char once[REGISTRY_MOUNTS_MAX + 1], twice[REGISTRY_MOUNTS_MAX + 1];
	struct spec spec = spec_default();
	struct error err;

	if (registry_read_mounts(text, &spec, &err) < 0)
		return 0;
	if (spec.mount_count > SPEC_MOUNTS_MAX)
		abort();
	write_mounts(&spec, once);
	spec = spec_default();
	if (registry_read_mounts(view_of(once), &spec, &err) < 0)
		abort();
	write_mounts(&spec, twice);
	if (strcmp(once, twice) != 0)
		abort();
	spec_new_id(spec.id);
	if (spec_check(&spec, &err) < 0 && err.kind != ERR_INVALID)
		abort();
	return 0;
}
