/* pv_whoami - prints its ids and capabilities, which a set-user-id bit or a file capability would
 * change, and waits until its input ends, so that the test can look from the host. */
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "../try.h"

int main(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	uid_t uid[3] = { 0 };
	gid_t gid[3] = { 0 };
	char line[256];

	(void)getresuid(&uid[0], &uid[1], &uid[2]);
	(void)getresgid(&gid[0], &gid[1], &gid[2]);
	printf("uid %u %u %u gid %u %u %u secure %lu\n", uid[0], uid[1], uid[2], gid[0], gid[1],
	       gid[2], getauxval(AT_SECURE));
	while (status != NULL && fgets(line, sizeof line, status) != NULL)
		if (strncmp(line, "Cap", 3) == 0 || strncmp(line, "NoNew", 5) == 0 ||
		    strncmp(line, "Seccomp", 7) == 0 || strncmp(line, "Groups", 6) == 0)
			fputs(line, stdout);
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
