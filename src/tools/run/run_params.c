#include "tools/run/run_params.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/text/utf8.h"
#include "sandbox/process/process.h"
#include "tools/catalogue.h"
#include "tools/support/work.h"

void run_params_complete_schema(const void *app, json_t *properties)
{
	const struct tools_context *context = app;
	json_t *timeout = json_object_get(properties, "timeout_s");

	json_set(timeout, "default", json_int(context->timeout_s));
	json_set(timeout, "maximum", json_int(context->timeout_max_s));
}

static int check_cwd(const char *cwd, struct error *err)
{
	if (cwd == NULL || work_check_path(cwd, err) == 0)
		return 0;
	return error_wrap(err, "argument 'cwd'");
}

static int check_env(const struct param_map *env, struct error *err)
{
	for (size_t i = 0; i < env->count; i++) {
		const char *name = env->items[i].name;

		if (name[0] == '\0' || strchr(name, '=') != NULL)
			return error_set(
			        err, ERR_INVALID,
			        "argument 'env': \"%s\" cannot be a variable's name: it has at "
			        "least one character, and no '='",
			        UTF8_ESCAPED(view_of(name), 64));
	}
	return 0;
}

static const char *const *list_env(const struct param_map *env, struct arena *arena)
{
	const char **list = arena_new(arena, env->count + 1, sizeof *list);

	for (size_t i = 0; i < env->count; i++) {
		size_t size = strlen(env->items[i].name) + strlen(env->items[i].value) + 2;
		char *variable = arena_new(arena, size, 1);

		(void)snprintf(variable, size, "%s=%s", env->items[i].name, env->items[i].value);
		list[i] = variable;
	}
	return list;
}

static int check_timeout(double timeout_s, const struct tools_context *context, struct error *err)
{
	if (timeout_s <= (double)context->timeout_max_s)
		return 0;
	return error_set(err, ERR_LIMIT,
	                 "argument 'timeout_s': expected at most %u seconds, got %g; for more use "
	                 "run_command with background: true and no timeout_s",
	                 context->timeout_max_s, timeout_s);
}

static uint32_t timeout_ms(double timeout_s, uint32_t default_ms)
{
	if (timeout_s <= 0)
		return default_ms;
	return timeout_s < 0.001 ? 1 : (uint32_t)(timeout_s * 1000);
}

int run_params_apply(const struct run_params *params, const struct tools_context *context,
                     uint32_t default_ms, struct arena *arena, struct process_options *ret,
                     struct error *err)
{
	if (check_cwd(params->cwd, err) < 0 || check_env(&params->env, err) < 0 ||
	    check_timeout(params->timeout_s, context, err) < 0)
		return -1;
	ret->cwd = params->cwd;
	ret->env = list_env(&params->env, arena);
	ret->in = params->in;
	ret->deadline_ms = timeout_ms(params->timeout_s, default_ms);
	return 0;
}
