#include "sandbox/porter/porter.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/process/helper.h"
#include "sandbox/porter/internal.h"

static int allow_options(struct porter_slots *slots, const struct porter_config *config,
                         struct error *err)
{
	AUTO_FREE char *copy = mem_dup(config->paths != NULL ? config->paths : "");
	char *save = NULL;

	for (char *path = strtok_r(copy, ":", &save); path != NULL;
	     path = strtok_r(NULL, ":", &save))
		if (porter_slots_allow(slots, path, err) < 0)
			return error_wrap(err, "allow-path");
	return config->directory != NULL ? porter_slots_allow(slots, config->directory, err) : 0;
}

static int fork_porter(struct porter *porter, struct porter_slots *slots, struct error *err)
{
	if (helper_start("porter", porter_serve, slots, &porter->pid, &porter->socket, err) < 0)
		return -1;
	return helper_wait("porter", porter->socket, err);
}

int porter_start(const struct porter_config *config, struct porter *ret, struct error *err)
{
	struct porter porter = { .socket = -1 };
	struct porter_slots slots = { .accepts_roots = config->accepts_roots,
		                      .state = config->state,
		                      .exports = config->exports };
	int r = allow_options(&slots, config, err);

	if (r == 0 && (slots.fixed != 0 || slots.accepts_roots))
		r = fork_porter(&porter, &slots, err);
	for (; r == 0 && porter.count < slots.fixed; porter.count++)
		porter.directories[porter.count] = mem_dup(slots.at[porter.count].path);
	porter_slots_done(&slots);
	if (r < 0)
		porter_stop(&porter);
	else
		*ret = porter;
	return r;
}

void porter_stop(struct porter *porter)
{
	helper_stop(&porter->pid, &porter->socket);
	for (size_t i = 0; i < porter->count; i++)
		free(porter->directories[i]);
	porter->count = 0;
}
