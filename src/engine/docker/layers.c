/* layers.c - the layers of isolation that containers of this daemon have (see internal.h). Layers
 * that container.c sets for every container are on; the others are as GET /info says. */
#include <stdio.h>
#include <string.h>

#include "engine/docker/internal.h"

static void fill_daemon(const struct broker *broker, struct engine_report *ret)
{
	const struct docker_info *info = &broker->info;
	const char *runtime = broker->options->runtime;
	struct engine_layer *layer = report_add(ret, "daemon");

	layer_set(layer, LAYER_ON, "%s %s at %.200s, API 1.%u, storage %s",
	          broker->version.is_podman ? "Podman" : "Docker", broker->version.engine,
	          broker->options->daemon->url, broker->version.api - 100, info->storage);
	layer = report_add(ret, "runtime");
	layer_set(layer, LAYER_ON, "%s%s",
	          runtime != NULL                    ? runtime
	          : info->default_runtime[0] != '\0' ? info->default_runtime
	                                             : "the daemon's default",
	          runtime != NULL && strcmp(runtime, "runsc") == 0
	                  ? " (gVisor): programs do not reach the host's kernel"
	                  : "");
}

static void fill_rights(const struct broker *broker, struct engine_report *ret)
{
	const struct docker_info *info = &broker->info;
	struct engine_layer *layer;

	layer_set(report_add(ret, "namespaces"), LAYER_ON,
	          "its own processes, files, network, host name and semaphores");
	layer_set(report_add(ret, "network"), LAYER_ON, "none but the sandbox's own loopback");
	layer = report_add(ret, "user-namespaces");
	if (info->userns || info->rootless)
		layer_set(layer, LAYER_ON, "%s: no id inside is a privileged id outside",
		          info->rootless ? "rootless" : "userns-remap");
	else {
		layer_set(layer, LAYER_WEAKER,
		          "the ids inside are ids of the daemon's machine: programs run as its "
		          "user %d",
		          SPEC_UID);
		layer_fix(layer, "start dockerd with --userns-remap=default, or use a rootless "
		                 "Docker or Podman");
	}
	layer = report_add(ret, "seccomp");
	if (info->seccomp)
		layer_set(layer, LAYER_ON, "the daemon's filter, and belljar's for programs");
	else
		layer_set(layer, LAYER_ON, "belljar's filter for programs; the daemon has none");
	layer_set(report_add(ret, "capabilities"), LAYER_ON, "none");
	layer_set(report_add(ret, "no-new-privileges"), LAYER_ON, "setuid programs give no rights");
	layer = report_add(ret, "ids");
	layer_set(layer, LAYER_WEAKER,
	          "agent and code share user %d: they are told apart by process, not by user",
	          SPEC_UID);
	layer_fix(layer, "use the native engine, which gives them different users");
	layer = report_add(ret, "programs");
	layer_set(layer, broker->options->writable_root ? LAYER_WEAKER : LAYER_ON,
	          "those of the image, %s",
	          broker->options->writable_root ? "writable until the sandbox sleeps"
	                                         : "read-only");
	if (broker->options->writable_root)
		layer_fix(layer, "start belljar without --docker-root writable");
}

static void fill_limit(struct engine_report *ret, const char *name, bool is_on)
{
	struct engine_layer *layer = report_add(ret, name);

	layer_set(layer, is_on ? LAYER_ON : LAYER_OFF, "%s",
	          is_on ? "enforced by the kernel, for all processes together"
	                : "the daemon cannot limit it");
	if (!is_on)
		layer_fix(layer, "see 'cgroups': the daemon needs this controller");
}

static void fill_limits(const struct broker *broker, struct engine_report *ret)
{
	const struct docker_info *info = &broker->info;
	struct engine_layer *layer = report_add(ret, "cgroups");
	bool all = info->memory && info->swap && info->cpu && info->pids;

	layer_set(layer,
	          all            ? LAYER_ON
	          : info->memory ? LAYER_WEAKER
	                         : LAYER_OFF,
	          info->cgroups == 0 ? "none" : "version %u, as the daemon uses them",
	          info->cgroups);
	if (!all)
		layer_fix(layer, "docker info says which limits are missing, and why");
	fill_limit(ret, "memory", info->memory);
	fill_limit(ret, "swap", info->swap);
	fill_limit(ret, "cpu", info->cpu);
	fill_limit(ret, "processes", info->pids);
	layer = report_add(ret, "sockets");
	layer_set(layer, info->cgroups == 2 ? LAYER_ON : LAYER_OFF, "%s",
	          info->cgroups == 2 ? "counted as memory by the kernel"
	                             : "not limited with cgroups of version 1");
	if (info->cgroups != 2)
		layer_fix(layer, "boot with systemd.unified_cgroup_hierarchy=1");
	layer = report_add(ret, "locks");
	layer_set(layer, LAYER_OFF, "record locks are not counted");
	layer_fix(layer, "use the native engine, which counts them");
	layer = report_add(ret, "disk");
	if (broker->has_quota)
		layer_set(layer, LAYER_ON,
		          "quota: each of /workspace, %s, /tmp, /app and /artifacts", SPEC_HOME);
	else {
		layer_set(layer, LAYER_OFF,
		          "not limited: volumes of this daemon have no quotas; single files are");
		layer_fix(layer, "put Docker's data on xfs mounted with pquota");
	}
}

void layers_fill(const struct broker *broker, struct engine_report *ret)
{
	*ret = (struct engine_report){ .limits_memory = broker->info.memory };
	fill_daemon(broker, ret);
	fill_rights(broker, ret);
	fill_limits(broker, ret);
}
