/* rx_memory KIND MIB SECONDS - uses memory, holds it, and prints "held". Kinds: malloc, shared
 * (mappings that RLIMIT_DATA does not count), children, threads-children (of a second thread),
 * tables (page tables). */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MIB = 1 << 20 };
static int mib;
static unsigned seconds;
static void *volatile taken; /* volatile: the compiler must not remove the allocation */

static void *children(void *unused)
{
	for (int i = 0; i < mib; i += 16)
		if (fork() == 0) {
			taken = memset(malloc(16 * MIB), 1, 16 * MIB);
			(void)sleep(seconds);
			_exit(0);
		}
	(void)sleep(seconds);
	return unused;
}

/* Reads one page in each two MiB: that needs a page of page tables, and hardly any other memory. */
static int tables(void)
{
	size_t size = (size_t)mib * 512 * MIB;
	volatile char *at = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
	                         -1, 0);

	if (at == MAP_FAILED || madvise((void *)at, size, MADV_NOHUGEPAGE) != 0)
		return -1;
	for (size_t i = 0; i < size; i += 2 * MIB)
		(void)at[i];
	return 0;
}

static int take(const char *kind)
{
	pthread_t thread;

	if (strcmp(kind, "tables") == 0)
		return tables();

	if (strcmp(kind, "threads-children") == 0)
		return pthread_create(&thread, NULL, children, NULL);
	if (strcmp(kind, "children") == 0)
		return children(NULL) != NULL;
	for (int i = 0; i < mib; i++) {
		void *at = strcmp(kind, "malloc") == 0 ? malloc(MIB)
		                                       : mmap(NULL, MIB, PROT_READ | PROT_WRITE,
		                                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);

		if (at == NULL || at == MAP_FAILED)
			return -1;
		taken = memset(at, 1, MIB);
	}
	return 0;
}

int main(int argc, char **argv)
{
	mib = argc == 4 ? atoi(argv[2]) : 0;
	seconds = argc == 4 ? (unsigned)atoi(argv[3]) : 0;
	if (take(argv[1]) != 0) {
		perror("refused");
		return 1;
	}
	(void)sleep(seconds);
	(void)printf("held\n");
	return 0;
}
