/* pv_ids - tries to change its ids to root's, the agent's and others', and to add groups. */
#include <grp.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../try.h"

int main(void)
{
	static const unsigned ids[] = { 0,     1,     999,    1001,   65534,
		                        61001, 61002, 524288, 700000, 4294967294U };
	const gid_t groups[] = { 0, 999, 27, 6 };
	unsigned own = getuid();
	char what[64];

	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
		unsigned id = ids[i];
		const struct {
			const char *name;
			long call;
		} calls[] = { { "setuid", SYS_setuid }, { "setgid", SYS_setgid } };

		for (int c = 0; c < 2; c++) {
			(void)snprintf(what, sizeof what, "%s %u", calls[c].name, id);
			report(what, syscall(calls[c].call, id));
		}
		(void)snprintf(what, sizeof what, "setresuid %u", id);
		report(what, syscall(SYS_setresuid, id, id, id));
		(void)snprintf(what, sizeof what, "setreuid %u", id);
		report(what, syscall(SYS_setreuid, id, id));
		(void)snprintf(what, sizeof what, "setresgid %u", id);
		report(what, syscall(SYS_setresgid, id, id, id));
		(void)snprintf(what, sizeof what, "setfsuid %u", id);
		(void)setfsuid(id);
		report(what, (unsigned)setfsuid((uid_t)-1) == own ? (errno = EPERM, -1) : 0);
		(void)snprintf(what, sizeof what, "setfsgid %u", id);
		(void)setfsgid(id);
		report(what, (unsigned)setfsgid((gid_t)-1) == own ? (errno = EPERM, -1) : 0);
	}
	report("setgroups", setgroups(4, groups));
	report("setgroups none", setgroups(0, NULL));
	/* The harmless counterpart: setting the present ids. */
	printf("stay %s\n", setresuid(own, own, own) == 0 && setuid(own) == 0 ? "yes" : "no");
	return 0;
}
