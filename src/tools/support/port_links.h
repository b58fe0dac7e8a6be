/* port_links.h - links with which a browser opens a port of a sandbox.
 *
 * A link is a random key that stands in the path of a URL. Whoever has the key reaches this one
 * port of this one sandbox until the link expires, and nothing else. A key in the path needs no
 * cookie, so no other page can use it, and relative URLs of the page keep it. Links are kept in
 * memory. A new link replaces the one of the same owner to the same port; without one, the oldest
 * link of an owner with PORT_LINKS_OWNER of them, else the oldest of all when there is no room. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "sandbox/registry/registry.h"

enum {
	PORT_LINKS = 256,
	PORT_LINKS_OWNER = 32,
	PORT_LINK_KEY = 32, /* hexadecimal digits */
	PORT_LINK_MS = 3600 * 1000,
};

struct port_link_target {
	char owner[OWNER_MAX + 1];
	char sandbox[SANDBOX_NAME_MAX + 1]; /* its id */
	uint16_t port;
};

struct port_links;

struct port_links *port_links_new(void);
struct port_links *port_links_free(struct port_links *links);
DEFINE_CLEANUP(port_links)

void port_links_add(struct port_links *links, const struct port_link_target *target,
                    char out[PORT_LINK_KEY + 1]);
/* Whether the key is a link to this port of this sandbox that has not expired. The owner is written
 * to *target then. */
bool port_links_find(const struct port_links *links, const char *key,
                     struct port_link_target *target);
/* Removes the links of an owner whose token is not valid any more, and of the owner's users. */
void port_links_remove_owner(struct port_links *links, const char *owner);
