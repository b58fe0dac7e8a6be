/* mirror.h - the process that fetches packages from the indexes for all sandboxes, and keeps them.
 *
 * An installer in a sandbox uses the mirror as its index, through the gate, over plain HTTP under
 * two names that exist nowhere else. The mirror fetches pages and files from the indexes of the
 * operator, by itself and over TLS, and keeps them in the cache: files under their hash, after the
 * hash that the index gives was verified, and pages for some minutes, or for as long as the index
 * cannot be reached. A request names a project and a file and nothing else, so no sandbox has any
 * influence on what the mirror keeps for another one, and none can send anything to an index.
 *
 *   GET http://pip.belljar.internal/simple/NAME/          the page of a project (PEP 503)
 *   GET http://pip.belljar.internal/files/NAME/FILE       a file of it
 *   GET http://npm.belljar.internal/NAME                  the document of a package of npm
 *   GET http://npm.belljar.internal/NAME/-/FILE           a file of it
 *
 * The mirror is a dialer (dialer.h) whose connections end in a child process of itself, one for
 * each request. It alone may write the cache: the server is confined to other directories. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"

struct dialer;
struct error;
struct net_ceiling;
struct net_host;

#define MIRROR_PIP_HOST     "pip.belljar.internal"
#define MIRROR_NPM_HOST     "npm.belljar.internal"
#define MIRROR_PIP_INDEX    "http://" MIRROR_PIP_HOST "/simple"
#define MIRROR_NPM_REGISTRY "http://" MIRROR_NPM_HOST "/"

struct mirror_config {
	const struct net_ceiling *ceiling;
	const char *dir;                      /* of the cache; belongs to `id` */
	uint64_t max_bytes;                   /* of the cache */
	const char *pip_index, *npm_registry; /* URLs */
	uid_t id;                             /* as in struct dialer_config */
};

/* Like dialer_start(). The texts of the configuration must live as long as the caller. */
MUST_CHECK int mirror_start(const struct mirror_config *config, struct dialer *ret,
                            struct error *err);
/* Whether the name is one of the mirror's. */
bool mirror_has_host(const struct net_host *host, uint16_t port);
