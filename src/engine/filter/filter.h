/* filter.h - which system calls may be made inside: seccomp programs, ready to be loaded.
 *
 * Made when belljar is built, from one table (filter_table.c) and with libseccomp, and carried
 * as bytes: loading one takes no library, no allocation and no time. The bytes are an array of
 * struct sock_filter. Filters add up: a process has the rights that all of its filters leave it,
 * so the agent's allows all that a program's allows. */
#pragma once
#include "base/view.h"
#include "engine/spec.h"

struct view filter_for_programs(enum spec_syscalls calls);
struct view filter_for_agent(void);
/* The agent's workers for files and archives: no exec, no socket. */
struct view filter_for_files(void);

/* From now on, for the calling process and all below it; it has given new privileges up. Returns
 * -1 with errno. */
int filter_load(struct view code);
