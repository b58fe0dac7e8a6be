/* runtime_outside.c - what sandboxes may have of the world outside: graphics processors and
 * networks (see internal.h). */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/native/cdi/cdi.h"
#include "server/confine.h"
#include "server/options/options.h"
#include "server/runtime/internal.h"
#include "server/runtime/network.h"
#include "server/runtime/runtime.h"

enum { GPU_DIRECTORIES_MAX = 8 };

/* --- graphics processors --- */

/* A description that cannot be used is logged; the server starts without that device. */
int runtime_read_gpus(const struct options *options, struct runtime_base *base, struct error *err)
{
	AUTO_FREE char *copy = mem_dup(options->cdi_dirs);
	const char *directories[GPU_DIRECTORIES_MAX + 1] = { NULL };
	char *save = NULL;
	size_t count = 0;

	for (char *dir = strtok_r(copy, ":", &save); dir != NULL;
	     dir = strtok_r(NULL, ":", &save)) {
		if (count == GPU_DIRECTORIES_MAX)
			return error_set(err, ERR_LIMIT,
			                 "cdi-dirs: at most %d directories are allowed",
			                 GPU_DIRECTORIES_MAX);
		directories[count++] = dir;
	}
	if (cdi_read(directories, &base->gpus, err) < 0)
		return error_wrap(err, "cdi-dirs");
	if (base->gpus->problems != NULL)
		log_warning("graphics processors: %s", base->gpus->problems);
	return 0;
}

/* Sets the devices that a sandbox may have. A command in a terminal is the operator's own, and may
 * use all of them. */
int runtime_find_gpus_max(const struct options *options, struct runtime_base *base,
                          struct error *err)
{
	const char *which = options->gpu_max != NULL ? options->gpu_max : options->gpu;
	uint64_t initial;

	base->gpus_max = UINT64_MAX;
	if (options->verb != FOR_SERVE || strcmp(which, "auto") == 0)
		return 0;
	if (cdi_select(base->gpus, which, &base->gpus_max, err) < 0)
		return options->gpu_max != NULL ? error_wrap(err, "gpu-max") : -1;
	if (cdi_select(base->gpus, options->gpu, &initial, err) < 0)
		return -1;
	if ((initial & ~base->gpus_max) != 0)
		return error_set(err, ERR_INVALID,
		                 "gpu-max is '%s', which is less than gpu, which is '%s': raise "
		                 "gpu-max or lower gpu",
		                 which, options->gpu);
	return 0;
}

/* --- the network --- */

/* Programs find the roots of this machine and the interceptor's own CA in one file. */
static int start_interceptor(struct runtime_base *base, uid_t id, struct error *err)
{
	const struct network *network = base->network;
	AUTO_FREE char *certificate = NULL;

	if (network->roots != NULL && network->secrets.count == 0)
		log_warning("intercept-tls has no effect without --secret or --secret-file");
	if (network->roots == NULL || network->secrets.count == 0)
		return 0;
	base->intercept_config = (struct intercept_config){ .ceiling = &network->ceiling,
		                                            .secrets = &network->secrets,
		                                            .roots = view_of(network->roots),
		                                            .id = id };
	if (intercept_start(&base->intercept_config, &base->interceptor, &certificate, err) < 0)
		return -1;
	base->trusted = mem_format("%s\n%s", network->roots, certificate);
	return 0;
}

/* A command in a terminal that asks for no network needs no dialer. */
int runtime_start_dialer(const struct options *options, struct runtime_base *base,
                         struct error *err)
{
	struct dialer_config config;

	base->network = mem_new(sizeof *base->network);
	if (network_read(options, base->network, err) < 0)
		return -1;
	config = (struct dialer_config){ .ceiling = &base->network->ceiling,
		                         .id = geteuid() == 0 ? confine_id() : 0 };
	if ((options->verb == FOR_SERVE ? base->network->ceiling.max : options->network) ==
	    NET_MODE_NONE)
		return 0;
	if (dialer_start(&config, &base->dialer, err) < 0)
		return -1;
	return start_interceptor(base, config.id, err);
}
