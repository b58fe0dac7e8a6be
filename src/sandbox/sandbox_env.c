/* sandbox_env.c - the environment a sandbox gives its programs besides the usual: what its maker
 * said, what its devices need, and where the user's own modules are. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sandbox/internal.h"

#define TOOLS "/tools"

static bool is_named_in(const char *variable, char *const *env, size_t count)
{
	size_t len = strcspn(variable, "=") + 1;

	for (size_t i = 0; i < count; i++)
		if (strncmp(env[i], variable, len) == 0)
			return true;
	return false;
}

/* Its modules are there to be imported. */
static bool sees_tools(const struct spec *spec)
{
	for (unsigned i = 0; i < spec->mount_count; i++)
		if (strcmp(spec->mounts[i].target, TOOLS) == 0)
			return true;
	return false;
}

char **sandbox_make_env(const struct sandbox *sandbox)
{
	const struct manager_config *config = &sandbox->manager->config;
	char **devices = config->device_env != NULL
	                         ? config->device_env(config->ctx, &sandbox->row.spec)
	                         : NULL;
	size_t most = 2, count = 0;
	char **env;

	for (const char *at = sandbox->row.env; *at != '\0'; at += strlen(at) + 1)
		most++;
	for (size_t i = 0; devices != NULL && devices[i] != NULL; i++)
		most++;
	env = mem_new(most * sizeof *env);
	for (const char *at = sandbox->row.env; *at != '\0'; at += strlen(at) + 1)
		env[count++] = mem_dup(at);
	for (size_t i = 0; devices != NULL && devices[i] != NULL; i++)
		if (!is_named_in(devices[i], env, count))
			env[count++] = mem_dup(devices[i]);
	if (sees_tools(&sandbox->row.spec) && !is_named_in("PYTHONPATH=", env, count))
		env[count++] = mem_dup("PYTHONPATH=" TOOLS);
	sandbox_free_env(devices);
	return env;
}

void sandbox_free_env(char **env)
{
	for (size_t i = 0; env != NULL && env[i] != NULL; i++)
		free(env[i]);
	free(env);
}
