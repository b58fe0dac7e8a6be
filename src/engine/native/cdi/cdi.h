/* cdi.h - graphics processors and other devices that sandboxes may get, as described by the
 * machine's administrator in files of the Container Device Interface (CDI).
 *
 * cdi_read() reads the specifications in /etc/cdi and /var/run/cdi (JSON and YAML, versions 0.3 to
 * 1.x) into a list of devices: device nodes, files to mount read-only, environment variables. The
 * files are written by root, but they are parsed and checked like any other input: a file with
 * something that is not understood is skipped as a whole, and the reason is kept in `problems`.
 * Hooks are never run, because a hook is a program of the host that runs as root. The only hook
 * that matters in practice updates the loader's cache; LD_LIBRARY_PATH and extra mounts under a
 * library's short names take its place.
 *
 * Nothing here looks at what a path leads to. The code that mounts has to check on the open file
 * that a mount's host_path is a regular file or a directory (a socket would lead to a process of
 * the host), and that a node's host_path is a device of the type and the numbers given here.
 *
 *   cdi_read -> cdi_select ... -> cdi_free      The caller owns the list. */
#pragma once
#include <stdint.h>

#include "base/attr.h"
#include "base/cleanup.h"

struct error;

enum { CDI_DEVICES_MAX = 64, CDI_PATH_MAX = 511 };

struct cdi_node {
	char path[CDI_PATH_MAX + 1]; /* in the sandbox */
	char host_path[CDI_PATH_MAX + 1];
	char type;            /* 'c', 'b', or 0 if the file does not say */
	int64_t major, minor; /* -1 if the file does not say */
};

struct cdi_mount {
	char host_path[CDI_PATH_MAX + 1];
	char path[CDI_PATH_MAX + 1]; /* in the sandbox */
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
	char *problems; /* one line for each file that was skipped or used in part, or NULL */
};

/* Reads all specifications in `directories`, a list that ends with NULL. A device in a later
 * directory replaces one of the same name in an earlier one. A missing directory is no error. */
MUST_CHECK int cdi_read(const char *const directories[], struct cdi **ret, struct error *err);
struct cdi *cdi_free(struct cdi *cdi);
DEFINE_CLEANUP(cdi)

/* Turns what a user asks for into bits of spec.gpus: "none", "auto" (all devices), a number of
 * devices, or a device's name, whole or only the part after "=". For "auto" and a number each
 * physical device counts once: further names for the same nodes, and names for several devices
 * together, are skipped. */
MUST_CHECK int cdi_select(const struct cdi *cdi, const char *request, uint64_t *ret,
                          struct error *err);
