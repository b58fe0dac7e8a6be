#include "server/doctor/doctor.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text/nearest.h"
#include "base/text/utf8.h"
#include "base/view.h"
#include "server/doctor/internal.h"
#include "server/options/options.h"

const char *const check_status_words[] = {
	[CHECK_ON] = "on",
	[CHECK_WEAKER] = "weaker",
	[CHECK_OFF] = "off",
};
_Static_assert(ARRAY_LEN(check_status_words) == CHECK_STATUS_COUNT, "a word for each status");

/* One of the last three members is set: */
static const struct layer {
	const char *name, *purpose;
	probe_fn *probe;  /* examines the machine */
	trial_fn *trial;  /* reads what the trial sandbox proved */
	bool is_reported; /* the engine reports the layer when it has started */
	/* The only engine that has the layer, unless the other one reports it all the same. */
	enum { BOTH, NATIVE, DOCKER } engine;
} layers[] = {
	{ "kernel", "the features below", .probe = probe_kernel },
	{ "host", "an environment without restrictions of its own", .probe = probe_host },
	{ "user-namespaces", "sandboxes without root", .trial = isolation_user_namespaces,
	  .engine = NATIVE },
	{ "namespaces", "a sandbox's own files, processes and network",
	  .trial = isolation_namespaces, .engine = NATIVE },
	{ "network", "a network of its own for each sandbox", .trial = isolation_network,
	  .engine = NATIVE },
	{ "proc", "seeing no processes of others", .trial = isolation_proc, .engine = NATIVE },
	{ "overlayfs", "a writable view of read-only files", .trial = isolation_overlayfs,
	  .engine = NATIVE },
	{ "state-dir", "the files of sandboxes", .probe = probe_state_dir },
	{ "seccomp", "refusing system calls of the code", .trial = isolation_seccomp,
	  .engine = NATIVE },
	{ "landlock", "a second restriction of access to files", .probe = probe_landlock },
	{ "no-new-privileges", "setuid programs that give no rights",
	  .trial = isolation_no_new_privileges, .engine = NATIVE },
	{ "confinement", "few rights for a server that was taken over",
	  .probe = probe_confinement },
	{ "agent", "running anything in a sandbox", .trial = isolation_agent, .engine = NATIVE },
	{ "sandbox", "all layers together", .trial = report_sandbox },
	{ "ids", "separate users for agent and code", .is_reported = true, .engine = NATIVE },
	{ "groups", "code without the groups of the caller", .is_reported = true,
	  .engine = NATIVE },
	{ "programs", "the machine's programs and nothing else of it", .is_reported = true,
	  .engine = NATIVE },
	{ "cgroups", "limits the kernel enforces", .is_reported = true },
	{ "memory", "a limit on memory", .is_reported = true },
	{ "sockets", "a limit on memory of TCP and UDP", .is_reported = true },
	{ "locks", "a limit on record locks", .is_reported = true },
	{ "swap", "a limit on swap space", .is_reported = true },
	{ "cpu", "a limit on processors", .is_reported = true },
	{ "processes", "a limit on processes", .is_reported = true },
	{ "disk", "a limit on files", .is_reported = true },
	{ "hardening", "kernel settings that make attacks harder", .probe = probe_hardening,
	  .engine = NATIVE },
	{ "kernel-tables", "room in the kernel for other sandboxes and programs",
	  .probe = probe_kernel_tables, .engine = NATIVE },
	{ "mounts", "sandboxes that start fast", .probe = probe_mounts, .engine = NATIVE },
	{ "interpreters", "running code without an image", .probe = probe_interpreters,
	  .engine = NATIVE },
	{ "docker", "the docker engine", .probe = probe_containers },
	{ "daemon", "the Docker or Podman that is used", .is_reported = true, .engine = DOCKER },
	{ "runtime", "what starts containers", .is_reported = true, .engine = DOCKER },
	{ "configuration", "belljar serve", .probe = probe_configuration },
};
_Static_assert(ARRAY_LEN(layers) <= DOCTOR_CHECKS_MAX, "room for each check");

/* --- names --- */

/* Cuts the next name off the list. False: there is none. */
static bool next_name(const char **list, struct view *ret)
{
	size_t len;

	if (*list == NULL)
		return false;
	len = strcspn(*list, ",");
	*ret = view_trim((struct view){ *list, len });
	*list = (*list)[len] == ',' ? *list + len + 1 : NULL;
	return true;
}

static bool is_named(const char *list, const char *layer)
{
	struct view name;

	while (next_name(&list, &name))
		if (view_is(name, layer))
			return true;
	return false;
}

static int set_unknown_layer(struct view name, struct error *err)
{
	char typed[64], known[480] = "";
	struct nearest best = { 0 };
	size_t used = 0;

	(void)snprintf(typed, sizeof typed, "%.*s", (int)(name.len < 60 ? name.len : 60), name.ptr);
	for (size_t i = 0; i < ARRAY_LEN(layers); i++) {
		nearest_consider(&best, typed, layers[i].name);
		used += (size_t)snprintf(known + used, sizeof known - used, "%s%s",
		                         i != 0 ? ", " : "", layers[i].name);
	}
	return error_set(err, ERR_INVALID, "require: no layer is called '%s'%s%s%s; there are %s",
	                 UTF8_ESCAPED(name, 80), best.name != NULL ? " (did you mean " : "",
	                 best.name != NULL ? best.name : "", best.name != NULL ? "?)" : "", known);
}

int doctor_check_names(const char *list, struct error *err)
{
	struct view name;

	while (next_name(&list, &name)) {
		bool known = false;

		for (size_t i = 0; i < ARRAY_LEN(layers) && !known; i++)
			known = view_is(name, layers[i].name);
		if (!known)
			return set_unknown_layer(name, err);
	}
	return 0;
}

/* --- the examination --- */

static struct check make_check(const struct layer *layer, const char *require)
{
	return (struct check){ .name = layer->name,
		               .purpose = layer->purpose,
		               .required = is_named(require, layer->name) };
}

static struct check examine_layer(const struct layer *layer, const struct options *options,
                                  const struct trial *trial)
{
	struct check check = make_check(layer, options->require);

	if (trial->is_docker && report_find(&trial->report, layer->name) != NULL)
		report_layer(trial, &check);
	else if (layer->probe != NULL)
		layer->probe(options, &check);
	else
		(layer->trial != NULL ? layer->trial : report_layer)(trial, &check);
	return check;
}

/* Whether the engine that is used has the layer at all. */
static bool has_layer(const struct layer *layer, const struct trial *trial)
{
	if (report_find(&trial->report, layer->name) != NULL || layer->engine == BOTH)
		return true;
	return layer->engine == (trial->is_docker ? DOCKER : NATIVE);
}

/* Adds the settings of the configuration file to those given on the command line, as `serve` would.
 * A file that cannot be read is one of the findings, and sets nothing. The result points to texts
 * that belong to *given and *file. */
static struct options add_file_settings(const struct options *given, struct options *file)
{
	const char *flags[OPTION_COUNT] = { [OPTION_CONFIG] = given->config };
	struct options all;
	struct error err;

	*file = (struct options){ 0 };
	if (options_load(file, FOR_SERVE, flags, environ, &err) < 0)
		return *given;
	all = *file;
	all.config = given->config; /* the file that was named */
	if (given->state_dir != NULL)
		all.state_dir = given->state_dir;
	if (given->require != NULL)
		all.require = given->require;
	all.one_id = all.one_id || given->one_id;
	all.no_cgroups = all.no_cgroups || given->no_cgroups;
	all.no_quota = all.no_quota || given->no_quota;
	if (given->sources[OPTION_ENGINE] != OPTION_FROM_TABLE)
		all.engine = given->engine;
	if (given->sources[OPTION_DOCKER_ROOT] != OPTION_FROM_TABLE)
		all.docker_root = given->docker_root;
	if (given->docker_host != NULL)
		all.docker_host = given->docker_host;
	if (given->docker_runtime != NULL)
		all.docker_runtime = given->docker_runtime;
	return all;
}

int doctor_examine(const struct options *options, struct check ret[DOCTOR_CHECKS_MAX],
                   size_t *ret_count, struct error *err)
{
	static struct trial trial;
	struct options file;
	struct options all = add_file_settings(options, &file);
	int r = doctor_check_names(all.require, err);
	size_t count = 0;

	if (r == 0) {
		trial = (struct trial){ .with_sandbox = true };
		trial_run(&all, &trial);
		for (size_t i = 0; i < ARRAY_LEN(layers); i++)
			if (has_layer(&layers[i], &trial) || is_named(all.require, layers[i].name))
				ret[count++] = examine_layer(&layers[i], &all, &trial);
		*ret_count = count;
	}
	options_done(&file);
	return r;
}

int doctor_check_required(const struct check *checks, size_t count, struct error *err)
{
	static const char elsewhere[] = "see belljar doctor";
	const struct check *first = NULL;
	size_t missing = 0;
	const char *fix;
	char more[48] = "";

	for (size_t i = 0; i < count; i++)
		if (checks[i].required && checks[i].status != CHECK_ON && missing++ == 0)
			first = &checks[i];
	if (first == NULL)
		return 0;
	if (missing > 1)
		(void)snprintf(more, sizeof more, " (and %zu more)", missing - 1);
	/* A command that is cut off would do something else: name the place of the whole fix. */
	fix = strlen(first->detail) + strlen(first->fix) + 120 < sizeof err->msg &&
	                      strchr(first->fix, '\n') == NULL
	              ? first->fix
	              : elsewhere;
	return error_set(err, ERR_UNSUPPORTED, "required layer '%s' is %s: %s%s; what helps: %s",
	                 first->name, check_status_words[first->status], first->detail, more, fix);
}

int doctor_require(const struct options *options, enum doctor_engine engine, struct error *err)
{
	struct check checks[DOCTOR_CHECKS_MAX];
	struct trial trial = { .with_sandbox = is_named(options->require, "sandbox") };
	bool is_tried = false;
	size_t count = 0;

	if (doctor_check_names(options->require, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(layers); i++) {
		const struct layer *layer = &layers[i];
		bool has_to_try = layer->trial == report_sandbox || engine == DOCTOR_ENGINE_TRIED;

		if (!is_named(options->require, layer->name) ||
		    (layer->is_reported && engine == DOCTOR_ENGINE_NEXT))
			continue;
		if (layer->probe == NULL && has_to_try && !is_tried) {
			trial_run(options, &trial);
			is_tried = true;
		}
		/* Without a trial, the layers of a sandbox count as working: the engine that the
		 * caller starts next makes no sandbox without them. */
		checks[count++] = examine_layer(layer, options, &trial);
	}
	return doctor_check_required(checks, count, err);
}

int doctor_require_engine(const char *list, const struct engine_report *report, struct error *err)
{
	const struct trial trial = { .is_ready = true, .report = *report };
	struct check checks[DOCTOR_CHECKS_MAX];
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_LEN(layers); i++) {
		if (!layers[i].is_reported || !is_named(list, layers[i].name))
			continue;
		checks[count] = make_check(&layers[i], list);
		report_layer(&trial, &checks[count++]);
	}
	return doctor_check_required(checks, count, err);
}
