/* cdi.h - graphics processors and the like, as the machine's owner describes them: the Container
 * Device Interface.
 *
 * Reads the specifications in /etc/cdi and /var/run/cdi (JSON and YAML, versions 0.3 to 1.x)
 * into a list of devices: nodes to show, files to mount read-only, environment to set. They are
 * the owner's files, but they are checked as strictly as a stranger's: what is not understood
 * makes that file unusable, with a reason. Hooks are never run: what they do (the loader's
 * cache) is told to the program by LD_LIBRARY_PATH, and by mounts under the short names the host
 * has for a library.
 *
 * What a path leads to is not checked here. Whoever mounts must: a mount's host_path has to be
 * a regular file or a directory, never a socket or a pipe; a node's has to be a device with the
 * type and the numbers given here. */
#pragma once
#include <stdint.h>

#include "base/attr.h"
#include "base/cleanup.h"

struct error;

enum { CDI_DEVICES_MAX = 64, CDI_PATH_MAX = 511 };

struct cdi_node {
	char path[CDI_PATH_MAX + 1];      /* inside */
	char host_path[CDI_PATH_MAX + 1]; /* outside */
	char type;                        /* 'c', 'b', or 0: as it is */
	int64_t major, minor;             /* -1: as it is */
};

struct cdi_mount {
	char host_path[CDI_PATH_MAX + 1], path[CDI_PATH_MAX + 1];
};

struct cdi_device {
	char name[256]; /* vendor.com/class=name */
	struct cdi_node *nodes;
	size_t node_count;
	struct cdi_mount *mounts;
	size_t mount_count;
	char **env; /* NAME=value */
	size_t env_count;
};

struct cdi {
	struct cdi_device devices[CDI_DEVICES_MAX];
	size_t count;
	char *problems; /* one line a file that could not be used, or not all of it; NULL: none */
};

/* Directories later in the list win over earlier ones. A missing one is no error. */
MUST_CHECK int cdi_read(const char *const directories[], struct cdi **ret, struct error *err);
struct cdi *cdi_free(struct cdi *cdi);
DEFINE_CLEANUP(cdi)

/* What a caller asks for: "none", "auto" (all), a number of devices, or a name, whole or after
 * the "=". Sets bits of spec.gpus. "auto" and a number count no device twice: other names of the
 * same nodes, and names for several devices together, are passed over. */
MUST_CHECK int cdi_select(const struct cdi *cdi, const char *wish, uint64_t *ret,
                          struct error *err);
