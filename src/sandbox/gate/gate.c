#include "sandbox/gate/gate.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "sandbox/gate/internal.h"

enum { RETRY_MS = 200 };

/* A failure is temporary (too many streams, a slow agent) or final (the channel has ended), and
 * then the gate is freed soon. */
void gate_fill(struct gate *gate)
{
	struct error err;

	while (!gate->is_freed && !gate->holds_off && gate->waiting < GATE_WAITING &&
	       gate->count < gate_max_links(gate)) {
		if (gate_link_open(gate, &err) == 0)
			continue;
		if (!channel_has_ended(gate->options.channel))
			loop_timer_start(gate->retry, RETRY_MS);
		return;
	}
}

void gate_hold_off(struct gate *gate)
{
	gate->holds_off = true;
	loop_timer_start(gate->retry, RETRY_MS);
}

static void on_retry(void *ctx)
{
	struct gate *gate = ctx;

	gate->holds_off = false;
	gate_fill(gate);
}

struct gate *gate_new(const struct gate_options *options, const struct net_policy *policy)
{
	struct gate *gate = mem_new(sizeof *gate);

	gate->options = *options;
	gate->policy = *policy;
	list_init(&gate->links);
	gate->retry = loop_timer_new(options->loop, on_retry, gate);
	gate->refill = loop_timer_new(options->loop, gate_refill, gate);
	gate_fill(gate);
	return gate;
}

struct gate *gate_free(struct gate *gate)
{
	if (gate == NULL)
		return NULL;
	gate->is_freed = true;
	while (!list_is_empty(&gate->links))
		gate_link_free(container_of(gate->links.next, struct gate_link, node));
	(void)loop_timer_free(gate->retry);
	(void)loop_timer_free(gate->refill);
	loop_defer(gate->options.loop, free, gate);
	return NULL;
}

/* A link whose request is not complete is decided later, with the policy of that moment. */
static bool is_allowed(const struct gate_link *link)
{
	const struct gate *gate = link->gate;
	struct error ignored;

	return (link->state != LINK_RELAY && link->state != LINK_DIALING) ||
	       gate_link_is_mirrored(link) ||
	       net_policy_decide(&gate->policy, gate->options.ceiling, &link->host, link->port,
	                         &ignored) == 0;
}

/* Connections that the new policy refuses are closed: a tunnel that was opened before would carry
 * bytes for as long as its program likes. Freeing a link calls no callback of another one, so the
 * next pointer stays valid. */
void gate_set_policy(struct gate *gate, const struct net_policy *policy)
{
	struct list *node, *next;

	gate->policy = *policy;
	for (node = gate->links.next; node != &gate->links; node = next) {
		struct gate_link *link = container_of(node, struct gate_link, node);

		next = node->next;
		if (!is_allowed(link))
			gate_link_free(link);
	}
	gate_fill(gate);
}

uint16_t gate_port(const struct gate *gate)
{
	return gate->options.port;
}
