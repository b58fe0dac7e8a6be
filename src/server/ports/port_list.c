#include "server/ports/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "server/ports/ports.h"

enum { SWEEP_MS = 30 * 1000 };

struct ports {
	struct list entries;
	size_t body_bytes; /* of all entries */
	struct loop_timer *timer;
};

static void on_sweep(void *ctx)
{
	struct ports *ports = ctx;

	port_list_end_idle(ports, clock_now_ms());
	loop_timer_start(ports->timer, SWEEP_MS);
}

struct ports *ports_new(struct loop *loop)
{
	struct ports *ports = mem_new(sizeof *ports);

	list_init(&ports->entries);
	ports->timer = loop_timer_new(loop, on_sweep, ports);
	loop_timer_start(ports->timer, SWEEP_MS);
	return ports;
}

struct ports *ports_free(struct ports *ports)
{
	if (ports == NULL)
		return NULL;
	(void)loop_timer_free(ports->timer);
	free(ports);
	return NULL;
}

int port_list_add(struct ports *ports, struct port_entry *entry, struct error *err)
{
	size_t count = 0;

	LIST_EACH (node, &ports->entries)
		count += container_of(node, struct port_entry, node)->sandbox == entry->sandbox;
	if (count >= PORT_SANDBOX_REQUESTS)
		return error_set(err, ERR_LIMIT,
		                 "%d requests to ports of this sandbox are open, which is the "
		                 "most: try again when one of them has ended",
		                 PORT_SANDBOX_REQUESTS);
	entry->ports = ports;
	entry->active_ms = clock_now_ms();
	list_add(&ports->entries, &entry->node);
	return 0;
}

int port_list_add_body(struct port_entry *entry, size_t bytes, struct error *err)
{
	if (bytes > PORT_BODIES_MAX - entry->ports->body_bytes)
		return error_set(err, ERR_LIMIT,
		                 "the programs in the sandboxes have %zu MiB of requests to read, "
		                 "and the limit is %d MiB: try again later",
		                 entry->ports->body_bytes >> 20, PORT_BODIES_MAX >> 20);
	entry->ports->body_bytes += bytes;
	entry->body_bytes += bytes;
	return 0;
}

void port_list_remove_body(struct port_entry *entry)
{
	if (entry->ports != NULL)
		entry->ports->body_bytes -= entry->body_bytes;
	entry->body_bytes = 0;
}

void port_list_remove(struct port_entry *entry)
{
	port_list_remove_body(entry);
	list_remove(&entry->node);
	entry->ports = NULL;
}

void port_list_touch(struct port_entry *entry)
{
	entry->active_ms = clock_now_ms();
}

/* Whether the entry is of this owner, or of one of the owner's users ("owner>user"). */
static bool is_owner(const struct port_entry *entry, const char *owner)
{
	size_t len = strlen(owner);

	return strncmp(entry->owner, owner, len) == 0 &&
	       (entry->owner[len] == '\0' || entry->owner[len] == '>');
}

/* The entry after which LIST_EACH() would go on is not valid after end(), so the search for the
 * next entry begins anew. */
static struct port_entry *find_owner(struct ports *ports, const char *owner)
{
	LIST_EACH (node, &ports->entries) {
		struct port_entry *entry = container_of(node, struct port_entry, node);

		if (is_owner(entry, owner))
			return entry;
	}
	return NULL;
}

void ports_end_owner(struct ports *ports, const char *owner)
{
	struct port_entry *entry;

	while ((entry = find_owner(ports, owner)) != NULL)
		entry->end(entry, 401,
		           "a token of the owner of this sandbox is not valid any more: send the "
		           "request again, with a valid token or a new link");
}

static struct port_entry *find_idle(struct ports *ports, uint64_t now_ms)
{
	LIST_EACH (node, &ports->entries) {
		struct port_entry *entry = container_of(node, struct port_entry, node);

		if (now_ms >= entry->active_ms + PORT_IDLE_MS)
			return entry;
	}
	return NULL;
}

void port_list_end_idle(struct ports *ports, uint64_t now_ms)
{
	struct port_entry *entry;

	while ((entry = find_idle(ports, now_ms)) != NULL)
		entry->end(entry, 504,
		           "The program has not answered for 15 minutes: see what it does, and try "
		           "again.");
}
