/* doctor_server.c - whether the server can give up its own rights here (see internal.h). */
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/rights/landlock.h"
#include "server/confine.h"
#include "server/doctor/internal.h"

/* Every user may read this file, so if opening it fails, Landlock has refused it. */
static const char others_file[] = "/proc/version";

struct confinement {
	bool failed; /* confine_server() failed: `why` */
	struct error why;
	bool opens_files, makes_sockets; /* the confined process can still do this */
};

static void try_confinement(void *record)
{
	AUTO_FD int file = -1, connection = -1;
	struct confinement *tried = record;

	tried->failed = confine_server(&(struct confine_needs){ NULL }, &tried->why) < 0;
	file = open(others_file, O_RDONLY | O_CLOEXEC);
	connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	tried->opens_files = file >= 0;
	tried->makes_sockets = connection >= 0;
}

void probe_confinement(UNUSED const struct options *options, struct check *ret)
{
	struct confinement tried = { 0 };
	struct error err;

	if (probe_child_run(try_confinement, &tried, sizeof tried, PROBE_DEADLINE_MS, &err) < 0) {
		check_set(ret, CHECK_OFF, "could not be tried: %s", err.msg);
		check_fix(ret, "free processes or memory and ask again");
	} else if (tried.failed) {
		check_set(ret, CHECK_OFF, "tried: %s", tried.why.msg);
		check_fix(ret, "see 'seccomp', 'landlock' and 'no-new-privileges'");
	} else if (tried.makes_sockets) {
		check_set(ret, CHECK_OFF,
		          "this belljar is a build with AddressSanitizer, which "
		          "does not confine its server");
		check_fix(ret, "make build/belljar, and use that");
	} else if (tried.opens_files) {
		check_set(ret, CHECK_WEAKER,
		          "tried: the server starts no program and opens no connection, but "
		          "without Landlock version 2 it opens every file of its user");
		check_fix(ret, "see 'landlock'");
	} else {
		check_set(ret, CHECK_ON,
		          "tried: the server opens its database and no other file, starts no "
		          "program and opens no connection (Landlock ABI %ld)",
		          landlock_version());
	}
}
