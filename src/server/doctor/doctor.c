#include "server/doctor/doctor.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text/nearest.h"
#include "base/text/utf8.h"
#include "base/view.h"
#include "server/doctor/probe.h"
#include "server/doctor/probe_engine.h"
#include "server/options/options.h"

const char *const check_status_words[] = {
	[CHECK_ON] = "on",
	[CHECK_WEAKER] = "weaker",
	[CHECK_OFF] = "off",
};
_Static_assert(ARRAY_LEN(check_status_words) == CHECK_STATUS_COUNT, "a word for each status");

/* Either a question to the machine, or one to what the engine said of itself. */
static const struct layer {
	const char *name, *purpose;
	probe_fn *ask;
	engine_fn *read;
} layers[] = {
	{ "kernel", "the features below", probe_kernel, NULL },
	{ "host", "nothing around belljar that takes away what it needs", probe_host, NULL },
	{ "user-namespaces", "sandboxes without root", probe_user_namespaces, NULL },
	{ "namespaces", "a sandbox's own files, processes and network", probe_namespaces, NULL },
	{ "network", "a network with nobody else in it", probe_network, NULL },
	{ "proc", "seeing no processes but one's own", probe_proc, NULL },
	{ "overlayfs", "a writable view of read-only files", probe_overlayfs, NULL },
	{ "state-dir", "the files of sandboxes", probe_state_dir, NULL },
	{ "seccomp", "keeping system calls from the code", probe_seccomp, NULL },
	{ "landlock", "a second fence around files", probe_landlock, NULL },
	{ "no-new-privileges", "setuid programs that give nothing", probe_no_new_privileges, NULL },
	{ "agent", "running anything in a sandbox", probe_agent, NULL },
	{ "sandbox", "all of it together", NULL, engine_sandbox },
	{ "ids", "separate users for agent and code", NULL, engine_ids },
	{ "groups", "code without the groups of the caller", NULL, engine_groups },
	{ "programs", "the machine's programs and nothing else of it", NULL, engine_programs },
	{ "cgroups", "limits the kernel enforces", NULL, engine_cgroups },
	{ "memory", "a limit on memory", NULL, engine_memory },
	{ "swap", "a limit on swap space", NULL, engine_swap },
	{ "cpu", "a limit on processors", NULL, engine_cpu },
	{ "processes", "a limit on processes", NULL, engine_processes },
	{ "disk", "a limit on files", NULL, engine_disk },
	{ "hardening", "a host that is hard to attack from within", probe_hardening, NULL },
	{ "mounts", "sandboxes that start fast", probe_mounts, NULL },
	{ "interpreters", "running code without an image", probe_interpreters, NULL },
	{ "docker", "the docker engine", probe_containers, NULL },
	{ "configuration", "belljar serve", probe_configuration, NULL },
};
_Static_assert(ARRAY_LEN(layers) <= DOCTOR_CHECKS_MAX, "room for each check");

/* --- names --- */

/* The next name of the list; false: there is none. */
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

static int refuse_name(struct view name, struct error *err)
{
	char typed[64], shown[80], known[360] = "";
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
			return refuse_name(name, err);
	}
	return 0;
}

/* --- the examination --- */

static struct check begin(const struct layer *layer, const char *require)
{
	return (struct check){ .name = layer->name,
		               .purpose = layer->purpose,
		               .required = is_named(require, layer->name) };
}

static size_t examine(const struct options *options, struct check *ret)
{
	struct trial trial = { .with_sandbox = true };

	trial_run(options, &trial);
	for (size_t i = 0; i < ARRAY_LEN(layers); i++) {
		ret[i] = begin(&layers[i], options->require);
		if (layers[i].ask != NULL)
			layers[i].ask(options, &ret[i]);
		else
			layers[i].read(&trial, &ret[i]);
	}
	return ARRAY_LEN(layers);
}

/* What the file says holds here as it does for `serve`; what is wrong with it is one of the
 * findings, and then it says nothing. The texts stay file's and given's. */
static struct options settle(const struct options *given, struct options *file)
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
	struct options file;
	struct options settled = settle(options, &file);
	int r = doctor_check_names(settled.require, err);

	if (r == 0)
		*ret_count = examine(&settled, ret);
	options_done(&file);
	return r;
}

int doctor_judge(const struct check *checks, size_t count, struct error *err)
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
	/* Half a command is worse than none. */
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
		if (!is_named(options->require, layers[i].name))
			continue;
		/* A start makes no sandbox: that has to be tried in any case. */
		if (layers[i].read != NULL && layers[i].read != engine_sandbox &&
		    engine == DOCTOR_ENGINE_NEXT)
			continue;
		checks[count] = begin(&layers[i], options->require);
		if (layers[i].ask != NULL) {
			layers[i].ask(options, &checks[count++]);
			continue;
		}
		if (!is_tried)
			trial_run(options, &trial);
		is_tried = true;
		layers[i].read(&trial, &checks[count++]);
	}
	return doctor_judge(checks, count, err);
}

int doctor_require_engine(const char *list, const struct spawner_report *report, struct error *err)
{
	const struct trial trial = { .is_ready = true, .has_run = true, .report = *report };
	struct check checks[DOCTOR_CHECKS_MAX];
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_LEN(layers); i++) {
		if (layers[i].read == NULL || !is_named(list, layers[i].name))
			continue;
		checks[count] = begin(&layers[i], list);
		layers[i].read(&trial, &checks[count++]);
	}
	return doctor_judge(checks, count, err);
}

/* What every sandbox has or is not made: the spawner makes sure of it each time. */
static const struct {
	const char *name, *detail;
} always[] = {
	{ "namespaces",
	  "its own users, processes, files, network, host name, semaphores and groups" },
	{ "network", "its own, with nobody else in it" },
	{ "seccomp", "system calls are filtered" },
	{ "capabilities", "none" },
	{ "no-new-privileges", "setuid programs give nothing" },
};

size_t doctor_engine_layers(const struct spawner_report *report,
                            struct check ret[DOCTOR_CHECKS_MAX])
{
	const struct trial trial = { .is_ready = true, .has_run = true, .report = *report };
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_LEN(always); i++) {
		ret[count] = (struct check){ .name = always[i].name };
		check_set(&ret[count++], CHECK_ON, "%s", always[i].detail);
	}
	for (size_t i = 0; i < ARRAY_LEN(layers); i++) {
		if (layers[i].read == NULL || layers[i].read == engine_sandbox)
			continue;
		ret[count] = begin(&layers[i], NULL);
		layers[i].read(&trial, &ret[count++]);
	}
	return count;
}
