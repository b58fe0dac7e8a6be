/* doctor_engine.c - the layers that the engine reports about itself when it has started (see
 * internal.h). */
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "server/doctor/internal.h"

_Static_assert((int)CHECK_ON == LAYER_ON && (int)CHECK_WEAKER == LAYER_WEAKER &&
                       (int)CHECK_OFF == LAYER_OFF,
               "the same numbers");

void report_sandbox(const struct trial *trial, struct check *ret)
{
	if (trial->has_run) {
		check_set(ret, CHECK_ON, "tried: engine ready in %u ms, 'true' ran in %u ms",
		          trial->ready_ms, trial->run_ms);
		return;
	}
	check_set(ret, CHECK_OFF, "tried: %s%s",
	          trial->is_ready ? "" : "the engine does not start: ", trial->why.msg);
	check_fix(ret, "fix the other layers that are off, and try again");
}

/* Whether the helper is installed but has neither the setuid bit nor file capabilities: copying
 * files and some container images lose them. */
static bool is_powerless(const char *program)
{
	struct stat st;

	return stat(program, &st) == 0 && (st.st_mode & S_ISUID) == 0 &&
	       getxattr(program, "security.capability", NULL, 0) <= 0;
}

static void report_not_started(const struct trial *trial, struct check *ret)
{
	if (strcmp(ret->name, "ids") == 0 && geteuid() != 0 &&
	    (is_powerless("/usr/bin/newuidmap") || is_powerless("/usr/bin/newgidmap"))) {
		check_set(ret, CHECK_OFF,
		          "newuidmap or newgidmap is neither setuid nor has capabilities: %.200s",
		          trial->why.msg);
		check_fix(ret, "sudo chmod u+s /usr/bin/newuidmap /usr/bin/newgidmap");
		return;
	}
	check_set(ret, CHECK_OFF, "the engine does not start");
	check_fix(ret, "see 'sandbox'");
}

void report_layer(const struct trial *trial, struct check *ret)
{
	const struct engine_layer *layer = report_find(&trial->report, ret->name);

	if (!trial->is_ready) {
		report_not_started(trial, ret);
		return;
	}
	if (layer == NULL) {
		check_set(ret, CHECK_OFF, "the engine of this server has no such layer");
		return;
	}
	check_set(ret, (enum check_status)layer->status, "%s", layer->detail);
	check_fix(ret, "%s", layer->fix);
}
