/* credentials.c - how to log in to a registry: Docker's own configuration, and the helper programs
 * that it names (see internal.h).
 *
 * Only the broker reads these secrets, and only for an image that it is allowed to pull. A helper
 * is started as Docker's client starts it: docker-credential-NAME get, the registry on its standard
 * input, JSON on its standard output. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text/base64.h"
#include "engine/docker/internal.h"
#include "loop/input.h"
#include "loop/loop.h"

enum { HELPER_ANSWER_MAX = 64 * 1024, HELPER_MS = 30000 };

static const struct json_limits limits = { .depth = 16, .values = 10000 };

struct helper {
	struct broker *broker;
	char registry[SPEC_IMAGE_MAX + 1];
	char name[80];
	credentials_fn *done;
	void *ctx;
	pid_t pid;
	int fd;
	struct input *input;
	struct loop_timer *timer;
	struct buf answer;
};

const char *credentials_registry(const char *image, const char *usual, char out[SPEC_IMAGE_MAX + 1])
{
	size_t len = strcspn(image, "/");

	if (image[len] == '/' &&
	    (memchr(image, '.', len) != NULL || memchr(image, ':', len) != NULL ||
	     (len == 9 && strncmp(image, "localhost", 9) == 0)))
		(void)snprintf(out, SPEC_IMAGE_MAX + 1, "%.*s", (int)len, image);
	else
		(void)snprintf(out, SPEC_IMAGE_MAX + 1, "%s", usual);
	return out;
}

/* The header's value is JSON in Base64 with the alphabet for URLs. */
static char *make_header(const char *user, const char *password, const char *token,
                         const char *registry)
{
	AUTO_JSON json_t *auth = json_obj();
	AUTO_FREE char *text = NULL, *encoded = NULL;
	size_t len;

	if (token != NULL && token[0] != '\0')
		json_set(auth, "identitytoken", json_str(token));
	else {
		json_set(auth, "username", json_str(user));
		json_set(auth, "password", json_str(password));
	}
	json_set(auth, "serveraddress", json_str(registry));
	text = json_write(auth, &len);
	encoded = base64_encode((struct view){ text, len });
	for (char *c = encoded; *c != '\0'; c++)
		*c = *c == '+' ? '-' : *c == '/' ? '_' : *c;
	return mem_format("X-Registry-Auth: %s", encoded);
}

/* --- a helper program --- */

static void finish_helper(struct helper *helper, const char *header, const struct error *why)
{
	struct helper copy = *helper;

	(void)input_free(helper->input);
	(void)loop_timer_free(helper->timer);
	(void)close(helper->fd);
	(void)kill(helper->pid, SIGKILL);
	(void)waitpid(helper->pid, NULL, 0);
	buf_done(&helper->answer);
	free(helper);
	copy.done(copy.ctx, header, why);
}

static void fail_helper(struct helper *helper, const char *why)
{
	struct error err;

	(void)error_set(
	        &err, ERR_SYSTEM,
	        "docker-credential-%s, which knows the login for %s, %s: run it by hand, or "
	        "change Docker's config.json",
	        helper->name, helper->registry, why);
	finish_helper(helper, NULL, &err);
}

static void on_helper_bytes(void *ctx, struct view bytes)
{
	struct helper *helper = ctx;

	if (!buf_put(&helper->answer, bytes))
		fail_helper(helper, "writes too much");
}

/* A helper without a login for the registry prints a text that is no JSON: the image is then pulled
 * without a login. */
static void on_helper_end(void *ctx, const struct error *why)
{
	struct helper *helper = ctx;
	AUTO_JSON json_t *answer = NULL;
	AUTO_FREE char *header = NULL;
	const char *user, *secret;
	struct error err;
	bool is_token;

	(void)why;
	if (json_read(buf_view(&helper->answer), &limits, &answer, NULL, &err) < 0) {
		finish_helper(helper, NULL, NULL);
		return;
	}
	user = json_text(answer, "Username");
	secret = json_text(answer, "Secret");
	if (user == NULL || secret == NULL) {
		fail_helper(helper, "answers without a user and a secret");
		return;
	}
	is_token = strcmp(user, "<token>") == 0;
	header = make_header(user, secret, is_token ? secret : NULL, helper->registry);
	finish_helper(helper, header, NULL);
}

static void on_helper_timeout(void *ctx)
{
	fail_helper(ctx, "does not answer within 30 seconds");
}

static NORETURN void run_helper(const char *program, int in, int out)
{
	char get[] = "get", *copy = mem_dup(program);
	char *const argv[] = { copy, get, NULL };
	sigset_t none;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	for (int signo = 1; signo < 32; signo++)
		(void)signal(signo, SIG_DFL);
	if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0)
		_exit(126);
	(void)execvp(program, argv);
	_exit(127);
}

static const struct input_events helper_events = { .bytes = on_helper_bytes, .end = on_helper_end };

/* The registry's name is far shorter than the buffer of a pipe, so write(2) does not block. */
static int start_helper(struct broker *broker, const char *name, const char *registry,
                        credentials_fn *done, void *ctx, struct error *err)
{
	int in[2], out[2];
	char program[128];
	struct helper *helper;
	pid_t pid;

	if (name[strspn(name,
	                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")] !=
	            '\0' ||
	    snprintf(program, sizeof program, "docker-credential-%s", name) >= (int)sizeof program)
		return error_set(
		        err, ERR_INVALID,
		        "Docker's config.json names a credential helper that cannot be the "
		        "name of a program: change 'credsStore' or 'credHelpers' there");
	if (pipe2(in, O_CLOEXEC) < 0)
		return error_sys(err, "pipe");
	if (pipe2(out, O_CLOEXEC) < 0) {
		(void)close(in[0]);
		(void)close(in[1]);
		return error_sys(err, "pipe");
	}
	pid = fork();
	if (pid == 0)
		run_helper(program, in[0], out[1]);
	(void)close(in[0]);
	(void)close(out[1]);
	(void)!write(in[1], registry, strlen(registry));
	(void)close(in[1]);
	if (pid < 0) {
		(void)close(out[0]);
		return error_sys(err, "start %s", program);
	}
	helper = mem_new(sizeof *helper);
	*helper = (struct helper){
		.broker = broker, .done = done, .ctx = ctx, .pid = pid, .fd = out[0]
	};
	(void)snprintf(helper->registry, sizeof helper->registry, "%s", registry);
	(void)snprintf(helper->name, sizeof helper->name, "%s", name);
	buf_init(&helper->answer, HELPER_ANSWER_MAX);
	helper->timer = loop_timer_new(broker->loop, on_helper_timeout, helper);
	loop_timer_start(helper->timer, HELPER_MS);
	helper->input = input_new(broker->loop, helper->fd, &helper_events, helper);
	return 0;
}

/* --- the configuration --- */

/* An entry has "auth", which is user:password in Base64, or "username" and "password". */
static char *header_from_entry(const json_t *entry, const char *registry)
{
	const char *auth = json_text(entry, "auth"), *user = json_text(entry, "username");
	const char *password = json_text(entry, "password");
	AUTO_FREE char *decoded = NULL;
	struct error err;
	size_t len;
	char *colon;

	if (auth != NULL && auth[0] != '\0' &&
	    base64_decode(view_of(auth), &decoded, &len, &err) == 0 &&
	    (colon = strchr(decoded, ':')) != NULL) {
		*colon = '\0';
		user = decoded;
		password = colon + 1;
	}
	if (user == NULL || password == NULL || user[0] == '\0')
		return NULL;
	return make_header(user, password, json_text(entry, "identitytoken"), registry);
}

struct deferred_answer {
	credentials_fn *done;
	void *ctx;
	char *header;
	bool failed;
	struct error why;
};

static void deliver_answer(void *ctx)
{
	struct deferred_answer *answer = ctx;

	answer->done(answer->ctx, answer->header, answer->failed ? &answer->why : NULL);
	free(answer->header);
	free(answer);
}

void credentials_get(struct broker *broker, const char *image, credentials_fn *done, void *ctx)
{
	AUTO_JSON json_t *config = daemon_read_config("config.json");
	struct deferred_answer *answer = mem_new(sizeof *answer);
	char registry[SPEC_IMAGE_MAX + 1];
	const char *helper;

	(void)credentials_registry(image, broker->info.index, registry);
	helper = json_text(json_object_get(config, "credHelpers"), registry);
	if (helper == NULL)
		helper = json_text(config, "credsStore");
	*answer = (struct deferred_answer){ .done = done, .ctx = ctx };
	answer->header = header_from_entry(
	        json_object_get(json_object_get(config, "auths"), registry), registry);
	if (answer->header == NULL && helper != NULL) {
		if (start_helper(broker, helper, registry, done, ctx, &answer->why) == 0) {
			free(answer);
			return;
		}
		answer->failed = true;
	}
	loop_defer(broker->loop, deliver_answer, answer);
}
