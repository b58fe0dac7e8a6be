/* gpu_env.c - the environment variables that programs need to use their graphics processors (see
 * internal.h). */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/native/cdi/cdi.h"
#include "server/runtime/internal.h"

static const char library_path[] = "LD_LIBRARY_PATH=";

struct variables {
	char **texts;
	size_t count;
};

/* The index of the variable of the same name; `count` if there is none. */
static size_t find_variable(const struct variables *variables, const char *variable)
{
	size_t len = strcspn(variable, "=") + 1, i = 0;

	while (i < variables->count && strncmp(variables->texts[i], variable, len) != 0)
		i++;
	return i;
}

static void add_variable(struct variables *variables, const char *variable)
{
	size_t i = find_variable(variables, variable);
	char *joined;

	if (i == variables->count) {
		variables->texts = mem_resize(variables->texts,
		                              (variables->count + 2) * sizeof *variables->texts);
		variables->texts[variables->count++] = mem_dup(variable);
		variables->texts[variables->count] = NULL;
	} else if (strncmp(variable, library_path, sizeof library_path - 1) == 0 &&
	           strcmp(variable, variables->texts[i]) != 0) {
		joined = mem_format("%s:%s", variables->texts[i],
		                    variable + sizeof library_path - 1);
		free(variables->texts[i]);
		variables->texts[i] = joined;
	}
}

char **gpu_env(const struct cdi *gpus, uint64_t chosen)
{
	struct variables variables = { .texts = mem_array(1, sizeof(char *)) };

	for (size_t i = 0; gpus != NULL && i < gpus->count; i++)
		for (size_t k = 0; (chosen >> i & 1) != 0 && k < gpus->devices[i].env_count; k++)
			add_variable(&variables, gpus->devices[i].env[k]);
	return variables.texts;
}
