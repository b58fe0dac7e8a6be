/* gate_limits.c - how much a sandbox may have of its network: connections, bytes, bytes per second
 * (see internal.h). The time for a connection is the dial's. */
#include <inttypes.h>

#include "base/clock.h"
#include "base/error.h"
#include "loop/loop.h"
#include "sandbox/gate/internal.h"

enum { REFILL_MS = 20 }; /* at least between two turns of a gate that is slowed down */

static const struct net_limits *limits_of(const struct gate *gate)
{
	return &gate->options.ceiling->limits;
}

unsigned gate_max_links(const struct gate *gate)
{
	uint64_t wanted = limits_of(gate)->connections;

	return wanted != 0 && wanted < GATE_LINKS_MAX ? (unsigned)wanted : GATE_LINKS_MAX;
}

bool gate_may_serve(const struct gate *gate, const struct dial *service)
{
	unsigned count = 0;

	LIST_EACH (node, &gate->links) {
		const struct gate_link *link = container_of(node, struct gate_link, node);

		if ((link->state == LINK_DIALING || link->state == LINK_RELAY) &&
		    link->service == service)
			count++;
	}
	return count < GATE_SERVED_MAX;
}

void gate_start_queued(struct gate *gate)
{
	if (gate->is_freed)
		return;
	LIST_EACH (node, &gate->links) {
		struct gate_link *link = container_of(node, struct gate_link, node);

		if (link->state == LINK_QUEUED && gate_may_serve(gate, link->service))
			return gate_link_start(link);
	}
}

int gate_check_bytes(const struct gate *gate, struct error *err)
{
	uint64_t max = limits_of(gate)->bytes;

	if (max == 0 || gate->options.log->bytes <= max)
		return 0;
	return error_set(err, ERR_LIMIT,
	                 "this sandbox has sent and received more than %" PRIu64
	                 " bytes, which is the limit: use a new sandbox, or have the "
	                 "administrator of belljar raise --network-bytes",
	                 max);
}

/* The allowance is that of one second at most: a sandbox that was silent for an hour must not send
 * the bytes of an hour at once. */
static void count_allowance(struct gate *gate, size_t bytes)
{
	int64_t rate = (int64_t)limits_of(gate)->rate;
	uint64_t now = clock_now_ms(), passed = now - gate->refilled_ms;
	int64_t left;

	gate->refilled_ms = now;
	gate->allowance += passed < 1000 ? rate * (int64_t)passed / 1000 : rate;
	if (gate->allowance > rate)
		gate->allowance = rate;
	gate->allowance -= (int64_t)bytes;
	if (gate->allowance >= 0 || gate->is_throttled)
		return;
	left = -gate->allowance * 1000 / rate;
	gate->is_throttled = true;
	loop_timer_start(gate->refill, left > REFILL_MS ? (uint64_t)left : REFILL_MS);
}

bool gate_count_bytes(struct gate_link *link, size_t bytes)
{
	struct gate *gate = link->gate;
	struct error err;

	gate->options.log->bytes += bytes;
	if (gate_check_bytes(gate, &err) < 0) {
		gate_link_log(link, false, err.msg);
		gate_link_free(link);
		return true;
	}
	if (limits_of(gate)->rate != 0)
		count_allowance(gate, bytes);
	return false;
}

/* Resuming a link frees none: bytes arrive from the loop. */
void gate_refill(void *ctx)
{
	struct gate *gate = ctx;

	gate->is_throttled = false;
	LIST_EACH (node, &gate->links)
		gate_relay_resume(container_of(node, struct gate_link, node));
}
