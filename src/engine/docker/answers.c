#include "engine/docker/answers.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text/utf8.h"
#include "wire/direct_socket.h"

/* The broker was tested with these versions of the API. Daemons before 1.40 (Docker 19.03) lack
 * options that it needs. */
enum { API_LEAST = 140, API_MOST = 151 };

static void copy_text(const json_t *object, const char *key, char *out, size_t size)
{
	const char *text = json_text(object, key);

	(void)utf8_escape(view_of(text != NULL ? text : ""), out, size);
}
#define COPY(object, key, to) copy_text(object, key, to, sizeof(to))

static bool is_true(const json_t *object, const char *key)
{
	return json_is_true(json_object_get(object, key));
}

static int64_t read_int(const json_t *object, const char *key)
{
	json_int_t value = 0;

	return json_as_int(json_object_get(object, key), &value) ? value : 0;
}

unsigned answer_api_version(const char *text)
{
	size_t minor;

	if (strncmp(text, "1.", 2) != 0)
		return 0;
	minor = strspn(text + 2, "0123456789");
	if (minor == 0 || minor > 2 || text[2 + minor] != '\0')
		return 0;
	return 100 + (minor == 2 ? (unsigned)(text[2] - '0') * 10 + (unsigned)(text[3] - '0')
	                         : (unsigned)(text[2] - '0'));
}

int answer_version(const json_t *json, struct docker_version *ret, struct error *err)
{
	const char *api = json_text(json, "ApiVersion"), *least = json_text(json, "MinAPIVersion");
	unsigned most = api != NULL ? answer_api_version(api) : 0;
	unsigned min = least != NULL ? answer_api_version(least) : 0;
	const json_t *part;
	size_t i;

	if (most == 0)
		return error_set(err, ERR_SYSTEM,
		                 "the daemon does not name its version: it is "
		                 "neither Docker nor Podman");
	if (most < API_LEAST || min > API_MOST)
		return error_set(err, ERR_UNSUPPORTED,
		                 "the daemon speaks version %.10s of Docker's API, and belljar "
		                 "needs 1.%d to 1.%d: update the older of the two",
		                 api, API_LEAST - 100, API_MOST - 100);
	*ret = (struct docker_version){ .api = most < API_MOST ? most : API_MOST };
	COPY(json, "Version", ret->engine);
	COPY(json, "Arch", ret->arch);
	json_array_foreach (json_object_get(json, "Components"), i, part) {
		const char *name = json_text(part, "Name");

		if (name != NULL && strncmp(name, "Podman", strlen("Podman")) == 0)
			ret->is_podman = true;
	}
	return 0;
}

static bool has_option(const json_t *info, const char *name)
{
	const json_t *option;
	size_t i;

	json_array_foreach (json_object_get(info, "SecurityOptions"), i, option) {
		const char *text = json_as_text(option);
		char wanted[64];

		(void)snprintf(wanted, sizeof wanted, "name=%s", name);
		if (text != NULL && strncmp(text, wanted, strlen(wanted)) == 0)
			return true;
	}
	return false;
}

void answer_info(const json_t *json, const char *runtime, struct docker_info *ret)
{
	const json_t *runtimes = json_object_get(json, "Runtimes");
	const char *version = json_text(json, "CgroupVersion");
	const char *driver = json_text(json, "CgroupDriver");

	*ret = (struct docker_info){
		.memory = is_true(json, "MemoryLimit"),
		.swap = is_true(json, "SwapLimit"),
		.cpu = is_true(json, "CpuCfsQuota") || is_true(json, "CPUCfsQuota"),
		.pids = is_true(json, "PidsLimit"),
		.seccomp = has_option(json, "seccomp"),
		.userns = has_option(json, "userns"),
		.rootless = has_option(json, "rootless"),
		.cgroups = version != NULL && strcmp(version, "2") == 0 ? 2 : 1,
		.has_nvidia = json_has(runtimes, "nvidia"),
		.has_cdi = json_array_size(json_object_get(json, "CDISpecDirs")) != 0,
		.has_runtime = runtime == NULL || json_has(runtimes, runtime),
	};
	if (driver != NULL && strcmp(driver, "none") == 0)
		ret->cgroups = 0;
	COPY(json, "DefaultRuntime", ret->default_runtime);
	COPY(json, "Driver", ret->storage);
	COPY(json, "IndexServerAddress", ret->index);
}

/* The id becomes a part of request paths, so a "/" or "?" in it must not pass. */
static bool is_id(const char *text)
{
	size_t len = strspn(text, "0123456789abcdefghijklmnopqrstuvwxyz:");

	return len > 0 && len < DOCKER_ID_MAX && text[len] == '\0';
}

int answer_id(const json_t *json, char out[DOCKER_ID_MAX], struct error *err)
{
	const char *id = json_text(json, "Id");

	if (id == NULL || !is_id(id))
		return error_set(err, ERR_SYSTEM, "the daemon answered without an id");
	(void)snprintf(out, DOCKER_ID_MAX, "%s", id);
	return 0;
}

/* Finds the volume in which the agent may listen for a direct connection. A path that is too long
 * is left out. */
static void read_direct_dir(const json_t *mounts, char *out, size_t size)
{
	const json_t *mount;
	size_t i;

	json_array_foreach (mounts, i, mount) {
		const char *target = json_text(mount, "Destination");
		const char *source = json_text(mount, "Source");

		if (target != NULL && source != NULL && strcmp(target, DIRECT_DIR) == 0 &&
		    strlen(source) < size)
			(void)snprintf(out, size, "%s", source);
	}
}

int answer_container(const json_t *json, struct docker_container *ret, struct error *err)
{
	const json_t *state = json_object_get(json, "State");
	const json_t *labels = json_object_get(json_object_get(json, "Config"), "Labels");
	struct docker_container read = { .is_running = is_true(state, "Running"),
		                         .is_out_of_memory = is_true(state, "OOMKilled"),
		                         .pid = read_int(state, "Pid"),
		                         .exit_code = read_int(state, "ExitCode") };

	if (answer_id(json, read.id, err) < 0)
		return -1;
	COPY(labels, "belljar.instance", read.instance);
	COPY(state, "Error", read.error);
	read_direct_dir(json_object_get(json, "Mounts"), read.direct_dir, sizeof read.direct_dir);
	*ret = read;
	return 0;
}

int answer_image(const json_t *json, struct docker_image *ret, struct error *err)
{
	const json_t *env = json_object_get(json_object_get(json, "Config"), "Env"), *variable;
	struct docker_image read = { 0 };
	size_t i;

	if (answer_id(json, read.id, err) < 0)
		return -1;
	COPY(json, "Architecture", read.arch);
	COPY(json, "Os", read.os);
	json_array_foreach (env, i, variable) {
		const char *text = json_as_text(variable);

		if (text != NULL && strncmp(text, "PATH=", 5) == 0 &&
		    strlen(text) < sizeof read.path && utf8_is_valid(view_of(text)))
			(void)snprintf(read.path, sizeof read.path, "%s", text + 5);
	}
	*ret = read;
	return 0;
}

void answer_message(const json_t *json, char *out, size_t size)
{
	copy_text(json, "message", out, size);
	if (out[0] == '\0')
		copy_text(json, "cause", out, size); /* Podman's own API */
}

/* --- pulling --- */

static struct pull_layer *find_layer(struct pull_progress *progress, const char *id)
{
	for (size_t i = 0; i < progress->count; i++)
		if (strcmp(progress->layers[i].id, id) == 0)
			return &progress->layers[i];
	if (progress->count == PULL_LAYERS_MAX)
		return NULL;
	(void)utf8_escape(view_of(id), progress->layers[progress->count].id,
	                  sizeof progress->layers[0].id);
	return &progress->layers[progress->count++];
}

void answer_pull_line(struct view line, struct pull_progress *progress)
{
	static const struct json_limits limits = { .depth = 8, .values = 200 };
	AUTO_JSON json_t *json = NULL;
	const json_t *detail;
	const char *id, *status;
	struct pull_layer *layer;
	struct error err;

	if (json_read(line, &limits, &json, NULL, &err) < 0)
		return;
	if (json_text(json, "error") != NULL)
		copy_text(json, "error", progress->error, sizeof progress->error);
	status = json_text(json, "status");
	id = json_text(json, "id");
	if (status == NULL || id == NULL || strlen(id) >= sizeof layer->id) {
		if (status != NULL)
			COPY(json, "status", progress->status);
		return;
	}
	layer = find_layer(progress, id);
	detail = json_object_get(json, "progressDetail");
	if (layer == NULL || strcmp(status, "Extracting") == 0)
		return;
	if (strcmp(status, "Downloading") == 0) {
		int64_t done = read_int(detail, "current"), total = read_int(detail, "total");

		layer->done = done > 0 ? (uint64_t)done : 0;
		layer->total = total > 0 ? (uint64_t)total : 0;
	} else if (strcmp(status, "Download complete") == 0 || strcmp(status, "Pull complete") == 0)
		layer->done = layer->total;
}

void pull_progress_sum(const struct pull_progress *progress, struct engine_progress *ret)
{
	ret->done = ret->total = 0;
	for (size_t i = 0; i < progress->count; i++) {
		const struct pull_layer *layer = &progress->layers[i];

		/* A sum of hostile numbers must not overflow. */
		if (layer->total > UINT64_MAX / PULL_LAYERS_MAX || layer->done > layer->total)
			continue;
		ret->done += layer->done;
		ret->total += layer->total;
	}
}
