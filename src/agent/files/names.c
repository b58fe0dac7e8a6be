#include "agent/files/names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/files/path.h"
#include "base/error.h"
#include "base/mem.h"

enum {
	COST = 40, /* bytes for each name: its pointer, and what malloc() adds */
	FIRST_CAP = 64,
};

/* While a directory is read, `items` is a heap with the largest name on top. */
struct reading {
	struct names *names;
	const struct names_rule *rule;
	/* The smallest name that did not fit; "": none. No name from here on is kept any more,
	 * because a gap in the sorted names would never be read again. */
	char ceiling[PATH_NAME_MAX + 1];
};

static void swap_names(char **a, char **b)
{
	char *c = *a;

	*a = *b;
	*b = c;
}

static void sift_up(char **heap, size_t i)
{
	while (i != 0 && strcmp(heap[i], heap[(i - 1) / 2]) > 0) {
		swap_names(&heap[i], &heap[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
}

static void sift_down(char **heap, size_t count)
{
	size_t i = 0, child;

	while ((child = 2 * i + 1) < count) {
		if (child + 1 < count && strcmp(heap[child + 1], heap[child]) > 0)
			child++;
		if (strcmp(heap[child], heap[i]) <= 0)
			return;
		swap_names(&heap[child], &heap[i]);
		i = child;
	}
}

static void remove_largest(struct reading *reading)
{
	struct names *names = reading->names;
	char *largest = names->items[0];
	size_t len = strlen(largest);

	names->items[0] = names->items[--names->count];
	sift_down(names->items, names->count);
	names->bytes -= len + 1 + COST;
	memcpy(reading->ceiling, largest, len + 1);
	names->more = true;
	free(largest);
}

static void add_name(struct reading *reading, const char *name, size_t len)
{
	struct names *names = reading->names;

	if (names->count == names->cap) {
		names->cap = names->cap != 0 ? 2 * names->cap : FIRST_CAP;
		names->items = mem_resize(names->items, names->cap * sizeof *names->items);
	}
	names->items[names->count] = mem_dup_len(name, len);
	names->bytes += len + 1 + COST;
	sift_up(names->items, names->count++);
	while (names->count > reading->rule->limit ||
	       (names->count > 1 && names->bytes > reading->rule->bytes))
		remove_largest(reading);
}

static bool is_visible(const char *name, bool hidden)
{
	return name[0] != '.' || (hidden && strcmp(name, ".") != 0 && strcmp(name, "..") != 0);
}

static void consider_name(struct reading *reading, const char *name)
{
	size_t len = strlen(name);

	if (len == 0 || len > PATH_NAME_MAX || !is_visible(name, reading->rule->hidden))
		return;
	if (strcmp(name, reading->rule->after) <= 0)
		return;
	if (reading->ceiling[0] == '\0' || strcmp(name, reading->ceiling) < 0)
		add_name(reading, name, len);
}

/* Turns the heap into a sorted list. readdir() may return a name twice if the directory changes. */
static void sort_names(struct names *names)
{
	size_t kept = 0;

	for (size_t n = names->count; n > 1; n--) {
		swap_names(&names->items[0], &names->items[n - 1]);
		sift_down(names->items, n - 1);
	}
	for (size_t i = 0; i < names->count; i++) {
		if (kept != 0 && strcmp(names->items[i], names->items[kept - 1]) == 0)
			free(names->items[i]);
		else
			names->items[kept++] = names->items[i];
	}
	names->count = kept;
}

/* A stream on a duplicate, from the start; the caller's descriptor stays open. */
static DIR *open_stream(int dir)
{
	int copy = fcntl(dir, F_DUPFD_CLOEXEC, 0), saved;
	DIR *stream;

	if (copy < 0)
		return NULL;
	stream = lseek(copy, 0, SEEK_SET) < 0 ? NULL : fdopendir(copy);
	if (stream == NULL) {
		saved = errno;
		(void)close(copy);
		errno = saved;
	}
	return stream;
}

/* NULL and errno 0 at the end of the directory. */
static const char *next_name(DIR *stream)
{
	const struct dirent *entry;

	errno = 0;
	entry = readdir(stream);
	return entry != NULL ? entry->d_name : NULL;
}

int names_read(struct names *names, int dir, const struct names_rule *rule, struct error *err)
{
	struct names fresh = { 0 };
	struct reading reading = { .names = &fresh, .rule = rule };
	DIR *stream = open_stream(dir);
	const char *name;
	int failed = 0;

	if (stream == NULL)
		return error_sys(err, "read the directory");
	while ((name = next_name(stream)) != NULL)
		consider_name(&reading, name);
	if (errno != 0)
		failed = error_sys(err, "read the directory");
	(void)closedir(stream);
	if (failed < 0) {
		sort_names(&fresh);
		names_done(&fresh);
		return -1;
	}
	sort_names(&fresh);
	names_done(names);
	*names = fresh;
	return 0;
}

void names_done(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->items[i]);
	free(names->items);
	*names = (struct names){ 0 };
}

bool names_any(int dir, bool hidden)
{
	DIR *stream = open_stream(dir);
	const char *name = NULL;
	bool any;

	if (stream == NULL)
		return false;
	do
		name = next_name(stream);
	while (name != NULL && !is_visible(name, hidden));
	any = name != NULL;
	(void)closedir(stream);
	return any;
}
