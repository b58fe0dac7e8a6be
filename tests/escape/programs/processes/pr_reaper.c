/* pr_reaper - becomes a subreaper, has children and orphans with other statuses, and exits from a
 * second thread. The status must be 5. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static void *end(void *arg)
{
	(void)arg;
	usleep(100000);
	exit(5);
}

int main(void)
{
	pthread_t thread;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (int i = 0; i < 8; i++)
		if (fork() == 0) {
			if (fork() == 0) {
				usleep((useconds_t)i * 20000);
				_exit(100 + i);
			}
			_exit(50 + i);
		}
	pthread_create(&thread, NULL, end, NULL);
	pthread_exit(NULL);
}
