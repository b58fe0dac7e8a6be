#include "engine/native/cdi/cdi_links.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "engine/native/cdi/cdi.h"
#include "engine/native/cdi/cdi_edits.h"

static bool is_mounted(const struct cdi_device *device, const char *path)
{
	for (size_t i = 0; i < device->mount_count; i++)
		if (strcmp(device->mounts[i].path, path) == 0)
			return true;
	return false;
}

/* The same file by another name, through however many links. */
static bool is_same_file(const char *path, const char *other)
{
	struct stat st, other_st;

	return stat(path, &st) == 0 && stat(other, &other_st) == 0 && S_ISREG(st.st_mode) &&
	       st.st_dev == other_st.st_dev && st.st_ino == other_st.st_ino;
}

/* path, up to and with ".so" at `so`, then `end`. */
static bool make_name(char *out, const char *path, size_t len, const char *end)
{
	int n = snprintf(out, CDI_PATH_MAX + 1, "%.*s%s", (int)len, path, end);

	return n > 0 && n <= CDI_PATH_MAX;
}

static void add_links(struct cdi_device *device, const struct cdi_mount *of)
{
	static const char *const ends[] = { "",   ".0", ".1", ".2", ".3", ".4",
		                            ".5", ".6", ".7", ".8", ".9" };
	const char *name = strrchr(of->path, '/') + 1;
	const char *host_name = strrchr(of->host_path, '/') + 1;
	const char *so = strstr(name, ".so.");

	/* One name on both sides, or the link's name says nothing about the file inside. */
	if (strncmp(name, "lib", 3) != 0 || so == NULL || strcmp(name, host_name) != 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		size_t kept = (size_t)(so + 3 - name);
		struct cdi_mount link = { 0 };
		char host_link[CDI_PATH_MAX + 1];

		if (device->mount_count == CDI_MOUNTS_MAX ||
		    !make_name(host_link, of->host_path, (size_t)(host_name - of->host_path) + kept,
		               ends[i]) ||
		    !make_name(link.path, of->path, (size_t)(name - of->path) + kept, ends[i]) ||
		    is_mounted(device, link.path) || !is_same_file(host_link, of->host_path))
			continue;
		memcpy(link.host_path, of->host_path, sizeof link.host_path);
		device->mounts = mem_resize(device->mounts,
		                            (device->mount_count + 1) * sizeof link);
		device->mounts[device->mount_count++] = link;
	}
}

void cdi_links_add(struct cdi_device *device)
{
	size_t described = device->mount_count;

	for (size_t i = 0; i < described; i++) {
		struct cdi_mount of = device->mounts[i]; /* the array may move */

		add_links(device, &of);
	}
}
