/* internal.h - what the files of this folder share, in the order in which a specification passes
 * through them: text to json_t (cdi_yaml.c), checked fields (cdi_field.c), one file's devices
 * (cdi_spec.c), one device's edits (cdi_edits.c), and what paths and names may be (cdi_check.c).
 * cdi_select.c then chooses devices as a user names them. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/view.h"
#include "engine/native/cdi/cdi.h"
#include "json/json.h"

struct error;

/* Limits of one file. The parser enforces them, before any field is interpreted. */
enum {
	CDI_BYTES_MAX = 1024 * 1024,
	CDI_DEPTH_MAX = 12,
	CDI_VALUES_MAX = 50000,
	CDI_ANNOTATIONS_MAX = 64,
	CDI_SPEC_DEVICES_MAX = 128,
};

/* Limits of one device. */
enum {
	CDI_NODES_MAX = 128,
	CDI_MOUNTS_MAX = 256,
	CDI_ENV_MAX = 64,
	CDI_LIBRARY_DIRS_MAX = 64,
};

/* A version as one number: 0.7 is 7, 1.0 is 100. Files of a later 1.x are accepted; fields that
 * such a version added to containerEdits are ignored. */
enum { CDI_VERSION_FIRST = 3, CDI_VERSION_ZERO_LAST = 8, CDI_VERSION_LAST = 101 };

/* --- cdi_yaml.c --- */

/* Reads one YAML document into the JSON value it stands for. Fails for everything that JSON cannot
 * express or that is used for attacks: anchors and aliases (a short text expands to gigabytes),
 * tags, directives, several documents, keys that are not text, duplicate keys. The caller owns
 * *ret. */
MUST_CHECK int cdi_yaml_read(struct view bytes, json_t **ret, struct error *err);

/* --- cdi_field.c --- */

enum cdi_type { CDI_TEXT, CDI_NUMBER, CDI_BOOLEAN, CDI_ARRAY, CDI_OBJECT };

/* One field that an object may have. After cdi_check_fields() the getters of json.h cannot fail on
 * it, except that an optional field may be absent. */
struct cdi_field {
	const char *name;
	enum cdi_type type;
	unsigned since; /* the first version that has the field */
	bool is_required;
	uint64_t max;                  /* of a number */
	const struct cdi_field *items; /* what each item of an array must be, or NULL */
};

/* Fails unless `object` is an object whose fields are all in the list, of the right type, and not
 * newer than the file's own version. A field with the value null counts as absent. */
MUST_CHECK int cdi_check_fields(json_t *object, const struct cdi_field *fields, size_t count,
                                unsigned version, struct error *err);
/* Checks a single value, which is missing if it is NULL. Only the field's type and max count. */
MUST_CHECK int cdi_check_value(const json_t *value, const struct cdi_field *field,
                               struct error *err);
/* A field's value; NULL if it is absent or null. */
json_t *cdi_field(const json_t *object, const char *key);

/* --- cdi_spec.c --- */

enum cdi_syntax { CDI_YAML, CDI_JSON };

/* The devices of one file. */
struct cdi_spec {
	struct cdi_device *devices;
	size_t count;
	size_t skipped_mounts;
	char skipped_mount[CDI_PATH_MAX + 1]; /* the first of them */
};

/* Accesses no file. One mistake makes the whole specification fail. The struct is the caller's, who
 * calls cdi_spec_done() after success. */
MUST_CHECK int cdi_spec_read(struct view bytes, enum cdi_syntax syntax, struct cdi_spec *ret,
                             struct error *err);
void cdi_spec_done(struct cdi_spec *spec);
static inline void cleanup_cdi_spec(struct cdi_spec *spec)
{
	cdi_spec_done(spec);
}

/* --- cdi_edits.c --- */

/* The "containerEdits" that make up one device, merged: first those of the file, then the device's
 * own, which replace a node, mount or variable of the same name.
 *
 *   { .version = ... } -> cdi_edits_add ... -> cdi_edits_finish -> cdi_edits_done */
struct cdi_edits {
	unsigned version;
	struct cdi_device device;
	char **library_dirs; /* for LD_LIBRARY_PATH */
	size_t library_dir_count;
	size_t skipped_mounts;
	char skipped_mount[CDI_PATH_MAX + 1]; /* the first of them */
};

MUST_CHECK int cdi_edits_add(struct cdi_edits *edits, json_t *value, struct error *err);
/* Moves the device to *ret, with LD_LIBRARY_PATH in its environment. */
void cdi_edits_finish(struct cdi_edits *edits, struct cdi_device *ret);
void cdi_edits_done(struct cdi_edits *edits);
static inline void cleanup_cdi_edits(struct cdi_edits *edits)
{
	cdi_edits_done(edits);
}

void cdi_device_done(struct cdi_device *device);

/* --- cdi_check.c --- */

/* Absolute and in its shortest form, without control characters, at most CDI_PATH_MAX bytes of
 * UTF-8. */
MUST_CHECK int cdi_check_path(const char *path, struct error *err);
/* A device node goes below /dev and replaces none of the nodes every sandbox has. */
MUST_CHECK int cdi_check_node(const char *path, const char *host_path, struct error *err);
/* A mount goes where drivers keep files. *ret_skip: the mount is of no use or dangerous inside, but
 * generators write it, so that the rest of the file stays usable without it. */
MUST_CHECK int cdi_check_mount(const char *path, const char *host_path, bool *ret_skip,
                               struct error *err);
/* NAME=value, where the name does not steer the loader, a shell or an interpreter. */
MUST_CHECK int cdi_check_env(const char *entry, struct error *err);
/* A directory for LD_LIBRARY_PATH, where some characters have a meaning. */
MUST_CHECK int cdi_check_library_dir(const char *path, struct error *err);
/* "vendor.com/class", and the name of one device. */
MUST_CHECK int cdi_check_kind(const char *kind, struct error *err);
MUST_CHECK int cdi_check_name(const char *name, struct error *err);
