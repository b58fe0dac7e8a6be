/* cgroup_internal.h - what the files of the groups share: where trees are, and their small
 * files, which are read and written by name below a directory that is open. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/view.h"
#include "engine/native/cgroup/cgroup.h"

struct error;

/* --- where (cgroup_find.c) --- */

enum { CGROUP_PATH_SIZE = 1024 };

struct cgroup_place {
	int score;                    /* 0: there is no such tree */
	char top[CGROUP_PATH_SIZE];   /* where it is mounted */
	char below[CGROUP_PATH_SIZE]; /* our own group from there, "" if it is the top or unseen */
};

struct cgroup_places {
	struct cgroup_place unified, v1[V1_COUNT];
};

extern const char *const cgroup_v1_words[V1_COUNT];

/* From /proc/self/mountinfo and /proc/self/cgroup, or files like them. */
void cgroup_find(const char *mountinfo, const char *own, struct cgroup_places *ret);

/* Cuts the last name off. False: there was none. */
bool cgroup_go_up(char below[CGROUP_PATH_SIZE]);

/* Whether `word` is among the words of `text`, which `mark` or the end of a line ends. */
bool cgroup_has_word(struct view text, char mark, const char *word);

/* --- the small files (cgroup_file.c) --- */

int cgroup_dir(int at, const char *path);       /* an fd, or -1 */
int cgroup_make_dir(int at, const char *name);  /* the same; it may be there already */
bool cgroup_drop_dir(int at, const char *name); /* it is not there any more */
bool cgroup_has_file(int dir, const char *name);
bool cgroup_can_write(int dir, const char *name);
/* What fits, terminated. "" if it cannot be read. */
const char *cgroup_read(int dir, const char *name, char *out, size_t size);
/* All at once, as the kernel wants it. 0, or -1 with errno. */
int cgroup_write(int dir, const char *name, const char *text);
int cgroup_write_number(int dir, const char *name, uint64_t number);

/* Calls fn for each process of the group, until it returns false: which is returned. Processes
 * that we cannot see have number 0. */
typedef bool (*cgroup_pid_fn)(void *ctx, pid_t pid);
bool cgroup_each_pid(int dir, cgroup_pid_fn fn, void *ctx);

/* Freezes or thaws by whichever file there is. */
void cgroup_dir_freeze(int dir, bool frozen);
/* Kills and thaws all of one directory, of either version. */
void cgroup_dir_kill(int dir);
void cgroup_dir_kill_each(int dir); /* for kernels that cannot kill a group at once */

/* --- opening --- */

/* Why something could not be had: the first reason counts. */
struct cgroup_reason {
	char text[160];
};
void cgroup_reason(struct cgroup_reason *why, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Each takes what it can get and says what kept it from more. */
void cgroup_v2_open(struct cgroups *all, const struct cgroup_place *place,
                    struct cgroup_reason *why);
void cgroup_v2_close(struct cgroups *all);
void cgroup_v1_open(struct cgroups *all, const struct cgroup_places *places,
                    struct cgroup_reason *why);
void cgroup_v1_close(struct cgroups *all);
/* The one that is mounted together with an earlier one, and has its directory. */
bool cgroup_v1_is_twin(const struct cgroups *all, size_t controller);

MUST_CHECK int cgroup_v2_limit(const struct cgroup *group, const struct spec_limits *limits,
                               struct error *err);
MUST_CHECK int cgroup_v1_limit(const struct cgroup *group, const struct spec_limits *limits,
                               struct error *err);
enum { CGROUP_CPU_PERIOD_US = 100000 };

/* As cgroups_open() and cgroups_sweep(), with the places given. */
MUST_CHECK int cgroups_open_in(struct cgroups *ret, const struct cgroup_places *places,
                               const char *state, const char *instance, struct error *err);
void cgroups_sweep_in(struct cgroups *all, const struct cgroup_places *places, const char *state,
                      bool (*is_alive)(void *ctx, const char *instance), void *ctx);
