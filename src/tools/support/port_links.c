#include "tools/support/port_links.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/random.h"

struct port_links {
	struct {
		char key[PORT_LINK_KEY + 1]; /* "": not in use */
		uint64_t until_ms;
		uint64_t number; /* the order in which links were added */
		struct port_link_target target;
	} at[PORT_LINKS];
	uint64_t added;
};

struct port_links *port_links_new(void)
{
	return mem_new(sizeof(struct port_links));
}

struct port_links *port_links_free(struct port_links *links)
{
	free(links);
	return NULL;
}

static bool is_in_use(const struct port_links *links, size_t i)
{
	return links->at[i].key[0] != '\0' && clock_now_ms() < links->at[i].until_ms;
}

/* The older one of two places; a place that is not in use is older than every link. */
static size_t find_older(const struct port_links *links, size_t i, size_t j)
{
	if (!is_in_use(links, i))
		return i;
	return !is_in_use(links, j) || links->at[j].number < links->at[i].number ? j : i;
}

/* The place for a new link. An owner who asks for many links loses links of their own, before any
 * other owner loses one. */
static size_t choose_place(const struct port_links *links, const struct port_link_target *target)
{
	size_t oldest = 0, own_oldest = PORT_LINKS, own = 0;

	for (size_t i = 0; i < PORT_LINKS; i++) {
		const struct port_link_target *found = &links->at[i].target;

		oldest = find_older(links, oldest, i);
		if (!is_in_use(links, i) || strcmp(found->owner, target->owner) != 0)
			continue;
		if (found->port == target->port && strcmp(found->sandbox, target->sandbox) == 0)
			return i;
		own++;
		own_oldest = own_oldest == PORT_LINKS ? i : find_older(links, own_oldest, i);
	}
	return own >= PORT_LINKS_OWNER ? own_oldest : oldest;
}

void port_links_add(struct port_links *links, const struct port_link_target *target,
                    char out[PORT_LINK_KEY + 1])
{
	size_t i = choose_place(links, target);

	random_hex(links->at[i].key, PORT_LINK_KEY * RANDOM_HEX_BITS);
	links->at[i].until_ms = clock_now_ms() + PORT_LINK_MS;
	links->at[i].number = links->added++;
	links->at[i].target = *target;
	memcpy(out, links->at[i].key, PORT_LINK_KEY + 1);
}

/* In a time that does not depend on the bytes: the key is a secret. */
static bool is_key(const char *key, const char *given)
{
	unsigned differs = 0;

	for (size_t i = 0; i < PORT_LINK_KEY; i++)
		differs |= (unsigned)(key[i] ^ given[i]);
	return differs == 0 && key[0] != '\0';
}

bool port_links_find(const struct port_links *links, const char *key,
                     struct port_link_target *target)
{
	if (strlen(key) != PORT_LINK_KEY)
		return false;
	for (size_t i = 0; i < PORT_LINKS; i++) {
		const struct port_link_target *found = &links->at[i].target;

		if (!is_key(links->at[i].key, key))
			continue;
		if (clock_now_ms() >= links->at[i].until_ms || found->port != target->port ||
		    strcmp(found->sandbox, target->sandbox) != 0)
			return false;
		*target = *found;
		return true;
	}
	return false;
}

void port_links_remove_owner(struct port_links *links, const char *owner)
{
	size_t len = strlen(owner);

	for (size_t i = 0; i < PORT_LINKS; i++) {
		const char *found = links->at[i].target.owner;

		if (strncmp(found, owner, len) == 0 && (found[len] == '\0' || found[len] == '>'))
			links->at[i].key[0] = '\0';
	}
}
