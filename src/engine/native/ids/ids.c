#include "engine/native/ids/ids.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/num.h"
#include "base/random.h"
#include "engine/native/root/root.h"
#include "engine/spec.h"

enum {
	RANDOM_TRIES = 256,
	TRIES = RANDOM_TRIES + 65536,
	/* Ids inside a sandbox; its user has SPEC_UID, its agent SPEC_AGENT_ID. */
	INSIDE_NOBODY = 65534,
	INSIDE_LAST = 65535,
	PREFIX_LEN = sizeof IDS_REMOVED_PREFIX - 1,
	CLAIM_SIZE = sizeof((struct ids *)NULL)->state + SPEC_ID_LEN + 2,
};

struct ids_block ids_block(const struct userns *userns, uint32_t number)
{
	uint32_t first = userns->ids.first + (number - 1) * userns->ids.block;

	switch (userns->mode) {
	case USERNS_ROOT:
		return (struct ids_block){ number, first + SPEC_AGENT_ID, first + SPEC_UID,
			                   first + INSIDE_NOBODY };
	case USERNS_MAPPED:
		return (struct ids_block){ number, first, first + 1, first + 2 };
	case USERNS_SINGLE_ID:
	case USERNS_MODE_COUNT:
		break;
	}
	return (struct ids_block){ 0, userns->uid, userns->uid, userns->uid };
}

void ids_map(const struct userns *userns, const struct ids_block *block, bool gids,
             char out[IDS_MAP_SIZE])
{
	switch (userns->mode) {
	case USERNS_ROOT:
		(void)snprintf(out, IDS_MAP_SIZE, "0 %u 1\n1 %u %d\n", userns->ids.files,
		               block->agent - SPEC_AGENT_ID + 1, INSIDE_LAST - 1);
		return;
	case USERNS_MAPPED:
		(void)snprintf(out, IDS_MAP_SIZE, "0 %u 1\n%d %u 1\n%d %u 1\n%d %u 1\n",
		               userns->ids.files, SPEC_AGENT_ID, block->agent, SPEC_UID,
		               block->user, INSIDE_NOBODY, block->nobody);
		return;
	case USERNS_SINGLE_ID:
	case USERNS_MODE_COUNT:
		break;
	}
	(void)snprintf(out, IDS_MAP_SIZE, "%d %u 1\n", SPEC_UID, gids ? userns->gid : userns->uid);
}

/* Errors other than ENOENT count as existing: a claim is removed only if its files are surely
 * gone. */
static bool dir_exists(const struct ids *ids, const char *name)
{
	struct stat st;

	return fstatat(ids->sandboxes, name, &st, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

/* True if the sandbox has a directory under its own name or, while it is being removed, under the
 * name with IDS_REMOVED_PREFIX. */
static bool has_files(const struct ids *ids, const char *sandbox)
{
	char removed[SPEC_ID_LEN + 1];

	if (dir_exists(ids, sandbox))
		return true;
	if (strlen(sandbox) != SPEC_ID_LEN)
		return false;
	(void)snprintf(removed, sizeof removed, "%s%s", IDS_REMOVED_PREFIX, sandbox + PREFIX_LEN);
	return dir_exists(ids, removed);
}

/* Reads the claim `name`, a link to "<state directory>|<sandbox>", and cuts it at the bar. Returns
 * the sandbox, or NULL: the link cannot be read or is no claim. */
static const char *read_claim(const struct ids *ids, const char *name, char claim[CLAIM_SIZE])
{
	ssize_t n = readlinkat(ids->dir, name, claim, CLAIM_SIZE - 1);
	char *sandbox;

	claim[n > 0 ? n : 0] = '\0';
	sandbox = strrchr(claim, '|');
	if (sandbox != NULL)
		*sandbox++ = '\0';
	return sandbox;
}

/* True if the claim `name` belongs to a sandbox without files. */
static bool is_stale(const struct ids *ids, const char *name, bool others)
{
	char claim[CLAIM_SIZE];
	const char *sandbox = read_claim(ids, name, claim);
	struct stat st;

	if (sandbox == NULL)
		return claim[0] != '\0';
	if (strcmp(claim, ids->state) == 0)
		return !has_files(ids, sandbox);
	/* A claim of another state directory. Its sandboxes may be unreadable for us, but if the
	 * whole directory does not exist, neither do they. */
	return others && lstat(claim, &st) < 0 && errno == ENOENT;
}

static int write_claim(struct ids *ids, const char *name, const char *sandbox)
{
	char claim[CLAIM_SIZE];

	if (snprintf(claim, sizeof claim, "%s|%s", ids->state, sandbox) >= (int)sizeof claim) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return symlinkat(claim, ids->dir, name);
}

static int claim_block(struct ids *ids, uint32_t number, const char *sandbox)
{
	char name[16];

	(void)snprintf(name, sizeof name, "%u", number);
	return write_claim(ids, name, sandbox);
}

/* The claim is rewritten before the directory is renamed. If the server dies in between, the claim
 * names a sandbox without files and is swept, and the directory is that of an unused spare, which
 * the next start removes. renameat() replaces the link without a moment in which the block is
 * free. */
int ids_rename(struct ids *ids, const struct ids_block *block, const char *sandbox,
               struct error *err)
{
	char name[16], next[20];
	int r;

	if (block->number == 0)
		return 0;
	(void)snprintf(name, sizeof name, "%u", block->number);
	(void)snprintf(next, sizeof next, ".%u", block->number);
	(void)flock(ids->dir, LOCK_SH);
	(void)unlinkat(ids->dir, next, 0);
	r = write_claim(ids, next, sandbox) < 0 ? -1 : renameat(ids->dir, next, ids->dir, name);
	if (r < 0)
		(void)error_sys(err, "claim ids for sandbox %s", sandbox);
	(void)flock(ids->dir, LOCK_UN);
	return r;
}

static const struct ids_range *find_taken(const struct ids *ids, uint32_t number)
{
	const struct userns_ids *all = &ids->userns->ids;
	uint64_t first = all->first + (uint64_t)(number - 1) * all->block;

	return ids_taken_find(ids->taken, first, first + all->block - 1);
}

/* The first block from `number` on without an id in a taken range. The search continues with the
 * first block after the last. 0: there is none. */
static uint32_t skip_taken(const struct ids *ids, uint32_t number)
{
	const struct userns_ids *all = &ids->userns->ids;

	for (uint64_t passed = 0; passed < all->count;) {
		const struct ids_range *range = find_taken(ids, number);
		uint64_t last;

		if (range == NULL)
			return number;
		/* A range may be as long as all blocks, so all blocks in it are skipped at once. */
		last = 1 + (range->last - all->first) / all->block;
		last = last < all->count ? last : all->count;
		passed += last - number + 1;
		number = (uint32_t)(last % all->count) + 1;
	}
	return 0;
}

int ids_check_range(const struct ids *ids, struct error *err)
{
	if (ids->userns->mode == USERNS_SINGLE_ID || skip_taken(ids, 1) != 0)
		return 0;
	return error_set(err, ERR_UNSUPPORTED,
	                 "no ids are left for sandboxes: all %u blocks of %u ids from %u on belong "
	                 "to users by /etc/subuid, /etc/subgid, /etc/passwd or /etc/group: make a "
	                 "range there smaller (usermod --del-subuids, --del-subgids), or start "
	                 "belljar as an ordinary user",
	                 ids->userns->ids.count, ids->userns->ids.block, ids->userns->ids.first);
}

int ids_check_taken(const struct ids *ids, const char *sandbox, const struct ids_block *block,
                    struct error *err)
{
	const struct ids_range *range = block->number != 0 ? find_taken(ids, block->number) : NULL;
	const struct userns_ids *all = &ids->userns->ids;
	uint32_t first = all->first + (block->number - 1) * all->block;
	char fix[120] = "give that user or group another id";

	if (range == NULL)
		return 0;
	if (range->is_subordinate)
		(void)snprintf(fix, sizeof fix, "usermod --del-%ss %u-%u %s", range->file,
		               range->first, range->last, range->owner);
	return error_set(err, ERR_INVALID,
	                 "sandbox %s has the ids %u-%u, but /etc/%s gives %u-%u to '%s' by now: "
	                 "take them back (%s), or delete the sandbox",
	                 sandbox, first, first + all->block - 1, range->file, range->first,
	                 range->last, range->owner, fix);
}

/* The first draws are random: a search from 1 would take longer with every sandbox, and servers
 * would compete for the same number. Where few blocks are free, the numbers after the last draw are
 * tried in turn. */
static int draw_block(const struct ids *ids, int try, uint32_t *number, struct error *err)
{
	if (try >= RANDOM_TRIES)
		*number += 1;
	else
		*number = (uint32_t)random_number();
	*number = skip_taken(ids, 1 + (*number - 1) % ids->userns->ids.count);
	return *number != 0 ? 0 : ids_check_range(ids, err);
}

/* A sweep holds the lock of ids/ exclusively: between its check that a claim is stale and its
 * unlink the same number could be claimed anew, and the sweep would remove the new claim. */
static int claim_any_block(struct ids *ids, const char *sandbox, uint32_t *number,
                           struct error *err)
{
	for (int i = 0; i < TRIES; i++) {
		if (draw_block(ids, i, number, err) < 0)
			return -1;
		if (claim_block(ids, *number, sandbox) == 0)
			return 0;
		if (errno != EEXIST)
			return error_sys(
			        err, "claim a block of ids (ids/ in the default state directory)");
	}
	return error_set(err, ERR_LIMIT,
	                 "nearly all of the %u blocks of ids are in use: delete sandboxes",
	                 ids->userns->ids.count);
}

int ids_claim(struct ids *ids, const char *sandbox, struct ids_block *ret, struct error *err)
{
	uint32_t number = 0;
	int r = 0;

	if (ids->userns->mode != USERNS_SINGLE_ID) {
		(void)flock(ids->dir, LOCK_SH);
		r = claim_any_block(ids, sandbox, &number, err);
		(void)flock(ids->dir, LOCK_UN);
	}
	if (r == 0)
		*ret = ids_block(ids->userns, number);
	return r;
}

int ids_from_owner(const struct ids *ids, const char *sandbox, struct ids_block *ret,
                   struct error *err)
{
	struct stat st;
	uint32_t offset;

	if (fstatat(ids->sandboxes, sandbox, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
		return error_set(err, ERR_NOT_FOUND,
		                 "the files of sandbox %s do not exist: delete the sandbox",
		                 sandbox);
	if (ids->userns->mode == USERNS_SINGLE_ID) {
		if (st.st_uid != ids->userns->uid)
			return error_set(err, ERR_INVALID,
			                 "sandbox %s was created by another user, or with more "
			                 "ids: start belljar as that user, or without --one-id",
			                 sandbox);
		*ret = ids_block(ids->userns, 0);
		return 0;
	}
	offset = st.st_uid - ids->userns->ids.first;
	if (st.st_uid < ids->userns->ids.first ||
	    offset / ids->userns->ids.block >= ids->userns->ids.count)
		return error_set(err, ERR_INVALID,
		                 "sandbox %s belongs to id %u, which is not in this server's "
		                 "range: start belljar as the user who created it, or delete the "
		                 "sandbox",
		                 sandbox, st.st_uid);
	*ret = ids_block(ids->userns, 1 + offset / ids->userns->ids.block);
	return 0;
}

/* Counts the claim if an id of its block was given to a user of the host since. */
static void count_taken(const struct ids *ids, const char *name, unsigned *count, struct error *why)
{
	struct ids_block block = { 0 };
	char claim[CLAIM_SIZE];
	struct error ignored;
	const char *sandbox;
	uint64_t number;

	if (num_parse_u64(name, 1, ids->userns->ids.count, &number, &ignored) < 0)
		return;
	block.number = (uint32_t)number;
	sandbox = find_taken(ids, block.number) != NULL ? read_claim(ids, name, claim) : NULL;
	if (sandbox != NULL && ids_check_taken(ids, sandbox, &block, why) < 0)
		(*count)++;
}

/* Removes stale claims. `others`: also those of other state directories, which are visible only
 * before the spawner enters its own mount tree. Returns how many of the remaining claims
 * are on taken blocks. */
static unsigned sweep_claims(struct ids *ids, bool others, struct error *why)
{
	AUTO_DIR DIR *dir = ids->dir >= 0 ? fd_open_dir(ids->dir, ".") : NULL;
	const struct dirent *entry;
	unsigned count = 0;

	if (dir == NULL)
		return 0;
	(void)flock(ids->dir, LOCK_EX);
	while ((entry = readdir(dir)) != NULL)
		/* ".N" is left by an ids_rename() that was interrupted by a kill: no rename is in
		 * progress while the lock is held exclusively. */
		if (entry->d_name[0] == '.' ? entry->d_name[1] >= '0' && entry->d_name[1] <= '9'
		                            : is_stale(ids, entry->d_name, others))
			(void)unlinkat(ids->dir, entry->d_name, 0);
		else
			count_taken(ids, entry->d_name, &count, why);
	(void)flock(ids->dir, LOCK_UN);
	return count;
}

/* The claim is removed only if it still names this sandbox: another server may have removed the
 * same sandbox, and a third may have claimed the number since. */
void ids_release(struct ids *ids, const struct ids_block *block, const char *sandbox)
{
	char name[16], claim[CLAIM_SIZE];
	const char *claimed;

	if (block->number == 0) {
		struct error ignored;

		(void)sweep_claims(ids, false, &ignored);
		return;
	}
	(void)snprintf(name, sizeof name, "%u", block->number);
	(void)flock(ids->dir, LOCK_EX);
	claimed = read_claim(ids, name, claim);
	if (claimed != NULL && strlen(claimed) == SPEC_ID_LEN &&
	    strcmp(claimed + PREFIX_LEN, sandbox + PREFIX_LEN) == 0)
		(void)unlinkat(ids->dir, name, 0);
	(void)flock(ids->dir, LOCK_UN);
}

unsigned ids_sweep(struct ids *ids, struct error *why)
{
	return sweep_claims(ids, true, why);
}
