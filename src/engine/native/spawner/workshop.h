/* workshop.h - what the spawner makes sandboxes with: found once, at its start. */
#pragma once
#include "base/attr.h"
#include "engine/native/cdi/cdi.h"
#include "engine/native/cgroup/cgroup.h"
#include "engine/native/ids/ids.h"
#include "engine/native/root/home.h"
#include "engine/native/root/skeleton.h"
#include "engine/native/spawner/spawner.h"
#include "engine/native/usage/disk.h"

struct error;

struct workshop {
	struct home home;
	struct cgroups groups;
	struct skeleton skeleton;
	struct disk disk;
	struct ids ids;
	const struct cdi *gpus; /* or NULL */
	size_t mount_count;
};

/* Everything that needs the host's tree is done here; afterwards it is out of reach. */
MUST_CHECK int workshop_open(struct workshop *shop, const struct spawner_config *config,
                             struct error *err);
void workshop_close(struct workshop *shop);
