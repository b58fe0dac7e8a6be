#include "tools/support/port_links.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/mem.h"

struct port_links {
	struct {
		char key[PORT_LINK_KEY + 1]; /* "": not in use */
		uint64_t until_ms;
		struct port_link_target target;
	} at[PORT_LINKS];
	size_t next; /* the place of the oldest link */
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

void port_links_add(struct port_links *links, const struct port_link_target *target,
                    char out[PORT_LINK_KEY + 1])
{
	unsigned char bytes[PORT_LINK_KEY / 2];
	size_t i = links->next;

	if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
		abort(); /* the kernel has no random numbers: nothing here is safe */
	links->next = (i + 1) % PORT_LINKS;
	for (size_t j = 0; j < sizeof bytes; j++)
		(void)snprintf(links->at[i].key + 2 * j, 3, "%02x", bytes[j]);
	links->at[i].until_ms = clock_now_ms() + PORT_LINK_MS;
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
