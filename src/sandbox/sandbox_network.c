/* sandbox_network.c - the network of a sandbox: its policy, its gate while it is awake, and the
 * variables that lead programs to the gate (see internal.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/random.h"
#include "egress/mirror/mirror.h"
#include "egress/net_secrets.h"
#include "loop/loop.h"
#include "sandbox/channel/channel.h"
#include "sandbox/channel/files.h"
#include "sandbox/gate/gate.h"
#include "sandbox/gate/gate_log.h"
#include "sandbox/internal.h"
#include "sandbox/process/process.h"

/* --- the policy --- */

enum net_mode sandbox_network_mode(const struct sandbox *sandbox)
{
	const struct net_ceiling *ceiling = sandbox->manager->config.ceiling;
	enum net_mode mode = sandbox->row.network;

	/* The operator may have lowered the ceiling since the sandbox was created. */
	if (sandbox->manager->config.dial == NULL)
		return NET_MODE_NONE;
	if (sandbox->once != NULL && mode < NET_MODE_ALLOW)
		mode = NET_MODE_ALLOW;
	return mode <= ceiling->max ? mode : ceiling->max;
}

/* The hosts that are allowed for a while, beside those of the row. */
struct net_once {
	struct sandbox *sandbox;
	struct loop_timer *timer;
	char hosts[SANDBOX_HOSTS_MAX];
};

/* Rules that do not fit are left out, which refuses more. */
static void add_rules(struct host_rules *rules, const struct host_rules *more)
{
	for (size_t i = 0; i < more->count && rules->count < HOST_RULES_MAX; i++)
		rules->items[rules->count++] = more->items[i];
}

static void add_once(const struct sandbox *sandbox, struct net_policy *policy)
{
	const struct net_ceiling *ceiling = sandbox->manager->config.ceiling;
	struct error err;

	if (sandbox->once == NULL || policy->mode != NET_MODE_ALLOW)
		return;
	if (host_rules_read(&policy->allow, sandbox->once->hosts, '\0', HOST_RULES_CALLER, &err) <
	    0)
		log_warning("sandbox %s: %s", sandbox->row.spec.id, err.msg);
	/* The hosts that are allowed for a while have made the mode 'allow', which would take the
	 * indexes away from a sandbox with the policy 'packages'. */
	if (sandbox->row.network == NET_MODE_PACKAGES)
		add_rules(&policy->allow, &ceiling->indexes);
}

static struct net_policy *make_policy(const struct sandbox *sandbox)
{
	struct net_policy *policy = mem_new(sizeof *policy);
	struct error err;

	policy->mode = sandbox_network_mode(sandbox);
	policy->has_tools = sandbox_reader(sandbox) == SANDBOX_FOR_TOOLS;
	policy->sandbox = sandbox_argument(sandbox);
	/* Without a list of its own, 'allow' is what the operator allows. */
	if (sandbox->row.network == NET_MODE_ALLOW && policy->mode == NET_MODE_ALLOW &&
	    sandbox->row.network_allow[0] == '\0')
		policy->allow = sandbox->manager->config.ceiling->allow;
	if (sandbox->row.network == NET_MODE_ALLOW && policy->mode == NET_MODE_ALLOW &&
	    host_rules_read(&policy->allow, sandbox->row.network_allow, '\0', HOST_RULES_CALLER,
	                    &err) < 0) {
		log_warning("sandbox %s has no network: %s", sandbox->row.spec.id, err.msg);
		policy->mode = NET_MODE_NONE;
	}
	add_once(sandbox, policy);
	return policy;
}

/* --- the log --- */

static void on_attempt(void *ctx, const struct gate_attempt *attempt)
{
	struct sandbox *sandbox = ctx;
	char what[NET_HOST_SIZE + 32];

	(void)snprintf(what, sizeof what, "network %s",
	               attempt->target[0] != '\0' ? attempt->target : "(malformed request)");
	sandbox_add_history(sandbox, time(NULL), 0, what,
	                    attempt->is_allowed ? "allowed" : "refused");
}

struct gate_log *sandbox_gate_log(struct sandbox *sandbox)
{
	if (sandbox->gate_log == NULL) {
		sandbox->gate_log = mem_new(sizeof *sandbox->gate_log);
		sandbox->gate_log->added = on_attempt;
		sandbox->gate_log->ctx = sandbox;
	}
	return sandbox->gate_log;
}

/* --- the gate --- */

static void renew_env(void *ctx)
{
	struct sandbox *sandbox = ctx;

	sandbox_free_env(sandbox->env);
	sandbox->env = NULL;
	process_renew_env(sandbox);
}

void sandbox_start_gate(struct sandbox *sandbox)
{
	const struct manager_config *config = &sandbox->manager->config;
	AUTO_FREE struct net_policy *policy = make_policy(sandbox);
	const struct gate_options options = {
		.loop = sandbox->manager->loop,
		.channel = sandbox->channel,
		.dial = config->dial,
		.mirror = config->mirror,
		.interceptor = config->interceptor,
		.ceiling = config->ceiling,
		.secrets = config->secrets,
		.log = policy->mode != NET_MODE_NONE ? sandbox_gate_log(sandbox) : NULL,
		.port = GATE_PORT,
		.moved = renew_env,
		.ctx = sandbox,
	};

	/* A sandbox that another server has awake has its gate there. */
	if (policy->mode == NET_MODE_NONE || sandbox->is_guest)
		sandbox->gate = gate_free(sandbox->gate);
	else if (sandbox->gate != NULL)
		gate_set_policy(sandbox->gate, policy);
	else if (sandbox->phase == PHASE_READY)
		sandbox->gate = gate_new(&options, policy);
}

static void free_once(struct sandbox *sandbox)
{
	struct net_once *once = sandbox->once;

	if (once == NULL)
		return;
	sandbox->once = NULL;
	(void)loop_timer_free(once->timer);
	free(once);
}

/* --- the CAs that programs trust --- */

static void on_placed(void *ctx, const struct files_reply *reply, const struct error *why)
{
	struct sandbox *sandbox = ctx;

	(void)reply;
	sandbox->placing = NULL;
	if (channel_has_ended(sandbox->channel))
		return; /* the channel reports its end next; the sandbox never was ready */
	/* Without the file, programs refuse the interceptor's certificates and say so. */
	if (why != NULL && !sandbox->is_guest)
		log_warning("sandbox %s: programs do not trust the CA of belljar: %s",
		            sandbox->row.spec.id, why->msg);
	sandbox->placed(sandbox);
}

/* The CA is this server's, so that the file of an earlier server is replaced. A guest leaves the
 * file of the server whose gate the sandbox has. */
void sandbox_place_trusted(struct sandbox *sandbox, void (*placed)(struct sandbox *sandbox))
{
	const char *trusted = sandbox->manager->config.trusted;
	struct wire_message request = { .type = WIRE_WRITE };
	struct error err;

	if (trusted == NULL)
		return placed(sandbox);
	request.write = (struct wire_write){ .mode = sandbox->is_guest ? WIRE_WRITE_CREATE
		                                                       : WIRE_WRITE_REPLACE,
		                             .flags = WIRE_PARENTS,
		                             .perm = 0644,
		                             .max = strlen(trusted),
		                             .path = view_of(SANDBOX_TRUSTED) };
	sandbox->placed = placed;
	if (files_start(sandbox->channel, &request, view_of(trusted), 0, on_placed, sandbox,
	                &sandbox->placing, &err) < 0) {
		log_warning("sandbox %s: programs do not trust the CA of belljar: %s",
		            sandbox->row.spec.id, err.msg);
		placed(sandbox);
	}
}

/* --- hosts for a while --- */

static void on_once_over(void *ctx)
{
	struct net_once *once = ctx;
	struct sandbox *sandbox = once->sandbox;
	enum net_mode before = sandbox_network_mode(sandbox);

	free_once(sandbox);
	sandbox_network_changed(sandbox, before);
}

int sandbox_allow_once(struct sandbox *sandbox, const char *hosts, struct error *err)
{
	enum net_mode before = sandbox_network_mode(sandbox);
	struct net_once *once;

	if (sandbox->is_guest)
		return error_set(err, ERR_UNSUPPORTED,
		                 "another server has this sandbox awake: answer 'for this "
		                 "sandbox', or use a sandbox of this server");
	free_once(sandbox);
	once = mem_new(sizeof *once);
	once->sandbox = sandbox;
	once->timer = loop_timer_new(sandbox->manager->loop, on_once_over, once);
	memcpy(once->hosts, hosts, sizeof once->hosts);
	sandbox->once = once;
	loop_timer_start(once->timer, SANDBOX_ONCE_MS);
	sandbox_network_changed(sandbox, before);
	return 0;
}

void sandbox_stop_gates(struct sandbox *sandbox)
{
	files_cancel(sandbox->placing);
	sandbox->placing = NULL;
	free_once(sandbox);
	sandbox->gate = gate_free(sandbox->gate);
	for (unsigned i = 0; i < SANDBOX_INSTALLERS; i++)
		sandbox->installers[i] = gate_free(sandbox->installers[i]);
}

/* --- installers --- */

enum { INSTALLER_PORT_FIRST = 20000, INSTALLER_PORT_COUNT = 40000, PASSWORD_BITS = 128 };
_Static_assert(PASSWORD_BITS / RANDOM_HEX_BITS < sizeof((struct gate_options *)0)->password,
               "the password fits");

static unsigned find_slot(const struct sandbox *sandbox)
{
	unsigned slot = 0;

	while (slot < SANDBOX_INSTALLERS && sandbox->installers[slot] != NULL)
		slot++;
	return slot;
}

int sandbox_open_installer(struct sandbox *sandbox, const struct host_rules *hosts,
                           struct sandbox_installer *ret, struct error *err)
{
	const struct manager_config *config = &sandbox->manager->config;
	AUTO_FREE struct net_policy *policy = mem_new(sizeof *policy);
	struct gate_options options = { .loop = sandbox->manager->loop,
		                        .channel = sandbox->channel,
		                        .dial = config->dial,
		                        .mirror = hosts == NULL ? config->mirror : NULL,
		                        .ceiling = config->ceiling,
		                        .log = sandbox_gate_log(sandbox) };
	unsigned slot = find_slot(sandbox);

	if (config->dial == NULL || sandbox->phase != PHASE_READY)
		return error_set(err, ERR_UNSUPPORTED,
		                 "the package index cannot be reached: the operator has started "
		                 "this server with --network-max none");
	if (slot == SANDBOX_INSTALLERS)
		return error_set(err, ERR_LIMIT,
		                 "%d installers are running in this sandbox: wait until one has "
		                 "ended",
		                 SANDBOX_INSTALLERS);
	/* With a mirror the installer reaches no host: code in the sandbox cannot use it to send
	 * data to an index. */
	policy->mode = config->mirror != NULL ? NET_MODE_NONE : NET_MODE_PACKAGES;
	if (hosts != NULL) {
		policy->mode = NET_MODE_ALLOW;
		policy->allow = *hosts;
	}
	policy->has_tools = sandbox_reader(sandbox) == SANDBOX_FOR_TOOLS;
	policy->sandbox = sandbox_argument(sandbox);
	options.port = (uint16_t)(INSTALLER_PORT_FIRST + random_number() % INSTALLER_PORT_COUNT);
	random_hex(options.password, PASSWORD_BITS);
	sandbox->installers[slot] = gate_new(&options, policy);
	*ret = (struct sandbox_installer){ .slot = slot,
		                           .serial = ++sandbox->installer_serials[slot] };
	(void)snprintf(ret->proxy, sizeof ret->proxy, "http://belljar:%s@127.0.0.1:%u",
	               options.password, options.port);
	return 0;
}

void sandbox_close_installer(struct sandbox *sandbox, const struct sandbox_installer *installer)
{
	unsigned slot = installer->slot;

	/* The sandbox may have ended meanwhile, and another installer may have the slot. */
	if (sandbox->installer_serials[slot] == installer->serial)
		sandbox->installers[slot] = gate_free(sandbox->installers[slot]);
}

void sandbox_network_changed(struct sandbox *sandbox, enum net_mode before)
{
	sandbox_start_gate(sandbox);
	if (before != sandbox_network_mode(sandbox))
		renew_env(sandbox);
}

/* --- variables --- */

/* Connects ssh, which knows no proxies, through the gate. bash can open a connection by itself. */
#define SSH_COMMAND                                                                                \
	"ssh -o ProxyCommand='bash -c \"exec 3<>/dev/tcp/127.0.0.1/%u; "                           \
	"printf \\\"CONNECT %%h:%%p HTTP/1.1\\\\r\\\\n\\\\r\\\\n\\\" >&3; "                        \
	"while read -r l <&3 && [ ${#l} -gt 1 ]; do :; done; cat <&3 & cat >&3\"'"

#define JAVA_PROXY                                                                                 \
	"-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=%u "                                          \
	"-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=%u"

/* %u is the port. Libraries differ in the spelling that they read. ALL_PROXY is no SOCKS URL: HTTP
 * libraries for Python fail at their start if they lack support for it. */
static const char *const variables[] = {
	"HTTP_PROXY=http://127.0.0.1:%u",
	"http_proxy=http://127.0.0.1:%u",
	"HTTPS_PROXY=http://127.0.0.1:%u",
	"https_proxy=http://127.0.0.1:%u",
	"ALL_PROXY=http://127.0.0.1:%u",
	"all_proxy=http://127.0.0.1:%u",
	"NO_PROXY=localhost,127.0.0.1,::1",
	"no_proxy=localhost,127.0.0.1,::1",
	"NODE_USE_ENV_PROXY=1",
	/* JAVA_TOOL_OPTIONS would serve all of Java, but every java prints a line on stderr
	 * then. */
	("MAVEN_OPTS=" JAVA_PROXY),
	("GRADLE_OPTS=" JAVA_PROXY),
	("GIT_SSH_COMMAND=" SSH_COMMAND),
	/* Without a network exec_request.c and the skeleton set these to 0, because a second
	 * attempt fails too. */
	"NPM_CONFIG_FETCH_RETRIES=2",
	"CARGO_NET_RETRY=3",
	"UV_HTTP_RETRIES=3",
	"PIP_RETRIES=3",
};

/* With the policy 'packages', installers that programs start get packages from the mirror too. */
static const char *const mirror_variables[] = {
	("PIP_INDEX_URL=" MIRROR_PIP_INDEX),          ("PIP_TRUSTED_HOST=" MIRROR_PIP_HOST),
	("UV_DEFAULT_INDEX=" MIRROR_PIP_INDEX),       ("UV_INSECURE_HOST=" MIRROR_PIP_HOST),
	("NPM_CONFIG_REGISTRY=" MIRROR_NPM_REGISTRY),
};

/* Programs that find the CAs that they trust in a file have different names for it. Node adds the
 * file to its own CAs, all others replace theirs. */
static const char *const trust_variables[] = {
	("SSL_CERT_FILE=" SANDBOX_TRUSTED),      ("CURL_CA_BUNDLE=" SANDBOX_TRUSTED),
	("REQUESTS_CA_BUNDLE=" SANDBOX_TRUSTED), ("NODE_EXTRA_CA_CERTS=" SANDBOX_TRUSTED),
	("GIT_SSL_CAINFO=" SANDBOX_TRUSTED),     ("PIP_CERT=" SANDBOX_TRUSTED),
	("CARGO_HTTP_CAINFO=" SANDBOX_TRUSTED),  ("AWS_CA_BUNDLE=" SANDBOX_TRUSTED),
	("DENO_CERT=" SANDBOX_TRUSTED),
};

_Static_assert(ARRAY_LEN(variables) + ARRAY_LEN(mirror_variables) + ARRAY_LEN(trust_variables) +
                               NET_SECRETS_MAX <=
                       SANDBOX_NETWORK_ENV_MAX,
               "sandbox_make_env() has room");

/* Replaces each %u and %%. */
static char *fill_variable(const char *text, unsigned port)
{
	char out[512], number[8];
	size_t len = 0;

	(void)snprintf(number, sizeof number, "%u", port);
	for (; *text != '\0' && len + sizeof number < sizeof out; text++) {
		if (text[0] != '%') {
			out[len++] = *text;
			continue;
		}
		text++;
		memcpy(out + len, *text == 'u' ? number : "%", *text == 'u' ? strlen(number) : 1);
		len += *text == 'u' ? strlen(number) : 1;
	}
	out[len] = '\0';
	return mem_dup(out);
}

size_t sandbox_network_env(const struct sandbox *sandbox, char **env)
{
	const struct net_secrets *secrets = sandbox->manager->config.secrets;
	unsigned port = sandbox->gate != NULL ? gate_port(sandbox->gate) : GATE_PORT;
	enum net_mode mode = sandbox_network_mode(sandbox);
	size_t count = 0;

	if (mode == NET_MODE_NONE)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(variables); i++)
		env[count++] = fill_variable(variables[i], port);
	if (mode == NET_MODE_PACKAGES && sandbox->manager->config.mirror != NULL)
		for (size_t i = 0; i < ARRAY_LEN(mirror_variables); i++)
			env[count++] = mem_dup(mirror_variables[i]);
	for (size_t i = 0;
	     sandbox->manager->config.trusted != NULL && i < ARRAY_LEN(trust_variables); i++)
		env[count++] = mem_dup(trust_variables[i]);
	for (size_t i = 0; secrets != NULL && i < secrets->count; i++)
		env[count++] = mem_format("%s=%s", secrets->items[i].name,
		                          secrets->items[i].placeholder);
	return count;
}
