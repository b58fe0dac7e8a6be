#include "engine/native/cdi/cdi_spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "engine/native/cdi/cdi_check.h"
#include "engine/native/cdi/cdi_doc.h"
#include "engine/native/cdi/cdi_edits.h"

void cdi_spec_done(struct cdi_spec *spec)
{
	for (size_t i = 0; i < spec->count; i++)
		cdi_device_done(&spec->devices[i]);
	free(spec->devices);
	*spec = (struct cdi_spec){ 0 };
}

/* The next number of a version, at most two digits. */
static bool take_part(const char **text, unsigned *ret)
{
	size_t len = strspn(*text, "0123456789");

	if (len == 0 || len > 2 || (len == 2 && **text == '0'))
		return false;
	*ret = 0;
	for (; len != 0; len--)
		*ret = *ret * 10 + (unsigned)(*(*text)++ - '0');
	return true;
}

static int read_version(const struct cdi_doc *value, unsigned *ret, struct error *err)
{
	const char *text, *rest;
	unsigned major, minor, patch, version;
	char shown[64];

	if (cdi_doc_text(value, &text, err) < 0)
		return -1;
	rest = text;
	if (!take_part(&rest, &major) || *rest++ != '.' || !take_part(&rest, &minor) ||
	    *rest++ != '.' || !take_part(&rest, &patch) || *rest != '\0')
		return error_set(err, ERR_INVALID, "'%s' is no version like 0.5.0",
		                 utf8_escape(view_of(text), shown, sizeof shown));
	version = major * 100 + minor;
	if (version < CDI_VERSION_FIRST || (major == 0 && minor > CDI_VERSION_ZERO_LAST) ||
	    major > 1)
		return error_set(err, ERR_UNSUPPORTED,
		                 "'%s' is not understood: 0.%d to 0.%d and 1.x are", text,
		                 CDI_VERSION_FIRST, CDI_VERSION_ZERO_LAST);
	*ret = version;
	return 0;
}

static int check_annotations(const struct cdi_doc *map, struct error *err)
{
	const struct cdi_doc *value = cdi_doc_member(map, "annotations");
	const char *text;

	if (value == NULL)
		return 0;
	if (cdi_doc_is(value, CDI_DOC_MAP, err) < 0)
		return error_wrap(err, "annotations");
	for (const struct cdi_doc *child = value->first; child != NULL; child = child->next)
		if (cdi_doc_text(child, &text, err) < 0)
			return error_wrap(err, "annotations");
	return 0;
}

/* A newer version may add to containerEdits what changes nothing for who does not know it. What
 * it adds here could change what a device is. */
static int check_fields(const struct cdi_doc *value, const struct cdi_field *fields, size_t count,
                        unsigned version, struct error *err)
{
	unsigned known = version <= CDI_VERSION_LAST ? version : CDI_VERSION_LAST;

	if (cdi_fields_check(value, fields, count, known, err) < 0)
		return -1;
	return check_annotations(value, err);
}

struct file {
	const char *kind;
	unsigned version;
	const struct cdi_doc *edits; /* for every device; NULL: none */
};

static int name_device(const struct cdi_spec *spec, const struct file *file,
                       const struct cdi_doc *value, struct cdi_device *device, struct error *err)
{
	const char *name;
	int len;

	if (cdi_doc_text(cdi_doc_member(value, "name"), &name, err) < 0 ||
	    cdi_check_name(name, err) < 0)
		return error_wrap(err, "name");
	len = snprintf(device->name, sizeof device->name, "%s=%s", file->kind, name);
	if (len < 0 || (size_t)len >= sizeof device->name)
		return error_set(err, ERR_LIMIT,
		                 "name: with the kind in front it has more than %zu bytes",
		                 sizeof device->name - 1);
	for (size_t i = 0; i < spec->count; i++)
		if (strcmp(spec->devices[i].name, device->name) == 0)
			return error_set(err, ERR_INVALID, "name: '%s' is there already", name);
	return 0;
}

static int read_device(struct cdi_spec *spec, const struct file *file, const struct cdi_doc *value,
                       struct error *err)
{
	static const struct cdi_field fields[] = {
		{ "name", 0 },
		{ "annotations", 6 },
		{ "containerEdits", 0 },
	};
	CLEANUP(cleanup_cdi_edits) struct cdi_edits edits = { 0 };
	const struct cdi_doc *own;

	if (check_fields(value, fields, ARRAY_LEN(fields), file->version, err) < 0 ||
	    name_device(spec, file, value, &edits.device, err) < 0)
		return -1;
	if (file->edits != NULL && cdi_edits_add(&edits, file->edits, file->version, err) < 0)
		return error_wrap(err, "containerEdits of the file");
	own = cdi_doc_member(value, "containerEdits");
	if (own != NULL && cdi_edits_add(&edits, own, file->version, err) < 0)
		return error_wrap(err, "containerEdits");
	if (edits.left_out_count != 0 && spec->left_out_count == 0) {
		spec->left_out_count = edits.left_out_count;
		memcpy(spec->left_out, edits.left_out, sizeof spec->left_out);
	}
	cdi_edits_finish(&edits, &spec->devices[spec->count]);
	spec->count++;
	return 0;
}

static int read_devices(struct cdi_spec *spec, const struct file *file, const struct cdi_doc *list,
                        struct error *err)
{
	if (cdi_doc_is(list, CDI_DOC_LIST, err) < 0)
		return error_wrap(err, "devices");
	if (list->count == 0)
		return error_set(err, ERR_INVALID, "devices: there is none");
	if (list->count > CDI_SPEC_DEVICES_MAX)
		return error_set(err, ERR_LIMIT, "devices: more than %d", CDI_SPEC_DEVICES_MAX);
	spec->devices = mem_array(list->count, sizeof *spec->devices);
	for (const struct cdi_doc *item = list->first; item != NULL; item = item->next)
		if (read_device(spec, file, item, err) < 0)
			return error_wrap(err, "devices[%zu]", spec->count);
	return 0;
}

static int read_spec(struct cdi_spec *spec, const struct cdi_doc *root, struct error *err)
{
	static const struct cdi_field fields[] = {
		{ "cdiVersion", 0 }, { "kind", 0 },           { "annotations", 6 },
		{ "devices", 0 },    { "containerEdits", 0 },
	};
	struct file file = { 0 };

	if (cdi_doc_is(root, CDI_DOC_MAP, err) < 0)
		return error_wrap(err, "the whole");
	if (read_version(cdi_doc_member(root, "cdiVersion"), &file.version, err) < 0)
		return error_wrap(err, "cdiVersion");
	if (check_fields(root, fields, ARRAY_LEN(fields), file.version, err) < 0)
		return -1;
	if (cdi_doc_text(cdi_doc_member(root, "kind"), &file.kind, err) < 0 ||
	    cdi_check_kind(file.kind, err) < 0)
		return error_wrap(err, "kind");
	file.edits = cdi_doc_member(root, "containerEdits");
	return read_devices(spec, &file, cdi_doc_member(root, "devices"), err);
}

int cdi_spec_read(struct view bytes, struct cdi_spec *ret, struct error *err)
{
	CLEANUP(cleanup_cdi_spec) struct cdi_spec spec = { 0 };
	struct arena arena = { 0 };
	const struct cdi_doc *root;
	int done = cdi_doc_read(bytes, &arena, &root, err);

	if (done == 0)
		done = read_spec(&spec, root, err);
	arena_done(&arena);
	if (done < 0)
		return -1;
	*ret = spec;
	spec = (struct cdi_spec){ 0 };
	return 0;
}
