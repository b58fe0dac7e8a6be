/* live_files.h - what tests of the real agent's file operations share. Each test runs twice, with
 * the agent as an ordinary child and as PID 1, and accesses the same files directly.
 *
 *   static void reads_a_file(void **state)
 *   {
 *           struct live live;
 *
 *           files_begin(&live, state, (struct live_options){ 0 });
 *           files_put(&live, "a", VIEW("text"));
 *           ...
 *           live_stop(&live);
 *   }
 *   const struct CMUnitTest all[] = { TWICE(reads_a_file) }; */
#pragma once
#include "unit/agent/live/live.h"

extern bool files_as_child, files_as_pid1; /* the states of tests: false and true */

#define ONLY_PID1(test)                                                                            \
	{                                                                                          \
#test ", agent PID 1", test, NULL, NULL, &files_as_pid1                            \
	}
#define TWICE(test) { #test ", agent a child", test, NULL, NULL, &files_as_child }, ONLY_PID1(test)

void files_begin(struct live *live, void **state, struct live_options options);

/* --- the files in the workspace, without the agent --- */

/* A path in the workspace; valid for the next three calls. */
const char *files_at(const struct live *live, const char *name);

void files_put_at(const char *path, struct view bytes);

void files_put(const struct live *live, const char *name, struct view bytes);

void files_mkdir(const struct live *live, const char *name);

bool files_exist(const struct live *live, const char *name);

/* The content of a file of at most 4 KiB. */
void files_check_at(const char *path, const char *want);

void files_check(const struct live *live, const char *name, const char *want);

size_t files_count(const char *path); /* names in a directory */

/* --- a directory that the agent knows nothing of --- */

void files_new_directory(char path[64]);

void files_remove(const char *path);

/* --- requests --- */

struct live_stream *files_open_read(struct live *live, const char *path);

/* The test sends the bytes; keeps_open is set. */
struct live_stream *files_open_write(struct live *live, const char *path, enum wire_write_mode mode,
                                     uint64_t max);

struct live_stream *files_write(struct live *live, const char *path, enum wire_write_mode mode,
                                const char *text);

/* The agent's only child process: a worker, if no other stream is open. */
pid_t files_worker(struct live *live);

/* Pseudo-random bytes. */
char *files_noise(size_t len);
