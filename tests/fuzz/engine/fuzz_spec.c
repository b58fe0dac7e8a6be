/* fuzz_spec.c - any bytes sent as a struct spec are rejected, or keep all rules of spec.h. The
 * input overwrites the beginning of a spec that is filled with 0xff. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "engine/spec.h"
#include "fuzz/fuzz.h"

/* Checks each component of the path. */
static void check_target(const char *target)
{
	static const char *const first[] = { "proc", "dev", "sys", "run",
		                             "usr",  "etc", "bin", "sbin" };
	size_t depth = 0;

	fuzz_check(strlen(target) <= SPEC_TARGET_MAX && target[0] == '/');
	for (const char *at = target; *at == '/'; depth++) {
		const char *name = at + 1;
		size_t len = strcspn(name, "/");

		fuzz_check(len != 0 && !(len == 1 && name[0] == '.') &&
		           !(len == 2 && memcmp(name, "..", 2) == 0));
		for (size_t i = 0; depth == 0 && i < ARRAY_LEN(first); i++)
			fuzz_check(len != strlen(first[i]) || memcmp(name, first[i], len) != 0);
		fuzz_check(depth != 0 || strncmp(name, "lib", 3) != 0);
		at = name + len;
		fuzz_check(*at == '/' || *at == '\0');
	}
	fuzz_check(strcmp(target, "/tmp") != 0 && strcmp(target, "/home") != 0 &&
	           strcmp(target, SPEC_WORKSPACE) != 0 && strcmp(target, SPEC_HOME) != 0);
	fuzz_check(strchr(target, '\n') == NULL); /* the registry stores one mount per line */
}

static void check_mounts(const struct spec *spec)
{
	fuzz_check(spec->mount_count <= SPEC_MOUNTS_MAX);
	for (unsigned i = 0; i < spec->mount_count; i++) {
		const char *target = spec->mounts[i].target;

		fuzz_check(memchr(target, '\0', SPEC_TARGET_MAX + 1) != NULL);
		check_target(target);
		for (unsigned k = 0; k < spec->mount_count; k++) {
			const char *other = spec->mounts[k].target;
			size_t len = strlen(other);

			fuzz_check(k == i || strncmp(target, other, len) != 0 ||
			           (target[len] != '/' && target[len] != '\0'));
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = { .kind = ERR_KIND_COUNT };
	struct spec spec;

	memset(&spec, 0xff, sizeof spec);
	if (size != 0)
		memcpy(&spec, data, size < sizeof spec ? size : sizeof spec);
	if (spec_check(&spec, &err) < 0) {
		fuzz_check(err.kind == ERR_INVALID && err.msg[0] != '\0');
		return 0;
	}
	fuzz_check(err.kind == ERR_KIND_COUNT);
	fuzz_check(memchr(spec.id, '\0', sizeof spec.id) != NULL && spec_is_id(spec.id));
	for (size_t i = 0; i < spec_limit_count; i++) {
		uint64_t value;

		memcpy(&value, (char *)&spec.limits + spec_limits[i].offset, sizeof value);
		fuzz_check(value >= spec_limits[i].min && value <= spec_limits[i].max);
	}
	fuzz_check(spec_syscalls_names[spec.syscalls] != NULL);
	/* UBSan reports a bool that is neither 0 nor 1 when it is read. */
	fuzz_check(spec.fresh || !spec.fresh);
	check_mounts(&spec);
	return 0;
}
