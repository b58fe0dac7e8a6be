/* fuzz_host_rules.c - any text is a list of hosts. A host in its canonical form is read again as
 * itself, a rule covers itself, and a rule for one host matches this host. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "egress/host_rules.h"
#include "fuzz/fuzz.h"

static void check_rule(const struct host_rules *rules, const struct host_rule *rule)
{
	uint16_t port = rule->port != 0 ? rule->port : 443;
	struct net_host again;
	struct error err;

	fuzz_check(host_rules_cover(rules, rule));
	if (rule->is_any)
		return;
	fuzz_check(net_host_parse(view_of(rule->host.name), &again, &err) == 0);
	fuzz_check(net_host_is(&again, &rule->host) && strcmp(again.name, rule->host.name) == 0);
	if (!rule->is_below)
		fuzz_check(host_rules_match(rules, &rule->host, port));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct host_rules rules;
	char *text = mem_new(size + 1);
	struct error err = { .msg = "" };

	memcpy(text, data, size);
	rules.count = 0;
	if (host_rules_read(&rules, text, ',', HOST_RULES_OPERATOR, &err) < 0)
		fuzz_check(err.msg[0] != '\0');
	fuzz_check(rules.count <= HOST_RULES_MAX);
	for (size_t i = 0; i < rules.count; i++)
		check_rule(&rules, &rules.items[i]);
	free(text);
	return 0;
}
