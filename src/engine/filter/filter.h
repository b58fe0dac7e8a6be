/* filter.h - seccomp filters: which system calls the processes of a sandbox, the server, the
 * porter, the dialer and the mirror may make.
 *
 * The filters are compiled when belljar is built, from one table (filter_table.c), and embedded as
 * arrays of struct sock_filter. Loading one needs no library and no allocation, and so works
 * between fork and exec. Filters of a process add up: a call must be allowed by all of them. A
 * program inherits the agent's filter, so the agent's allows everything that a program's allows.
 *
 * The kernel takes as long to check and compile a filter as for a quarter of the start of a small
 * program. So the agent runs under the filter of its programs where that allows what the agent
 * does, and a program then needs no filter of its own. */
#pragma once
#include <stdbool.h>

#include "base/view.h"
#include "engine/spec.h"

struct view filter_for_programs(enum spec_syscalls calls);
/* The filter under which the agent of a sandbox with these calls is started. */
struct view filter_for_agent(enum spec_syscalls calls);
/* Whether filter_for_agent() is filter_for_programs(), which programs inherit. */
bool filter_is_inherited(enum spec_syscalls calls);
/* For the agent's workers, which do file operations: no exec and no new socket. */
struct view filter_for_workers(void);
/* For the porter and the agents that it starts on the host: execveat(2) of an open file only, and
 * no new socket but pairs. */
struct view filter_for_porter(void);
/* For the dialer, the interceptor and their children, which resolve names and connect: no exec, no
 * file is written, and no socket listens. */
struct view filter_for_dialer(void);
/* For the mirror of packages, which is a dialer that also writes files. */
struct view filter_for_mirror(void);
/* For the server, and for verbs that use a sandbox: no new process, socket or executable memory,
 * and signals to the calling process only. The code is valid until the next call, and only for the
 * process that calls this function. */
struct view filter_for_server(void);

/* Loads a filter for the calling process and all its later children. The process must have set
 * PR_SET_NO_NEW_PRIVS. Returns -1 with errno. */
int filter_load(struct view code);
