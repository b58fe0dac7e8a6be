#include "engine/filter/filter.h"

#include <linux/seccomp.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/filter/filter_table.h"

/* A filter for another architecture would kill the process at its first system call. */
#ifdef __aarch64__
#define FILTER_SET filter_set_aarch64
#else
#define FILTER_SET filter_set_x86_64
#endif

static struct view filter_bytes(unsigned which)
{
	return (struct view){ (const char *)FILTER_SET.filters[which].code,
		              FILTER_SET.filters[which].count * sizeof(struct sock_filter) };
}

struct view filter_for_programs(enum spec_syscalls calls)
{
	return filter_bytes(calls);
}

/* "strict" denies capset(2) and landlock_restrict_self(2), with which the agent confines a program
 * before it executes it. */
bool filter_is_inherited(enum spec_syscalls calls)
{
	return calls != SPEC_SYSCALLS_STRICT;
}

struct view filter_for_agent(enum spec_syscalls calls)
{
	return filter_is_inherited(calls) ? filter_for_programs(calls) : filter_bytes(FILTER_AGENT);
}

struct view filter_for_workers(void)
{
	return filter_bytes(FILTER_WORKERS);
}

struct view filter_for_porter(void)
{
	return filter_bytes(FILTER_PORTER);
}

struct view filter_for_dialer(void)
{
	return filter_bytes(FILTER_DIALER);
}

struct view filter_for_mirror(void)
{
	return filter_bytes(FILTER_MIRROR);
}

/* The filter compares the target of tgkill(2) with the process's own id, which is not known when
 * belljar is built. BPF cannot ask for that id, so it is put into a copy of the code. */
struct view filter_for_server(void)
{
	static struct sock_filter code[BPF_MAXINSNS];
	size_t count = FILTER_SET.filters[FILTER_SERVER].count;

	memcpy(code, FILTER_SET.filters[FILTER_SERVER].code, count * sizeof code[0]);
	for (size_t i = 0; i < count; i++)
		if (BPF_CLASS(code[i].code) == BPF_JMP && code[i].k == FILTER_OWN_PID)
			code[i].k = (uint32_t)getpid();
	return (struct view){ (const char *)code, count * sizeof code[0] };
}

int filter_load(struct view code)
{
	union {
		const char *in;
		struct sock_filter *out;
	} same = { code.ptr }; /* struct sock_fprog has no const, but the kernel only reads */
	const struct sock_fprog program = { (unsigned short)(code.len / sizeof *same.out),
		                            same.out };

	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}
