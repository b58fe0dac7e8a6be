/* root_files.h - files that the root of every sandbox has, because the environment of programs or
 * the tables of languages name them, and files of /proc that it has not. Every engine places and
 * masks them. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct root_file {
	const char *path, *text; /* the path has no slash in front */
	bool is_program;
};

/* The directory of programs, which is the last one of PATH (sandbox/run/exec_request.c), so that a
 * program of the same name of the image or of a virtual environment comes first. */
#define ROOT_PROGRAMS "etc/belljar"

/* The files of /proc that are empty in every sandbox: facts about the machine, its kernel addresses
 * or its other users. */
/* clang-format off */
#define ROOT_MASKED_PROC(X) \
	X("acpi") X("asound") X("interrupts") X("kallsyms") X("kcore") X("keys") \
	X("key-users") X("kmsg") X("kpagecount") X("kpageflags") X("kpagecgroup") \
	X("latency_stats") X("pagetypeinfo") X("sched_debug") X("schedstat") X("scsi") \
	X("slabinfo") X("timer_list") X("timer_stats") X("vmallocinfo") \
	X("sysrq-trigger") X("config.gz") X("locks") X("diskstats") X("buddyinfo") \
	X("zoneinfo") X("iomem") X("ioports") X("modules") X("pressure") X("softirqs") \
	X("dynamic_debug") X("partitions") X("swaps") X("consoles") X("dma") X("fb") \
	X("mdstat") X("misc") X("mtrr") X("bootconfig") X("vmcore") X("cmdline") \
	X("bus") X("fs") X("irq") X("allocinfo") X("spl")
/* clang-format on */

extern const struct root_file root_files[];
extern const size_t root_file_count;
