/* porter_confine.c - what the porter gives up before it reads its first request. */
#include <linux/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/rights/caps.h"
#include "engine/filter/filter.h"
#include "sandbox/porter/internal.h"

/* With roots any directory may be named later, so only the kind of access can be limited. */
static int allow_files(const struct landlock *landlock, const struct porter_slots *slots,
                       const struct porter_image *image, struct error *err)
{
	for (size_t i = 0; i < slots->fixed; i++)
		if (landlock_allow(landlock, slots->at[i].fd, PORTER_RIGHTS, err) < 0)
			return -1;
	if (slots->accepts_roots && landlock_allow_path(landlock, "/", PORTER_RIGHTS, err) < 0)
		return -1;
	return porter_allow_common(landlock, image, err);
}

static int confine_files(const struct porter_slots *slots, const struct porter_image *image,
                         struct error *err)
{
	AUTO_LANDLOCK struct landlock landlock = { .ruleset = -1 };

	if (landlock_open_isolated(&landlock, err) < 0 ||
	    allow_files(&landlock, slots, image, err) < 0)
		return -1;
	return landlock_enforce(&landlock, err);
}

/* As root the porter becomes the owner of a directory in the child that becomes the agent, and
 * opens the client's roots, if it accepts any, with root's right to search directories. */
static int confine_capabilities(const struct porter_slots *slots, struct error *err)
{
	uint64_t kept = 0, have;

	if (caps_pass_none(err) < 0 || caps_get(&have, err) < 0)
		return -1;
	if (geteuid() == 0)
		kept = CAPS_BIT(CAP_SETUID) | CAPS_BIT(CAP_SETGID);
	if (geteuid() == 0 && slots->accepts_roots)
		kept |= CAPS_BIT(CAP_DAC_READ_SEARCH);
	return caps_set(kept & have, false, err);
}

int porter_confine(const struct porter_slots *slots, const struct porter_image *image,
                   struct error *err)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_sys(err, "prctl");
	if (confine_files(slots, image, err) < 0 || confine_capabilities(slots, err) < 0)
		return -1;
	return filter_load(filter_for_porter()) < 0 ? error_sys(err, "filter system calls") : 0;
}
