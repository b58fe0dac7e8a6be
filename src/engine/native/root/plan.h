/* plan.h - the root of a sandbox as a list of things to do, and who does them.
 *
 * plan_make() decides, from what is wanted and what the machine has, without touching anything;
 * plan_carry_out() is the one interpreter, run in the new namespaces. Targets are below the new
 * root and are never looked up through a link: what is there may be a sandbox's own work. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "engine/native/root/home.h"
#include "engine/spec.h"

struct error;

enum plan_kind {
	PLAN_NEW,      /* a new file system; `source` is its type */
	PLAN_BIND,     /* a directory of the spawner's tree, seen here too */
	PLAN_FILE,     /* the same with a file: an empty one is made to mount on */
	PLAN_LINK,     /* a link to `source` */
	PLAN_OWN,      /* a directory of the user's, if there is nothing of that name */
	PLAN_MASK,     /* hidden, if it is there: a file by /dev/null, a directory by /empty */
	PLAN_READONLY, /* itself once more, read-only, if it is there */
	PLAN_CLOSE,    /* what was mounted there becomes read-only */
	PLAN_WRITE,    /* `source` is written to the file, if it is there, when all else is done */
	PLAN_KIND_COUNT
};

enum { PLAN_MAX = 224 };

struct plan_step {
	enum plan_kind kind;
	const char *target; /* without the leading "/"; "" is the root, which is the first step */
	const char *source;
	const char *options; /* NEW: "key=value,flag" */
	uint32_t attrs;      /* MOUNT_ATTR_... */
	bool recursive;      /* BIND: with what is mounted below */
};

struct plan {
	size_t count;
	struct plan_step steps[PLAN_MAX];
	size_t text_used;
	char text[32 * 1024]; /* what is not constant */
};

MUST_CHECK int plan_make(const struct home *home, const struct skeleton *skeleton,
                         const struct cdi *gpus, const struct spec *spec, struct plan *ret,
                         struct error *err);
/* In the sandbox's own directory: assembles everything at /new, makes it the root, and lets the
 * old one go. */
MUST_CHECK int plan_carry_out(const struct plan *plan, struct error *err);
