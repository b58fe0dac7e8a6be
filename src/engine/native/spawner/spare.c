#include "engine/native/spawner/spare.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "engine/native/spawner/spawner_internal.h"

enum { KEPT_MS = 60000, QUIET_MS = 10, LOOK_MS = 5000 };

static bool is_spare(const struct box *box)
{
	return box->number == SPARE_NUMBER;
}

static struct box *find(struct spawner *spawner)
{
	for (size_t i = 0; i < spawner->box_top; i++)
		if (is_spare(&spawner->boxes[i]))
			return &spawner->boxes[i];
	return NULL;
}

/* What is decided when it is made. The rest is the agent's, told later. */
static bool are_alike(const struct spec *a, const struct spec *b)
{
	if (memcmp(&a->limits, &b->limits, sizeof a->limits) != 0 || a->gpus != b->gpus ||
	    a->mount_count != b->mount_count)
		return false;
	for (unsigned i = 0; i < a->mount_count; i++)
		if (a->mounts[i].source != b->mounts[i].source ||
		    strcmp(a->mounts[i].target, b->mounts[i].target) != 0)
			return false;
	return true;
}

void spare_want(struct spawner *spawner, const struct request *request)
{
	struct box *box = find(spawner);

	if (box != NULL && !are_alike(&spawner->wanted.spec, &request->spec))
		box_kill(box, ENGINE_END_KILLED);
	spawner->wanted = *request;
	spawner->wanted_until = clock_now_ms() + KEPT_MS;
}

bool spare_take(struct spawner *spawner, const struct request *request, struct box **ret)
{
	struct box *box = find(spawner);
	struct error err;

	if (box == NULL || box->is_dead || box->failed || box->report >= 0 || box->is_killed ||
	    !are_alike(&spawner->wanted.spec, &request->spec))
		return false;
	if (box_name(&spawner->shop, box, request->spec.id, &err) < 0) {
		box_kill(box, ENGINE_END_KILLED);
		return false;
	}
	box->number = request->number;
	*ret = box;
	return true;
}

static void make(struct spawner *spawner)
{
	struct request *request = &spawner->wanted;
	struct box *box = spawner_free_box(spawner);
	struct error err;

	if (box == NULL)
		return;
	request->number = SPARE_NUMBER;
	spec_new_id(request->spec.id);
	memcpy(request->spec.id, SPARE_PREFIX, sizeof SPARE_PREFIX - 1);
	if (box_start(&spawner->shop, &spawner->image, request, box, &err) == 0)
		return;
	/* Whoever asks next will hear why. */
	spawner->wanted_until = 0;
	box_failed(box, &err);
}

void spare_tend(struct spawner *spawner)
{
	struct box *box = find(spawner);
	uint64_t now = clock_now_ms();
	bool wanted = now < spawner->wanted_until;

	if (box == NULL && wanted && now >= spawner->asked + QUIET_MS)
		make(spawner);
	else if (box != NULL && !wanted)
		box_kill(box, ENGINE_END_KILLED);
}

int spare_interval(const struct spawner *spawner)
{
	if (spawner->wanted_until == 0)
		return -1;
	return clock_now_ms() < spawner->asked + QUIET_MS ? QUIET_MS : LOOK_MS;
}

/* Another server's has a lock. */
static bool is_nobodys(int all, const char *name)
{
	AUTO_FD int dir = openat(all, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return dir >= 0 && flock(dir, LOCK_EX | LOCK_NB) == 0;
}

void spare_sweep(struct spawner *spawner)
{
	int fd = openat(spawner->shop.disk.dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL)
		if (strlen(entry->d_name) == SPEC_ID_LEN &&
		    (strncmp(entry->d_name, SPARE_PREFIX, sizeof SPARE_PREFIX - 1) == 0 ||
		     strncmp(entry->d_name, GONE_PREFIX, sizeof GONE_PREFIX - 1) == 0) &&
		    is_nobodys(fd, entry->d_name))
			spawner_remove(spawner, entry->d_name);
	if (dir != NULL)
		(void)closedir(dir);
}
