/* answers.h - reads the members that the broker needs from the daemon's JSON. Every function
 * accepts any value: a missing member, or one of another type, is an error where the broker cannot
 * do without it, and empty otherwise. Texts are copied and cut to the size of their field. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "engine/engine.h"
#include "json/json.h"

struct error;

enum { DOCKER_ID_MAX = 128 };

/* GET /version */
struct docker_version {
	char engine[64]; /* "20.10.24", "Podman Engine 4.3.1" */
	unsigned api;    /* the version to speak: 141 is 1.41 */
	char arch[16];   /* as Go names it: amd64 */
	bool is_podman;
};
MUST_CHECK int answer_version(const json_t *json, struct docker_version *ret, struct error *err);

/* GET /info */
struct docker_info {
	bool memory, swap, cpu, pids; /* limits that the daemon can enforce */
	bool seccomp, userns, rootless;
	unsigned cgroups; /* version: 1, 2, or 0 for none */
	char default_runtime[64], storage[64];
	char index[128]; /* the name of the usual registry in the configuration of logins */
	bool has_nvidia, has_cdi;
	bool has_runtime; /* the one that was asked for */
};
void answer_info(const json_t *json, const char *runtime, struct docker_info *ret);

/* GET /containers/X/json */
struct docker_container {
	char id[DOCKER_ID_MAX];
	char instance[32];
	bool is_running, is_out_of_memory;
	int64_t pid;          /* 0: none that this machine can see */
	char direct_dir[512]; /* the volume at DIRECT_DIR, as a path of the daemon's machine; "" */
	int64_t exit_code;
	char error[200];
};
MUST_CHECK int answer_container(const json_t *json, struct docker_container *ret,
                                struct error *err);
/* POST /containers/create and /commit */
MUST_CHECK int answer_id(const json_t *json, char out[DOCKER_ID_MAX], struct error *err);

/* GET /images/X/json */
struct docker_image {
	char id[DOCKER_ID_MAX]; /* "sha256:..." */
	char arch[16], os[16];
	char path[ENGINE_PATH_SIZE]; /* PATH of the image's environment; "" */
};
MUST_CHECK int answer_image(const json_t *json, struct docker_image *ret, struct error *err);

/* The text of an error; "" if there is none. */
void answer_message(const json_t *json, char *out, size_t size);

/* Collects the layers of a pull from its lines of JSON. */
enum { PULL_LAYERS_MAX = 256 };
struct pull_progress {
	struct pull_layer {
		char id[16];
		uint64_t done, total;
	} layers[PULL_LAYERS_MAX];
	size_t count;
	char error[300];  /* of a line that reports a failure; "" */
	char status[120]; /* the last one that is about the whole image */
};
/* Reads one line. A line that is no JSON is ignored: a pull that the daemon breaks off ends with
 * half a line. */
void answer_pull_line(struct view line, struct pull_progress *progress);
void pull_progress_sum(const struct pull_progress *progress, struct engine_progress *ret);

/* Parses "1.41"; 0: the text is no version. */
unsigned answer_api_version(const char *text);
