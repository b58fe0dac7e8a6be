/* sandbox_python.c - Python for the image of a sandbox (see sandbox.h).
 *
 *   search the image's files for package servers -> open a gate to them -> add_python() of the
 *   engine -> close the gate
 *
 * The image names the servers, in files that programs of the sandbox cannot change. The ceiling
 * decides which of them are used. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/utf8.h"
#include "egress/net_policy.h"
#include "sandbox/channel/files.h"
#include "sandbox/gate/gate_log.h"
#include "sandbox/internal.h"

enum { LINES_MAX = 200, FILE_BYTES_MAX = 256 * 1024, REPLY_MAX = 256 * 1024, DEPTH = 3 };

/* Where apk and apt find the URLs of their servers. */
static const char *const places[] = { "/etc/apk/repositories", "/etc/apt" };

struct addition {
	struct sandbox *sandbox;
	engine_image_fn *fn;
	void *ctx;
	size_t place;            /* of `places`, which is searched */
	struct host_rules hosts; /* that are allowed */
	char refused[80];        /* the first host that is not; "" */
	struct sandbox_installer gate;
	bool has_gate;
	uint64_t refusals; /* of the sandbox's gates before */
};

static void finish_addition(struct addition *addition, const char *image, const struct error *why)
{
	addition->sandbox->progress.text[0] = '\0';
	if (addition->has_gate)
		sandbox_close_installer(addition->sandbox, &addition->gate);
	addition->fn(addition->ctx, image, why);
	free(addition);
}

/* --- the package servers --- */

/* The host of a URL is as hostile as the rest of the image: it is read as a rule that a caller
 * gives, and the dialer checks name and address once more. */
static void add_host(struct addition *addition, struct view url, bool is_https)
{
	const struct net_ceiling *ceiling = addition->sandbox->manager->config.ceiling;
	struct host_rule rule = { 0 };
	struct view text = url;
	struct error err;
	const char *at;

	text.len = 0;
	while (text.len < url.len && url.ptr[text.len] > ' ' &&
	       strchr("/?#]", url.ptr[text.len]) == NULL)
		text.len++;
	at = text.len != 0 ? memrchr(text.ptr, '@', text.len) : NULL;
	if (at != NULL)
		text = (struct view){ at + 1, text.len - (size_t)(at + 1 - text.ptr) };
	if (text.len == 0 ||
	    net_host_parse_port(text, is_https ? 443 : 80, &rule.host, &rule.port, &err) < 0 ||
	    host_rules_cover(&addition->hosts, &rule))
		return;
	if (addition->hosts.count < HOST_RULES_MAX &&
	    net_ceiling_decide(ceiling, &rule.host, rule.port, &err) == 0)
		addition->hosts.items[addition->hosts.count++] = rule;
	else if (addition->refused[0] == '\0')
		(void)utf8_escape(text, addition->refused, sizeof addition->refused);
}

static void add_line(struct addition *addition, struct view line)
{
	static const char *const schemes[] = { "http://", "https://" };

	line = view_trim(line);
	if (line.len != 0 && line.ptr[0] == '#')
		return;
	for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
		const size_t len = strlen(schemes[i]);
		struct view rest = line;
		const char *found;

		while (rest.len != 0 &&
		       (found = memmem(rest.ptr, rest.len, schemes[i], len)) != NULL) {
			rest.len -= (size_t)(found + len - rest.ptr);
			rest.ptr = found + len;
			add_host(addition, rest, i == 1);
		}
	}
}

/* A package manager only reports that a connection was refused. If the gate refused it, the log of
 * the gate has the reason. */
static void on_made(void *ctx, const char *image, const struct error *why)
{
	struct addition *addition = ctx;
	const struct gate_attempt *refused;
	struct error err;
	size_t others;

	refused = gate_log_refused(sandbox_gate_log(addition->sandbox), addition->refusals,
	                           &others);
	if (why != NULL && refused != NULL) {
		(void)error_set(&err, ERR_LIMIT, "%s", refused->reason);
		why = &err;
	}
	finish_addition(addition, image, why);
}

static void install_python(struct addition *addition)
{
	struct sandbox *sandbox = addition->sandbox;
	struct engine *engine = sandbox->manager->engine;
	struct error err;
	int r = -1;

	if (addition->hosts.count == 0 && addition->refused[0] != '\0')
		(void)error_set(&err, ERR_LIMIT,
		                "its package server %s is not among the hosts that this server "
		                "allows: the operator can add it to --allow-hosts",
		                addition->refused);
	else if (addition->hosts.count == 0)
		(void)error_set(&err, ERR_UNSUPPORTED,
		                "it names no package server, neither in %s nor in %s", places[0],
		                places[1]);
	else
		r = sandbox_open_installer(sandbox, &addition->hosts, &addition->gate, &err);
	if (r < 0) {
		finish_addition(addition, NULL, &err);
		return;
	}
	addition->has_gate = true;
	addition->refusals = gate_log_refusals(sandbox_gate_log(sandbox));
	(void)snprintf(sandbox->progress.text, sizeof sandbox->progress.text,
	               "installing Python in %.100s", sandbox->row.spec.image);
	if (engine->ops->add_python(engine, sandbox->row.spec.id, addition->gate.proxy, on_made,
	                            addition, &err) < 0)
		finish_addition(addition, NULL, &err);
}

/* --- searching --- */

static void search_place(struct addition *addition);

static void on_searched(void *ctx, const struct files_reply *reply, const struct error *why)
{
	struct addition *addition = ctx;
	struct wire_match match;
	struct error err;
	struct view rest;

	if (sandbox_channel(addition->sandbox) == NULL) {
		(void)error_set(&err, ERR_SYSTEM, "the sandbox ended meanwhile");
		finish_addition(addition, NULL, &err);
		return;
	}
	/* An error means that the image lacks this place: it has apk's or apt's. */
	if (why == NULL)
		for (rest = reply->bytes; files_next_match(&rest, &match);)
			add_line(addition, match.text);
	addition->place++;
	search_place(addition);
}

static void search_place(struct addition *addition)
{
	struct wire_message request = { .type = WIRE_GREP };
	struct files_op *op;
	struct error err;

	if (addition->place == ARRAY_LEN(places)) {
		install_python(addition);
		return;
	}
	request.grep = (struct wire_grep){ .depth = DEPTH,
		                           .limit = LINES_MAX,
		                           .max = FILE_BYTES_MAX,
		                           .path = view_of(places[addition->place]),
		                           .pattern = view_of("://") };
	if (files_start(addition->sandbox->channel, &request, view_of(""), REPLY_MAX, on_searched,
	                addition, &op, &err) < 0)
		finish_addition(addition, NULL, &err);
}

static void begin_addition(void *ctx, const struct error *why)
{
	struct addition *addition = ctx;
	struct error err;

	(void)why;
	if (sandbox_channel(addition->sandbox) == NULL)
		(void)error_set(&err, ERR_INVALID, "the sandbox is not awake");
	else if (addition->sandbox->manager->config.dial == NULL)
		(void)error_set(&err, ERR_UNSUPPORTED,
		                "package servers cannot be reached: the operator has started this "
		                "server with --network-max none");
	else {
		search_place(addition);
		return;
	}
	finish_addition(addition, NULL, &err);
}

void sandbox_add_python(struct sandbox *sandbox, engine_image_fn *fn, void *ctx)
{
	struct addition *addition = mem_new(sizeof *addition);

	addition->sandbox = sandbox;
	addition->fn = fn;
	addition->ctx = ctx;
	waiters_notify_one(sandbox->manager->loop, begin_addition, addition, NULL);
}
