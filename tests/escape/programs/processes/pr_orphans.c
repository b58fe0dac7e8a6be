/* pr_orphans COUNT - creates so many orphans that exit at once. Exits with 7 unless most forks
 * failed. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 1, failed = 0;

	for (int i = 0; i < count; i++) {
		pid_t child = fork();

		if (child == 0) {
			if (fork() < 0)
				_exit(1);
			_exit(0);
		}
		int status = 1;
		if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
			failed++;
			usleep(1000);
		}
	}
	printf("failed %d\n", failed);
	return failed < count / 2 ? 7 : 1;
}
