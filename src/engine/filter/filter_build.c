/* filter_build.c - a program that runs during the build and compiles filter_table.c to seccomp
 * filters, which are programs of classic BPF.
 *
 *   filter_build x86_64|aarch64   writes the filters as C source
 *   filter_build check            lists system calls that libseccomp knows and the table does not
 *
 * libseccomp is used for the numbers of system calls only. Filters that libseccomp compiles have
 * one answer for all calls without a rule; here the answer depends on the call (ENOSYS, EPERM,
 * ...). */
#include <errno.h>
#include <inttypes.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "engine/filter/filter_table.h"

enum {
	CALLS = 512,
	COMMON = 424, /* from here on numbers are the same on all architectures */
	X32 = 0x40000000,
	JUMP_MAX = 255, /* of a conditional jump, whose offsets have 8 bits */
	NAME_SIZE = 64,
};

struct machine {
	const char *name;
	uint32_t seccomp, audit;
};

static const struct machine machines[] = {
	{ "x86_64", SCMP_ARCH_X86_64, AUDIT_ARCH_X86_64 },
	{ "aarch64", SCMP_ARCH_AARCH64, AUDIT_ARCH_AARCH64 },
};

struct call {
	char name[NAME_SIZE]; /* "" if no call has this number */
	const struct filter_class *class;
	unsigned callers; /* FOR_*: those of the class, and those of each list with the call */
};

struct code {
	struct sock_filter at[BPF_MAXINSNS];
	size_t len;
};

static NORETURN void fail_build(const char *what, const char *name)
{
	(void)fprintf(stderr, "filter_build: %s: %s\n", name, what);
	exit(1);
}

/* --- numbers of system calls --- */

/* Cuts a word off the front of *rest. */
static bool next_word(const char **rest, char word[NAME_SIZE])
{
	size_t len = strcspn(*rest, " ");

	if (len >= NAME_SIZE)
		fail_build("too long", *rest);
	memcpy(word, *rest, len);
	word[len] = '\0';
	*rest += len;
	*rest += strspn(*rest, " ");
	return len != 0;
}

/* The number of a call, -1 if the architecture has no such call. Cuts "=NUMBER" off the word. */
static int call_number(const struct machine *machine, char *word)
{
	char *given = strchr(word, '=');
	int number;

	if (given == NULL) {
		number = seccomp_syscall_resolve_name_arch(machine->seccomp, word);
		if (number == __NR_SCMP_ERROR)
			fail_build("unknown to libseccomp", word);
		return number < 0 ? -1 : number;
	}
	*given = '\0';
	number = (int)strtol(given + 1, NULL, 10);
	return number < COMMON && machine->seccomp != SCMP_ARCH_X86_64 ? -1 : number;
}

static void read_class(const struct machine *machine, const struct filter_class *class,
                       struct call calls[CALLS])
{
	const char *rest = class->calls;
	char word[NAME_SIZE];

	while (next_word(&rest, word)) {
		int number = call_number(machine, word);

		if (number < 0)
			continue;
		if (number >= CALLS)
			fail_build("the number is too large", word);
		if (calls[number].class != NULL)
			fail_build("in the table twice", word);
		memcpy(calls[number].name, word, NAME_SIZE);
		calls[number].class = class;
		calls[number].callers = class->callers;
	}
}

static void read_list(const struct machine *machine, const struct filter_list *list,
                      struct call calls[CALLS])
{
	const char *rest = list->calls;
	char word[NAME_SIZE];

	while (next_word(&rest, word)) {
		int number = call_number(machine, word);

		if (number < 0)
			continue;
		if (number >= CALLS || calls[number].class == NULL)
			fail_build("in a list, but in no class", word);
		calls[number].callers |= list->callers;
	}
}

static void read_table(const struct machine *machine, struct call calls[CALLS])
{
	for (size_t i = 0; i < filter_class_count; i++)
		read_class(machine, &filter_classes[i], calls);
	for (size_t i = 0; i < filter_list_count; i++)
		read_list(machine, &filter_lists[i], calls);
}

static bool is_in_table(const char *name)
{
	char word[NAME_SIZE];

	for (size_t i = 0; i < filter_class_count; i++)
		for (const char *rest = filter_classes[i].calls; next_word(&rest, word);) {
			word[strcspn(word, "=")] = '\0';
			if (strcmp(word, name) == 0)
				return true;
		}
	return false;
}

static void check_rules(void)
{
	for (size_t i = 0; i < filter_rule_count; i++)
		if (!is_in_table(filter_rules[i].call))
			fail_build("has a rule but is in no class", filter_rules[i].call);
}

/* --- instructions --- */

static void add_instruction(struct code *code, unsigned op, size_t if_true, size_t if_false,
                            uint32_t k)
{
	if (code->len == BPF_MAXINSNS || if_true > JUMP_MAX || if_false > JUMP_MAX)
		fail_build("too long for BPF", "a filter");
	code->at[code->len++] = (struct sock_filter){ (uint16_t)op, (uint8_t)if_true,
		                                      (uint8_t)if_false, k };
}

static void add_verdict(struct code *code, int verdict)
{
	add_instruction(code, BPF_RET | BPF_K, 0, 0,
	                verdict == FILTER_ALLOW ? SECCOMP_RET_ALLOW
	                                        : SECCOMP_RET_ERRNO | (uint32_t)verdict);
}

/* The length of a test in instructions. */
static size_t test_len(const struct filter_test *test)
{
	return test->mask == 0 ? 0 : test->mask == UINT32_MAX ? 2 : 3;
}

/* If the test fails, jumps over the next `skip` instructions. Both architectures are little endian:
 * the low half of an argument comes first. */
static void add_test(struct code *code, const struct filter_test *test, size_t skip)
{
	size_t at = offsetof(struct seccomp_data, args) + 8u * test->arg + 4u * test->high;

	if (test->mask == 0)
		return;
	add_instruction(code, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)at);
	if (test->mask != UINT32_MAX)
		add_instruction(code, BPF_ALU | BPF_AND | BPF_K, 0, 0, test->mask);
	add_instruction(code, BPF_JMP | BPF_JEQ | BPF_K, 0, skip, test->value);
}

static void add_rule(struct code *code, const struct filter_rule *rule)
{
	size_t rest = 1; /* instructions up to the end of the rule */

	for (int i = 0; i < FILTER_TESTS; i++)
		rest += test_len(&rule->tests[i]);
	for (int i = 0; i < FILTER_TESTS; i++) {
		rest -= test_len(&rule->tests[i]);
		add_test(code, &rule->tests[i], rest);
	}
	add_verdict(code, rule->verdict);
}

static bool rule_applies(const struct filter_rule *rule, const struct call *call, unsigned callers)
{
	return (rule->callers & callers) != 0 && strcmp(rule->call, call->name) == 0;
}

static bool has_rules(const struct call *call, unsigned callers)
{
	for (size_t i = 0; i < filter_rule_count; i++)
		if (rule_applies(&filter_rules[i], call, callers))
			return call->callers & callers;
	return false;
}

static void add_call(struct code *code, const struct call *call, unsigned callers)
{
	if (call->class == NULL)
		return add_verdict(code, ENOSYS);
	if ((call->callers & callers) == 0)
		return add_verdict(code, call->class->otherwise);
	for (size_t i = 0; i < filter_rule_count; i++) {
		const struct filter_rule *rule = &filter_rules[i];

		if (!rule_applies(rule, call, callers))
			continue;
		add_rule(code, rule);
		if (rule->tests[0].mask == 0)
			return; /* a rule without tests decides: later ones are unreachable */
	}
	add_verdict(code, FILTER_ALLOW);
}

static int verdict_of(const struct call *call, unsigned callers)
{
	if (call->class == NULL)
		return ENOSYS;
	return call->callers & callers ? FILTER_ALLOW : call->class->otherwise;
}

/* True if this number needs no branch of its own, because it is treated like the one before. */
static bool is_like_previous(const struct call *call, unsigned callers)
{
	return !has_rules(call, callers) && !has_rules(call - 1, callers) &&
	       verdict_of(call, callers) == verdict_of(call - 1, callers);
}

/* Adds a binary search over starts[from .. to), the first numbers of ranges that are treated alike.
 * The accumulator holds the call's number. A linear list would cost every call of every program. */
static void add_tree(struct code *code, const struct call *calls, unsigned callers,
                     const unsigned *starts, size_t from, size_t to)
{
	size_t middle = from + (to - from) / 2;
	size_t at = code->len, len;

	if (to - from == 1)
		return add_call(code, &calls[starts[from]], callers);
	add_instruction(code, BPF_JMP | BPF_JGE | BPF_K, 0, 0, starts[middle]);
	add_tree(code, calls, callers, starts, from, middle);
	len = code->len - at - 1;
	if (len <= JUMP_MAX) {
		code->at[at].jt = (uint8_t)len;
	} else {
		/* Too far for a conditional jump: insert an unconditional one, which has 32 bits.
		 * The branch behind moves by one; jumps inside it are relative and stay right. */
		add_instruction(code, BPF_JMP | BPF_JA, 0, 0, 0);
		memmove(&code->at[at + 2], &code->at[at + 1], len * sizeof code->at[0]);
		code->at[at].jf = 1;
		code->at[at + 1] = (struct sock_filter){ BPF_JMP | BPF_JA, 0, 0, (uint32_t)len };
	}
	add_tree(code, calls, callers, starts, middle, to);
}

static void add_filter(struct code *code, const struct machine *machine, const struct call *calls,
                       unsigned callers)
{
	unsigned starts[CALLS];
	size_t count = 0;

	for (unsigned i = 0; i < CALLS; i++)
		if (i == 0 || !is_like_previous(&calls[i], callers))
			starts[count++] = i;
	add_instruction(code, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, arch));
	/* A 32-bit program of the same machine has other numbers for its calls. */
	add_instruction(code, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, machine->audit);
	add_instruction(code, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS);
	add_instruction(code, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
	if (machine->seccomp == SCMP_ARCH_X86_64) {
		/* x32 calls are other numbers for the same calls, and would pass a filter that only
		 * knows the usual numbers. The number -1 is not x32: ptrace uses it to skip a
		 * call. */
		add_instruction(code, BPF_JMP | BPF_JGE | BPF_K, 0, 2, X32);
		add_instruction(code, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, UINT32_MAX);
		add_instruction(code, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS);
	}
	add_tree(code, calls, callers, starts, 0, count);
}

/* --- output --- */

static void write_filters(const struct machine *machine)
{
	static struct call calls[CALLS];
	static struct code code;

	read_table(machine, calls);
	(void)fprintf(
	        stdout,
	        "/* Generated by filter_build.c. */\n#include \"engine/filter/filter_table.h\"\n");
	for (unsigned i = 0; i < FILTER_COUNT; i++) {
		code.len = 0;
		add_filter(&code, machine, calls, 1u << i);
		(void)fprintf(stdout, "static const struct sock_filter filter_%u[%zu] = {\n", i,
		              code.len);
		for (size_t n = 0; n < code.len; n++)
			(void)fprintf(stdout, "{ %#x, %u, %u, %#" PRIx32 " },\n", code.at[n].code,
			              code.at[n].jt, code.at[n].jf, code.at[n].k);
		(void)fprintf(stdout, "};\n");
	}
	(void)fprintf(stdout, "const struct filter_set filter_set_%s = { {\n", machine->name);
	for (unsigned i = 0; i < FILTER_COUNT; i++)
		(void)fprintf(stdout,
		              "{ filter_%u, sizeof filter_%u / sizeof(struct sock_filter) },\n", i,
		              i);
	(void)fprintf(stdout, "} };\n");
}

static void list_unlisted(const struct machine *machine)
{
	for (int i = 0; i < CALLS; i++) {
		char *name = seccomp_syscall_resolve_num_arch(machine->seccomp, i);

		if (name != NULL && !is_in_table(name))
			(void)fprintf(stdout, "%s: %s=%d\n", machine->name, name, i);
		free(name);
	}
}

int main(int argc, char **argv)
{
	bool is_check = argc == 2 && strcmp(argv[1], "check") == 0, is_known = is_check;

	check_rules();
	for (size_t i = 0; argc == 2 && i < ARRAY_LEN(machines); i++) {
		if (is_check)
			list_unlisted(&machines[i]);
		else if (strcmp(argv[1], machines[i].name) == 0)
			write_filters(&machines[i]);
		else
			continue;
		is_known = true;
	}
	if (!is_known)
		fail_build("x86_64, aarch64 or check", "usage");
	return fflush(stdout) == 0 ? 0 : 1;
}
