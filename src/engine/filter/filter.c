#include "engine/filter/filter.h"

#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/filter/filter_table.h"

/* On any other machine every call would be one of another machine, and the caller killed. */
#ifdef __aarch64__
#define HERE filter_set_aarch64
#else
#define HERE filter_set_x86_64
#endif

static struct view bytes_of(unsigned which)
{
	return (struct view){ (const char *)HERE.filters[which].code,
		              HERE.filters[which].count * sizeof(struct sock_filter) };
}

struct view filter_for_programs(enum spec_syscalls calls)
{
	return bytes_of(calls);
}

struct view filter_for_agent(void)
{
	return bytes_of(FILTER_AGENT);
}

struct view filter_for_files(void)
{
	return bytes_of(FILTER_FILES);
}

int filter_load(struct view code)
{
	union {
		const char *in;
		struct sock_filter *out;
	} same = { code.ptr }; /* the kernel leaves it alone */
	const struct sock_fprog program = { (unsigned short)(code.len / sizeof *same.out),
		                            same.out };

	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}
