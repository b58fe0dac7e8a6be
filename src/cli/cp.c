#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "cli/support/attachment.h"
#include "cli/support/out.h"
#include "sandbox/copy/copy.h"
#include "sandbox/porter/host.h"
#include "sandbox/porter/host_path.h"
#include "sandbox/porter/porter.h"
#include "server/options/options.h"
#include "server/runtime/runtime.h"

struct cp {
	bool is_out, is_preview;
	char *name;               /* the sandbox, by name or id */
	char *inside;             /* the path in the sandbox */
	const char *outside;      /* the path on the host, as it was typed */
	char directory[PATH_MAX]; /* the directory of the host that the porter may use */
	char path[PATH_MAX];      /* the path of the host to copy from or to */
	struct porter porter;
	struct attachment *attachment;
	struct host *host;
	struct host_handle *handle;
	struct copy *copy;
};

/* --- the operands --- */

/* In "NAME:PATH" the colon comes before any slash; "./a:b" is a file of the host. */
static bool is_inside(const char *operand)
{
	size_t len = strcspn(operand, ":/");

	return len != 0 && operand[len] == ':';
}

static int read_operands(struct cp *cp, const char *const *operands, struct error *err)
{
	const char *inside;
	size_t len;

	if (operands[0] == NULL || operands[1] == NULL || operands[2] != NULL)
		return error_set(err, ERR_INVALID,
		                 "cp takes two paths, SOURCE and TARGET (options come first)");
	if (is_inside(operands[0]) == is_inside(operands[1]))
		return error_set(err, ERR_INVALID,
		                 "exactly one of the two paths must be in a sandbox, SANDBOX:PATH "
		                 "(write ./a:b for a file with a colon in its name)");
	cp->is_out = is_inside(operands[0]);
	inside = operands[cp->is_out ? 0 : 1];
	cp->outside = operands[cp->is_out ? 1 : 0];
	cp->name = mem_dup_len(inside, strcspn(inside, ":"));
	inside += strlen(cp->name) + 1;
	len = strlen(inside);
	/* A slash at the end of a source is removed: the copy gets the name in front of it. */
	while (cp->is_out && len > 1 && inside[len - 1] == '/')
		len--;
	/* The shell leaves the ~ of SANDBOX:~/PATH as it is. */
	if (inside[0] == '~' && (inside[1] == '\0' || inside[1] == '/'))
		cp->inside = mem_format(SPEC_HOME "%.*s", (int)len - 1, inside + 1);
	else
		cp->inside = len != 0 ? mem_dup_len(inside, len) : mem_dup(SPEC_WORKSPACE);
	if (cp->outside[0] == '\0')
		return error_set(err, ERR_INVALID,
		                 "the path on this machine is empty: write . for the current "
		                 "directory");
	return 0;
}

/* Sets `directory` to the real path of the parent of `outside`, and `path` to the entry in it. */
static int set_parent(struct cp *cp, const char *shown, struct error *err)
{
	AUTO_FREE char *copy = mem_dup(cp->outside);
	size_t len = strlen(copy);
	const char *name, *above = ".";
	char *slash;
	int n;

	while (len > 1 && copy[len - 1] == '/')
		copy[--len] = '\0';
	slash = strrchr(copy, '/');
	name = slash != NULL ? slash + 1 : copy;
	if (slash != NULL) {
		*slash = '\0';
		above = slash == copy ? "/" : copy;
	}
	if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return error_set(err, ERR_INVALID, "'%s' does not end in a name", shown);
	if (realpath(above, cp->directory) == NULL)
		return error_sys(err, "the parent directory of '%s'", shown);
	n = snprintf(cp->path, sizeof cp->path, "%s/%s", cp->directory, name);
	return n < (int)sizeof cp->path ? 0 : error_set(err, ERR_LIMIT, "the path is too long");
}

/* The porter may use the directory that is copied from or to, or the directory of the file. Links
 * in the path are followed here, with the caller's rights: the user typed the path. */
static int find_outside(struct cp *cp, struct error *err)
{
	struct stat st;
	bool exists;
	char *slash, shown[256];

	(void)utf8_escape(view_of(cp->outside), shown, sizeof shown);
	exists = stat(cp->outside, &st) == 0;
	if (!exists && (errno != ENOENT || !cp->is_out))
		return error_sys(err, "'%s'", shown);
	if (!exists)
		return set_parent(cp, shown, err);
	if (realpath(cp->outside, cp->path) == NULL)
		return error_sys(err, "'%s'", shown);
	memcpy(cp->directory, cp->path, sizeof cp->path);
	if (S_ISDIR(st.st_mode))
		return 0;
	slash = strrchr(cp->directory, '/');
	slash[slash == cp->directory ? 1 : 0] = '\0';
	return 0;
}

/* --- the copy --- */

static void print_result(const struct cp *cp, const struct copy_result *result)
{
	const struct transfer_result *moved = &result->moved;
	char to[512];

	(void)utf8_escape(view_of(result->target), to, sizeof to);
	(void)fprintf(stderr, "belljar: %" PRIu64 " %s%s, %" PRIu64 " bytes, to %s%s%s\n",
	              moved->entries, moved->entries == 1 ? "entry" : "entries",
	              result->is_preview ? " would change" : "", moved->bytes,
	              cp->is_out ? UTF8_ESCAPED(view_of(host_handle_directory(cp->handle)), 512)
	                         : cp->name,
	              cp->is_out ? "/" : ":", to);
	if (moved->skipped != 0)
		(void)fprintf(stderr, "belljar: " COPY_SKIPPED "\n", moved->skipped,
		              UTF8_ESCAPED(view_of(moved->first_skipped), 300));
}

/* Each note begins with a line end. */
static void print_notes(const struct copy_result *result)
{
	AUTO_BUF struct buf notes;

	buf_init(&notes, COPY_NOTES_MAX);
	copy_add_notes(result, &notes);
	if (notes.len != 0)
		(void)fprintf(stderr, "belljar: %s\n", buf_text(&notes) + 1);
}

static void on_copied(void *ctx, const struct copy_result *result, const struct error *why)
{
	struct cp *cp = ctx;

	cp->copy = NULL;
	if (why != NULL) {
		attachment_fail(cp->attachment, why);
		return;
	}
	print_result(cp, result);
	if (result->is_preview)
		out("%s", result->moved.report);
	print_notes(result);
	attachment_stop(cp->attachment, 0);
}

static void on_host_open(void *ctx, const struct error *why)
{
	static const struct copy_events events = { .ended = on_copied };
	struct cp *cp = ctx;
	const struct copy_endpoint here = copy_host_endpoint(
	        cp->handle, host_handle_path(cp->handle), host_handle_label(cp->handle));
	const struct copy_endpoint inside = copy_sandbox_endpoint(
	        attachment_sandbox(cp->attachment), cp->inside, "in the sandbox");
	const struct copy_options options = {
		.from = cp->is_out ? inside : here,
		.to = cp->is_out ? here : inside,
		.name = cp->is_out ? copy_last_name(cp->inside) : host_handle_name(cp->handle),
		.into = true,
		.overwrite = true,
		.preview = cp->is_preview,
		.max_bytes = UINT64_MAX,
		.max_count = UINT32_MAX - 1,
	};
	struct error err;

	if (why != NULL)
		attachment_fail(cp->attachment, why);
	else if (copy_start(&options, &events, cp, &cp->copy, &err) < 0)
		attachment_fail(cp->attachment, &err);
}

static int start_copy(void *ctx, struct attachment *attachment, struct error *err)
{
	struct cp *cp = ctx;

	cp->attachment = attachment;
	if (host_new(attachment_loop(attachment), TAKE_FD(cp->porter.socket),
	             (const char *const *)cp->porter.directories, cp->porter.count, HOST_ROOTS_OFF,
	             &cp->host, err) < 0)
		return -1;
	return host_open(cp->host, HOST_ALL_DIRS, cp->path, on_host_open, cp, &cp->handle, err);
}

static bool ignore_signal(void *ctx, int number)
{
	(void)ctx;
	(void)number;
	return false;
}

static void close_copy(void *ctx)
{
	struct cp *cp = ctx;

	copy_cancel(cp->copy);
	host_close(cp->handle);
	cp->host = host_free(cp->host);
}

/* --- the verb --- */

/* True if the copy goes into the target directory under a name that is not the state directory and
 * does not contain it. */
static bool is_beside_state(const struct cp *cp, const char *state)
{
	const char *name = copy_last_name(cp->inside);
	AUTO_FREE char *joined = mem_format("%s/%s", cp->path, name);
	char real[PATH_MAX];

	if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return false;
	return realpath(joined, real) == NULL ||
	       (host_path_below(real, state) == NULL && host_path_below(state, real) == NULL);
}

/* Refuses a copy that would read or write the state directory. A directory that contains it, such
 * as the user's home, may be a target but not a source. */
static int check_state(const struct cp *cp, const char *state, struct error *err)
{
	char real[PATH_MAX];

	if (realpath(state, real) == NULL)
		(void)snprintf(real, sizeof real, "%s", state);
	if (host_path_below(real, cp->path) == NULL &&
	    (host_path_below(cp->path, real) == NULL || (cp->is_out && is_beside_state(cp, real))))
		return 0;
	return error_set(
	        err, ERR_INVALID,
	        "'%s' is, or contains, belljar's state directory, which sandboxes must not reach",
	        UTF8_ESCAPED(view_of(cp->path), 256));
}

static enum verb_result copy_files(struct cp *cp, const struct verb_call *call, struct error *err)
{
	static const struct attachment_events events = { start_copy, ignore_signal, close_copy };
	char state[PATH_MAX];
	struct porter_config config = { .directory = cp->directory,
		                        .exports = options_exports(call->options) };

	cp->is_preview = call->options->preview;
	if (read_operands(cp, call->operands, err) < 0)
		return VERB_MISUSED;
	if (find_outside(cp, err) < 0 || runtime_find_state_dir(call->options, state, err) < 0)
		return VERB_FAILED;
	if (check_state(cp, state, err) < 0)
		return VERB_FAILED;
	if (porter_start(&config, &cp->porter, err) < 0)
		return VERB_FAILED;
	return attachment_run(&(struct attachment_options){ .call = call,
	                                                    .sandbox = cp->name,
	                                                    .must_exist = cp->is_out },
	                      &events, cp, err);
}

static enum verb_result run_cp(const struct verb_call *call, struct error *err)
{
	static struct cp cp;
	enum verb_result result;

	cp = (struct cp){ .outside = "", .porter.socket = -1 };
	result = copy_files(&cp, call, err);
	porter_stop(&cp.porter);
	free(cp.name);
	free(cp.inside);
	return result;
}

static const struct verb_example examples[] = {
	{ "belljar cp project work:", "Copy a directory into the sandbox's workspace." },
	{ "belljar cp data.csv work:/tmp/", "Copy a file to another directory of it." },
	{ "belljar cp work:results .", "Copy results back." },
	{ "belljar cp --preview work:project .", "See what that would change." },
	{ NULL, NULL },
};

const struct verb verb_cp = {
	.name = "cp",
	.operand = "SOURCE",
	.operand_needed = true,
	.operand_rest = "TARGET",
	.summary = "Copy files between this machine and a sandbox.",
	.help = "One of the two paths is SANDBOX:PATH, with the sandbox's name or id; a relative "
	        "PATH starts in /workspace, and ~ is the home directory in the sandbox. Files and "
	        "whole directories are copied, with their permissions and links; links that lead "
	        "out of the directory, devices and sockets are left out. If TARGET is a directory, "
	        "the copy goes into it, else it gets that "
	        "name; existing files are replaced.\n\n"
	        "Files that programs on this machine execute or trust by themselves, such as "
	        ".git/hooks, .bashrc or .vscode, are not copied out of a sandbox unless "
	        "--copy-trusted names their kind, and new files are not executable without "
	        "--copy-executables.\n\n"
	        "Copying into a sandbox that does not exist creates it. A sandbox "
	        "that a server has awake can be used meanwhile; if another command has it awake, "
	        "cp waits up to 5 seconds.",
	.examples = examples,
	.options = FOR_CP,
	.run = run_cp,
};
