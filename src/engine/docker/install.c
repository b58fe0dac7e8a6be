/* install.c - adds Python to an image that lacks it (see internal.h).
 *
 *   look for the image with Python -> create an installer -> start -> wait -> commit -> remove it
 *
 * The installer is a container of the image itself. The package manager of the image runs in it as
 * root, with a script that stands here, not in a request: a server that was taken over cannot run
 * anything else as root. The installer shares the network of the sandbox that Python is wanted in,
 * which has a loopback interface and nothing else, so a gate of that sandbox is the only way out.
 *
 * Programs of the sandbox could disturb that network, for example by listening in place of the
 * gate. The image with Python is therefore only used for the owner of the sandbox. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "engine/docker/box.h"
#include "engine/docker/demux.h"

enum { INSTALL_S = 600, LOG_MAX = 256 * 1024, REASON_MAX = 240 };

/* $1 is the URL of the gate. The password in it is no secret: the gate is closed when the installer
 * has exited. */
static const char script[] =
        "export http_proxy=\"$1\" https_proxy=\"$1\" HTTP_PROXY=\"$1\" HTTPS_PROXY=\"$1\" "
        "no_proxy= NO_PROXY= DEBIAN_FRONTEND=noninteractive\n"
        "umask 022\n"
        "if command -v apk >/dev/null; then\n"
        "  apk add --no-cache python3\n"
        "elif command -v apt-get >/dev/null; then\n"
        "  apt-get -q -o APT::Update::Error-Mode=any -o Acquire::Languages=none update &&\n"
        "  apt-get -q -y install --no-install-recommends python3 &&\n"
        "  apt-get -q clean && rm -rf /var/lib/apt/lists/*\n"
        "else\n"
        "  echo 'E: it has neither apk nor apt-get'\n"
        "  exit 1\n"
        "fi && python3 --version\n";

struct install {
	struct list node;
	struct broker *broker;
	struct box *box;
	uint64_t number;
	char name[PREPARED_NAME_SIZE]; /* of the image with Python */
	char proxy[ENGINE_ARGUMENT_SIZE];
	char container[DOCKER_ID_MAX]; /* "" until it exists */
	bool is_queued;                /* another installation makes the same image */
	bool is_waiting;               /* for the exit of the installer, until `until_ms` */
	uint64_t until_ms;
	bool is_cancelled;
	bool failed; /* for the reason `why` */
	struct error why;
};

bool install_is_image(const char *name)
{
	const char *slash = strrchr(name, '/'), *last = slash != NULL ? slash + 1 : name;
	size_t len = strlen(DOCKER_PYTHON);

	return strncmp(last, DOCKER_PYTHON, len) == 0 &&
	       (last[len] == '\0' || last[len] == ':' || last[len] == '@');
}

bool install_may_use(const char *name, uint64_t owner)
{
	const char *dash = strrchr(name, '-');
	char own[20];

	(void)snprintf(own, sizeof own, "%016" PRIx64, owner);
	return !install_is_image(name) || (dash != NULL && strcmp(dash + 1, own) == 0);
}

/* --- the end --- */

static void look_for_result(struct install *install);

static void report_install(struct install *install)
{
	struct engine_reply reply = { .kind = REPLY_PYTHON,
		                      .number = install->number,
		                      .failed = install->failed,
		                      .err = install->why };

	if (!install->failed)
		memcpy(reply.image, install->name, sizeof install->name);
	replies_add(&install->broker->replies, &reply);
	broker_flush(install->broker);
}

/* An installation that waited for the same image begins with a look for it. */
static void start_next_install(struct broker *broker, const char *name)
{
	LIST_EACH (node, &broker->installs) {
		struct install *next = container_of(node, struct install, node);

		if (next->is_queued && strcmp(next->name, name) == 0) {
			next->is_queued = false;
			look_for_result(next);
			return;
		}
	}
}

/* A container that stays is removed by leftovers_remove() of the next start. */
static void on_removed(void *ctx, UNUSED const struct api_answer *answer)
{
	struct install *install = ctx;
	struct box *box = install->box;

	report_install(install);
	list_remove(&install->node);
	box->install = NULL;
	if (!install->is_queued)
		start_next_install(install->broker, install->name);
	if (install->is_cancelled)
		box_remove(box);
	free(install);
}

static void finish_install(struct install *install, const struct error *why)
{
	if (why != NULL) {
		install->failed = true;
		install->why = *why;
	}
	if (install->container[0] == '\0')
		on_removed(install, NULL);
	else
		api_remove_container(install->broker, install->container, on_removed, install);
}

/* To be called when the daemon has answered a call. True: the installation was cancelled meanwhile,
 * and ends now. */
static bool end_if_cancelled(struct install *install)
{
	struct error err;

	if (!install->is_cancelled)
		return false;
	(void)error_set(&err, ERR_SYSTEM, "the sandbox ended before Python was installed");
	finish_install(install, &err);
	return true;
}

/* The removal makes the daemon answer the pending call of /wait, which ends the installation. */
static void on_killed(UNUSED void *ctx, UNUSED const struct api_answer *answer)
{
}

void install_cancel(struct install *install)
{
	if (install->is_cancelled)
		return;
	install->is_cancelled = true;
	if (install->is_queued)
		(void)end_if_cancelled(install);
	else if (install->is_waiting)
		api_remove_container(install->broker, install->container, on_killed, NULL);
}

/* --- the installer has ended --- */

static void on_committed(void *ctx, const struct api_answer *answer)
{
	struct install *install = ctx;

	if (!end_if_cancelled(install))
		finish_install(install, answer->why);
}

/* The new image gets a command of its own, because the installer's has the URL of the gate in it.
 * Podman takes the command only from the parameter `changes`. */
static void commit_installer(struct install *install)
{
	char *changes = api_encode("CMD [\"/bin/sh\"]");

	api_send(install->broker, "POST", json_obj(), on_committed, install,
	         "/commit?container=%s&repo=" DOCKER_PYTHON "&tag=%s&pause=0&changes=%s",
	         install->container, strchr(install->name, ':') + 1, changes);
	free(changes);
}

/* Finds the first line that apt-get ("E: ") or apk ("ERROR: ") marks as an error; without one, the
 * last line. */
static struct view find_reason(struct view log)
{
	struct view line, last = { "", 0 };

	while (view_next_line(&log, &line)) {
		line = view_trim(line);
		if (view_starts(line, "E: ") || view_starts(line, "ERROR: "))
			return line;
		if (line.len != 0)
			last = line;
	}
	return last;
}

static void on_log(void *ctx, int status, struct view body, const struct error *why)
{
	struct install *install = ctx;
	AUTO_BUF struct buf log = { 0 };
	struct demux demux = { .left = 0 };
	struct demux_piece piece;
	char reason[REASON_MAX];
	struct error err;

	buf_init(&log, LOG_MAX);
	if (why == NULL && status == 200)
		while (demux_next(&demux, &body, &piece, &err) == 1)
			buf_put(&log, piece.bytes);
	(void)utf8_escape(find_reason(buf_view(&log)), reason, sizeof reason);
	(void)error_set(&err, ERR_SYSTEM, "%s",
	                reason[0] != '\0' ? reason : "its package manager printed no reason");
	if (!end_if_cancelled(install))
		finish_install(install, &err);
}

/* The log is read as a whole, because Podman mixes up the parts of a line if `tail` is given. */
static void read_log(struct install *install)
{
	api_send_raw(install->broker,
	             &(struct http_client_request){ .method = "GET",
	                                            .max = LOG_MAX,
	                                            .timeout_ms = STOP_MS,
	                                            .done = on_log,
	                                            .ctx = install },
	             "/containers/%s/logs?stdout=1&stderr=1", install->container);
}

static void on_exit_status(void *ctx, const struct api_answer *answer)
{
	struct install *install = ctx;
	json_int_t code = -1;
	struct error err;

	install->is_waiting = false;
	if (end_if_cancelled(install))
		return;
	if (answer->why != NULL && clock_now_ms() >= install->until_ms) {
		(void)error_set(&err, ERR_LIMIT,
		                "its package manager took more than %d s, which is the limit",
		                INSTALL_S);
		finish_install(install, &err);
	} else if (answer->why != NULL)
		finish_install(install, answer->why);
	else if (json_as_int(json_object_get(answer->json, "StatusCode"), &code) && code == 0)
		commit_installer(install);
	else
		read_log(install);
}

static void on_exited(void *ctx, int status, struct view body, const struct error *why)
{
	api_decode(status, body, why, on_exit_status, ctx);
}

/* --- the installer --- */

static void on_started(void *ctx, const struct api_answer *answer)
{
	struct install *install = ctx;

	if (end_if_cancelled(install))
		return;
	if (answer->why != NULL) {
		finish_install(install, answer->why);
		return;
	}
	install->is_waiting = true;
	install->until_ms = clock_now_ms() + INSTALL_S * 1000;
	api_send_raw(install->broker,
	             &(struct http_client_request){ .method = "POST",
	                                            .max = LOG_MAX,
	                                            .timeout_ms = INSTALL_S * 1000,
	                                            .done = on_exited,
	                                            .ctx = install },
	             "/containers/%s/wait", install->container);
}

static void on_created(void *ctx, const struct api_answer *answer)
{
	struct install *install = ctx;
	struct error err;
	const struct error *why = answer->why;

	if (why == NULL && answer_id(answer->json, install->container, &err) < 0)
		why = &err;
	if (end_if_cancelled(install))
		return;
	if (why != NULL)
		finish_install(install, why);
	else
		api_send(install->broker, "POST", NULL, on_started, install, "/containers/%s/start",
		         install->container);
}

static void on_result(void *ctx, const struct api_answer *answer)
{
	struct install *install = ctx;
	struct broker *broker = install->broker;
	const struct box *box = install->box;

	if (end_if_cancelled(install))
		return;
	if (answer->why == NULL || answer->status != 404) {
		finish_install(install, answer->why);
		return;
	}
	api_send(broker, "POST",
	         installer_json(broker, &box->spec, box->image.id, box->container, script,
	                        install->proxy),
	         on_created, install, "/containers/create?name=" DOCKER_PREFIX "install-%s-%llu",
	         broker->options->instance, (unsigned long long)++broker->last_install);
}

static void look_for_result(struct install *install)
{
	api_send(install->broker, "GET", NULL, on_result, install, "/images/%s/json",
	         install->name);
}

/* --- the request --- */

static bool is_proxy(const char argument[ENGINE_ARGUMENT_SIZE])
{
	size_t len = strnlen(argument, ENGINE_ARGUMENT_SIZE);

	return len < ENGINE_ARGUMENT_SIZE && strncmp(argument, "http://", 7) == 0 &&
	       strspn(argument, "abcdefghijklmnopqrstuvwxyz0123456789:/@.") == len;
}

static int check_request(struct broker *broker, const struct engine_request *request,
                         struct box **ret, struct error *err)
{
	const char *id = request->spec.id;
	struct box *box = NULL;

	if (memchr(id, '\0', sizeof request->spec.id) != NULL)
		box = box_find_id(broker, id);
	if (box == NULL || !box->is_started || box->is_killed || box->is_removing)
		return error_set(err, ERR_NOT_FOUND, "the sandbox is not awake");
	if (box->install != NULL)
		return error_set(err, ERR_INVALID, "Python is being installed already");
	if (!is_proxy(request->argument))
		return error_set(err, ERR_INVALID, "argument: not the URL of a gate");
	*ret = box;
	return 0;
}

void install_start(struct broker *broker, const struct engine_request *request)
{
	struct install *install;
	const char *colon;
	struct error err;
	struct box *box;

	if (check_request(broker, request, &box, &err) < 0) {
		replies_add_failure(&broker->replies, REPLY_PYTHON, request->number, &err);
		return;
	}
	install = mem_new(sizeof *install);
	install->broker = broker;
	install->box = box;
	install->number = request->number;
	memcpy(install->proxy, request->argument, sizeof install->proxy);
	colon = strchr(box->image.id, ':');
	(void)snprintf(install->name, sizeof install->name, DOCKER_PYTHON ":%.24s-%016" PRIx64,
	               colon != NULL ? colon + 1 : box->image.id, box->spec.owner);
	LIST_EACH (node, &broker->installs)
		if (strcmp(container_of(node, struct install, node)->name, install->name) == 0)
			install->is_queued = true;
	box->install = install;
	list_add(&broker->installs, &install->node);
	if (!install->is_queued)
		look_for_result(install);
}
