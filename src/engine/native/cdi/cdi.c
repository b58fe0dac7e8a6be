#include "engine/native/cdi/cdi.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "engine/native/cdi/cdi_doc.h"
#include "engine/native/cdi/cdi_edits.h"
#include "engine/native/cdi/cdi_links.h"
#include "engine/native/cdi/cdi_spec.h"

enum { FILES_MAX = 256, PROBLEMS_MAX = 64 * 1024, FILE_SHOWN = 512 };

/* Where a device came from, and whether a second file of that directory has it too. */
struct origin {
	char *file;
	size_t directory;
	bool disputed;
};

struct reading {
	struct cdi *cdi;
	struct origin origins[CDI_DEVICES_MAX]; /* beside cdi->devices */
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

/* When there is no room for one more, the ones before are enough to begin with. */
static void tell(struct reading *r, const char *file, const char *what)
{
	char shown[FILE_SHOWN];
	struct error ignored;

	(void)!buf_printf(&r->problems, &ignored, "%s: %s\n",
	                  utf8_escape(view_of(file), shown, sizeof shown), what);
}

static void dispute(struct reading *r, const char *file, const char *name, struct origin *origin)
{
	char what[CDI_PATH_MAX + 512], shown[FILE_SHOWN];

	(void)snprintf(what, sizeof what, "'%s' is also in %s: neither is used", name,
	               utf8_escape(view_of(origin->file), shown, sizeof shown));
	tell(r, file, what);
	origin->disputed = true;
}

/* Takes the device over, if it is used. False: there is no room. */
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
		dispute(r, file, device->name, &r->origins[i]);
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
	cdi_links_add(&cdi->devices[i]);
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
		               "%zu of its devices are left out: %d are the most there can be",
		               surplus, CDI_DEVICES_MAX);
		tell(r, file, what);
	}
	if (spec->left_out_count != 0) {
		(void)snprintf(
		        what, sizeof what,
		        "note: %zu of its mounts are left out, the first is '%s' (sockets and "
		        "firmware are not for programs inside)",
		        spec->left_out_count, spec->left_out);
		tell(r, file, what);
	}
}

static void read_one(struct reading *r, const char *path, size_t directory)
{
	CLEANUP(cleanup_cdi_spec) struct cdi_spec spec = { 0 };
	AUTO_BUF struct buf bytes;
	struct error err;

	buf_init(&bytes, CDI_DOC_BYTES_MAX);
	if (fd_read_file(path, &bytes, &err) < 0 ||
	    cdi_spec_read(buf_view(&bytes), &spec, &err) < 0)
		tell(r, path, err.msg);
	else
		add_spec(r, &spec, path, directory);
}

static int is_specification(const struct dirent *entry)
{
	const char *end = strrchr(entry->d_name, '.');

	return end != NULL && end != entry->d_name &&
	       (strcmp(end, ".json") == 0 || strcmp(end, ".yaml") == 0 || strcmp(end, ".yml") == 0);
}

/* In the order of their names, so that the same files make the same list. */
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
		tell(r, path, "more than 256 files: those after the first 256 are not read");
	for (int i = 0; i < count; i++) {
		AUTO_FREE char *file = mem_format("%s/%s", path, entries[i]->d_name);

		if (i < FILES_MAX)
			read_one(r, file, directory);
		free(entries[i]);
	}
	free(entries);
	return 0;
}

static void drop_disputed(struct reading *r)
{
	struct cdi *cdi = r->cdi;
	size_t kept = 0;

	for (size_t i = 0; i < cdi->count; i++) {
		if (r->origins[i].disputed) {
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
	drop_disputed(&r);
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
