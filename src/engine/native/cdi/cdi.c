#include "engine/native/cdi/cdi.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "engine/native/cdi/internal.h"

enum { FILES_MAX = 256, PROBLEMS_MAX = 64 * 1024, FILE_SHOWN = 512 };

/* The file that describes a device. CDI says that a name which two files of one directory describe
 * is ambiguous, and that a later directory has precedence. */
struct origin {
	char *file;
	size_t directory;
	bool is_ambiguous;
};

struct reading {
	struct cdi *cdi;
	struct origin origins[CDI_DEVICES_MAX]; /* of cdi->devices, by index */
	struct buf problems;
};

struct cdi *cdi_free(struct cdi *cdi)
{
	if (cdi == NULL)
		return NULL;
	for (size_t i = 0; i < cdi->count; i++)
		cdi_device_done(&cdi->devices[i]);
	free(cdi->problems);
	free(cdi);
	return NULL;
}

static bool is_mounted(const struct cdi_device *device, const char *path)
{
	for (size_t i = 0; i < device->mount_count; i++)
		if (strcmp(device->mounts[i].path, path) == 0)
			return true;
	return false;
}

/* True if both paths lead to the same regular file, through any number of links. */
static bool is_same_file(const char *path, const char *other)
{
	struct stat st, other_st;

	return stat(path, &st) == 0 && stat(other, &other_st) == 0 && S_ISREG(st.st_mode) &&
	       st.st_dev == other_st.st_dev && st.st_ino == other_st.st_ino;
}

/* The first `len` bytes of the path, then `end`. False: it does not fit. */
static bool join_name(char out[CDI_PATH_MAX + 1], const char *path, size_t len, const char *end)
{
	int n = snprintf(out, CDI_PATH_MAX + 1, "%.*s%s", (int)len, path, end);

	return n > 0 && n <= CDI_PATH_MAX;
}

static void add_short_names_of(struct cdi_device *device, const struct cdi_mount *of)
{
	static const char *const ends[] = { "",   ".0", ".1", ".2", ".3", ".4",
		                            ".5", ".6", ".7", ".8", ".9" };
	const char *name = strrchr(of->path, '/') + 1;
	const char *host_name = strrchr(of->host_path, '/') + 1;
	const char *so = strstr(name, ".so.");

	/* If the mount renames the file, the links beside it on the host do not fit the new
	 * name. */
	if (strncmp(name, "lib", 3) != 0 || so == NULL || strcmp(name, host_name) != 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		size_t kept = (size_t)(so + 3 - name);
		struct cdi_mount link = { 0 };
		char host_link[CDI_PATH_MAX + 1];

		if (device->mount_count == CDI_MOUNTS_MAX ||
		    !join_name(host_link, of->host_path, (size_t)(host_name - of->host_path) + kept,
		               ends[i]) ||
		    !join_name(link.path, of->path, (size_t)(name - of->path) + kept, ends[i]) ||
		    is_mounted(device, link.path) || !is_same_file(host_link, of->host_path))
			continue;
		memcpy(link.host_path, of->host_path, sizeof link.host_path);
		device->mounts = mem_resize(device->mounts,
		                            (device->mount_count + 1) * sizeof link);
		device->mounts[device->mount_count++] = link;
	}
}

/* Specifications mount a library under its file name, libcuda.so.535.104.05. Programs ask for its
 * soname, libcuda.so.1, a link that a hook would create with ldconfig. Hooks are not run, but the
 * host has the same links beside the file: for each link found there the file is mounted a second
 * time under the link's name. */
static void add_short_names(struct cdi_device *device)
{
	size_t described = device->mount_count;

	for (size_t i = 0; i < described; i++) {
		struct cdi_mount of = device->mounts[i]; /* a copy: adding moves the array */

		add_short_names_of(device, &of);
	}
}

/* Adds a line to cdi->problems. Lines that do not fit into PROBLEMS_MAX are left out. */
static void report_problem(struct reading *r, const char *file, const char *what)
{
	buf_putf(&r->problems, "%s: %s\n", UTF8_ESCAPED(view_of(file), FILE_SHOWN), what);
}

static void mark_ambiguous(struct reading *r, const char *file, const char *name,
                           struct origin *origin)
{
	char what[CDI_PATH_MAX + 512];

	(void)snprintf(what, sizeof what, "'%s' is also in %s: neither is used", name,
	               UTF8_ESCAPED(view_of(origin->file), FILE_SHOWN));
	report_problem(r, file, what);
	origin->is_ambiguous = true;
}

/* Moves the device into the list, unless another file of the directory has it. False: the list is
 * full. */
static bool add_device(struct reading *r, struct cdi_device *device, const char *file,
                       size_t directory)
{
	struct cdi *cdi = r->cdi;
	size_t i = 0;

	while (i < cdi->count && strcmp(cdi->devices[i].name, device->name) != 0)
		i++;
	if (i == CDI_DEVICES_MAX)
		return false;
	if (i < cdi->count && r->origins[i].directory == directory) {
		mark_ambiguous(r, file, device->name, &r->origins[i]);
		return true;
	}
	if (i < cdi->count) {
		cdi_device_done(&cdi->devices[i]);
		free(r->origins[i].file);
	} else {
		cdi->count++;
	}
	cdi->devices[i] = *device;
	*device = (struct cdi_device){ 0 };
	add_short_names(&cdi->devices[i]);
	r->origins[i] = (struct origin){ .file = mem_dup(file), .directory = directory };
	return true;
}

static void add_spec(struct reading *r, struct cdi_spec *spec, const char *file, size_t directory)
{
	char what[CDI_PATH_MAX + 256];
	size_t surplus = 0;

	for (size_t i = 0; i < spec->count; i++)
		surplus += !add_device(r, &spec->devices[i], file, directory);
	if (surplus != 0) {
		(void)snprintf(what, sizeof what,
		               "%zu of its devices are left out: there can be at most %d", surplus,
		               CDI_DEVICES_MAX);
		report_problem(r, file, what);
	}
	if (spec->skipped_mounts != 0) {
		(void)snprintf(
		        what, sizeof what,
		        "note: %zu of its mounts are left out, the first is '%s' (sockets and "
		        "firmware are of no use in a sandbox)",
		        spec->skipped_mounts, spec->skipped_mount);
		report_problem(r, file, what);
	}
}

static void read_file(struct reading *r, const char *path, size_t directory)
{
	CLEANUP(cleanup_cdi_spec) struct cdi_spec spec = { 0 };
	AUTO_BUF struct buf bytes;
	struct error err;

	buf_init(&bytes, CDI_BYTES_MAX);
	if (fd_read_file(path, &bytes, &err) < 0 ||
	    cdi_spec_read(buf_view(&bytes), view_ends(view_of(path), ".json") ? CDI_JSON : CDI_YAML,
	                  &spec, &err) < 0)
		report_problem(r, path, err.msg);
	else
		add_spec(r, &spec, path, directory);
}

static int is_specification(const struct dirent *entry)
{
	struct view name = view_of(entry->d_name);

	return strrchr(name.ptr, '.') != name.ptr &&
	       (view_ends(name, ".json") || view_ends(name, ".yaml") || view_ends(name, ".yml"));
}

/* Files are read in the order of their names: the position of a device in the list is its bit in
 * spec.gpus, and must not depend on the order of directory entries. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int read_directory(struct reading *r, const char *path, size_t directory, struct error *err)
{
	struct dirent **entries = NULL;
	int count = scandir(path, &entries, is_specification, by_name);

	if (count < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (count < 0)
		return error_sys(err, "read the directory '%s'", path);
	if (count > FILES_MAX)
		report_problem(r, path, "more than 256 files: only the first 256 are read");
	for (int i = 0; i < count; i++) {
		AUTO_FREE char *file = mem_format("%s/%s", path, entries[i]->d_name);

		if (i < FILES_MAX)
			read_file(r, file, directory);
		free(entries[i]);
	}
	free(entries);
	return 0;
}

static void remove_ambiguous(struct reading *r)
{
	struct cdi *cdi = r->cdi;
	size_t kept = 0;

	for (size_t i = 0; i < cdi->count; i++) {
		if (r->origins[i].is_ambiguous) {
			cdi_device_done(&cdi->devices[i]);
			continue;
		}
		if (kept != i) {
			cdi->devices[kept] = cdi->devices[i];
			cdi->devices[i] = (struct cdi_device){ 0 };
		}
		kept++;
	}
	cdi->count = kept;
}

int cdi_read(const char *const directories[], struct cdi **ret, struct error *err)
{
	AUTO(cdi) struct cdi *cdi = mem_new(sizeof *cdi);
	struct reading r = { .cdi = cdi };
	int done = 0;

	buf_init(&r.problems, PROBLEMS_MAX);
	for (size_t i = 0; done == 0 && directories[i] != NULL; i++)
		done = read_directory(&r, directories[i], i, err);
	remove_ambiguous(&r);
	for (size_t i = 0; i < CDI_DEVICES_MAX; i++)
		free(r.origins[i].file);
	if (r.problems.len != 0)
		cdi->problems = mem_dup_len(r.problems.ptr, r.problems.len - 1);
	buf_done(&r.problems);
	if (done < 0)
		return -1;
	*ret = TAKE_PTR(cdi);
	return 0;
}
