#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "mcp/ask/ask.h"
#include "sandbox/sandbox.h"
#include "tools/catalogue.h"
#include "tools/support/network_json.h"
#include "tools/support/params.h"
#include "tools/support/work.h"

enum { WHY_MAX = 300, HOSTS_MAX = 16 };

struct request_args {
	struct param_strings hosts;
	const char *why, *sandbox;
};

static const struct param params[] = {
	ARG_REQUIRED(struct request_args, hosts, STRINGS,
	             "Such as example.org or *.example.org:8443.", .min = 1, .max = HOSTS_MAX,
	             .item_max = NET_HOST_SIZE),
	ARG_REQUIRED(struct request_args, why, STRING, "What for; the user reads it.",
	             .also = PARAM_ALSO("reason"), .min = 1, .max = WHY_MAX),
	WORK_PARAM_SANDBOX(struct request_args),
	{ 0 },
};

static const struct param output[] = {
	FIELD("network", STRING, "The network policy of the sandbox now."),
	FIELD("network_allow", STRINGS, "The hosts that it allows now."),
	FIELD_OPTIONAL("for_s", INT, "Seconds, if the user has allowed them once."),
	{ 0 },
};

/* --- the decision --- */

static int refuse_rule(const struct host_rule *rule, const char *why, struct error *err)
{
	const char *below = rule->is_below ? "*." : "", *name = rule->host.name;
	char text[NET_HOST_SIZE];

	/* The port may be the reason: a rule of --ask-hosts without one is for 80 and 443. */
	if (rule->port != 0)
		name = net_host_text(&rule->host, rule->port, text);
	return error_set(err, ERR_LIMIT,
	                 "%s%s is not allowed: %s, ask your administrator: --ask-hosts %s%s", below,
	                 name, why, below, name);
}

/* Whether the user has to be asked. -1: a host is not allowed in any case. */
static int check_hosts(const struct net_ceiling *ceiling, const struct param_strings *hosts,
                       bool *must_ask, struct error *err)
{
	AUTO_FREE struct host_rules *rules = mem_new(sizeof *rules);

	*must_ask = false;
	for (size_t i = 0; i < hosts->count; i++)
		if (host_rules_add(rules, view_of(hosts->items[i]), HOST_RULES_CALLER, err) < 0)
			return error_wrap(err, "hosts");
	for (size_t i = 0; i < rules->count; i++) {
		const struct host_rule *rule = &rules->items[i];
		uint16_t port = rule->port != 0 ? rule->port : 443;

		if (!rule->is_below && host_rules_match(&ceiling->deny, &rule->host, port))
			return refuse_rule(rule, "the administrator has denied it", err);
		if (ceiling->max == NET_MODE_OPEN || host_rules_cover(&ceiling->allow, rule))
			continue;
		if (!host_rules_cover(&ceiling->ask, rule))
			return refuse_rule(rule, "users of this server cannot allow it", err);
		/* The user would be asked in vain: "*" does not mean addresses of this machine. */
		if (rule->host.is_address &&
		    net_ceiling_decide_address(ceiling, &rule->host, &rule->host.address, port,
		                               false, err) < 0)
			return -1;
		*must_ask = true;
	}
	return 0;
}

static const char choice_key[] = "allow";
enum { CHOICE_ONCE, CHOICE_KEEP, CHOICE_NO, CHOICES };
static const char *const choices[CHOICES] = { "once", "for this sandbox", "no" };

static json_t *make_choice(void)
{
	json_t *properties = json_obj(), *field = json_obj(), *list = json_list();

	for (size_t i = 0; i < CHOICES; i++)
		json_push(list, json_str(choices[i]));
	json_set_text(field, "type", "string");
	json_set_text(field, "title", "Allow");
	json_set_text(field, "description", "Once is for the next ten minutes.");
	json_set(field, "enum", list);
	json_set(properties, choice_key, field);
	return properties;
}

/* True: the user has agreed, for ten minutes (*is_once) or for as long as the sandbox exists.
 * False: *err says why not, or the call waits for the answer. */
static bool has_consent(struct mcp_call *call, const struct request_args *a, const char *id,
                        bool *is_waiting, bool *is_once, struct error *err)
{
	static const char key[] = "allow_network";
	AUTO_BUF struct buf message;
	char why[WHY_MAX * 2];

	*is_waiting = false;
	buf_init(&message, 8192);
	if (!mcp_can_ask(call, MCP_ASK_FORM)) {
		(void)error_set(err, ERR_UNSUPPORTED,
		                "not allowed: this client cannot ask its user, ask your "
		                "administrator: --allow-hosts");
		return false;
	}
	buf_putf(&message, "Allow programs in the sandbox %s to connect to these hosts?", id);
	for (size_t i = 0; i < a->hosts.count; i++)
		buf_putf(&message, "\n%s",
		         UTF8_ESCAPED(view_of(a->hosts.items[i]), NET_HOST_SIZE * 2));
	/* The reason is the model's, which a page or a file may have misled. */
	buf_putf(&message, "\nThe assistant says why: \"%s\"",
	         utf8_escape(view_of(a->why), why, sizeof why));
	mcp_ask(call, key, MCP_ASK_FORM, mcp_form(buf_text(&message), make_choice()));
	if (!mcp_await_answers(call)) {
		*is_waiting = true;
		return false;
	}
	*is_once = false;
	if (mcp_answer(call, key) != NULL && mcp_answer_is_accepted(call, key)) {
		const json_t *content = json_object_get(mcp_answer(call, key), "content");
		const char *choice = json_string_value(json_object_get(content, choice_key));

		*is_once = choice != NULL && strcmp(choice, choices[CHOICE_ONCE]) == 0;
		if (*is_once || (choice != NULL && strcmp(choice, choices[CHOICE_KEEP]) == 0))
			return true;
	}
	(void)error_set(err, ERR_LIMIT,
	                "not allowed: the user has declined; go on without these "
	                "hosts");
	return false;
}

/* --- the change --- */

struct request {
	struct mcp_call *call;
	struct sandbox *sandbox; /* held */
	struct sandbox_changes changes;
	char hosts[SANDBOX_HOSTS_MAX];
};

static bool has_host(const char *list, const char *host)
{
	for (; *list != '\0'; list += strlen(list) + 1)
		if (strcmp(list, host) == 0)
			return true;
	return false;
}

static int add_hosts(const struct sandbox_row *row, const struct param_strings *hosts,
                     char out[SANDBOX_HOSTS_MAX], struct error *err)
{
	size_t used = 0;

	for (const char *at = row->network_allow; *at != '\0'; at += strlen(at) + 1)
		used += strlen(at) + 1;
	memcpy(out, row->network_allow, SANDBOX_HOSTS_MAX);
	for (size_t i = 0; i < hosts->count; i++) {
		struct view host = view_trim(view_of(hosts->items[i]));

		if (host.len == 0 || has_host(out, hosts->items[i]))
			continue;
		if (host.len + 2 > SANDBOX_HOSTS_MAX - used)
			return error_set(err, ERR_LIMIT,
			                 "hosts: the sandbox has too many: use *. and a domain");
		memcpy(out + used, host.ptr, host.len);
		used += host.len + 1;
	}
	return 0;
}

static void on_updated(void *ctx, const struct error *why)
{
	struct request *request = ctx;
	const struct sandbox_row *row = sandbox_row(request->sandbox);
	struct mcp_call *call = request->call;
	json_t *info = NULL;

	if (why == NULL) {
		info = json_obj();
		json_set(info, "network", json_str(net_mode_names[row->network]));
		json_set(info, "network_allow", network_hosts_json(row));
	}
	sandbox_release(request->sandbox);
	free(request);
	if (why != NULL)
		mcp_respond_tool_error(call, why);
	else
		mcp_respond_content(call, NULL, info);
}

static int change_policy(struct mcp_call *call, const struct request_args *a,
                         struct sandbox *sandbox, struct error *err)
{
	struct request *request = mem_new(sizeof *request);

	request->call = call;
	request->sandbox = sandbox;
	request->changes = (struct sandbox_changes){ .env = "",
		                                     .labels = "",
		                                     .idle_s = -1,
		                                     .lifetime_s = -1,
		                                     .network = NET_MODE_ALLOW,
		                                     .network_allow = request->hosts };
	if (add_hosts(sandbox_row(sandbox), &a->hosts, request->hosts, err) < 0) {
		free(request);
		return -1;
	}
	sandbox_hold(sandbox);
	sandbox_update(sandbox, &request->changes, on_updated, request);
	return 0;
}

/* Allows the hosts for SANDBOX_ONCE_MS, in memory only: the policy in the registry stays. */
static int allow_once(struct mcp_call *call, const struct request_args *a, struct sandbox *sandbox,
                      struct error *err)
{
	static const struct sandbox_row no_hosts;
	char hosts[SANDBOX_HOSTS_MAX];
	json_t *info, *list;

	if (add_hosts(&no_hosts, &a->hosts, hosts, err) < 0 ||
	    sandbox_allow_once(sandbox, hosts, err) < 0)
		return -1;
	info = json_obj();
	list = network_hosts_json(sandbox_row(sandbox));
	for (const char *at = hosts; *at != '\0'; at += strlen(at) + 1)
		json_push(list, json_str(at));
	json_set(info, "network", json_str(net_mode_names[NET_MODE_ALLOW]));
	json_set(info, "network_allow", list);
	json_set(info, "for_s", json_int(SANDBOX_ONCE_MS / 1000));
	mcp_respond_content(call, NULL, info);
	return 0;
}

static int request_network(struct mcp_call *call, const void *args, struct error *err)
{
	const struct tools_context *context = mcp_call_app(call);
	const struct request_args *a = args;
	struct sandbox *sandbox;
	bool must_ask, is_waiting, is_once = false;

	if (tools_check_manager(context, err) < 0)
		return -1;
	if (context->ceiling == NULL)
		return error_set(err, ERR_UNSUPPORTED,
		                 "not allowed: sandboxes of this server have no network, ask your "
		                 "administrator: --network-max allow --ask-hosts");
	if (check_hosts(context->ceiling, &a->hosts, &must_ask, err) < 0 ||
	    tools_find_sandbox(context, mcp_call_owner(call), a->sandbox, &sandbox, err) < 0)
		return -1;
	if (sandbox_row(sandbox)->network == NET_MODE_OPEN)
		return error_set(err, ERR_INVALID, "the sandbox reaches every public host already");
	if (must_ask &&
	    !has_consent(call, a, sandbox_row(sandbox)->spec.id, &is_waiting, &is_once, err))
		return is_waiting ? 0 : -1;
	return is_once ? allow_once(call, a, sandbox, err) : change_policy(call, a, sandbox, err);
}

static bool has_askable_hosts(const void *app)
{
	const struct tools_context *context = app;

	return context->ceiling != NULL && context->ceiling->ask.count != 0;
}

const struct mcp_tool tool_request_network = {
	.name = "request_network",
	.title = "Ask for network access",
	.help = "Ask the user to let programs in a sandbox connect to hosts that it does not "
	        "reach.",
	.more = "Hosts that the operator allows anyway are added without a question.",
	.is_offered = has_askable_hosts,
	.scope = MCP_SCOPE_RUN,
	.params = params,
	.args_size = sizeof(struct request_args),
	.output = output,
	.call = request_network,
};
