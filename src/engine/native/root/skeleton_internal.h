/* skeleton_internal.h - the parts a skeleton is made of. */
#pragma once
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/attr.h"
#include "engine/native/root/skeleton.h"

struct error;

/* Something of the host that gets in: a directory, a link or a file everybody may read.
 * `path` is from the root, without a slash in front; at and name are where to find it. */
typedef int skeleton_visit_fn(void *ctx, const char *path, int at, const char *name,
                              const struct stat *st, struct error *err);

/* Calls visit for all of them, directories before what is in them; ends when it fails. What
 * cannot be read, is too large or too much is passed over. */
MUST_CHECK int skeleton_walk(int host, skeleton_visit_fn *visit, void *ctx, struct error *err);

/* The names in the host's root that lead to programs: links or directories. NULL ends them. */
extern const char *const skeleton_roots[];

/* A tree that is being made: the umask is 0. */
struct skeleton_tree {
	int host, root;
	uid_t owner;
	gid_t group;
	bool chown; /* what we make is not theirs by itself */
};

/* What is copied, then what is made: in an empty directory. */
MUST_CHECK int skeleton_copy(const struct skeleton_tree *tree, struct error *err);
MUST_CHECK int skeleton_fill(const struct skeleton_tree *tree, struct error *err);
MUST_CHECK int skeleton_make_directory(const struct skeleton_tree *tree, const char *path,
                                       mode_t mode, struct error *err);
MUST_CHECK int skeleton_make_link(const struct skeleton_tree *tree, const char *path,
                                  const char *target, struct error *err);
/* Returns a descriptor to write to. */
MUST_CHECK int skeleton_make_file(const struct skeleton_tree *tree, const char *path, mode_t mode,
                                  struct error *err);

/* What the machine tells of itself: small files of sysfs, which is not mounted. NULL ends them. */
extern const char *const skeleton_facts[];
enum { SKELETON_FACT_SIZE = 1024 };
/* One of them, or "". */
void skeleton_fact(int host, const char *path, char out[SKELETON_FACT_SIZE]);

/* skeleton_open() with a root of the host that tests can choose. */
MUST_CHECK int skeleton_open_from(int host, int parent, uid_t owner, gid_t group,
                                  struct skeleton *ret, struct error *err);
