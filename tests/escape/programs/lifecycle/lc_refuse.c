/* lc_refuse CALL ERRNO PROGRAM... - runs a program for which one system call always fails, both
 * given as numbers. The filter is loaded as root, without no_new_privs, so that the program can
 * still change its user. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 4) {
		fputs("usage: lc_refuse CALL ERRNO PROGRAM...\n", stderr);
		return 99;
	}
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)atoi(argv[1]), 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)atoi(argv[2])),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof rules / sizeof rules[0], rules };

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0) {
		perror("lc_refuse");
		return 99;
	}
	execvp(argv[3], argv + 3);
	perror(argv[3]);
	return 99;
}
