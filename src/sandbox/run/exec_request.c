/* exec_request.c - the EXEC message that starts a program (see internal.h). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/num.h"
#include "engine/root_files.h"
#include "engine/spec.h"
#include "sandbox/run/internal.h"
#include "sandbox/sandbox.h"

enum { LIST_MAX = 60 * 1024, UMASK = 022 };
/* RLIMIT_DATA of a program is lower than the memory of its sandbox by what other processes use, so
 * that a program which allocates piece by piece gets an error before the kernel kills it. Programs
 * that an interpreter starts have its limit, and those of other languages map a few hundred MiB for
 * data which they never write to. So a small sandbox has a higher limit than its memory. */
static const uint64_t others_max = SPEC_MIB(64), unused_max = SPEC_MIB(96);
static const uint64_t enough_data = SPEC_MIB(256);
/* OpenBLAS maps 128 MiB and a stack of 8 MiB for each of its threads when numpy is imported, and
 * starts one for each processor of the machine unless OPENBLAS_NUM_THREADS says otherwise. */
static const uint64_t memory_per_blas_thread = SPEC_MIB(256);

/* The environment of every program, unless the sandbox or the options override a variable. */
static const char *const default_env[] = {
	("PATH=" SPEC_HOME "/.local/bin:" SPEC_PYTHON
	 "/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/" ROOT_PROGRAMS),
	("HOME=" SPEC_HOME),
	"USER=coderunner",
	"LOGNAME=coderunner",
	"SHELL=/bin/sh",
	"LANG=C.UTF-8",
	/* "pip install --user" installs in the virtual environment, too. */
	("PYTHONUSERBASE=" SPEC_PYTHON),
	/* npm -g installs below the home directory, because /usr is read-only, and require() finds
	 * the packages there. */
	("NPM_CONFIG_PREFIX=" SPEC_HOME "/.local"),
	("NODE_PATH=" SPEC_HOME "/.local/lib/node_modules"),
	/* A sandbox has no network, so a second attempt fails too. For pip see skeleton_make.c. */
	"NPM_CONFIG_FETCH_RETRIES=0",
	"NPM_CONFIG_UPDATE_NOTIFIER=false",
	"NPM_CONFIG_AUDIT=false",
	"CARGO_NET_RETRY=0",
	"UV_HTTP_RETRIES=0",
	"BUNDLE_RETRY=0",
	"MPLBACKEND=Agg", /* matplotlib draws without a display server */
	/* os.networkInterfaces() fails without netlink sockets: see skeleton_make.c. */
	"NODE_OPTIONS=--require=/etc/belljar-node.js",
	/* Runtimes that collect output for a pipe in a buffer would lose it when they are killed,
	 * and print it behind the output of the programs they start. Perl, Ruby and Lua keep the
	 * buffer for files, where it saves time. */
	"PYTHONUNBUFFERED=1",
	"PERL5OPT=-M5;$|=-p(STDOUT)",
	"RUBYOPT=-r/etc/belljar-ruby.rb",
	"LUA_INIT=io.stdout:setvbuf('line')",
	"GFORTRAN_UNBUFFERED_PRECONNECTED=1",
	NULL,
};

/* Without ptrace LeakSanitizer fails at the end of every program that AddressSanitizer was linked
 * into. */
static const char *const untraced_env[] = { "ASAN_OPTIONS=detect_leaks=0", NULL };

static bool has_variable(const char *const *env, const char *variable)
{
	size_t len = strcspn(variable, "=") + 1;

	for (size_t i = 0; env != NULL && env[i] != NULL; i++)
		if (strncmp(env[i], variable, len) == 0)
			return true;
	return false;
}

/* Adds the variables of `list` that neither of two lists of higher priority sets. */
static int add_variables(struct wire_exec *exec, struct buf *buf, const char *const *list,
                         const char *const *higher, const char *const *highest, struct error *err)
{
	for (size_t i = 0; list != NULL && list[i] != NULL; i++)
		if (!has_variable(higher, list[i]) && !has_variable(highest, list[i]) &&
		    wire_texts_add(&exec->env, buf, view_of(list[i]), err) < 0)
			return -1;
	return 0;
}

/* Programs see all processors of the machine, although the sandbox may use fewer. Threads for all
 * of them only get in each other's way, and on a machine with eight processors the buffers of
 * OpenBLAS alone exceed the limit for data of a sandbox with 1 GiB. */
static int add_thread_counts(struct wire_exec *exec, struct buf *buf, struct sandbox *sandbox,
                             const struct run_options *options, struct error *err)
{
	const struct spec_limits *limits = &sandbox_row(sandbox)->spec.limits;
	uint64_t cpus = (limits->cpu + 999) / 1000;
	uint64_t fit = run_data_limit(sandbox) / memory_per_blas_thread;
	char omp[64], blas[64];
	const char *const counts[] = { omp, blas, NULL };

	(void)snprintf(omp, sizeof omp, "OMP_NUM_THREADS=%" PRIu64, cpus);
	(void)snprintf(blas, sizeof blas, "OPENBLAS_NUM_THREADS=%" PRIu64,
	               num_max(1, num_min(cpus, fit)));
	return add_variables(exec, buf, counts, sandbox_env(sandbox), options->env, err);
}

static int add_env(struct wire_exec *exec, struct buf *buf, const struct run_options *options,
                   struct sandbox *sandbox, struct error *err)
{
	const char *const *sandbox_vars = sandbox_env(sandbox), *const *env = options->env;
	const char *const term[] = { options->terminal ? "TERM=xterm-256color" : "TERM=dumb",
		                     NULL };
	bool may_trace = sandbox_row(sandbox)->spec.syscalls == SPEC_SYSCALLS_DEBUG;

	if (add_variables(exec, buf, default_env, sandbox_vars, env, err) < 0 ||
	    add_variables(exec, buf, term, sandbox_vars, env, err) < 0 ||
	    add_thread_counts(exec, buf, sandbox, options, err) < 0 ||
	    (!may_trace && add_variables(exec, buf, untraced_env, sandbox_vars, env, err) < 0) ||
	    add_variables(exec, buf, sandbox_vars, env, NULL, err) < 0)
		return -1;
	return add_variables(exec, buf, env, NULL, NULL, err);
}

static int add_argv(struct wire_exec *exec, struct buf *buf, const char *const *argv,
                    struct error *err)
{
	for (size_t i = 0; argv[i] != NULL; i++)
		if (wire_texts_add(&exec->argv, buf, view_of(argv[i]), err) < 0)
			return -1;
	return 0;
}

/* RLIMIT_NOFILE is set per program and not for the whole sandbox, because the agent itself needs
 * more descriptors than a program may have. */
static int add_open_files(struct wire_exec *exec, struct buf *buf, const struct spec *spec,
                          struct error *err)
{
	struct wire_limit files = { RLIMIT_NOFILE, spec->limits.files, spec->limits.files };

	return wire_limits_add(&exec->limits, buf, files, err);
}

uint64_t run_data_limit(const struct sandbox *sandbox)
{
	uint64_t memory = sandbox_row(sandbox)->spec.limits.memory;

	uint64_t others = memory / 8 < others_max ? memory / 8 : others_max;

	if (memory - others >= enough_data)
		return memory - others;
	return memory + unused_max < enough_data ? memory + unused_max : enough_data;
}

/* The kernel grants an allocation of any size and kills the program when it writes to it. With this
 * limit an allocation that cannot fit fails at once. Stacks of threads count, too, although most of
 * their pages are never written to: the program may raise the soft limit, and Python's kernel does
 * so for each thread. */
static int add_data_limit(struct wire_exec *exec, struct buf *buf, const struct sandbox *sandbox,
                          struct error *err)
{
	struct wire_limit data = { RLIMIT_DATA, run_data_limit(sandbox), RLIM_INFINITY };

	return wire_limits_add(&exec->limits, buf, data, err);
}

static uint8_t exec_flags(const struct run_options *options)
{
	unsigned flags = 0;

	if (options->terminal)
		flags |= WIRE_EXEC_PTY;
	else if (options->with_stdin)
		flags |= WIRE_EXEC_STDIN;
	if (options->with_control)
		flags |= WIRE_EXEC_CONTROL;
	return (uint8_t)flags;
}

int exec_request_open(struct sandbox *sandbox, struct channel *channel,
                      const struct run_options *options, const struct channel_stream_events *events,
                      void *ctx, struct channel_stream **ret, struct error *err)
{
	struct wire_message message = { .type = WIRE_EXEC };
	struct wire_exec *exec = &message.exec;
	const struct spec *spec = &sandbox_row(sandbox)->spec;
	AUTO_BUF struct buf argv, env, limits;

	buf_init(&argv, LIST_MAX);
	buf_init(&env, LIST_MAX);
	buf_init(&limits, LIST_MAX);
	*exec = (struct wire_exec){
		.flags = exec_flags(options),
		.umask = UMASK,
		.rows = options->rows,
		.columns = options->columns,
		.deadline_ms = options->deadline_ms,
		.grace_ms = RUN_GRACE_MS,
		.cwd = view_of(options->cwd != NULL ? options->cwd : ""),
	};
	if (add_argv(exec, &argv, options->argv, err) < 0)
		return error_wrap(err, "argv");
	if (add_env(exec, &env, options, sandbox, err) < 0)
		return error_wrap(err, "env");
	if (add_open_files(exec, &limits, spec, err) < 0 ||
	    (options->limits_data && add_data_limit(exec, &limits, sandbox, err) < 0))
		return -1;
	return channel_open(channel, &message, events, ctx, ret, err);
}
