/* sandbox_setup.c - the shared directories of the host that a sandbox sees, the engine that made
 * it, and the variables that its programs find in their environment. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "engine/root_files.h"
#include "sandbox/internal.h"

#define TOOLS_TARGET "/tools"

/* --- mounts --- */

static bool has_mount(const struct spec *spec, const char *target)
{
	for (unsigned i = 0; i < spec->mount_count; i++)
		if (strcmp(spec->mounts[i].target, target) == 0)
			return true;
	return false;
}

/* A row stores targets, and mounts are numbered by the server's own list: the server that wakes a
 * sandbox may have been started with other directories than the one that created it. */
void sandbox_fill_mounts(const struct manager *manager, struct sandbox_row *row)
{
	const struct spec before = row->spec;
	struct spec *spec = &row->spec;

	spec->mount_count = 0;
	for (size_t i = 0; i < manager->config.target_count && i < SPEC_MOUNTS_MAX; i++) {
		struct spec_mount *mount = &spec->mounts[spec->mount_count];

		if (!row->all_mounts && !has_mount(&before, manager->config.targets[i]))
			continue;
		*mount = (struct spec_mount){ .source = (uint16_t)i };
		(void)snprintf(mount->target, sizeof mount->target, "%s",
		               manager->config.targets[i]);
		spec->mount_count++;
	}
}

static bool is_shared(const struct manager *manager, const char *target)
{
	for (size_t i = 0; i < manager->config.target_count; i++)
		if (strcmp(manager->config.targets[i], target) == 0)
			return true;
	return false;
}

int sandbox_choose_mounts(const struct manager *manager, const char *const *targets,
                          struct sandbox_row *row, struct error *err)
{
	row->all_mounts = targets == NULL;
	row->spec.mount_count = 0;
	for (size_t i = 0; targets != NULL && targets[i] != NULL; i++) {
		struct spec_mount *mount = &row->spec.mounts[row->spec.mount_count];

		if (i == SPEC_MOUNTS_MAX || !is_shared(manager, targets[i]))
			return error_set(err, ERR_INVALID,
			                 "mounts: '%.80s' is not among the directories this server "
			                 "offers (--tools-dir, --skills-dir, --mounts)",
			                 targets[i]);
		(void)snprintf(mount->target, sizeof mount->target, "%s", targets[i]);
		row->spec.mount_count++;
	}
	return 0;
}

/* --- the engine --- */

bool sandbox_has_engine(const struct manager *manager, const struct sandbox_row *row)
{
	return strcmp(row->engine, manager->engine->ops->name) == 0;
}

int sandbox_check_engine(const struct sandbox *sandbox, struct error *err)
{
	if (sandbox_has_engine(sandbox->manager, &sandbox->row))
		return 0;
	return error_set(err, ERR_UNSUPPORTED,
	                 "sandbox %s was made by the %s engine, and this is the %s engine: use "
	                 "another sandbox, or start belljar with --engine %s",
	                 sandbox->row.spec.id, sandbox->row.engine,
	                 sandbox->manager->engine->ops->name, sandbox->row.engine);
}

/* --- environment --- */

static bool has_variable(const char *variable, char *const *env, size_t count)
{
	size_t len = strcspn(variable, "=") + 1;

	for (size_t i = 0; i < count; i++)
		if (strncmp(env[i], variable, len) == 0)
			return true;
	return false;
}

/* Variables that the sandbox's creator set take precedence over those of its devices, and both over
 * PYTHONPATH. */
char **sandbox_make_env(const struct sandbox *sandbox)
{
	const struct manager_config *config = &sandbox->manager->config;
	char **devices = config->device_env != NULL
	                         ? config->device_env(config->ctx, &sandbox->row.spec)
	                         : NULL;
	char *network[SANDBOX_NETWORK_ENV_MAX];
	size_t network_count = sandbox_network_env(sandbox, network);
	size_t max = 3 + network_count, count = 0; /* PYTHONPATH, PATH and the NULL */
	char **env;

	for (const char *at = sandbox->row.env; *at != '\0'; at += strlen(at) + 1)
		max++;
	for (size_t i = 0; devices != NULL && devices[i] != NULL; i++)
		max++;
	env = mem_new(max * sizeof *env);
	for (const char *at = sandbox->row.env; *at != '\0'; at += strlen(at) + 1)
		env[count++] = mem_dup(at);
	for (size_t i = 0; devices != NULL && devices[i] != NULL; i++)
		if (!has_variable(devices[i], env, count))
			env[count++] = mem_dup(devices[i]);
	for (size_t i = 0; i < network_count; i++)
		if (has_variable(network[i], env, count))
			free(network[i]);
		else
			env[count++] = network[i];
	/* With PYTHONPATH, Python code can import the modules in the user's tools directory. */
	if (has_mount(&sandbox->row.spec, TOOLS_TARGET) && !has_variable("PYTHONPATH=", env, count))
		env[count++] = mem_dup("PYTHONPATH=" TOOLS_TARGET);
	if (sandbox->path[0] != '\0' && !has_variable("PATH=", env, count))
		env[count++] = mem_format("PATH=" SPEC_HOME "/.local/bin:" SPEC_PYTHON
		                          "/bin:%s:/" ROOT_PROGRAMS,
		                          sandbox->path);
	sandbox_free_env(devices);
	return env;
}

void sandbox_set_path(struct sandbox *sandbox, const char *path)
{
	if (strcmp(sandbox->path, path) == 0)
		return;
	(void)snprintf(sandbox->path, sizeof sandbox->path, "%s", path);
	sandbox_free_env(sandbox->env);
	sandbox->env = NULL;
}

void sandbox_free_env(char **env)
{
	for (size_t i = 0; env != NULL && env[i] != NULL; i++)
		free(env[i]);
	free(env);
}

void sandbox_lower_limits(struct sandbox *sandbox)
{
	const struct manager_config *config = &sandbox->manager->config;
	struct spec *spec = &sandbox->row.spec;
	char was[SPEC_VALUE_SIZE], now[SPEC_VALUE_SIZE];

	for (size_t i = 0; i < spec_limit_count; i++) {
		uint64_t value = spec_limits_get(&spec->limits, i);
		uint64_t max = spec_limits_get(&config->limits_max, i);
		size_t used = strlen(sandbox->lowered);

		if (value <= max)
			continue;
		spec_limits_set(&spec->limits, i, max);
		(void)snprintf(sandbox->lowered + used, sizeof sandbox->lowered - used,
		               "%s%s: %s instead of %s", used != 0 ? ", " : "", spec_limits[i].name,
		               spec_limit_text(i, max, now), spec_limit_text(i, value, was));
	}
	spec->gpus &= config->gpus_max;
	if (sandbox->lowered[0] != '\0')
		log_info("sandbox %s has lower limits than it was created with: %s", spec->id,
		         sandbox->lowered);
}

const char *sandbox_lowered_limits(const struct sandbox *sandbox)
{
	return sandbox->lowered;
}
