#include <string.h>

#include "base/attr.h"
#include "cli/verb.h"

/* Hidden verbs come last, because verb_name_at() stops at the first of them. */
static const struct verb *const verbs[] = {
	&verb_serve,  &verb_connect,    &verb_run,  &verb_exec,    &verb_shell,    &verb_ps,
	&verb_logs,   &verb_cp,         &verb_port, &verb_rm,      &verb_client,   &verb_token,
	&verb_doctor, &verb_completion, &verb_help, &verb_version, &verb_generate,
};

const struct verb *verb_at(size_t i)
{
	return i < ARRAY_LEN(verbs) ? verbs[i] : NULL;
}

const struct verb *verb_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (strcmp(verbs[i]->name, name) == 0)
			return verbs[i];
	return NULL;
}

const char *verb_name_at(size_t i)
{
	return i < ARRAY_LEN(verbs) && !verbs[i]->hidden ? verbs[i]->name : NULL;
}
