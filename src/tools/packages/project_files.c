#include "tools/packages/project_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "sandbox/channel/files.h"
#include "sandbox/sandbox.h"
#include "tools/files/edit_lock.h"
#include "json/json.h"

enum { PROJECTS = 64, KNOWN_MS = 30000, FILE_MAX = 256 * 1024 };

/* The files that list packages, Python's first. A file counts only if it has the word in it: a
 * pyproject.toml often holds settings of tools and no list. */
static const struct {
	const char *name, *word;
	bool is_python;
} kinds[] = {
	{ "requirements.txt", "", true },
	{ "pyproject.toml", "dependencies", true },
	{ "package.json", "ependencies\"", false },
};

/* --- the table --- */

static struct project projects[PROJECTS];

static bool is_project(const struct project *project, const char *sandbox)
{
	return project->used_ms != 0 && strcmp(project->sandbox, sandbox) == 0;
}

static struct project *find_entry(const char *sandbox, const char *dir, bool is_python)
{
	for (size_t i = 0; i < PROJECTS; i++)
		if (is_project(&projects[i], sandbox) && projects[i].is_python == is_python &&
		    strcmp(projects[i].dir, dir) == 0)
			return &projects[i];
	return NULL;
}

static struct project *find_oldest(void)
{
	struct project *oldest = NULL;

	for (size_t i = 0; i < PROJECTS; i++)
		if (projects[i].users == 0 &&
		    (oldest == NULL || projects[i].used_ms < oldest->used_ms))
			oldest = &projects[i];
	return oldest;
}

struct project *project_find(const struct sandbox *sandbox, const char *dir, bool is_python)
{
	const char *id = sandbox_row(sandbox)->spec.id;
	struct project *project = find_entry(id, dir, is_python);

	if (project == NULL) {
		project = find_oldest();
		if (project == NULL)
			return NULL;
		*project = (struct project){ .is_python = is_python };
		(void)snprintf(project->sandbox, sizeof project->sandbox, "%s", id);
		(void)snprintf(project->dir, sizeof project->dir, "%s", dir);
		list_init(&project->waiting);
	}
	if (project->awake_ms != sandbox_awake_ms(sandbox)) {
		project->awake_ms = sandbox_awake_ms(sandbox);
		project->read_ms = project->version = 0;
		project->installer[0] = '\0';
	}
	project->used_ms = clock_now_ms();
	project->users++;
	return project;
}

void project_release(struct project *project)
{
	project->users--;
}

bool project_is_known(const struct project *project, struct sandbox *sandbox)
{
	return project->read_ms != 0 && clock_now_ms() - project->read_ms < KNOWN_MS &&
	       process_count_running(sandbox) == 0;
}

/* --- changes --- */

void project_files_expire(const char *sandbox)
{
	for (size_t i = 0; i < PROJECTS; i++)
		if (is_project(&projects[i], sandbox))
			projects[i].read_ms = 0;
}

void project_files_reset(const char *sandbox)
{
	project_files_expire(sandbox);
	for (size_t i = 0; i < PROJECTS; i++)
		if (is_project(&projects[i], sandbox))
			projects[i].version = 0;
}

void project_files_changed(const char *sandbox, const char *path, bool and_below)
{
	const char *slash = strrchr(path, '/');

	if (and_below)
		project_files_expire(sandbox);
	for (size_t i = 0; !and_below && i < ARRAY_LEN(kinds); i++)
		if (strcmp(slash != NULL ? slash + 1 : path, kinds[i].name) == 0)
			project_files_expire(sandbox);
}

/* --- reading --- */

/* Node cannot even start in a directory whose package.json is malformed. */
static bool is_json(struct view content)
{
	static const struct json_limits limits = { .depth = 32, .values = 100000 };
	AUTO_JSON json_t *json = NULL;
	struct error ignored;

	return json_read(content, &limits, &json, NULL, &ignored) == 0;
}

/* 0: the file lists nothing. */
static uint64_t hash_content(struct view content, size_t kind)
{
	const char *word = kinds[kind].word;
	uint64_t hash = HASH_START;

	if (content.len == 0 || memmem(content.ptr, content.len, word, strlen(word)) == NULL ||
	    (!kinds[kind].is_python && !is_json(content)))
		return 0;
	for (size_t i = 0; i < content.len; i++)
		hash = (hash ^ (unsigned char)content.ptr[i]) * HASH_PRIME;
	return hash != 0 ? hash : 1;
}

static void finish_read(struct project_read *read)
{
	if (read->pending == 0 && !read->is_starting)
		read->fn(read->ctx);
}

static size_t first_kind(const struct project_read *read)
{
	return read->is_python ? 0 : 2;
}

static void on_content(struct project_read *read, size_t index, struct view content)
{
	read->hashes[index] = hash_content(content, first_kind(read) + index);
}

static void on_file(struct project_read *read, size_t index, const struct files_reply *reply)
{
	read->ops[index] = NULL;
	read->pending--;
	if (reply != NULL)
		on_content(read, index, reply->bytes);
	finish_read(read);
}

/* A file that cannot be read lists nothing. */
static void on_first(void *ctx, const struct files_reply *reply, const struct error *why)
{
	on_file(ctx, 0, why == NULL ? reply : NULL);
}

static void on_second(void *ctx, const struct files_reply *reply, const struct error *why)
{
	on_file(ctx, 1, why == NULL ? reply : NULL);
}

/* The content that the run will write to the path, or NULL. */
static const struct process_file *find_written(const struct process_options *options,
                                               const char *path)
{
	for (size_t i = options->file_count; i != 0; i--) {
		AUTO_FREE char *normal = normalize_path(options->files[i - 1].path);

		if (strcmp(normal, path) == 0)
			return &options->files[i - 1];
	}
	return NULL;
}

static void read_project_file(struct project_read *read, struct channel *channel, size_t index,
                              const char *path)
{
	struct wire_message request = { .type = WIRE_READ };
	struct error ignored;

	request.read.count = request.read.max = FILE_MAX;
	request.read.path = view_of(path);
	if (channel != NULL &&
	    files_start(channel, &request, (struct view){ 0 }, FILE_MAX,
	                index == 0 ? on_first : on_second, read, &read->ops[index], &ignored) == 0)
		read->pending++;
}

void project_read_start(struct project_read *read, struct sandbox *sandbox,
                        const struct project *project, const struct process_options *options,
                        void (*fn)(void *ctx), void *ctx)
{
	struct channel *channel = sandbox_channel(sandbox);
	size_t count = project->is_python ? 2 : 1;

	*read = (struct project_read){
		.is_python = project->is_python, .is_starting = true, .fn = fn, .ctx = ctx
	};
	for (size_t index = 0; index < count; index++) {
		AUTO_FREE char *path = mem_format("%s/%s", project->dir,
		                                  kinds[first_kind(read) + index].name);
		const struct process_file *file = find_written(options, path);

		if (file != NULL)
			on_content(read, index, file->content);
		else
			read_project_file(read, channel, index, path);
	}
	read->is_starting = false;
	finish_read(read);
}

void project_read_done(struct project_read *read)
{
	for (size_t i = 0; i < PROJECT_FILES_MAX; i++)
		files_cancel(read->ops[i]);
	*read = (struct project_read){ 0 };
}

uint64_t project_read_version(const struct project_read *read)
{
	return read->hashes[0] ^ (read->hashes[1] * HASH_PRIME);
}

const char *project_read_names(const struct project_read *read, char out[PROJECT_NAMES_SIZE])
{
	const char *first = kinds[first_kind(read)].name;
	bool has_both = read->hashes[0] != 0 && read->hashes[1] != 0;

	(void)snprintf(out, PROJECT_NAMES_SIZE, "%s%s%s", read->hashes[0] != 0 ? first : "",
	               has_both ? " and " : "", read->hashes[1] != 0 ? kinds[1].name : "");
	return out;
}
