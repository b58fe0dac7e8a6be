#include "server/options/options.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text/nearest.h"
#include "base/text/utf8.h"
#include "base/trusted/trusted_names.h"
#include "server/options/config.h"
#include "server/options/option_value.h"
#include "tools/profiles/profiles.h"

/* --- the command line --- */

static bool is_flag_of(struct view name, unsigned verb)
{
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if ((option_specs[i].verbs & verb) != 0 && view_is(name, option_specs[i].name))
			return true;
	return false;
}

static int set_unknown_flag(struct view name, unsigned verb, struct error *err)
{
	struct nearest best = { 0 };
	char shown[80];

	(void)utf8_escape(name, shown, sizeof shown);
	if (verb == FOR_CONNECT && is_flag_of(name, FOR_SERVE))
		return error_set(
		        err, ERR_INVALID,
		        "--%s is an option of the server: give it behind --, as in 'belljar "
		        "connect CLIENT -- --%s ...'",
		        shown, shown);
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if ((option_specs[i].verbs & verb) != 0)
			nearest_consider(&best, shown, option_specs[i].name);
	if (best.name != NULL)
		return error_set(err, ERR_INVALID, "unknown option '--%s'; did you mean '--%s'?",
		                 shown, best.name);
	return error_set(err, ERR_INVALID, "unknown option '--%s'", shown);
}

static int find_flag(struct view name, unsigned verb, size_t *ret, struct error *err)
{
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if ((option_specs[i].verbs & verb) != 0 && view_is(name, option_specs[i].name)) {
			*ret = i;
			return 0;
		}
	return set_unknown_flag(name, verb, err);
}

/* A list option that is given twice holds the entries of both. For any other option the last value
 * counts. */
static void set_flag(struct option_args *args, size_t i, const char *value)
{
	const char *before = args->flags[i], separator = option_separator(&option_specs[i]);
	size_t len;
	char *joined;

	args->flags[i] = value;
	if (before == NULL || separator == '\0')
		return;
	len = strlen(before);
	joined = arena_new(&args->texts, len + 1 + strlen(value) + 1, 1);
	memcpy(joined, before, len);
	joined[len] = separator;
	memcpy(joined + len + 1, value, strlen(value) + 1);
	args->flags[i] = joined;
}

/* Reads one argument that starts with "--", and `next` if that is its value. Returns 1 if `next`
 * was used, else 0. */
static int take_flag(struct option_args *args, unsigned verb, const char *arg, const char *next,
                     struct error *err)
{
	struct view name = { arg + 2, strcspn(arg + 2, "=") };
	const char *value = name.ptr[name.len] == '=' ? name.ptr + name.len + 1 : NULL;
	const struct option_spec *spec;
	size_t i = 0;

	if (find_flag(name, verb, &i, err) < 0)
		return -1;
	spec = &option_specs[i];
	if (spec->type == OPTION_TYPE_FLAG) {
		if (value != NULL)
			return error_set(err, ERR_INVALID, "--%s takes no value", spec->name);
		args->flags[i] = "true";
		return 0;
	}
	if (value != NULL) {
		set_flag(args, i, value);
		return 0;
	}
	/* "--a --b" is more often a forgotten value of --a than the value "--b". */
	if (next == NULL || strncmp(next, "--", 2) == 0)
		return error_set(err, ERR_INVALID, "--%s needs a value: --%s %s", spec->name,
		                 spec->name, spec->word);
	set_flag(args, i, next);
	return 1;
}

static int take_arg(struct option_args *args, unsigned verb, char *const *at, struct error *err)
{
	const char *arg = at[0];

	if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
		args->help = true;
		return 0;
	}
	if (strncmp(arg, "--", 2) == 0)
		return take_flag(args, verb, arg, at[1], err);
	/* -t is short for --terminal, as in docker and ssh. */
	if (strcmp(arg, "-t") == 0 && (option_specs[OPTION_TERMINAL].verbs & verb) != 0)
		return take_flag(args, verb, "--terminal", NULL, err);
	if (arg[0] == '-' && arg[1] != '\0')
		return error_set(err, ERR_INVALID, "unknown option '%s'",
		                 UTF8_ESCAPED(view_of(arg), 80));
	args->operands[args->operand_count++] = arg;
	return 0;
}

int options_parse_args(struct option_args *ret, unsigned verb, char *const *args, struct error *err)
{
	struct option_args found = { 0 };
	size_t count = 0;

	while (args[count] != NULL)
		count++;
	found.operands = mem_array(count + 1, sizeof found.operands[0]);
	for (size_t i = 0; i < count; i++) {
		int taken;

		/* Arguments behind the program's or file's name belong to that program. */
		if ((verb & (FOR_EXEC | FOR_RUN)) != 0 && found.operand_count != 0) {
			found.operands[found.operand_count++] = args[i];
			continue;
		}
		if (strcmp(args[i], "--") == 0) {
			found.separator = true;
			while (++i < count)
				found.operands[found.operand_count++] = args[i];
			break;
		}
		taken = take_arg(&found, verb, &args[i], err);
		if (taken < 0) {
			option_args_done(&found);
			return -1;
		}
		i += (size_t)taken;
	}
	*ret = found;
	return 0;
}

void option_args_done(struct option_args *args)
{
	free(args->operands);
	arena_done(&args->texts);
	*args = (struct option_args){ 0 };
}

/* --- the sources --- */

static int read_flags(struct option_layer *layer, const char *const flags[OPTION_COUNT],
                      struct error *err)
{
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (flags[i] != NULL &&
		    option_value_read(&option_specs[i], flags[i], &layer->values[i], err) < 0)
			return error_wrap(err, "--%s", option_specs[i].name);
	return 0;
}

static int set_unknown_variable(const char *name, struct error *err)
{
	struct nearest best = { 0 };
	const size_t prefix = strlen(OPTION_VARIABLE_PREFIX);
	char known[OPTION_COUNT][OPTION_NAME_SIZE], shown[80];

	/* The common prefix is left out of the comparison: it would make any two names similar. */
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (!option_specs[i].flag_only)
			nearest_consider(&best, name + prefix,
			                 option_variable(&option_specs[i], known[i]) + prefix);
	(void)utf8_escape(view_of(name), shown, sizeof shown);
	if (best.name != NULL)
		return error_set(err, ERR_INVALID,
		                 "unknown environment variable '%s'; did you mean '%s%s'?", shown,
		                 OPTION_VARIABLE_PREFIX, best.name);
	return error_set(
	        err, ERR_INVALID,
	        "unknown environment variable '%s'; unset it (names that start with %s are "
	        "reserved for belljar's options)",
	        shown, OPTION_VARIABLE_PREFIX);
}

static int read_variable(struct option_layer *layer, unsigned verb, const char *name,
                         const char *value, struct error *err)
{
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		char known[OPTION_NAME_SIZE];

		if (option_specs[i].flag_only ||
		    strcmp(name, option_variable(&option_specs[i], known)) != 0)
			continue;
		if ((option_specs[i].verbs & verb) == 0)
			return 0;
		if (option_value_read(&option_specs[i], value, &layer->values[i], err) < 0)
			return error_wrap(err, "%s", known);
		return 0;
	}
	return set_unknown_variable(name, err);
}

/* Variables of older servers, such as MCP_SSE_MODE. The option's own variable wins. */
static int read_foreign_variable(struct option_layer *layer, unsigned verb, const char *name,
                                 const char *value, struct error *err)
{
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		const struct option_spec *spec = &option_specs[i];

		if (spec->also_variable == NULL || (spec->verbs & verb) == 0 ||
		    layer->values[i].given || strcmp(name, spec->also_variable) != 0)
			continue;
		if (option_value_read(spec, value, &layer->values[i], err) < 0)
			return error_wrap(err, "%s", name);
	}
	return 0;
}

static int read_environment(struct option_layer *layer, unsigned verb, char *const *environment,
                            struct error *err)
{
	for (; *environment != NULL; environment++) {
		const char *equals = strchr(*environment, '=');
		bool is_own = strncmp(*environment, OPTION_VARIABLE_PREFIX,
		                      strlen(OPTION_VARIABLE_PREFIX)) == 0;
		char *name;
		int r;

		if (equals == NULL)
			continue;
		name = mem_dup_len(*environment, (size_t)(equals - *environment));
		r = is_own ? read_variable(layer, verb, name, equals + 1, err)
		           : read_foreign_variable(layer, verb, name, equals + 1, err);
		free(name);
		if (r < 0)
			return -1;
	}
	return 0;
}

static void read_defaults(struct option_layer *layer)
{
	char buffer[OPTION_TEXT_SIZE];
	struct error err;

	for (size_t i = 0; i < OPTION_COUNT; i++) {
		const char *text = option_default_text(&option_specs[i], buffer);

		if (text != NULL && option_specs[i].computed == NULL &&
		    option_value_read(&option_specs[i], text, &layer->values[i], &err) < 0)
			abort(); /* the table's default is outside the table's range */
	}
}

/* The doctor reads the file by itself, to report its errors as one finding among others. */
static bool reads_file(unsigned verb)
{
	if (verb == FOR_DOCTOR)
		return false;
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (option_specs[i].in_file && (option_specs[i].verbs & verb) != 0)
			return true;
	return false;
}

/* If a limit and its ceiling are both given, a ceiling below the limit is a mistake in one of the
 * two. A limit from the table is lowered to the ceiling when belljar starts
 * (server/runtime/ceilings.c). */
static int check_ceilings(const struct options *options, struct error *err)
{
	char initial[OPTION_TEXT_SIZE], max[OPTION_TEXT_SIZE];

	for (size_t i = 0; i < spec_limit_count; i++) {
		const struct option_spec *spec = &option_specs[OPTION_MEMORY + i];
		uint64_t value = spec_limits_get(&options->limits, i);
		uint64_t ceiling = spec_limits_get(&options->limits_max, i);

		if (options->sources[OPTION_MEMORY + i] != OPTION_FROM_TABLE &&
		    options->sources[OPTION_MEMORY_MAX + i] != OPTION_FROM_TABLE && ceiling < value)
			return error_set(err, ERR_INVALID,
			                 "%s-max is %s, which is less than %s, which is %s: raise "
			                 "%s-max or lower %s",
			                 spec->name, option_number_text(spec, ceiling, max),
			                 spec->name, option_number_text(spec, value, initial),
			                 spec->name, spec->name);
	}
	return 0;
}

static const char *find_variable(char *const *environment, const char *name)
{
	size_t len = strlen(name);

	for (; *environment != NULL; environment++)
		if (strncmp(*environment, name, len) == 0 && (*environment)[len] == '=' &&
		    (*environment)[len + 1] != '\0')
			return *environment + len + 1;
	return NULL;
}

/* The settings of profiles: values of variables that the users of their original servers know, and
 * values that a profile has where the operator gives none. */
struct profile_layers {
	struct option_layer variables, usual;
	char images[OPTION_TEXT_SIZE]; /* of all profiles that are served */
};

static void add_images(struct profile_layers *layers, const char *names)
{
	const size_t used = strlen(layers->images);

	(void)snprintf(layers->images + used, sizeof layers->images - used, "%s%s",
	               used != 0 ? "," : "", names);
}

/* Reads the settings of a profile. A value of a variable that the option does not accept is an
 * error that names the variable. Usual values hold for the whole server, so they are only those of
 * the chosen profile; but each profile has its images. */
static int read_profile(struct profile_layers *layers, const struct profile *profile,
                        bool is_chosen, char *const *environment, struct error *err)
{
	for (const struct profile_setting *s = profile->settings; s != NULL && s->option != NULL;
	     s++) {
		const char *text = s->variable != NULL ? find_variable(environment, s->variable)
		                                       : NULL;
		struct option_layer *layer = text != NULL ? &layers->variables : &layers->usual;
		size_t id = 0;

		while (strcmp(option_specs[id].name, s->option) != 0)
			id++;
		if (id == OPTION_IMAGES) {
			add_images(layers, s->value);
			text = layers->images;
		} else if (text == NULL && is_chosen) {
			text = s->value;
		}
		if (text != NULL &&
		    option_value_read(&option_specs[id], text, &layer->values[id], err) < 0)
			return error_wrap(err, "%s", s->variable != NULL ? s->variable : s->option);
	}
	return 0;
}

/* Over HTTP every profile is served beside the chosen one. */
static bool is_over_http(const struct option_layer *const *layers, size_t count)
{
	static const size_t any[] = { OPTION_HTTP, OPTION_HOST, OPTION_PORT };

	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < ARRAY_LEN(any); k++)
			if (layers[i]->values[any[k]].given)
				return true;
		if (layers[i]->values[OPTION_SSE].given &&
		    layers[i]->values[OPTION_SSE].number != 0)
			return true;
	}
	return false;
}

static int read_profiles(struct profile_layers *layers, const char *chosen, bool is_over_http,
                         char *const *environment, struct error *err)
{
	for (size_t i = 0; profiles[i] != NULL; i++) {
		const bool is_chosen = strcmp(profiles[i]->name, chosen) == 0;

		if ((is_chosen || is_over_http) &&
		    read_profile(layers, profiles[i], is_chosen, environment, err) < 0)
			return -1;
	}
	return 0;
}

/* The name of the profile, from the first layer that has one. */
static const char *choose_profile(const struct option_layer *const *layers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (layers[i]->values[OPTION_PROFILE].given)
			return layers[i]->values[OPTION_PROFILE].text;
	return "default";
}

static int check_tls(const struct options *options, struct error *err)
{
	if ((options->tls_cert != NULL) == (options->tls_key != NULL))
		return 0;
	return error_set(err, ERR_INVALID, "tls-cert and tls-key belong together: give %s as well",
	                 options->tls_cert != NULL ? "tls-key" : "tls-cert");
}

int options_load(struct options *ret, unsigned verb, const char *const flags[OPTION_COUNT],
                 char *const *environment, struct error *err)
{
	struct option_layer given = { 0 }, variables = { 0 }, defaults = { 0 };
	struct profile_layers own = { 0 };
	struct config config = { 0 };
	const struct option_layer *const layers[] = { &given,        &variables, &own.variables,
		                                      &config.layer, &own.usual, &defaults };
	static const enum option_source layer_sources[] = {
		OPTION_FROM_FLAG, OPTION_FROM_ENVIRONMENT, OPTION_FROM_ENVIRONMENT,
		OPTION_FROM_FILE, OPTION_FROM_TABLE,       OPTION_FROM_TABLE,
	};
	struct options options = { .verb = verb };
	const char *named;

	if (read_flags(&given, flags, err) < 0 ||
	    read_environment(&variables, verb, environment, err) < 0)
		return -1;
	named = given.values[OPTION_CONFIG].given ? given.values[OPTION_CONFIG].text
	                                          : variables.values[OPTION_CONFIG].text;
	if (reads_file(verb)) {
		if (config_load(&config, named, err) < 0)
			return -1;
		/* options.config is the file that was read, also if it was found by searching. */
		given.values[OPTION_CONFIG] = (struct option_value){ .given = config.path != NULL,
			                                             .text = config.path };
	}
	read_defaults(&defaults);
	if (verb == FOR_SERVE &&
	    read_profiles(&own, choose_profile(layers, ARRAY_LEN(layers)),
	                  is_over_http(layers, ARRAY_LEN(layers) - 1), environment, err) < 0) {
		config_done(&config);
		return -1;
	}
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		for (size_t j = 0; j < ARRAY_LEN(layers); j++)
			if (layers[j]->values[i].given) {
				option_value_store(&option_specs[i], &layers[j]->values[i],
				                   &options);
				options.sources[i] = layer_sources[j];
				break;
			}
	}
	config_done(&config);
	if (check_ceilings(&options, err) < 0 || check_tls(&options, err) < 0) {
		options_done(&options);
		return -1;
	}
	*ret = options;
	return 0;
}

void options_done(struct options *options)
{
	arena_done(&options->texts);
	*options = (struct options){ 0 };
}

/* The list was checked when the option was read. */
uint64_t options_exports(const struct options *options)
{
	struct error ignored;
	uint64_t set = 0;

	if (options->copy_trusted != NULL &&
	    trusted_parse(options->copy_trusted, &set, &ignored) < 0)
		set = 0;
	return set | (options->copy_executables ? TRUSTED_EXECUTABLES : 0);
}
