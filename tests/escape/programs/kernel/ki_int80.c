/* ki_int80 WHAT - makes a 32-bit system call from a 64-bit program: its number means another call,
 * so that a filter which does not check the architecture is evaded. */
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "syscall") == 0)
		return puts("a call of 64 bits") < 0;
#ifdef __x86_64__
	{
		/* socketcall(SOCKET, {AF_ALG, SOCK_SEQPACKET, 0}) passes the family in memory,
		 * which a filter cannot read. We have no memory below 4 GiB to pass; only the
		 * verdict on the call counts. */
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
