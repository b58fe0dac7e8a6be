/* filter_build.c - a program of the build: makes seccomp programs of filter_table.c.
 *
 *   filter_build x86_64|aarch64   the filters, as C
 *   filter_build check            names of calls that libseccomp knows and the table does not
 *
 * libseccomp tells the numbers. The programs are not made by it, since what it makes has one
 * answer for all that no rule fits: here it is ENOSYS, EPERM or another, by the call. */
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
	COMMON = 424, /* from here on numbers are the same everywhere */
	X32 = 0x40000000,
	NEAR = 255, /* as far as a condition jumps */
	NAME = 64,
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
	char name[NAME]; /* "": there is none of this number */
	const struct filter_class *class;
};

struct code {
	struct sock_filter at[BPF_MAXINSNS];
	size_t len;
};

static NORETURN void fail(const char *what, const char *name)
{
	(void)fprintf(stderr, "filter_build: %s: %s\n", name, what);
	exit(1);
}

/* --- numbers ----------------------------------------------------------------------- */

/* Takes a word off the front of *rest. */
static bool next_word(const char **rest, char word[NAME])
{
	size_t len = strcspn(*rest, " ");

	if (len >= NAME)
		fail("too long", *rest);
	memcpy(word, *rest, len);
	word[len] = '\0';
	*rest += len;
	*rest += strspn(*rest, " ");
	return len != 0;
}

/* -1: not on this machine. Cuts the number off the name. */
static int number_of(const struct machine *machine, char *word)
{
	char *given = strchr(word, '=');
	int number;

	if (given == NULL) {
		number = seccomp_syscall_resolve_name_arch(machine->seccomp, word);
		if (number == __NR_SCMP_ERROR)
			fail("libseccomp does not know it", word);
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
	char word[NAME];

	while (next_word(&rest, word)) {
		int number = number_of(machine, word);

		if (number < 0)
			continue;
		if (number >= CALLS)
			fail("its number is too large", word);
		if (calls[number].class != NULL)
			fail("it is there twice", word);
		memcpy(calls[number].name, word, NAME);
		calls[number].class = class;
	}
}

static void read_table(const struct machine *machine, struct call calls[CALLS])
{
	for (size_t i = 0; i < filter_class_count; i++)
		read_class(machine, &filter_classes[i], calls);
}

static bool is_anywhere(const char *name)
{
	char word[NAME];

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
		if (!is_anywhere(filter_rules[i].call))
			fail("a rule for a call that is in no class", filter_rules[i].call);
}

/* --- code -------------------------------------------------------------------------- */

static void add(struct code *code, unsigned op, size_t yes, size_t no, uint32_t k)
{
	if (code->len == BPF_MAXINSNS || yes > NEAR || no > NEAR)
		fail("too long", "a filter");
	code->at[code->len++] = (struct sock_filter){ (uint16_t)op, (uint8_t)yes, (uint8_t)no, k };
}

static void add_verdict(struct code *code, int verdict)
{
	add(code, BPF_RET | BPF_K, 0, 0,
	    verdict == FILTER_ALLOW ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | (uint32_t)verdict);
}

static size_t test_len(const struct filter_test *test)
{
	return test->mask == 0 ? 0 : test->mask == UINT32_MAX ? 2 : 3;
}

/* Both kinds of machine are little endian: the low half of an argument comes first. */
static void add_test(struct code *code, const struct filter_test *test, size_t left)
{
	size_t at = offsetof(struct seccomp_data, args) + 8u * test->arg + 4u * test->high;

	if (test->mask == 0)
		return;
	add(code, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)at);
	if (test->mask != UINT32_MAX)
		add(code, BPF_ALU | BPF_AND | BPF_K, 0, 0, test->mask);
	add(code, BPF_JMP | BPF_JEQ | BPF_K, 0, left, test->value);
}

static void add_rule(struct code *code, const struct filter_rule *rule)
{
	size_t left = 1;

	for (int i = 0; i < FILTER_TESTS; i++)
		left += test_len(&rule->tests[i]);
	for (int i = 0; i < FILTER_TESTS; i++) {
		left -= test_len(&rule->tests[i]);
		add_test(code, &rule->tests[i], left);
	}
	add_verdict(code, rule->verdict);
}

static bool is_for(const struct filter_rule *rule, const struct call *call, unsigned who)
{
	return (rule->who & who) != 0 && strcmp(rule->call, call->name) == 0;
}

static bool has_rules(const struct call *call, unsigned who)
{
	for (size_t i = 0; i < filter_rule_count; i++)
		if (is_for(&filter_rules[i], call, who))
			return call->class->who & who;
	return false;
}

static void add_call(struct code *code, const struct call *call, unsigned who)
{
	if (call->class == NULL)
		return add_verdict(code, ENOSYS);
	if ((call->class->who & who) == 0)
		return add_verdict(code, call->class->otherwise);
	for (size_t i = 0; i < filter_rule_count; i++) {
		const struct filter_rule *rule = &filter_rules[i];

		if (!is_for(rule, call, who))
			continue;
		add_rule(code, rule);
		if (rule->tests[0].mask == 0)
			return; /* what follows would never be reached */
	}
	add_verdict(code, FILTER_ALLOW);
}

static int verdict_of(const struct call *call, unsigned who)
{
	if (call->class == NULL)
		return ENOSYS;
	return call->class->who & who ? FILTER_ALLOW : call->class->otherwise;
}

/* Neighbours that are treated alike. */
static bool is_like_last(const struct call *call, unsigned who)
{
	return !has_rules(call, who) && !has_rules(call - 1, who) &&
	       verdict_of(call, who) == verdict_of(call - 1, who);
}

/* A tree over starts[from .. to): half of them on each side of every question. The number of the
 * call is in the accumulator. */
static void add_tree(struct code *code, const struct call *calls, unsigned who,
                     const unsigned *starts, size_t from, size_t to)
{
	size_t middle = from + (to - from) / 2;
	size_t at = code->len, len;

	if (to - from == 1)
		return add_call(code, &calls[starts[from]], who);
	add(code, BPF_JMP | BPF_JGE | BPF_K, 0, 0, starts[middle]);
	add_tree(code, calls, who, starts, from, middle);
	len = code->len - at - 1;
	if (len <= NEAR) {
		code->at[at].jt = (uint8_t)len;
	} else { /* a long jump, which has no condition: all inside are relative, and move along */
		add(code, BPF_JMP | BPF_JA, 0, 0, 0);
		memmove(&code->at[at + 2], &code->at[at + 1], len * sizeof code->at[0]);
		code->at[at].jf = 1;
		code->at[at + 1] = (struct sock_filter){ BPF_JMP | BPF_JA, 0, 0, (uint32_t)len };
	}
	add_tree(code, calls, who, starts, middle, to);
}

static void add_filter(struct code *code, const struct machine *machine, const struct call *calls,
                       unsigned who)
{
	unsigned starts[CALLS];
	size_t count = 0;

	for (unsigned i = 0; i < CALLS; i++)
		if (i == 0 || !is_like_last(&calls[i], who))
			starts[count++] = i;
	add(code, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, arch));
	add(code, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, machine->audit);
	add(code, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS);
	add(code, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
	if (machine->seccomp == SCMP_ARCH_X86_64) {
		/* x32: the same calls by other numbers. -1 is nobody's call, not one of these. */
		add(code, BPF_JMP | BPF_JGE | BPF_K, 0, 2, X32);
		add(code, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, UINT32_MAX);
		add(code, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS);
	}
	add_tree(code, calls, who, starts, 0, count);
}

/* --- text -------------------------------------------------------------------------- */

static void write_filters(const struct machine *machine)
{
	static struct call calls[CALLS];
	static struct code code;

	read_table(machine, calls);
	(void)fprintf(stdout,
	              "/* Made by filter_build.c. */\n#include \"engine/filter/filter_table.h\"\n");
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

static void write_forgotten(const struct machine *machine)
{
	for (int i = 0; i < CALLS; i++) {
		char *name = seccomp_syscall_resolve_num_arch(machine->seccomp, i);

		if (name != NULL && !is_anywhere(name))
			(void)fprintf(stdout, "%s: %s=%d\n", machine->name, name, i);
		free(name);
	}
}

int main(int argc, char **argv)
{
	bool checks = argc == 2 && strcmp(argv[1], "check") == 0, found = false;

	check_rules();
	for (size_t i = 0; argc == 2 && i < ARRAY_LEN(machines); i++) {
		if (checks)
			write_forgotten(&machines[i]);
		else if (strcmp(argv[1], machines[i].name) == 0)
			write_filters(&machines[i]);
		else
			continue;
		found = true;
	}
	if (!found)
		fail("x86_64, aarch64 or check", "usage");
	return fflush(stdout) == 0 ? 0 : 1;
}
