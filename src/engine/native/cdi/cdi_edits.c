#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "engine/native/cdi/internal.h"

#define LIBRARY_PATH "LD_LIBRARY_PATH"

static const struct cdi_field text_item = { .type = CDI_TEXT };

void cdi_device_done(struct cdi_device *device)
{
	for (size_t i = 0; i < device->env_count; i++)
		free(device->env[i]);
	free(device->env);
	free(device->nodes);
	free(device->mounts);
	*device = (struct cdi_device){ 0 };
}

void cdi_edits_done(struct cdi_edits *edits)
{
	cdi_device_done(&edits->device);
	for (size_t i = 0; i < edits->library_dir_count; i++)
		free(edits->library_dirs[i]);
	free(edits->library_dirs);
	*edits = (struct cdi_edits){ 0 };
}

/* Copies a checked path to `out`, which has CDI_PATH_MAX + 1 bytes. */
static int read_path(json_t *value, const char *key, char *out, struct error *err)
{
	const char *path = json_text(value, key);

	if (cdi_check_path(path, err) < 0)
		return error_wrap(err, "%s", key);
	(void)snprintf(out, CDI_PATH_MAX + 1, "%s", path);
	return 0;
}

static const char *text_or_default(json_t *value, const char *key, const char *absent)
{
	const char *text = json_text(value, key);

	return text != NULL && text[0] != '\0' ? text : absent;
}

/* Makes room for one more item: the array has room for 4, 8, 16 ... items and is doubled when it is
 * full. */
static void *grow_array(void *array, size_t count, size_t size)
{
	if (count == 0)
		return mem_resize(array, 4 * size);
	if (count >= 4 && (count & (count - 1)) == 0)
		return mem_resize(array, 2 * count * size);
	return array;
}

/* --- nodes --- */

/* A bind mount of a device node allows what the node's mode allows. There is no device cgroup that
 * could take away reading or writing, so a request for less is refused instead of ignored. */
static int check_permissions(const char *permissions, struct error *err)
{
	if (strspn(permissions, "rwm") != strlen(permissions) || strlen(permissions) > 3)
		return error_set(err, ERR_INVALID, "permissions: must consist of 'r', 'w' and 'm'");
	if (strchr(permissions, 'r') == NULL || strchr(permissions, 'w') == NULL)
		return error_set(err, ERR_UNSUPPORTED,
		                 "permissions: '%s' cannot be enforced here; 'rw' can",
		                 permissions);
	return 0;
}

static int read_node(json_t *value, unsigned version, struct cdi_node *node, struct error *err)
{
	/* Mode and owner are checked but not used: the host's node is bind-mounted, not created. */
	static const struct cdi_field fields[] = {
		{ "path", .type = CDI_TEXT, .is_required = true },
		{ "hostPath", .type = CDI_TEXT, .since = 5 },
		{ "type", .type = CDI_TEXT },
		{ "major", .type = CDI_NUMBER, .max = 4095 },
		{ "minor", .type = CDI_NUMBER, .max = 1048575 },
		{ "fileMode", .type = CDI_NUMBER, .max = 07777 },
		{ "permissions", .type = CDI_TEXT },
		{ "uid", .type = CDI_NUMBER, .max = UINT32_MAX },
		{ "gid", .type = CDI_NUMBER, .max = UINT32_MAX },
	};
	const char *type;

	if (cdi_check_fields(value, fields, ARRAY_LEN(fields), version, err) < 0 ||
	    read_path(value, "path", node->path, err) < 0 ||
	    read_path(value, json_text(value, "hostPath") != NULL ? "hostPath" : "path",
	              node->host_path, err) < 0 ||
	    check_permissions(text_or_default(value, "permissions", "rwm"), err) < 0)
		return -1;
	type = text_or_default(value, "type", "");
	if (type[0] != '\0' && (type[1] != '\0' || strchr("bcu", type[0]) == NULL))
		return error_set(err, ERR_INVALID, "type: must be 'b', 'c' or 'u'");
	node->type = type[0] == 'u' ? 'c' : type[0]; /* u: a character device without a buffer */
	/* Generators leave out fields that are 0. No device has major 0, so a missing major means
	 * that the file gives no numbers, and a missing minor beside a major means minor 0. */
	node->major = json_integer_value(json_object_get(value, "major"));
	node->minor = json_integer_value(json_object_get(value, "minor"));
	if (node->major == 0)
		node->major = node->minor = -1;
	if (cdi_check_node(node->path, node->host_path, err) < 0)
		return error_wrap(err, "path");
	return 0;
}

static int add_node(struct cdi_edits *edits, json_t *value, struct error *err)
{
	struct cdi_device *device = &edits->device;
	struct cdi_node node = { 0 };
	size_t i = 0;

	if (read_node(value, edits->version, &node, err) < 0)
		return -1;
	while (i < device->node_count && strcmp(device->nodes[i].path, node.path) != 0)
		i++;
	if (i == CDI_NODES_MAX)
		return error_set(err, ERR_LIMIT, "more than %d device nodes", CDI_NODES_MAX);
	if (i == device->node_count)
		device->nodes = grow_array(device->nodes, device->node_count++, sizeof node);
	device->nodes[i] = node;
	return 0;
}

/* --- mounts, and the directories of libraries in them --- */

static int add_library_dir(struct cdi_edits *edits, const char *path, struct error *err)
{
	if (cdi_check_library_dir(path, err) < 0)
		return -1;
	for (size_t i = 0; i < edits->library_dir_count; i++)
		if (strcmp(edits->library_dirs[i], path) == 0)
			return 0;
	if (edits->library_dir_count == CDI_LIBRARY_DIRS_MAX)
		return error_set(err, ERR_LIMIT, "libraries in more than %d directories",
		                 CDI_LIBRARY_DIRS_MAX);
	edits->library_dirs = mem_resize(edits->library_dirs, (edits->library_dir_count + 1) *
	                                                              sizeof *edits->library_dirs);
	edits->library_dirs[edits->library_dir_count++] = mem_dup(path);
	return 0;
}

/* If the path is a shared library (lib*.so, lib*.so.1 ...), adds its directory. */
static int add_dir_of_library(struct cdi_edits *edits, const char *path, struct error *err)
{
	const char *name = strrchr(path, '/') + 1;
	const char *so = strstr(name, ".so");
	char dir[CDI_PATH_MAX + 1];

	if (strncmp(name, "lib", 3) != 0 || so == NULL || (so[3] != '\0' && so[3] != '.'))
		return 0;
	(void)snprintf(dir, sizeof dir, "%.*s", (int)(name - 1 - path), path);
	return add_library_dir(edits, dir, err);
}

static int read_mount(json_t *value, unsigned version, struct cdi_mount *mount, struct error *err)
{
	/* The options are checked but not used: every mount is a bind mount, read-only, nodev and
	 * nosuid, whatever the file asks for. */
	static const struct cdi_field fields[] = {
		{ "hostPath", .type = CDI_TEXT, .is_required = true },
		{ "containerPath", .type = CDI_TEXT, .is_required = true },
		{ "options", .type = CDI_ARRAY, .items = &text_item },
		{ "type", .type = CDI_TEXT, .since = 4 },
	};
	const char *type;

	if (cdi_check_fields(value, fields, ARRAY_LEN(fields), version, err) < 0)
		return -1;
	type = text_or_default(value, "type", "bind");
	if (strcmp(type, "none") != 0 && strcmp(type, "bind") != 0)
		return error_set(err, ERR_UNSUPPORTED, "type: must be 'bind' or 'none'");
	if (read_path(value, "hostPath", mount->host_path, err) < 0 ||
	    read_path(value, "containerPath", mount->path, err) < 0)
		return -1;
	return 0;
}

static int add_mount(struct cdi_edits *edits, json_t *value, struct error *err)
{
	struct cdi_device *device = &edits->device;
	struct cdi_mount mount = { 0 };
	bool skip;
	size_t i = 0;

	if (read_mount(value, edits->version, &mount, err) < 0)
		return -1;
	if (cdi_check_mount(mount.path, mount.host_path, &skip, err) < 0)
		return error_wrap(err, "containerPath");
	if (skip) {
		if (edits->skipped_mounts++ == 0)
			memcpy(edits->skipped_mount, mount.path, sizeof edits->skipped_mount);
		return 0;
	}
	while (i < device->mount_count && strcmp(device->mounts[i].path, mount.path) != 0)
		i++;
	if (i == CDI_MOUNTS_MAX)
		return error_set(err, ERR_LIMIT, "more than %d mounts", CDI_MOUNTS_MAX);
	if (i == device->mount_count)
		device->mounts = grow_array(device->mounts, device->mount_count++, sizeof mount);
	device->mounts[i] = mount;
	return add_dir_of_library(edits, mount.path, err);
}

/* --- environment --- */

static int add_library_dirs(struct cdi_edits *edits, const char *list, struct error *err)
{
	struct view rest = view_of(list);

	while (rest.len != 0) {
		struct view part = view_cut(&rest, ':');
		char dir[CDI_PATH_MAX + 2]; /* one byte too many makes the check below fail */

		(void)snprintf(dir, sizeof dir, "%.*s", (int)part.len, part.ptr);
		if (add_library_dir(edits, dir, err) < 0)
			return -1;
	}
	return 0;
}

static void set_env(struct cdi_device *device, char *entry)
{
	size_t name = strcspn(entry, "=") + 1, i = 0;

	while (i < device->env_count && strncmp(device->env[i], entry, name) != 0)
		i++;
	if (i < device->env_count)
		free(device->env[i]);
	else
		device->env = mem_resize(device->env, ++device->env_count * sizeof *device->env);
	device->env[i] = entry;
}

static int add_env(struct cdi_edits *edits, json_t *value, struct error *err)
{
	const char *entry = json_as_text(value);

	/* LD_LIBRARY_PATH is written by cdi_edits_finish(), from the directories of all edits. */
	if (strncmp(entry, LIBRARY_PATH "=", sizeof LIBRARY_PATH) == 0)
		return add_library_dirs(edits, entry + sizeof LIBRARY_PATH, err);
	if (cdi_check_env(entry, err) < 0)
		return -1;
	if (edits->device.env_count == CDI_ENV_MAX)
		return error_set(err, ERR_LIMIT, "more than %d variables", CDI_ENV_MAX);
	set_env(&edits->device, mem_dup(entry));
	return 0;
}

/* --- hooks: programs of the host, which are never run --- */

/* The hook update-ldcache adds directories to the loader's cache. Here the directories go into
 * LD_LIBRARY_PATH instead. */
static int add_cached_dirs(struct cdi_edits *edits, json_t *args, struct error *err)
{
	bool is_update = false;

	for (size_t i = 0; i < json_array_size(args); i++) {
		const char *arg = json_as_text(json_array_get(args, i)), *dir = NULL;

		if (strcmp(arg, "update-ldcache") == 0)
			is_update = true;
		else if (strcmp(arg, "--folder") == 0 && i + 1 < json_array_size(args))
			dir = json_as_text(json_array_get(args, ++i));
		else if (strncmp(arg, "--folder=", 9) == 0)
			dir = arg + 9;
		if (is_update && dir != NULL && add_library_dir(edits, dir, err) < 0)
			return -1;
	}
	return 0;
}

static int add_hook(struct cdi_edits *edits, json_t *value, struct error *err)
{
	static const struct cdi_field fields[] = {
		{ "hookName", .type = CDI_TEXT, .is_required = true },
		{ "path", .type = CDI_TEXT, .is_required = true },
		{ "args", .type = CDI_ARRAY, .items = &text_item },
		{ "env", .type = CDI_ARRAY, .items = &text_item },
		{ "timeout", .type = CDI_NUMBER, .max = INT32_MAX },
	};

	if (cdi_check_fields(value, fields, ARRAY_LEN(fields), edits->version, err) < 0)
		return -1;
	if (add_cached_dirs(edits, json_object_get(value, "args"), err) < 0)
		return error_wrap(err, "args");
	return 0;
}

/* --- the whole of containerEdits --- */

static int refuse_interface(struct cdi_edits *edits, json_t *value, struct error *err)
{
	(void)edits;
	(void)value;
	return error_set(err, ERR_UNSUPPORTED, "network interfaces are not supported in sandboxes");
}

/* Checked but not used: belljar does not divide processor caches and memory bandwidth. */
static int check_rdt(json_t *value, unsigned version, struct error *err)
{
	static const struct cdi_field fields[] = {
		{ "closID", .type = CDI_TEXT },
		{ "l3CacheSchema", .type = CDI_TEXT },
		{ "memBwSchema", .type = CDI_TEXT },
		{ "enableCMT", .type = CDI_BOOLEAN },
		{ "enableMBM", .type = CDI_BOOLEAN },
		{ "schemata", .type = CDI_ARRAY, .since = 101, .items = &text_item },
		{ "enableMonitoring", .type = CDI_BOOLEAN, .since = 101 },
	};

	if (value != NULL && cdi_check_fields(value, fields, ARRAY_LEN(fields), version, err) < 0)
		return error_wrap(err, "intelRdt");
	return 0;
}

int cdi_edits_add(struct cdi_edits *edits, json_t *value, struct error *err)
{
	/* Groups are checked but not used: a group of the host has no meaning in the sandbox's user
	 * namespace. */
	static const struct cdi_field gid = { .type = CDI_NUMBER, .max = UINT32_MAX };
	static const struct cdi_field fields[] = {
		{ "env", .type = CDI_ARRAY, .items = &text_item },
		{ "deviceNodes", .type = CDI_ARRAY },
		{ "mounts", .type = CDI_ARRAY },
		{ "hooks", .type = CDI_ARRAY },
		{ "netDevices", .type = CDI_ARRAY, .since = 101 },
		{ "intelRdt", .type = CDI_OBJECT, .since = 7 },
		{ "additionalGids", .type = CDI_ARRAY, .since = 7, .items = &gid },
		{ "additionalGIDs", .type = CDI_ARRAY, .since = 7, .items = &gid },
	};
	static int (*const add[])(struct cdi_edits *, json_t *,
	                          struct error *) = { add_env, add_node, add_mount, add_hook,
		                                      refuse_interface };
	json_t *item;
	size_t k;

	if (cdi_check_fields(value, fields, ARRAY_LEN(fields), edits->version, err) < 0 ||
	    check_rdt(cdi_field(value, "intelRdt"), edits->version, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(add); i++)
		json_array_foreach (json_object_get(value, fields[i].name), k, item)
			if (add[i](edits, item, err) < 0)
				return error_wrap(err, "%s[%zu]", fields[i].name, k);
	return 0;
}

void cdi_edits_finish(struct cdi_edits *edits, struct cdi_device *ret)
{
	AUTO_FREE char *list = NULL;

	for (size_t i = 0; i < edits->library_dir_count; i++) {
		char *longer = mem_format("%s%c%s", list != NULL ? list : LIBRARY_PATH,
		                          list != NULL ? ':' : '=', edits->library_dirs[i]);

		free(list);
		list = longer;
	}
	if (list != NULL)
		set_env(&edits->device, TAKE_PTR(list));
	*ret = edits->device;
	edits->device = (struct cdi_device){ 0 };
}
