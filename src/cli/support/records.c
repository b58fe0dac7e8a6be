#include "cli/support/records.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "engine/native/ids/ids.h"
#include "sandbox/registry/registry.h"
#include "server/confine.h"
#include "server/owner.h"
#include "server/runtime/runtime.h"
#include "store/store.h"

int records_open(const struct options *options, struct store **ret, int *ret_servers,
                 struct error *err)
{
	char given[PATH_MAX], state[PATH_MAX], path[PATH_MAX + 32];
	struct ids_taken taken;

	*ret = NULL;
	if (runtime_find_state_dir(options, given, err) < 0)
		return -1;
	(void)owner_local();
	if (realpath(given, state) == NULL)
		(void)snprintf(state, sizeof state, "%s", given);
	else if (runtime_check_state_dir(state, err) < 0)
		return -1;
	if (confine_choose_id(state, &taken, err) < 0)
		return -1;
	ids_taken_done(&taken);
	if (confine_server(&(struct confine_needs){ state }, err) < 0)
		return -1;
	if (ret_servers != NULL) {
		(void)snprintf(path, sizeof path, "%s/servers", state);
		*ret_servers = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	(void)snprintf(path, sizeof path, "%s/db/belljar.db", state);
	if (access(path, F_OK) < 0) /* ENOENT: no sandbox was ever created here */
		return errno == ENOENT ? 0 : error_sys(err, "'%s'", path);
	return store_open(path, registry_migrations, ret, err);
}

const char *records_when(int64_t seconds, char out[RECORDS_TEXT_SIZE])
{
	struct tm tm = { 0 };
	time_t t = (time_t)seconds;

	(void)gmtime_r(&t, &tm);
	(void)strftime(out, RECORDS_TEXT_SIZE, "%Y-%m-%dT%H:%M:%SZ", &tm);
	return out;
}

const char *records_span(int64_t seconds, char out[RECORDS_TEXT_SIZE])
{
	static const struct {
		int64_t up_to, unit;
		const char *word;
	} units[] = {
		{ 120, 1, "s" },
		{ 7200, 60, "min" },
		{ 172800, 3600, "h" },
		{ INT64_MAX, 86400, "days" },
	};
	size_t i = 0;

	if (seconds < 0)
		seconds = 0;
	while (seconds >= units[i].up_to)
		i++;
	(void)snprintf(out, RECORDS_TEXT_SIZE, "%lld %s", (long long)(seconds / units[i].unit),
	               units[i].word);
	return out;
}
