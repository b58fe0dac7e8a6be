/* Makes a call of 32 bits from a program of 64: filters that forget it are passed by it. */
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "syscall") == 0)
		return puts("a call of 64 bits") < 0;
#ifdef __x86_64__
	{
		/* socketcall(SOCKET, {AF_ALG, SOCK_SEQPACKET, 0}) has its family behind a pointer, and
		 * below 4 GiB is none of ours: the call is what counts. */
		long number = strcmp(what, "socketcall") == 0 ? 102
		              : strcmp(what, "ptrace") == 0   ? 26
		              : strcmp(what, "mount") == 0    ? 21
		                                              : 20;
		long result;

		__asm__ volatile("int $0x80"
		                 : "=a"(result)
		                 : "a"(number), "b"(1L), "c"(0L), "d"(0L), "S"(0L), "D"(0L)
		                 : "memory");
		printf("PASSED %ld\n", result);
	}
#endif
	return 0;
}
