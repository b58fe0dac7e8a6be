/* sc_ipc make|look - creates a named object of every kind that outlives a process, or looks for
 * those of another sandbox. Prints "made NAME" or "FOUND NAME". */
#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

enum { KEY = 0x62656c6c, USER_KEYRING = -4, USER_SESSION = -5 };

static void say(int is_there, const char *verb, const char *name)
{
	if (is_there)
		(void)printf("%s %s\n", verb, name);
}

static int in_unix(int make)
{
	const struct sockaddr_un at = { AF_UNIX, "\0belljar-neighbour" };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (make)
		return bind(fd, (const void *)&at, sizeof at) == 0 && listen(fd, 1) == 0;
	return connect(fd, (const void *)&at, sizeof at) == 0;
}

int main(int argc, char **argv)
{
	int make = argc > 1 && strcmp(argv[1], "make") == 0;
	int create = make ? O_CREAT : 0, ipc = make ? IPC_CREAT | 0666 : 0;
	const char *verb = make ? "made" : "FOUND";
	char found[64];

	say(shm_open("/belljar", O_RDWR | create, 0666) >= 0, verb, "shm");
	say(mq_open("/belljar", O_RDWR | create, 0666, NULL) >= 0, verb, "mqueue");
	say(shmget(KEY, 4096, ipc) >= 0, verb, "sysv-shm");
	say(semget(KEY, 1, ipc) >= 0, verb, "sysv-sem");
	say(msgget(KEY, ipc) >= 0, verb, "sysv-msg");
	say(in_unix(make), verb, "abstract");
	if (make)
		say(syscall(SYS_add_key, "user", "belljar", "secret", 6L, (long)USER_KEYRING) >= 0,
		    verb, "key");
	say(syscall(SYS_request_key, "user", "belljar", NULL, (long)USER_SESSION) >= 0, verb,
	    "key");
	say(syscall(SYS_keyctl, 11L, (long)USER_KEYRING, found, sizeof found) >= 0, verb,
	    "keyring");
	say(socket(AF_VSOCK, SOCK_STREAM, 0) >= 0, verb, "vsock");
	(void)printf("done\n");
	(void)fflush(stdout);
	if (make)
		(void)sleep(60);
	return 0;
}
