/* test_filter.c - interprets the compiled filters for every call number and many arguments. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "engine/filter/filter.h"
#include "engine/filter/filter_table.h"
#include "unit/engine/filter/filter_calls.h"
#include "unit/engine/filter/filter_want.h"
#include "unit/test.h"
#include "wire/message.h"

enum { NUMBERS = 600, STEPS_MAX = 160 };

static const char *const names[FILTER_COUNT] = { "standard", "strict", "debug",  "agent",
	                                         "workers",  "server", "porter", "dialer" };

static const struct architecture {
	const struct filter_set *set;
	uint32_t arch;
} architectures[] = {
	{ &filter_set_x86_64, AUDIT_ARCH_X86_64 },
	{ &filter_set_aarch64, AUDIT_ARCH_AARCH64 },
};

/* --- the interpreter --- */

static unsigned steps; /* instructions of the last run */
static bool loaded[6]; /* the arguments that the last run loaded */

static uint32_t load_word(const struct seccomp_data *data, uint32_t at)
{
	uint32_t value;

	assert_true(at % 4 == 0 && at <= sizeof *data - 4);
	if (at >= offsetof(struct seccomp_data, args))
		loaded[(at - offsetof(struct seccomp_data, args)) / 8] = true;
	memcpy(&value, (const char *)data + at, 4);
	return value;
}

static uint32_t run_filter(const struct filter_set *set, unsigned which,
                           const struct seccomp_data *data)
{
	const struct sock_filter *code = set->filters[which].code;
	size_t count = set->filters[which].count;
	uint32_t a = 0;

	steps = 0;
	memset(loaded, 0, sizeof loaded);
	for (size_t at = 0; at < count; at++, steps++) {
		const struct sock_filter *i = &code[at];

		switch (i->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			a = load_word(data, i->k);
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= i->k;
			break;
		case BPF_JMP | BPF_JA:
			at += i->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			at += a == i->k ? i->jt : i->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			at += a >= i->k ? i->jt : i->jf;
			break;
		case BPF_RET | BPF_K:
			return i->k;
		default:
			fail_msg("%s: unknown instruction %#x", names[which], i->code);
		}
	}
	fail_msg("%s, call %d: the filter ends without a verdict", names[which], data->nr);
	return 0;
}

/* Arguments beyond the third are 0. */
static uint32_t judge(const struct architecture *m, unsigned which, int nr, uint64_t a0,
                      uint64_t a1, uint64_t a2)
{
	struct seccomp_data data = { .nr = nr, .arch = m->arch, .args = { a0, a1, a2 } };

	return run_filter(m->set, which, &data);
}

static bool is_allowed(uint32_t verdict)
{
	return verdict == SECCOMP_RET_ALLOW;
}

/* Values that rules test, and their neighbours. */
static const uint64_t samples[] = { 0,
	                            1,
	                            2,
	                            3,
	                            4,
	                            6,
	                            10,
	                            16,
	                            17,
	                            31,
	                            35,
	                            38,
	                            41,
	                            50,
	                            64,
	                            65,
	                            67,
	                            279,
	                            0x5401,
	                            0x5412,
	                            0x20000,
	                            0x8000,
	                            S_IFCHR | 0600,
	                            CLONE_NEWUSER,
	                            FILTER_OWN_PID,
	                            UINT32_MAX,
	                            0x100000001,
	                            UINT64_MAX - 1 };

/* Calls check() for each number: with all samples for the arguments if any filter loads an
 * argument, else once. */
static void each_sample(const struct architecture *m,
                        void (*check)(const struct architecture *, int, const uint64_t *))
{
	for (int nr = 0; nr <= NUMBERS; nr++) {
		bool is_by_arguments = false;

		for (unsigned which = 0; which < FILTER_COUNT; which++) {
			(void)judge(m, which, nr, 0, 0, 0);
			for (int i = 0; i < 6; i++)
				is_by_arguments = is_by_arguments || loaded[i];
		}
		if (!is_by_arguments) {
			check(m, nr, (uint64_t[]){ 0, 0, 0 });
			continue;
		}
		for (size_t i = 0; i < ARRAY_LEN(samples); i++)
			for (size_t j = 0; j < ARRAY_LEN(samples); j++)
				for (size_t k = 0; k < ARRAY_LEN(samples); k++)
					check(m, nr,
					      (uint64_t[]){ samples[i], samples[j], samples[k] });
	}
}

/* --- all numbers --- */

/* Whether the call is allowed with any of the samples. */
static bool may_ever[FILTER_COUNT][NUMBERS + 1];

static void note_allowed(const struct architecture *m, int nr, const uint64_t *args)
{
	for (unsigned which = 0; which < FILTER_COUNT; which++)
		if (is_allowed(judge(m, which, nr, args[0], args[1], args[2])))
			may_ever[which][nr] = true;
}

static bool is_within(const struct range *ranges, size_t count, int nr)
{
	for (size_t i = 0; i < count; i++)
		if (nr >= ranges[i].first && nr <= ranges[i].last)
			return true;
	return false;
}

static void check_numbers(unsigned which, const struct range *ranges, size_t count, int total)
{
	int allowed = 0;

	for (int nr = 0; nr <= NUMBERS; nr++) {
		if (may_ever[which][nr] != is_within(ranges, count, nr))
			fail_msg("%s: call %d is %s", names[which], nr,
			         may_ever[which][nr] ? "allowed" : "refused");
		allowed += may_ever[which][nr];
	}
	assert_int_equal(allowed, total);
}

#define CHECK_NUMBERS(which, ranges, total)                                                        \
	check_numbers(which, ranges, sizeof(ranges) / sizeof(ranges)[0], total)

static int count_of(unsigned which)
{
	int count = 0;

	for (int nr = 0; nr <= NUMBERS; nr++)
		count += may_ever[which][nr];
	return count;
}

static void each_filter_allows_exactly_the_expected_calls(void **state)
{
	memset(may_ever, 0, sizeof may_ever);
	each_sample(&architectures[0], note_allowed);
	CHECK_NUMBERS(SPEC_SYSCALLS_STANDARD, standard_x86_64, 283);
	CHECK_NUMBERS(SPEC_SYSCALLS_STRICT, strict_x86_64, 248);
	CHECK_NUMBERS(FILTER_SERVER, server_x86_64, 89);
	assert_int_equal(count_of(SPEC_SYSCALLS_DEBUG), 283 + 3);
	assert_int_equal(count_of(FILTER_AGENT), 283 + 3);
	assert_int_equal(count_of(FILTER_WORKERS), 68);
	assert_int_equal(count_of(FILTER_PORTER), 116); /* and execveat, see below */
	assert_int_equal(count_of(FILTER_DIALER), 82);
	assert_int_equal(count_of(FILTER_MIRROR), 86);

	memset(may_ever, 0, sizeof may_ever);
	each_sample(&architectures[1], note_allowed);
	CHECK_NUMBERS(SPEC_SYSCALLS_STANDARD, standard_aarch64, 245);
	CHECK_NUMBERS(SPEC_SYSCALLS_STRICT, strict_aarch64, 214);
	CHECK_NUMBERS(FILTER_SERVER, server_aarch64, 79);
	assert_int_equal(count_of(SPEC_SYSCALLS_DEBUG), 245 + 3);
	assert_int_equal(count_of(FILTER_AGENT), 245 + 3);
}

static void check_within_agent(const struct architecture *m, int nr, const uint64_t *args)
{
	bool agent = is_allowed(judge(m, FILTER_AGENT, nr, args[0], args[1], args[2]));

	for (unsigned which = 0; which < FILTER_AGENT; which++)
		if (!agent && is_allowed(judge(m, which, nr, args[0], args[1], args[2])))
			fail_msg("%s may call %d(%#lx, %#lx, %#lx), the agent may not",
			         names[which], nr, args[0], args[1], args[2]);
	if (!agent && is_allowed(judge(m, FILTER_WORKERS, nr, args[0], args[1], args[2])))
		fail_msg("workers may call %d, the agent may not", nr);
	for (unsigned which = 0; which < SPEC_SYSCALLS_COUNT; which++)
		if (filter_is_inherited((enum spec_syscalls)which) &&
		    !is_allowed(judge(m, which, nr, args[0], args[1], args[2])) &&
		    is_allowed(judge(m, FILTER_WORKERS, nr, args[0], args[1], args[2])))
			fail_msg("workers may call %d, %s, which they inherit, may not", nr,
			         names[which]);
	assert_true(steps <= STEPS_MAX);
}

static bool is_same_filter(struct view a, struct view b)
{
	return a.len == b.len && memcmp(a.ptr, b.ptr, a.len) == 0;
}

/* capset(2) and landlock_restrict_self(2) are the calls of the agent that "strict" denies. */
static void agent_runs_under_the_filter_of_programs_that_it_can_work_with(void **state)
{
	static const int of_agent[] = { 126, 446 };

	for (unsigned which = 0; which < SPEC_SYSCALLS_COUNT; which++) {
		enum spec_syscalls set = (enum spec_syscalls)which;
		bool can_work = true;

		for (size_t i = 0; i < ARRAY_LEN(of_agent); i++)
			can_work &= is_allowed(
			        judge(&architectures[0], which, of_agent[i], 0, 0, 0));
		assert_int_equal(filter_is_inherited(set), can_work);
		assert_int_equal(is_same_filter(filter_for_agent(set), filter_for_programs(set)),
		                 can_work);
	}
}

static void agent_filter_allows_what_any_other_allows(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(architectures); i++)
		each_sample(&architectures[i], check_within_agent);
}

static void calls_of_another_architecture_kill_the_process(void **state)
{
	static const uint32_t others[] = { AUDIT_ARCH_I386, AUDIT_ARCH_ARM, 0 };

	for (size_t i = 0; i < ARRAY_LEN(architectures); i++)
		for (unsigned which = 0; which < FILTER_COUNT; which++) {
			for (size_t j = 0; j < ARRAY_LEN(others); j++) {
				struct seccomp_data data = { .arch = others[j], .nr = 1 };

				assert_int_equal(run_filter(architectures[i].set, which, &data),
				                 SECCOMP_RET_KILL_PROCESS);
			}
			assert_true(architectures[i].set->filters[which].count * 8 <=
			            WIRE_FILTER_MAX);
		}
	for (unsigned which = 0; which < FILTER_COUNT; which++) { /* x32 */
		assert_int_equal(judge(&architectures[0], which, 0x40000000, 0, 0, 0),
		                 SECCOMP_RET_KILL_PROCESS);
		assert_int_equal(judge(&architectures[0], which, -2, 0, 0, 0),
		                 SECCOMP_RET_KILL_PROCESS);
	}
}

static void unknown_numbers_fail_with_enosys(void **state)
{
	static const int numbers[] = { 472, 500, 511, 512, 600, 999, 0x3fffffff, -1 };

	for (size_t i = 0; i < ARRAY_LEN(architectures); i++)
		for (unsigned which = 0; which < FILTER_COUNT; which++)
			for (size_t j = 0; j < ARRAY_LEN(numbers); j++)
				assert_int_equal(
				        judge(&architectures[i], which, numbers[j], 0, 0, 0),
				        SECCOMP_RET_ERRNO | ENOSYS);
	assert_int_equal(judge(&architectures[0], 0, 400, 0, 0, 0), SECCOMP_RET_ERRNO | ENOSYS);
	assert_int_equal(judge(&architectures[1], 0, 335, 0, 0, 0), SECCOMP_RET_ERRNO | ENOSYS);
}

static void frequent_calls_take_few_instructions(void **state)
{
	static const int often[] = { 0, 1, 3, 9, 202, 232, 257 }; /* of x86_64 */

	for (unsigned which = 0; which < FILTER_AGENT; which++)
		for (size_t i = 0; i < ARRAY_LEN(often); i++) {
			(void)judge(&architectures[0], which, often[i], 0, 0, 0);
			assert_true(steps <= 16);
		}
}

/* --- single calls --- */

static void check_call(const struct call_case *call, const struct architecture *m, int nr,
                       uint64_t high)
{
	for (unsigned which = 0; which < FILTER_SERVER; which++) {
		int want = call->want[which];
		uint32_t said = judge(m, which, nr, call->args[0] | high, call->args[1] | high,
		                      call->args[2] | (call->has_pointer ? 0 : high));

		if (said != (want == OK ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | (uint32_t)want))
			fail_msg("%s: %s (%d): %#x", names[which], call->what, nr, said);
	}
}

/* The kernel ignores the upper half of these arguments, so setting bits there must not change the
 * verdict. */
static void calls_get_the_expected_verdict(void **state)
{
	static const uint64_t highs[] = { 0, 1ull << 32, 0xffffffffull << 32 };

	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		for (size_t j = 0; j < ARRAY_LEN(highs); j++) {
			check_call(&calls[i], &architectures[0], calls[i].x86_64, highs[j]);
			if (calls[i].aarch64 != NONE)
				check_call(&calls[i], &architectures[1], calls[i].aarch64,
				           highs[j]);
		}
}

static void check_server_call(const struct server_call *call, const struct architecture *m, int nr)
{
	struct seccomp_data data = { .nr = nr, .arch = m->arch };
	uint32_t said;

	memcpy(data.args, call->args, sizeof data.args);
	said = run_filter(m->set, FILTER_SERVER, &data);
	if (said !=
	    (call->want == OK ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | (uint32_t)call->want))
		fail_msg("server: %s (%d): %#x", call->what, nr, said);
}

static void server_calls_get_the_expected_verdict(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(server_calls); i++) {
		check_server_call(&server_calls[i], &architectures[0], server_calls[i].x86_64);
		check_server_call(&server_calls[i], &architectures[1], server_calls[i].aarch64);
	}
}

/* The filter that is loaded names the calling process in place of FILTER_OWN_PID. */
static void server_filter_names_the_calling_process(void **state)
{
	struct view code = filter_for_server();
	size_t own = 0;

	for (size_t at = 0; at < code.len; at += sizeof(struct sock_filter)) {
		struct sock_filter instruction;

		memcpy(&instruction, code.ptr + at, sizeof instruction);
		assert_true(BPF_CLASS(instruction.code) != BPF_JMP ||
		            instruction.k != FILTER_OWN_PID);
		own += instruction.code == (BPF_JMP | BPF_JEQ | BPF_K) &&
		       instruction.k == (uint32_t)getpid();
	}
	assert_true(own >= 2);
}

/* The porter runs on the host, as root or as the user: it starts the agent from an open descriptor,
 * and reaches no other program, process or socket. */
static void porter_may_start_an_agent_and_little_else(void **state)
{
	static const struct {
		int nr; /* of x86_64 */
		uint64_t args[6];
		bool is_allowed;
	} cases[] = {
		{ 322, { 4, 1, 1, 1, 0x1000 }, true }, /* execveat, AT_EMPTY_PATH */
		{ 322, { 4, 1, 1, 1, 0 }, false },
		{ 322, { 4, 1, 1, 1, 0x1100 }, false },
		{ 59, { 0 }, false },                   /* execve */
		{ 53, { AF_UNIX, SOCK_STREAM }, true }, /* socketpair */
		{ 53, { AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC }, true },
		{ 53, { AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC }, false },
		{ 53, { AF_INET, SOCK_STREAM }, false },
		{ 41, { AF_UNIX, SOCK_STREAM }, false }, /* socket */
		{ 42, { 0 }, false },                    /* connect */
		{ 49, { 0 }, false },                    /* bind */
		{ 101, { 0 }, false },                   /* ptrace */
		{ 165, { 0 }, false },                   /* mount */
		{ 272, { 0 }, false },                   /* unshare */
		{ 56, { SIGCHLD }, true },               /* clone */
		{ 56, { CLONE_NEWUSER | SIGCHLD }, false },
		{ 133, { 0 }, false },       /* mknod */
		{ 319, { 0 }, false },       /* memfd_create */
		{ 9, { 0, 4096, 3 }, true }, /* mmap */
		{ 9, { 0, 4096, 5 }, false },
		{ 16, { 0 }, false }, /* ioctl */
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct seccomp_data data = { .nr = cases[i].nr, .arch = architectures[0].arch };

		for (int j = 0; j < 6; j++)
			data.args[j] = cases[i].args[j];
		if (is_allowed(run_filter(architectures[0].set, FILTER_PORTER, &data)) !=
		    cases[i].is_allowed)
			fail_msg("case %zu, call %d", i, cases[i].nr);
	}
}

/* The dialer resolves and connects, on the host: it executes, listens, writes files and signals
 * nothing. */
static void dialer_may_resolve_and_connect(void **state)
{
	static const struct {
		int nr; /* of x86_64 */
		uint64_t args[6];
		bool is_allowed;
	} cases[] = {
		{ 41, { AF_INET, SOCK_STREAM | SOCK_CLOEXEC }, true }, /* socket */
		{ 41, { AF_INET6, SOCK_DGRAM }, true },
		{ 41, { AF_UNIX, SOCK_STREAM }, true },
		{ 41, { AF_NETLINK, SOCK_RAW, 0 }, true },
		{ 41, { AF_NETLINK, SOCK_RAW, 9 }, false },
		{ 41, { AF_INET, SOCK_RAW, 1 }, false },
		{ 41, { AF_PACKET, SOCK_RAW }, false },
		{ 42, { 0 }, true },   /* connect */
		{ 50, { 0 }, false },  /* listen */
		{ 43, { 0 }, false },  /* accept */
		{ 59, { 0 }, false },  /* execve */
		{ 322, { 0 }, false }, /* execveat */
		{ 56, { SIGCHLD }, true },
		{ 56, { CLONE_NEWUSER | SIGCHLD }, false },
		{ 62, { 0 }, false },  /* kill */
		{ 101, { 0 }, false }, /* ptrace */
		{ 87, { 0 }, false },  /* unlink */
		{ 82, { 0 }, false },  /* rename */
		{ 83, { 0 }, false },  /* mkdir */
		{ 90, { 0 }, false },  /* chmod */
		{ 165, { 0 }, false }, /* mount */
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct seccomp_data data = { .nr = cases[i].nr, .arch = architectures[0].arch };

		for (int j = 0; j < 6; j++)
			data.args[j] = cases[i].args[j];
		for (unsigned which = FILTER_DIALER; which <= FILTER_MIRROR; which++)
			if (is_allowed(run_filter(architectures[0].set, which, &data)) !=
			    cases[i].is_allowed)
				fail_msg("case %zu, call %d, filter %u", i, cases[i].nr, which);
	}
}

static void only_the_mirror_writes_files(void **state)
{
	/* unlinkat, renameat, renameat2, utimensat */
	static const int of_mirror[] = { 263, 264, 316, 280 };

	for (size_t i = 0; i < ARRAY_LEN(of_mirror); i++) {
		struct seccomp_data data = { .nr = of_mirror[i],
			                     .arch = architectures[0].arch,
			                     .args = { AF_UNIX } };

		assert_true(is_allowed(run_filter(architectures[0].set, FILTER_MIRROR, &data)));
		assert_false(is_allowed(run_filter(architectures[0].set, FILTER_DIALER, &data)));
	}
}

static void every_filter_is_different(void **state)
{
	struct view seen[FILTER_COUNT];

	for (unsigned i = 0; i < SPEC_SYSCALLS_COUNT; i++)
		seen[i] = filter_for_programs((enum spec_syscalls)i);
	seen[FILTER_AGENT] = filter_for_agent(SPEC_SYSCALLS_STRICT);
	seen[FILTER_WORKERS] = filter_for_workers();
	seen[FILTER_SERVER] = filter_for_server();
	seen[FILTER_PORTER] = filter_for_porter();
	seen[FILTER_DIALER] = filter_for_dialer();
	seen[FILTER_MIRROR] = filter_for_mirror();
	for (unsigned i = 0; i < FILTER_COUNT; i++) {
		assert_true(seen[i].len != 0 && seen[i].len % 8 == 0);
		for (unsigned j = 0; j < i; j++)
			assert_false(seen[i].len == seen[j].len &&
			             memcmp(seen[i].ptr, seen[j].ptr, seen[i].len) == 0);
	}
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(each_filter_allows_exactly_the_expected_calls),
		TEST(agent_filter_allows_what_any_other_allows),
		TEST(agent_runs_under_the_filter_of_programs_that_it_can_work_with),
		TEST(calls_of_another_architecture_kill_the_process),
		TEST(unknown_numbers_fail_with_enosys),
		TEST(frequent_calls_take_few_instructions),
		TEST(calls_get_the_expected_verdict),
		TEST(server_calls_get_the_expected_verdict),
		TEST(server_filter_names_the_calling_process),
		TEST(porter_may_start_an_agent_and_little_else),
		TEST(dialer_may_resolve_and_connect),
		TEST(only_the_mirror_writes_files),
		TEST(every_filter_is_different),
	};

	return RUN_TESTS("filters", all);
}
