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

/* One of the three functions is set: */
static const struct layer {
	const char *name, *purpose;
	probe_fn *probe;  /* examines the machine */
	trial_fn *trial;  /* reads what the trial sandbox proved */
	trial_fn *report; /* reads what the engine reports when it has started */
} layers[] = {
	{ "kernel", "the features below", .probe = probe_kernel },
	{ "host", "an environment without restrictions of its own", .probe = probe_host },
	{ "user-namespaces", "sandboxes without root", .trial = isolation_user_namespaces },
	{ "namespaces", "a sandbox's own files, processes and network",
	  .trial = isolation_namespaces },
	{ "network", "a network of its own for each sandbox", .trial = isolation_network },
	{ "proc", "seeing no processes of others", .trial = isolation_proc },
	{ "overlayfs", "a writable view of read-only files", .trial = isolation_overlayfs },
	{ "state-dir", "the files of sandboxes", .probe = probe_state_dir },
	{ "seccomp", "refusing system calls of the code", .trial = isolation_seccomp },
	{ "landlock", "a second restriction of access to files", .probe = probe_landlock },
	{ "no-new-privileges", "setuid programs that give no rights",
	  .trial = isolation_no_new_privileges },
	{ "confinement", "few rights for a server that was taken over",
	  .probe = probe_confinement },
	{ "agent", "running anything in a sandbox", .trial = isolation_agent },
	{ "sandbox", "all layers together", .trial = report_sandbox },
	{ "ids", "separate users for agent and code", .report = report_ids },
	{ "groups", "code without the groups of the caller", .report = report_groups },
	{ "programs", "the machine's programs and nothing else of it", .report = report_programs },
	{ "cgroups", "limits the kernel enforces", .report = report_cgroups },
	{ "memory", "a limit on memory", .report = report_memory },
	{ "sockets", "a limit on memory of TCP and UDP", .report = report_sockets },
	{ "locks", "a limit on record locks", .report = report_locks },
	{ "swap", "a limit on swap space", .report = report_swap },
	{ "cpu", "a limit on processors", .report = report_cpu },
	{ "processes", "a limit on processes", .report = report_processes },
	{ "disk", "a limit on files", .report = report_disk },
	{ "hardening", "kernel settings that make attacks harder", .probe = probe_hardening },
	{ "kernel-tables", "room in the kernel for other sandboxes and programs",
	  .probe = probe_kernel_tables },
	{ "mounts", "sandboxes that start fast", .probe = probe_mounts },
	{ "interpreters", "running code without an image", .probe = probe_interpreters },
	{ "docker", "the docker engine", .probe = probe_containers },
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
	char typed[64], shown[80], known[480] = "";
	struct nearest best = { 0 };
	size_t used = 0;

	(void)snprintf(typed, sizeof typed, "%.*s", (int)(name.len < 60 ? name.len : 60), name.ptr);
	for (size_t i = 0; i < ARRAY_LEN(layers); i++) {
		nearest_consider(&best, typed, layers[i].name);
		used += (size_t)snprintf(known + used, sizeof known - used, "%s%s",
		                         i != 0 ? ", " : "", layers[i].name);
	}
	return error_set(err, ERR_INVALID, "require: no layer is called '%s'%s%s%s; there are %s",
	                 utf8_escape(name, shown, sizeof shown),
	                 best.name != NULL ? " (did you mean " : "",
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

	if (layer->probe != NULL)
		layer->probe(options, &check);
	else
		(layer->trial != NULL ? layer->trial : layer->report)(trial, &check);
	return check;
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
	return all;
}

int doctor_examine(const struct options *options, struct check ret[DOCTOR_CHECKS_MAX],
                   size_t *ret_count, struct error *err)
{
	struct trial trial = { .with_sandbox = true };
	struct options file;
	struct options all = add_file_settings(options, &file);
	int r = doctor_check_names(all.require, err);

	if (r == 0) {
		trial_run(&all, &trial);
		for (size_t i = 0; i < ARRAY_LEN(layers); i++)
			ret[i] = examine_layer(&layers[i], &all, &trial);
		*ret_count = ARRAY_LEN(layers);
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
		    (layer->report != NULL && engine == DOCTOR_ENGINE_NEXT))
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

int doctor_require_engine(const char *list, const struct spawner_report *report, struct error *err)
{
	const struct trial trial = { .is_ready = true, .report = *report };
	struct check checks[DOCTOR_CHECKS_MAX];
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_LEN(layers); i++) {
		if (layers[i].report == NULL || !is_named(list, layers[i].name))
			continue;
		checks[count] = make_check(&layers[i], list);
		layers[i].report(&trial, &checks[count++]);
	}
	return doctor_check_required(checks, count, err);
}

/* The layers that the spawner checks for every sandbox: it creates no sandbox without them. */
static const struct {
	const char *name, *detail;
} always[] = {
	{ "namespaces",
	  "its own users, processes, files, network, host name, semaphores and groups" },
	{ "network", "its own, shared with no other sandbox" },
	{ "seccomp", "system calls are filtered" },
	{ "capabilities", "none" },
	{ "no-new-privileges", "setuid programs give no rights" },
};

size_t doctor_engine_layers(const struct spawner_report *report,
                            struct check ret[DOCTOR_CHECKS_MAX])
{
	const struct trial trial = { .is_ready = true, .report = *report };
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_LEN(always); i++) {
		ret[count] = (struct check){ .name = always[i].name };
		check_set(&ret[count++], CHECK_ON, "%s", always[i].detail);
	}
	for (size_t i = 0; i < ARRAY_LEN(layers); i++) {
		if (layers[i].report == NULL)
			continue;
		ret[count] = make_check(&layers[i], NULL);
		layers[i].report(&trial, &ret[count++]);
	}
	return count;
}
