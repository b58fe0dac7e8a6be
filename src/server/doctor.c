#include "server/doctor.h"

#include "base/attr.h"
#include "server/probe.h"

static const struct probe {
	const char *name, *purpose;
	probe_fn *run;
} probes[] = {
	{ "kernel", "the features below", probe_kernel },
	{ "user namespaces", "sandboxes without root", probe_user_namespaces },
	{ "namespaces", "a sandbox's own files, processes and network", probe_namespaces },
	{ "cgroups", "limits on memory, processor and processes", probe_cgroups },
	{ "seccomp", "keeping system calls from the code", probe_seccomp },
	{ "landlock", "a second fence around files", probe_landlock },
	{ "overlayfs", "a writable view of read-only files", probe_overlayfs },
	{ "subordinate ids", "separate users for agent and code", probe_subordinate_ids },
	{ "agent", "running anything in a sandbox", probe_agent },
	{ "interpreters", "running code without an image", probe_interpreters },
	{ "docker or podman", "the docker engine", probe_containers },
	{ "configuration", "belljar serve", probe_configuration },
};
_Static_assert(ARRAY_LEN(probes) <= DOCTOR_CHECKS_MAX, "room for each check");

size_t doctor_examine(const struct options *options, struct check ret[DOCTOR_CHECKS_MAX])
{
	for (size_t i = 0; i < ARRAY_LEN(probes); i++) {
		ret[i] = (struct check){ .name = probes[i].name, .purpose = probes[i].purpose };
		probes[i].run(options, &ret[i]);
	}
	return ARRAY_LEN(probes);
}
