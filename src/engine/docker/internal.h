/* internal.h - the state of the broker, and the functions that its files share.
 *
 *   broker.c             the process: start, requests, end
 *   api.c                one call of the daemon's API: JSON in, JSON out
 *   box*.c               one sandbox: image, volumes, container, connection, end
 *   container.c          how a container is made: the JSON of its creation
 *   attach.c             the bytes between the server and the agent in a container
 *   direct_connection.c  a connection to the agent that goes around the daemon
 *   image.c              images: present, pulled, prepared
 *   prepare.c            the prepared image: an image with the agent and its directories
 *   prepare_archive.c    the files that a prepared image has in addition, as a tar archive
 *   install.c            Python for an image that lacks it
 *   credentials.c        how to log in to a registry
 *   volumes.c            the files of sandboxes: erasing, listing
 *   leftovers.c          containers and images of servers that were killed
 *   layers.c             the report
 *
 * struct broker owns everything. Each operation is a chain of API calls; the struct of the
 * operation lives from the first call until its last callback. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/list.h"
#include "engine/docker/answers.h"
#include "engine/docker/docker.h"
#include "engine/docker/http/http_client.h"
#include "engine/remote/reply_queue.h"

/* Names of the containers, volumes and images that the broker makes, and the labels by which a
 * later server knows which state directory, server and sandbox they belong to. */
#define DOCKER_PREFIX       "belljar-"
#define DOCKER_PREPARED     "belljar-prepared"
#define DOCKER_PYTHON       "belljar-python" /* images that install.c has made */
#define DOCKER_AGENT_DIR    ".belljar"
#define DOCKER_AGENT_PATH   "/" DOCKER_AGENT_DIR "/agent"
#define LABEL_STATE         "belljar.state"    /* the state directory it belongs to */
#define LABEL_INSTANCE      "belljar.instance" /* the server that made it */
#define LABEL_SANDBOX       "belljar.sandbox"  /* the id */
#define LABEL_OWNER         "belljar.owner"    /* a hash of the owner's name, 16 digits */
#define LABEL_EXPIRES       "belljar.expires"  /* when the lifetime is over, in UTC */
#define LABEL_ROLE          "belljar.role"
#define LABEL_AGENT         "belljar.agent" /* which agent a prepared image has */
#define ROLE_SANDBOX        "sandbox"
#define ROLE_PREPARE        "prepare"
#define ROLE_INSTALL        "install"
#define ROLE_VOLUME         "volume"
#define DOCKER_DEFAULT_OWN  "belljar-sandbox:latest" /* made by `make image` */
#define DOCKER_DEFAULT_PULL "python:3"

enum { PREPARED_NAME_SIZE = 96, PREPARED_ARCHIVE_MAX = 16 * 1024 * 1024, STOP_MS = 10000 };

struct buf;

struct broker {
	struct loop *loop;
	struct http_client *http;
	struct http_client_address address;
	const struct broker_options *options;
	int socket;
	struct loop_watch *watch;
	struct replies replies;
	struct docker_version version;
	struct docker_info info;
	struct engine_report report;
	char prefix[16]; /* of every path: "/v1.41" */
	/* A hash of the files that a prepared image has in addition: the agent's program is one. */
	char agent[20];
	bool has_quota; /* volumes can have a size */
	struct list boxes, images, erases, installs;
	uint64_t last_preparation, last_install;
	bool is_stopping;
	struct loop_timer *stop_timer;
};

/* --- api.c --- */

/* The daemon's answer to one call; valid until the callback returns. */
struct api_answer {
	const struct error *why; /* NULL: the call has succeeded; else the daemon's own text */
	int status;              /* 2xx or 304; with `why` that of the refusal, 0: no answer came */
	const json_t *json;      /* the body; NULL: it is empty */
};
typedef void api_fn(void *ctx, const struct api_answer *answer);

/* Takes over the body, which may be NULL. */
void api_send(struct broker *broker, const char *method, json_t *body, api_fn *done, void *ctx,
              const char *fmt, ...) PRINTF_LIKE(6, 7);
/* Removes a container, running or not, with the volumes that have no name. */
void api_remove_container(struct broker *broker, const char *container, api_fn *done, void *ctx);
/* Uploads a tar archive. */
void api_upload(struct broker *broker, struct view archive, api_fn *done, void *ctx,
                const char *fmt, ...) PRINTF_LIKE(5, 6);
/* Sends a request whose answer is no JSON, is long or takes long. `request` has everything but the
 * path. */
void api_send_raw(struct broker *broker, const struct http_client_request *request, const char *fmt,
                  ...) PRINTF_LIKE(3, 4);
/* Reads the answer of such a request after all. */
void api_decode(int status, struct view body, const struct error *why, api_fn *done, void *ctx);
/* Encodes a text for a query; the caller frees. */
char *api_encode(const char *text) RETURNS_NONNULL;
/* The value of `filters` for containers or volumes of this state directory; the caller frees. */
char *api_state_filter(const struct broker *broker) RETURNS_NONNULL;

/* --- attach.c --- */

struct attach;
struct attach_events {
	void (*open)(void *ctx);  /* the container may be started */
	void (*hello)(void *ctx); /* the agent has sent its first bytes */
	/* The last event: the connection failed, or the container has exited. */
	void (*end)(void *ctx, const struct error *why);
};
/* Connects one end of a socket pair to the container; `channel` is the other end, the caller's. */
MUST_CHECK int attach_open(struct broker *broker, const char *container,
                           const struct attach_events *events, void *ctx, int *channel,
                           struct attach **ret, struct error *err);
bool attach_has_hello(const struct attach *attach);
/* Takes over `fd`, a connection to the agent, and sends and receives all bytes on it from now on;
 * the attached stream only reports the end. No byte may have been sent to the agent before, because
 * the agent reads either its standard input or the connection. */
MUST_CHECK int attach_use_direct(struct attach *attach, int fd, struct error *err);
/* The text on the agent's standard error, as one line. */
const char *attach_error_text(struct attach *attach);
/* The broker's end of the socket pair, which the caller owns from now on. */
int attach_take_fd(struct attach *attach);
struct attach *attach_free(struct attach *attach);

/* --- direct_connection.c --- */

/* Whether the broker can see the directory of the agent's socket. The agent listens there when its
 * HELLO has arrived. */
bool direct_is_possible(const struct broker *broker, const struct docker_container *container);
/* Connects to the agent; -1: the attached stream stays the only way. */
int direct_connect(const struct docker_container *container);

/* --- container.c --- */

/* The volumes of a sandbox; the first is the workspace. */
enum { VOLUME_COUNT = 5 };

enum { DOCKER_NAME_SIZE = SPEC_ID_LEN + 40 };
const char *container_name(const char *id, char out[DOCKER_NAME_SIZE]);
const char *volume_name(const char *id, size_t i, char out[DOCKER_NAME_SIZE]);
json_t *docker_labels(const struct broker *broker, const char *role,
                      const struct spec *spec); /* spec NULL: of no sandbox */
json_t *volume_json(const struct broker *broker, const struct spec *spec, size_t i);
/* Fails if the daemon has no device that the spec asks for. */
MUST_CHECK int container_json(const struct broker *broker, const struct spec *spec,
                              const char *image, json_t **ret, struct error *err);
json_t *container_limits_json(const struct spec_limits *limits);
/* A container of `image` that runs the script as root, with `argument` as its $1, on the network of
 * another container. */
json_t *installer_json(const struct broker *broker, const struct spec *spec, const char *image,
                       const char *network, const char *script, const char *argument);

/* --- image.c, prepare.c, prepare_archive.c --- */

struct prepared_image {
	char id[DOCKER_ID_MAX]; /* of the image that it was made of */
	char name[PREPARED_NAME_SIZE];
	char path[ENGINE_PATH_SIZE]; /* PATH of the image's environment; "" */
};
typedef void image_fn(void *ctx, const struct prepared_image *image, const struct error *why);
/* Finds an image, pulls it if it is missing and may be pulled, and prepares it; "" is the default
 * image. `progress`, if it is not NULL, may be called any number of times before `done`. */
void image_get(struct broker *broker, const char *name,
               void (*progress)(void *ctx, const struct engine_progress *progress), image_fn *done,
               void *ctx);
/* To be called when the daemon turns out to lack the prepared image: the next image_get() makes it
 * again. */
void image_invalidate(struct broker *broker, const char *name);
/* Whether the server may have an image pulled. */
bool image_may_be_pulled(const struct broker_options *options, const char *name);

typedef void prepare_fn(void *ctx, const struct error *why);
/* Makes the prepared image `name` from the image `id`. */
void prepare_image(struct broker *broker, const char *id, const char *name, prepare_fn *done,
                   void *ctx);

/* The archive of a prepared image. `passwd` and `group` are the image's own files, or empty. */
MUST_CHECK int prepare_archive(struct view agent, struct view passwd, struct view group,
                               struct buf *out, struct error *err);
/* Finds the first regular file of a tar archive that the daemon sent. False: there is none. */
MUST_CHECK bool prepare_read_file(struct view archive, struct view *ret);

/* --- credentials.c --- */

/* The registry of an image's name: "host:port", or `usual` if it names none. */
const char *credentials_registry(const char *image, const char *usual,
                                 char out[SPEC_IMAGE_MAX + 1]);
typedef void credentials_fn(void *ctx, const char *header, const struct error *why);
/* Finds the line "X-Registry-Auth: ..." for the image; header NULL: none is known. */
void credentials_get(struct broker *broker, const char *image, credentials_fn *done, void *ctx);

/* --- box.c --- */

void box_start(struct broker *broker, const struct engine_request *request);
void box_kill(struct broker *broker, uint64_t number);
void box_limit(struct broker *broker, const struct engine_request *request);
/* True: a box with this id is awake or ending, and its volumes are erased after its end. */
bool box_defer_erase(struct broker *broker, const char *id, uint64_t number);
void box_kill_all(struct broker *broker);

/* --- install.c --- */

struct box;
struct install;
/* REQUEST_ADD_PYTHON */
void install_start(struct broker *broker, const struct engine_request *request);
/* Ends the installation because its box is to end; calls box_remove() when the installer's
 * container is gone. */
void install_cancel(struct install *install);
/* Whether this is the name of an image that install.c has made, which no registry has. */
bool install_is_image(const char *name);
/* Whether sandboxes of this owner may have the image. An image that install.c has made belongs to
 * the owner in whose sandbox it was made, because programs there could have disturbed it. */
bool install_may_use(const char *name, uint64_t owner);

/* --- volumes.c --- */

void volumes_erase(struct broker *broker, const char *id, uint64_t number);
void volumes_list(struct broker *broker, uint64_t number);

/* --- leftovers.c --- */

/* Removes the containers of servers that are dead, and prepared images with another agent. A
 * failure is logged: the next start tries again. */
void leftovers_remove(struct broker *broker, void (*done)(void *ctx), void *ctx);

/* --- layers.c --- */

void layers_fill(const struct broker *broker, struct engine_report *ret);

/* --- broker.c --- */

/* Sends the queued replies, as many as the socket takes. */
void broker_flush(struct broker *broker);
/* Exits if the server has closed its end and the last container and volume are gone. */
void broker_check_stopped(struct broker *broker);
/* Whether the server that made the container is another one, and alive. */
bool broker_is_used_elsewhere(const struct broker *broker,
                              const struct docker_container *container);
