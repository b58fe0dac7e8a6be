#include "engine/native/cdi/cdi_edits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "engine/native/cdi/cdi_check.h"
#include "engine/native/cdi/cdi_doc.h"

#define SEARCH_PATH "LD_LIBRARY_PATH"

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
	for (size_t i = 0; i < edits->folder_count; i++)
		free(edits->folders[i]);
	free(edits->folders);
	*edits = (struct cdi_edits){ 0 };
}

int cdi_fields_check(const struct cdi_doc *value, const struct cdi_field *fields, size_t count,
                     unsigned version, struct error *err)
{
	if (cdi_doc_is(value, CDI_DOC_MAP, err) < 0)
		return -1;
	for (const struct cdi_doc *child = value->first; child != NULL; child = child->next) {
		size_t i = 0;
		char shown[64];

		while (i < count && strcmp(fields[i].name, child->key) != 0)
			i++;
		if (i == count && version <= CDI_VERSION_LAST)
			return error_set(err, ERR_UNSUPPORTED, "unknown field '%s'",
			                 utf8_escape(view_of(child->key), shown, sizeof shown));
		if (i < count && fields[i].since > version)
			return error_set(err, ERR_INVALID, "'%s' needs cdiVersion %u.%u.0",
			                 fields[i].name, fields[i].since / 100,
			                 fields[i].since % 100);
	}
	return 0;
}

/* out has CDI_PATH_MAX + 1 bytes. */
static int take_path(const struct cdi_doc *value, const char *key, char *out, struct error *err)
{
	const char *path;

	if (cdi_doc_text(cdi_doc_member(value, key), &path, err) < 0 ||
	    cdi_check_path(path, err) < 0)
		return error_wrap(err, "%s", key);
	(void)snprintf(out, CDI_PATH_MAX + 1, "%s", path);
	return 0;
}

/* *ret stays as it is if there is none. */
static int take_int(const struct cdi_doc *value, const char *key, uint64_t max, int64_t *ret,
                    struct error *err)
{
	const struct cdi_doc *member = cdi_doc_member(value, key);
	uint64_t number;

	if (member == NULL)
		return 0;
	if (cdi_doc_int(member, max, &number, err) < 0)
		return error_wrap(err, "%s", key);
	*ret = (int64_t)number;
	return 0;
}

static int take_text(const struct cdi_doc *value, const char *key, const char **ret,
                     struct error *err)
{
	const struct cdi_doc *member = cdi_doc_member(value, key);

	if (member != NULL && cdi_doc_text(member, ret, err) < 0)
		return error_wrap(err, "%s", key);
	return 0;
}

/* Room for one more: doubled when it is full, that is at 4, 8, 16 ... */
static void *grow(void *array, size_t count, size_t size)
{
	if (count == 0)
		return mem_resize(array, 4 * size);
	if (count >= 4 && (count & (count - 1)) == 0)
		return mem_resize(array, 2 * count * size);
	return array;
}

/* --- nodes --- */

/* Binding a node shows it whole: what is less than reading and writing cannot be kept. */
static int check_permissions(const char *permissions, struct error *err)
{
	if (strspn(permissions, "rwm") != strlen(permissions) || strlen(permissions) > 3)
		return error_set(err, ERR_INVALID, "permissions: must be made of 'r', 'w' and 'm'");
	if (strchr(permissions, 'r') == NULL || strchr(permissions, 'w') == NULL)
		return error_set(err, ERR_UNSUPPORTED,
		                 "permissions: '%s' cannot be enforced here; 'rw' can",
		                 permissions);
	return 0;
}

static int take_type(const char *type, char *ret, struct error *err)
{
	*ret = type[0];
	if (strcmp(type, "u") == 0)
		*ret = 'c';
	if (strcmp(type, "b") != 0 && strcmp(type, "c") != 0 && strcmp(type, "u") != 0 &&
	    type[0] != '\0')
		return error_set(err, ERR_INVALID, "type: must be 'b', 'c' or 'u'");
	return 0;
}

/* Who owns the node and its mode are the host's affair: it is bound, not made. */
static int take_numbers(const struct cdi_doc *value, struct cdi_node *node, struct error *err)
{
	int64_t major = 0, minor = 0, unused = 0;

	if (take_int(value, "major", 4095, &major, err) < 0 ||
	    take_int(value, "minor", 1048575, &minor, err) < 0 ||
	    take_int(value, "fileMode", 07777, &unused, err) < 0 ||
	    take_int(value, "uid", UINT32_MAX, &unused, err) < 0 ||
	    take_int(value, "gid", UINT32_MAX, &unused, err) < 0)
		return -1;
	/* Generators leave zeros out: no major is no numbers at all, no minor is minor 0. */
	node->major = major != 0 ? major : -1;
	node->minor = major != 0 ? minor : -1;
	return 0;
}

static int take_node(const struct cdi_doc *value, unsigned version, struct cdi_node *node,
                     struct error *err)
{
	static const struct cdi_field fields[] = {
		{ "path", 0 },        { "hostPath", 5 }, { "type", 0 },
		{ "major", 0 },       { "minor", 0 },    { "fileMode", 0 },
		{ "permissions", 0 }, { "uid", 0 },      { "gid", 0 },
	};
	const char *type = "", *permissions = "rwm";

	if (cdi_fields_check(value, fields, ARRAY_LEN(fields), version, err) < 0 ||
	    take_path(value, "path", node->path, err) < 0)
		return -1;
	memcpy(node->host_path, node->path, sizeof node->host_path);
	if (cdi_doc_member(value, "hostPath") != NULL &&
	    take_path(value, "hostPath", node->host_path, err) < 0)
		return -1;
	if (take_text(value, "type", &type, err) < 0 || take_type(type, &node->type, err) < 0 ||
	    take_text(value, "permissions", &permissions, err) < 0)
		return -1;
	if (permissions[0] != '\0' && check_permissions(permissions, err) < 0)
		return -1;
	if (take_numbers(value, node, err) < 0)
		return -1;
	if (cdi_check_node(node->path, node->host_path, err) < 0)
		return error_wrap(err, "path");
	return 0;
}

static int add_node(struct cdi_edits *edits, const struct cdi_doc *value, unsigned version,
                    struct error *err)
{
	struct cdi_device *device = &edits->device;
	struct cdi_node node = { 0 };
	size_t i = 0;

	if (take_node(value, version, &node, err) < 0)
		return -1;
	while (i < device->node_count && strcmp(device->nodes[i].path, node.path) != 0)
		i++;
	if (i == CDI_NODES_MAX)
		return error_set(err, ERR_LIMIT, "more than %d device nodes", CDI_NODES_MAX);
	if (i == device->node_count)
		device->nodes = grow(device->nodes, device->node_count++, sizeof node);
	device->nodes[i] = node;
	return 0;
}

/* --- mounts and what is found in them --- */

static int add_folder(struct cdi_edits *edits, const char *path, struct error *err)
{
	if (cdi_check_folder(path, err) < 0)
		return -1;
	for (size_t i = 0; i < edits->folder_count; i++)
		if (strcmp(edits->folders[i], path) == 0)
			return 0;
	if (edits->folder_count == CDI_FOLDERS_MAX)
		return error_set(err, ERR_LIMIT, "libraries in more than %d folders",
		                 CDI_FOLDERS_MAX);
	edits->folders = mem_resize(edits->folders,
	                            (edits->folder_count + 1) * sizeof *edits->folders);
	edits->folders[edits->folder_count++] = mem_dup(path);
	return 0;
}

/* lib*.so, lib*.so.1 ... : the folder it is in. */
static int add_library(struct cdi_edits *edits, const char *path, struct error *err)
{
	const char *name = strrchr(path, '/') + 1;
	const char *so = strstr(name, ".so");
	char folder[CDI_PATH_MAX + 1];

	if (strncmp(name, "lib", 3) != 0 || so == NULL || (so[3] != '\0' && so[3] != '.'))
		return 0;
	(void)snprintf(folder, sizeof folder, "%.*s", (int)(name - 1 - path), path);
	return add_folder(edits, folder, err);
}

static int take_mount(const struct cdi_doc *value, unsigned version, struct cdi_mount *mount,
                      struct error *err)
{
	static const struct cdi_field fields[] = {
		{ "hostPath", 0 },
		{ "containerPath", 0 },
		{ "options", 0 },
		{ "type", 4 },
	};
	const char *type = "";

	if (cdi_fields_check(value, fields, ARRAY_LEN(fields), version, err) < 0 ||
	    take_text(value, "type", &type, err) < 0)
		return -1;
	if (type[0] != '\0' && strcmp(type, "none") != 0 && strcmp(type, "bind") != 0)
		return error_set(err, ERR_UNSUPPORTED, "type: only 'bind' and 'none' are mounted");
	/* Whatever they say: it is a bind, read-only, without devices and set-user-id. */
	if (cdi_doc_texts(cdi_doc_member(value, "options"), err) < 0)
		return error_wrap(err, "options");
	if (take_path(value, "hostPath", mount->host_path, err) < 0 ||
	    take_path(value, "containerPath", mount->path, err) < 0)
		return -1;
	return 0;
}

static int add_mount(struct cdi_edits *edits, const struct cdi_doc *value, unsigned version,
                     struct error *err)
{
	struct cdi_device *device = &edits->device;
	struct cdi_mount mount = { 0 };
	bool left_out;
	size_t i = 0;

	if (take_mount(value, version, &mount, err) < 0)
		return -1;
	if (cdi_check_mount(mount.path, mount.host_path, &left_out, err) < 0)
		return error_wrap(err, "containerPath");
	if (left_out) {
		if (edits->left_out_count++ == 0)
			memcpy(edits->left_out, mount.path, sizeof edits->left_out);
		return 0;
	}
	while (i < device->mount_count && strcmp(device->mounts[i].path, mount.path) != 0)
		i++;
	if (i == CDI_MOUNTS_MAX)
		return error_set(err, ERR_LIMIT, "more than %d mounts", CDI_MOUNTS_MAX);
	if (i == device->mount_count)
		device->mounts = grow(device->mounts, device->mount_count++, sizeof mount);
	device->mounts[i] = mount;
	return add_library(edits, mount.path, err);
}

/* --- environment --- */

static int add_folders(struct cdi_edits *edits, const char *list, struct error *err)
{
	while (*list != '\0') {
		size_t len = strcspn(list, ":");
		char folder[CDI_PATH_MAX + 2]; /* one more: too long is told, not cut */

		(void)snprintf(folder, sizeof folder, "%.*s", (int)len, list);
		if (add_folder(edits, folder, err) < 0)
			return -1;
		list += len + (list[len] == ':');
	}
	return 0;
}

static void put_env(struct cdi_device *device, char *entry)
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

static int add_env(struct cdi_edits *edits, const struct cdi_doc *value, unsigned version,
                   struct error *err)
{
	const char *entry;

	(void)version;
	if (cdi_doc_text(value, &entry, err) < 0)
		return -1;
	/* Ours to set, with their folders in it. */
	if (strncmp(entry, SEARCH_PATH "=", sizeof SEARCH_PATH) == 0)
		return add_folders(edits, entry + sizeof SEARCH_PATH, err);
	if (cdi_check_env(entry, err) < 0)
		return -1;
	if (edits->device.env_count == CDI_ENV_MAX)
		return error_set(err, ERR_LIMIT, "more than %d variables", CDI_ENV_MAX);
	put_env(&edits->device, mem_dup(entry));
	return 0;
}

/* --- hooks: never run --- */

/* update-ldcache makes the loader's cache for some folders; we tell the loader of them instead. */
static int add_cached(struct cdi_edits *edits, const struct cdi_doc *args, struct error *err)
{
	bool cache = false;

	for (const struct cdi_doc *arg = args->first; arg != NULL; arg = arg->next) {
		const char *folder = NULL;

		if (strcmp(arg->text, "update-ldcache") == 0)
			cache = true;
		else if (strcmp(arg->text, "--folder") == 0 && arg->next != NULL)
			folder = (arg = arg->next)->text;
		else if (strncmp(arg->text, "--folder=", 9) == 0)
			folder = arg->text + 9;
		if (cache && folder != NULL && add_folder(edits, folder, err) < 0)
			return -1;
	}
	return 0;
}

static int add_hook(struct cdi_edits *edits, const struct cdi_doc *value, unsigned version,
                    struct error *err)
{
	static const struct cdi_field fields[] = {
		{ "hookName", 0 }, { "path", 0 }, { "args", 0 }, { "env", 0 }, { "timeout", 0 },
	};
	const struct cdi_doc *args;
	int64_t timeout = 0;
	const char *name;

	if (cdi_fields_check(value, fields, ARRAY_LEN(fields), version, err) < 0 ||
	    take_int(value, "timeout", INT32_MAX, &timeout, err) < 0)
		return -1;
	if (cdi_doc_text(cdi_doc_member(value, "hookName"), &name, err) < 0)
		return error_wrap(err, "hookName");
	if (cdi_doc_text(cdi_doc_member(value, "path"), &name, err) < 0)
		return error_wrap(err, "path");
	if (cdi_doc_texts(cdi_doc_member(value, "env"), err) < 0)
		return error_wrap(err, "env");
	args = cdi_doc_member(value, "args");
	if (cdi_doc_texts(args, err) < 0 || (args != NULL && add_cached(edits, args, err) < 0))
		return error_wrap(err, "args");
	return 0;
}

/* --- all of it --- */

/* The sandbox's user is in no group of the host, so groups would give nothing. */
static int check_group(struct cdi_edits *edits, const struct cdi_doc *value, unsigned version,
                       struct error *err)
{
	uint64_t gid;

	(void)edits;
	(void)version;
	return cdi_doc_int(value, UINT32_MAX, &gid, err);
}

static int refuse_interface(struct cdi_edits *edits, const struct cdi_doc *value, unsigned version,
                            struct error *err)
{
	(void)edits;
	(void)value;
	(void)version;
	return error_set(err, ERR_UNSUPPORTED, "a sandbox gets no network interfaces");
}

typedef int edit_fn(struct cdi_edits *edits, const struct cdi_doc *value, unsigned version,
                    struct error *err);

/* Checked, and left alone: cache and bandwidth are shared by the cgroup's rules. */
static int check_rdt(const struct cdi_doc *value, unsigned version, struct error *err)
{
	static const struct cdi_field fields[] = {
		{ "closID", 0 },
		{ "l3CacheSchema", 0 },
		{ "memBwSchema", 0 },
		{ "enableCMT", 0 },
		{ "enableMBM", 0 },
		{ "schemata", 101 },
		{ "enableMonitoring", 101 },
	};

	if (value != NULL && cdi_fields_check(value, fields, ARRAY_LEN(fields), version, err) < 0)
		return error_wrap(err, "intelRdt");
	return 0;
}

static int add_list(struct cdi_edits *edits, const struct cdi_doc *map, const char *key,
                    edit_fn *add, unsigned version, struct error *err)
{
	const struct cdi_doc *list = cdi_doc_member(map, key);
	size_t i = 0;

	if (list == NULL)
		return 0;
	if (cdi_doc_is(list, CDI_DOC_LIST, err) < 0)
		return error_wrap(err, "%s", key);
	for (const struct cdi_doc *item = list->first; item != NULL; item = item->next, i++)
		if (add(edits, item, version, err) < 0)
			return error_wrap(err, "%s[%zu]", key, i);
	return 0;
}

int cdi_edits_add(struct cdi_edits *edits, const struct cdi_doc *value, unsigned version,
                  struct error *err)
{
	static const struct cdi_field fields[] = {
		{ "env", 0 },
		{ "deviceNodes", 0 },
		{ "mounts", 0 },
		{ "hooks", 0 },
		{ "intelRdt", 7 },
		{ "additionalGids", 7 },
		{ "additionalGIDs", 7 },
		{ "netDevices", 101 },
	};
	static const struct {
		const char *key;
		edit_fn *add;
	} lists[] = {
		{ "env", add_env },
		{ "deviceNodes", add_node },
		{ "mounts", add_mount },
		{ "hooks", add_hook },
		{ "additionalGids", check_group },
		{ "additionalGIDs", check_group },
		{ "netDevices", refuse_interface },
	};

	if (cdi_fields_check(value, fields, ARRAY_LEN(fields), version, err) < 0 ||
	    check_rdt(cdi_doc_member(value, "intelRdt"), version, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		if (add_list(edits, value, lists[i].key, lists[i].add, version, err) < 0)
			return -1;
	return 0;
}

void cdi_edits_finish(struct cdi_edits *edits, struct cdi_device *ret)
{
	AUTO_FREE char *list = NULL;

	for (size_t i = 0; i < edits->folder_count; i++) {
		char *longer = mem_format("%s%c%s", list != NULL ? list : SEARCH_PATH,
		                          list != NULL ? ':' : '=', edits->folders[i]);

		free(list);
		list = longer;
	}
	if (list != NULL)
		put_env(&edits->device, TAKE_PTR(list));
	*ret = edits->device;
	edits->device = (struct cdi_device){ 0 };
}
