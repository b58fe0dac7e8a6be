#include "server/gpu_env.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/native/cdi/cdi.h"

static const char libraries[] = "LD_LIBRARY_PATH=";

struct list {
	char **texts;
	size_t count;
};

/* The entry of the same name, or the end. */
static size_t find(const struct list *list, const char *variable)
{
	size_t len = strcspn(variable, "=") + 1, i = 0;

	while (i < list->count && strncmp(list->texts[i], variable, len) != 0)
		i++;
	return i;
}

static void add(struct list *list, const char *variable)
{
	size_t i = find(list, variable);
	char *joined;

	if (i == list->count) {
		list->texts = mem_resize(list->texts, (list->count + 2) * sizeof *list->texts);
		list->texts[list->count++] = mem_dup(variable);
		list->texts[list->count] = NULL;
	} else if (strncmp(variable, libraries, sizeof libraries - 1) == 0 &&
	           strcmp(variable, list->texts[i]) != 0) {
		joined = mem_format("%s:%s", list->texts[i], variable + sizeof libraries - 1);
		free(list->texts[i]);
		list->texts[i] = joined;
	}
}

char **gpu_env(const struct cdi *gpus, uint64_t chosen)
{
	struct list list = { .texts = mem_array(1, sizeof(char *)) };

	for (size_t i = 0; gpus != NULL && i < gpus->count; i++)
		for (size_t k = 0; (chosen >> i & 1) != 0 && k < gpus->devices[i].env_count; k++)
			add(&list, gpus->devices[i].env[k]);
	return list.texts;
}

void gpu_env_free(char **env)
{
	for (size_t i = 0; env != NULL && env[i] != NULL; i++)
		free(env[i]);
	free(env);
}
