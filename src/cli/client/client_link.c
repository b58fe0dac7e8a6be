#include "cli/client/client_link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "cli/client/client_http.h"
#include "cli/client/client_show.h"

enum {
	LINE_MAX_BYTES = 64 * 1024 * 1024,
	CHUNK = 64 * 1024,
	FLAGS_MAX = 100,
	PAGES_MAX = 1000,
	EXIT_WAIT_MS = 10000,
	METHOD_NOT_FOUND = -32601,
};

static const struct json_limits limits = { .depth = 200, .values = 5000000 };

static volatile sig_atomic_t interrupts;

static void on_interrupt(int number)
{
	(void)number;
	interrupts++;
}

/* Runs in the child. The server gets a process group of its own, so that Ctrl-C reaches the client
 * only. If the client exits, the server reads the end of its input and exits too. */
static void exec_server(const char *const *flags, const int in[2], const int out[2])
{
	char *argv[FLAGS_MAX + 3] = { mem_dup("belljar"), mem_dup("serve") };
	size_t count = 2;

	for (; *flags != NULL; flags++)
		argv[count++] = mem_dup(*flags);
	(void)setpgid(0, 0);
	(void)signal(SIGINT, SIG_DFL);
	(void)signal(SIGPIPE, SIG_DFL);
	if (dup2(in[0], STDIN_FILENO) >= 0 && dup2(out[1], STDOUT_FILENO) >= 0)
		(void)execv("/proc/self/exe", argv);
	(void)fprintf(stderr, "belljar: start a server: %s\n", strerror(errno));
	_exit(127);
}

static int start_server(struct link *link, const char *const *flags, struct error *err)
{
	int in[2], out[2];
	size_t count = 0;

	while (flags[count] != NULL)
		count++;
	if (count > FLAGS_MAX)
		return error_set(err, ERR_LIMIT, "%zu flags for the server: at most %d", count,
		                 FLAGS_MAX);
	if (pipe2(in, O_CLOEXEC) < 0)
		return error_sys(err, "make a pipe");
	link->to = in[1];
	if (pipe2(out, O_CLOEXEC) < 0) {
		(void)close(in[0]);
		return error_sys(err, "make a pipe");
	}
	link->from = out[0];
	link->pid = fork();
	if (link->pid == 0)
		exec_server(flags, in, out);
	(void)close(in[0]);
	(void)close(out[1]);
	if (link->pid > 0)
		return 0;
	link->pid = 0;
	return error_sys(err, "fork");
}

/* Returns true if the process has exited in time. */
static bool wait_for_exit(pid_t pid)
{
	uint64_t until = clock_now_ms() + EXIT_WAIT_MS;
	int before = interrupts;

	while (waitpid(pid, NULL, WNOHANG) == 0) {
		if (clock_now_ms() >= until || interrupts > before)
			return false;
		(void)poll(NULL, 0, 10);
	}
	return true;
}

void client_link_close(struct link *link)
{
	link->http = client_http_close(link->http);
	if (link->to >= 0)
		(void)close(link->to);
	if (link->from >= 0)
		(void)close(link->from);
	if (link->pid > 0 && !wait_for_exit(link->pid)) {
		(void)kill(link->pid, SIGKILL);
		(void)waitpid(link->pid, NULL, 0);
	}
	buf_done(&link->in);
	link->pid = 0;
	link->to = link->from = -1;
}

/* Takes over the message. */
static int send_message(struct link *link, json_t *message, struct error *err)
{
	bool is_request = json_has(message, "id") && json_has(message, "method");
	AUTO_FREE char *text = NULL;
	size_t len;

	json_set_text(message, "jsonrpc", "2.0");
	text = json_write(message, &len);
	json_decref(message);
	if (link->http != NULL)
		return client_http_send(link->http, (struct view){ text, len }, is_request, err);
	text[len] = '\n'; /* in place of the terminator */
	/* Writing to a pipe fails only if its reader has exited. Whether this write or the next
	 * read fails first depends on timing, so both report the same. */
	if (fd_write_all(link->to, (struct view){ text, len + 1 }, err) < 0)
		return error_set(err, ERR_SYSTEM, "the server exited without a response");
	return 0;
}

static int send_notification(struct link *link, const char *method, json_t *params,
                             struct error *err)
{
	json_t *message = json_obj();

	json_set_text(message, "method", method);
	if (params != NULL)
		json_set(message, "params", params);
	return send_message(link, message, err);
}

/* Handles the first Ctrl-C. A server sends no response to a cancelled request. */
static int cancel_request(struct link *link, struct error *err)
{
	json_t *params = json_obj();

	link->is_cancelled = true;
	if (link->http != NULL)
		client_http_stop(link->http);
	json_set(params, "requestId", json_int(link->last_id));
	json_set_text(params, "reason", "interrupted");
	if (send_notification(link, "notifications/cancelled", params, err) < 0)
		return -1;
	return error_set(err, ERR_INVALID, "interrupted: the call was cancelled");
}

/* Waits until the server writes. SIGINT is unblocked only inside ppoll(), so that a signal between
 * the check of `interrupts` and the wait is not missed. */
static int wait_for_bytes(struct link *link, struct error *err)
{
	struct pollfd fd = { .fd = link->from, .events = POLLIN };
	sigset_t blocked, open;
	int r;

	(void)sigemptyset(&blocked);
	(void)sigaddset(&blocked, SIGINT);
	(void)sigprocmask(SIG_BLOCK, &blocked, &open);
	r = interrupts == 0 ? ppoll(&fd, 1, NULL, &open) : -1;
	(void)sigprocmask(SIG_SETMASK, &open, NULL);
	if (interrupts != 0)
		return cancel_request(link, err);
	if (r < 0 && errno != EINTR)
		return error_sys(err, "wait for the server");
	return 0;
}

static int read_more(struct link *link, struct error *err)
{
	char chunk[CHUNK];
	ssize_t n;

	if (link->http != NULL)
		return interrupts != 0 ? cancel_request(link, err)
		                       : client_http_more(link->http, err);
	if (wait_for_bytes(link, err) < 0)
		return -1;
	n = read(link->from, chunk, sizeof chunk);
	if (n < 0 && errno == EINTR)
		return 0;
	if (n < 0)
		return error_sys(err, "read from the server");
	if (n == 0)
		return error_set(err, ERR_SYSTEM, "the server exited without a response");
	if (buf_add(&link->in, (struct view){ chunk, (size_t)n }, err) < 0)
		return error_wrap(err, "response of the server");
	return 0;
}

/* Reads the next message; the caller frees it. */
static int receive_message(struct link *link, json_t **ret, struct error *err)
{
	AUTO_JSON json_t *message = NULL;
	size_t seen = 0;
	const char *end;

	if (link->taken != 0) {
		memmove(link->in.ptr, link->in.ptr + link->taken, link->in.len - link->taken);
		buf_truncate(&link->in, link->in.len - link->taken);
		link->taken = 0;
	}
	for (;;) {
		end = link->in.len > seen ? memchr(link->in.ptr + seen, '\n', link->in.len - seen)
		                          : NULL;
		if (end != NULL)
			break;
		seen = link->in.len;
		if (read_more(link, err) < 0)
			return -1;
	}
	link->taken = (size_t)(end - link->in.ptr) + 1;
	if (json_read((struct view){ link->in.ptr, link->taken - 1 }, &limits, &message, NULL,
	              err) < 0)
		return error_wrap(err, "message of the server");
	if (!json_is_object(message))
		return error_set(err, ERR_SYNTAX, "message of the server: not a JSON object");
	*ret = TAKE_PTR(message);
	return 0;
}

/* Answers a request of the server: this client supports `ping` only. */
static int answer_request(struct link *link, const json_t *message, const char *method,
                          struct error *err)
{
	json_t *reply = json_obj(), *error;

	json_set(reply, "id", json_incref(json_object_get(message, "id")));
	if (strcmp(method, "ping") == 0)
		json_set(reply, "result", json_obj());
	else {
		error = json_obj();
		json_set(error, "code", json_int(METHOD_NOT_FOUND));
		json_set_text(error, "message", "this client does not support the method");
		json_set(reply, "error", error);
	}
	return send_message(link, reply, err);
}

static int set_rpc_error(const char *method, const json_t *error, struct error *err)
{
	const char *message = json_text(error, "message");

	return error_set(err, ERR_INVALID, "%s was refused: %s (%lld)", method,
	                 UTF8_ESCAPED(view_of(message != NULL ? message : "no reason given"), 360),
	                 (long long)json_integer_value(json_object_get(error, "code")));
}

/* Returns true if the message is the response to the last request. *ret is its result; NULL with
 * *err filled if the response is an error. */
static bool is_response(const struct link *link, const char *method, json_t *message, json_t **ret,
                        struct error *err)
{
	const json_t *id = json_object_get(message, "id");
	json_t *error = json_object_get(message, "error");

	if (json_has(message, "method") || !json_is_integer(id) ||
	    json_integer_value(id) != link->last_id)
		return false;
	*ret = NULL;
	if (error != NULL)
		(void)set_rpc_error(method, error, err);
	else if (!json_has(message, "result"))
		(void)error_set(err, ERR_SYNTAX, "%s: the response has no result", method);
	else
		*ret = json_incref(json_object_get(message, "result"));
	return true;
}

int client_link_request(struct link *link, const char *method, json_t *params, json_t **ret,
                        struct error *err)
{
	json_t *request = json_obj();
	bool answered = false;

	if (params == NULL)
		params = json_obj();
	if (link->with_progress)
		json_set(params, "_meta", json_pair("progressToken", json_int(link->last_id + 1)));
	json_set(request, "id", json_int(++link->last_id));
	json_set_text(request, "method", method);
	json_set(request, "params", params);
	if (send_message(link, request, err) < 0)
		return -1;
	while (!answered) {
		AUTO_JSON json_t *message = NULL;
		const char *said;

		if (receive_message(link, &message, err) < 0)
			return -1;
		said = json_text(message, "method");
		answered = is_response(link, method, message, ret, err);
		if (said != NULL && json_has(message, "id") &&
		    answer_request(link, message, said, err) < 0)
			return -1;
		if (said != NULL && link->with_progress &&
		    strcmp(said, "notifications/progress") == 0)
			show_progress(json_object_get(message, "params"));
	}
	if (link->with_progress)
		show_progress(NULL);
	return *ret != NULL ? 0 : -1;
}

static void init_link(struct link *link)
{
	struct sigaction action = { .sa_handler = on_interrupt };

	*link = (struct link){ .to = -1, .from = -1 };
	buf_init(&link->in, LINE_MAX_BYTES + CHUNK);
	interrupts = 0;
	(void)signal(SIGPIPE, SIG_IGN);
	(void)sigaction(SIGINT, &action, NULL);
}

static int initialize_link(struct link *link, json_t **ret_server, struct error *err)
{
	json_t *params = json_obj(), *info = json_obj();
	AUTO_JSON json_t *server = NULL;
	const char *version;

	json_set_text(params, "protocolVersion", "2025-11-25");
	json_set(params, "capabilities", json_obj());
	json_set_text(info, "name", "belljar-client");
	json_set_text(info, "version", BELLJAR_VERSION);
	json_set(params, "clientInfo", info);
	if (client_link_request(link, "initialize", params, &server, err) < 0)
		return -1;
	version = json_text(server, "protocolVersion");
	if (link->http != NULL && version != NULL)
		client_http_set_version(link->http, version);
	if (send_notification(link, "notifications/initialized", NULL, err) < 0)
		return -1;
	*ret_server = TAKE_PTR(server);
	return 0;
}

int client_link_open(struct link *link, const char *const *flags, json_t **ret_server,
                     struct error *err)
{
	init_link(link);
	return start_server(link, flags, err) < 0 ? -1 : initialize_link(link, ret_server, err);
}

int client_link_open_url(struct link *link, const char *url, const char *token_env,
                         json_t **ret_server, struct error *err)
{
	init_link(link);
	return client_http_open(url, token_env, &link->in, &link->http, err) < 0
	               ? -1
	               : initialize_link(link, ret_server, err);
}

bool client_link_resume(struct link *link)
{
	siginfo_t info = { 0 };

	interrupts = 0;
	link->is_cancelled = false;
	if (link->http != NULL)
		return true;
	return waitid(P_PID, (id_t)link->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid == 0;
}

int client_link_list(struct link *link, const char *method, const char *key, json_t **ret,
                     struct error *err)
{
	AUTO_JSON json_t *all = json_list();
	AUTO_FREE char *cursor = NULL;

	for (int i = 0; i < PAGES_MAX; i++) {
		AUTO_JSON json_t *page = NULL;
		json_t *params = json_obj(), *entries;
		const char *next;

		json_set_text(params, "cursor", cursor);
		if (client_link_request(link, method, params, &page, err) < 0)
			return -1;
		entries = json_member(page, key, JSON_ARRAY);
		if (entries == NULL)
			return error_set(err, ERR_SYNTAX, "%s: the response has no '%s'", method,
			                 key);
		(void)json_array_extend(all, entries);
		next = json_text(page, "nextCursor");
		if (next == NULL) {
			*ret = TAKE_PTR(all);
			return 0;
		}
		free(cursor);
		cursor = mem_dup(next);
	}
	return error_set(err, ERR_LIMIT, "%s: more than %d pages", method, PAGES_MAX);
}
