#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "engine/native/cdi/internal.h"

void cdi_spec_done(struct cdi_spec *spec)
{
	for (size_t i = 0; i < spec->count; i++)
		cdi_device_done(&spec->devices[i]);
	free(spec->devices);
	*spec = (struct cdi_spec){ 0 };
}

/* Reads the next number of a version, of at most two digits. */
static bool read_version_part(const char **text, unsigned *ret)
{
	size_t len = strspn(*text, "0123456789");

	if (len == 0 || len > 2 || (len == 2 && **text == '0'))
		return false;
	*ret = 0;
	for (; len != 0; len--)
		*ret = *ret * 10 + (unsigned)(*(*text)++ - '0');
	return true;
}

static int read_version(json_t *value, unsigned *ret, struct error *err)
{
	static const struct cdi_field version_field = { .type = CDI_TEXT };
	const char *text, *rest;
	unsigned major, minor, patch, version;

	if (cdi_check_value(value, &version_field, err) < 0)
		return -1;
	rest = text = json_as_text(value);
	if (!read_version_part(&rest, &major) || *rest++ != '.' ||
	    !read_version_part(&rest, &minor) || *rest++ != '.' ||
	    !read_version_part(&rest, &patch) || *rest != '\0')
		return error_set(err, ERR_INVALID, "'%s' is not a version such as 0.5.0",
		                 UTF8_ESCAPED(view_of(text), 64));
	/* The patch level changes no field. */
	version = major * 100 + minor;
	if (version < CDI_VERSION_FIRST || (major == 0 && minor > CDI_VERSION_ZERO_LAST) ||
	    major > 1)
		return error_set(err, ERR_UNSUPPORTED,
		                 "'%s' is not supported; 0.%d to 0.%d and 1.x are", text,
		                 CDI_VERSION_FIRST, CDI_VERSION_ZERO_LAST);
	*ret = version;
	return 0;
}

/* Annotations are free text that nothing here uses. */
static int check_annotations(json_t *object, struct error *err)
{
	static const struct cdi_field text = { .type = CDI_TEXT };
	json_t *annotations = json_object_get(object, "annotations"), *item;
	const char *key;

	if (json_object_size(annotations) > CDI_ANNOTATIONS_MAX)
		return error_set(err, ERR_LIMIT, "annotations: more than %d", CDI_ANNOTATIONS_MAX);
	json_object_foreach (annotations, key, item)
		if (cdi_check_value(item, &text, err) < 0)
			return error_wrap(err, "annotations");
	return 0;
}

/* Unknown fields of a later version are ignored only inside containerEdits, where each field adds
 * something on its own. An unknown field here could change what a device is, so the version counts
 * as the last known one. */
static int check_fields(json_t *value, const struct cdi_field *fields, size_t count,
                        unsigned version, struct error *err)
{
	unsigned known = version <= CDI_VERSION_LAST ? version : CDI_VERSION_LAST;

	if (cdi_check_fields(value, fields, count, known, err) < 0)
		return -1;
	return check_annotations(value, err);
}

struct file {
	const char *kind;
	unsigned version;
	json_t *edits; /* apply to every device; or NULL */
};

static int name_device(const struct cdi_spec *spec, const struct file *file, json_t *value,
                       struct cdi_device *device, struct error *err)
{
	const char *name = json_text(value, "name");
	int len;

	if (cdi_check_name(name, err) < 0)
		return error_wrap(err, "name");
	len = snprintf(device->name, sizeof device->name, "%s=%s", file->kind, name);
	if (len < 0 || (size_t)len >= sizeof device->name)
		return error_set(err, ERR_LIMIT,
		                 "name: together with the kind it has more than %zu bytes",
		                 sizeof device->name - 1);
	for (size_t i = 0; i < spec->count; i++)
		if (strcmp(spec->devices[i].name, device->name) == 0)
			return error_set(err, ERR_INVALID, "name: '%s' is the name of two devices",
			                 name);
	return 0;
}

static int read_device(struct cdi_spec *spec, const struct file *file, json_t *value,
                       struct error *err)
{
	static const struct cdi_field fields[] = {
		{ "name", .type = CDI_TEXT, .is_required = true },
		{ "annotations", .type = CDI_OBJECT, .since = 6 },
		{ "containerEdits", .type = CDI_OBJECT },
	};
	CLEANUP(cleanup_cdi_edits) struct cdi_edits edits = { .version = file->version };
	json_t *own;

	if (check_fields(value, fields, ARRAY_LEN(fields), file->version, err) < 0 ||
	    name_device(spec, file, value, &edits.device, err) < 0)
		return -1;
	if (file->edits != NULL && cdi_edits_add(&edits, file->edits, err) < 0)
		return error_wrap(err, "containerEdits of the file");
	own = cdi_field(value, "containerEdits");
	if (own != NULL && cdi_edits_add(&edits, own, err) < 0)
		return error_wrap(err, "containerEdits");
	/* The edits of the file come with every device: counting the first device is enough to
	 * report the mounts that are skipped. */
	if (edits.skipped_mounts != 0 && spec->skipped_mounts == 0) {
		spec->skipped_mounts = edits.skipped_mounts;
		memcpy(spec->skipped_mount, edits.skipped_mount, sizeof spec->skipped_mount);
	}
	cdi_edits_finish(&edits, &spec->devices[spec->count]);
	spec->count++;
	return 0;
}

static int read_devices(struct cdi_spec *spec, const struct file *file, json_t *list,
                        struct error *err)
{
	json_t *item;
	size_t i;

	if (json_array_size(list) == 0)
		return error_set(err, ERR_INVALID, "devices: the list is empty");
	if (json_array_size(list) > CDI_SPEC_DEVICES_MAX)
		return error_set(err, ERR_LIMIT, "devices: more than %d", CDI_SPEC_DEVICES_MAX);
	spec->devices = mem_array(json_array_size(list), sizeof *spec->devices);
	json_array_foreach (list, i, item)
		if (read_device(spec, file, item, err) < 0)
			return error_wrap(err, "devices[%zu]", i);
	return 0;
}

static int read_spec(struct cdi_spec *spec, json_t *root, struct error *err)
{
	static const struct cdi_field fields[] = {
		{ "cdiVersion", .type = CDI_TEXT },
		{ "kind", .type = CDI_TEXT, .is_required = true },
		{ "annotations", .type = CDI_OBJECT, .since = 6 },
		{ "devices", .type = CDI_ARRAY, .is_required = true },
		{ "containerEdits", .type = CDI_OBJECT },
	};
	struct file file = { 0 };

	if (!json_is_object(root))
		return error_set(err, ERR_INVALID, "the file must hold an object");
	if (read_version(cdi_field(root, "cdiVersion"), &file.version, err) < 0)
		return error_wrap(err, "cdiVersion");
	if (check_fields(root, fields, ARRAY_LEN(fields), file.version, err) < 0)
		return -1;
	file.kind = json_text(root, "kind");
	file.edits = cdi_field(root, "containerEdits");
	if (cdi_check_kind(file.kind, err) < 0)
		return error_wrap(err, "kind");
	return read_devices(spec, &file, json_object_get(root, "devices"), err);
}

static int parse_text(struct view bytes, enum cdi_syntax syntax, json_t **ret, struct error *err)
{
	static const struct json_limits limits = { .depth = CDI_DEPTH_MAX,
		                                   .values = CDI_VALUES_MAX };

	/* The size bounds the memory of the parsers, which allocate a multiple of it. */
	if (bytes.len > CDI_BYTES_MAX)
		return error_set(err, ERR_LIMIT, "more than %d bytes", CDI_BYTES_MAX);
	if (syntax == CDI_YAML)
		return cdi_yaml_read(bytes, ret, err);
	if (json_read(bytes, &limits, ret, NULL, err) < 0)
		return err->kind == ERR_SYNTAX ? error_wrap(err, "not JSON") : -1;
	return 0;
}

int cdi_spec_read(struct view bytes, enum cdi_syntax syntax, struct cdi_spec *ret,
                  struct error *err)
{
	CLEANUP(cleanup_cdi_spec) struct cdi_spec spec = { 0 };
	AUTO_JSON json_t *root = NULL;

	if (parse_text(bytes, syntax, &root, err) < 0 || read_spec(&spec, root, err) < 0)
		return -1;
	*ret = spec;
	spec = (struct cdi_spec){ 0 };
	return 0;
}
