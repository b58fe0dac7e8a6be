/* fuzz_cdi.c - a CDI file of any bytes, read as YAML and as JSON, is either refused with a reason
 * or gives devices whose paths and variables pass a second, simpler check. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "engine/native/cdi/internal.h"
#include "fuzz/fuzz.h"

static void check_path(const char *path)
{
	size_t len = strnlen(path, CDI_PATH_MAX + 1);

	fuzz_check(path[0] == '/' && len >= 2 && len <= CDI_PATH_MAX && path[len - 1] != '/');
	fuzz_check(strstr(path, "//") == NULL && strstr(path, "/../") == NULL &&
	           strstr(path, "/./") == NULL);
	fuzz_check(len < 3 || strcmp(path + len - 3, "/..") != 0);
	for (size_t i = 0; i < len; i++)
		fuzz_check((unsigned char)path[i] >= ' ' && path[i] != 0x7f);
}

static void check_env(const char *entry)
{
	fuzz_check(strchr(entry, '=') != NULL && entry[0] != '=');
	fuzz_check(strncmp(entry, "LD_", 3) != 0 || strncmp(entry, "LD_LIBRARY_PATH=/", 17) == 0);
	fuzz_check(strncmp(entry, "PATH=", 5) != 0 && strncmp(entry, "HOME=", 5) != 0);
	for (; *entry != '\0'; entry++)
		fuzz_check((unsigned char)*entry >= ' ' && *entry != 0x7f);
}

static void check_device(const struct cdi_device *device)
{
	fuzz_check(strchr(device->name, '/') != NULL && strchr(device->name, '=') != NULL);
	fuzz_check(device->node_count <= CDI_NODES_MAX && device->mount_count <= CDI_MOUNTS_MAX);
	fuzz_check(device->env_count <= CDI_ENV_MAX + 1);
	for (size_t i = 0; i < device->node_count; i++) {
		const struct cdi_node *node = &device->nodes[i];

		check_path(node->path);
		check_path(node->host_path);
		fuzz_check(strncmp(node->path, "/dev/", 5) == 0);
		fuzz_check(node->type == 'c' || node->type == 'b' || node->type == 0);
		fuzz_check((node->major == -1 && node->minor == -1) ||
		           (node->major > 0 && node->minor >= 0));
	}
	for (size_t i = 0; i < device->mount_count; i++) {
		check_path(device->mounts[i].path);
		check_path(device->mounts[i].host_path);
		fuzz_check(strncmp(device->mounts[i].path, "/proc", 5) != 0);
		fuzz_check(strncmp(device->mounts[i].path, "/dev", 4) != 0);
	}
	for (size_t i = 0; i < device->env_count; i++)
		check_env(device->env[i]);
}

static void read_as(struct view bytes, enum cdi_syntax syntax)
{
	struct error err = { .msg = "" };
	struct cdi_spec spec;

	if (cdi_spec_read(bytes, syntax, &spec, &err) < 0) {
		fuzz_check(err.msg[0] != '\0');
		return;
	}
	fuzz_check(spec.count >= 1 && spec.count <= CDI_SPEC_DEVICES_MAX);
	for (size_t i = 0; i < spec.count; i++)
		check_device(&spec.devices[i]);
	cdi_spec_done(&spec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view bytes = { (const char *)data, size };

	read_as(bytes, CDI_YAML);
	read_as(bytes, CDI_JSON);
	return 0;
}
