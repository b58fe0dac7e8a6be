#include "tools/resources/resources.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "base/tree/open_child.h"
#include "tools/catalogue.h"
#include "tools/resources/internal.h"

enum { NAMES_MAX = 1000 }; /* directory entries that are looked at */

struct skills {
	size_t count;
	struct skill items[SKILLS_MAX];
	const struct mcp_prompt *prompts[SKILLS_MAX + 1];
	const struct mcp_resource *resources[SKILLS_MAX + 1];
};

static bool is_skill_name(const char *name)
{
	size_t len = strlen(name);

	return len != 0 && len < sizeof((struct skill){ 0 }.name) && name[0] != '.' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
	               len;
}

/* Reads as much of a regular file as fits. Returns false for a FIFO or a device: reading one may
 * block, and the server reads skills before its loop runs. */
static bool read_regular_file(int fd, struct buf *buf)
{
	char chunk[4096];
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	while (buf->len + sizeof chunk <= buf->max && (n = read(fd, chunk, sizeof chunk)) > 0)
		buf_put(buf, (struct view){ chunk, (size_t)n });
	return true;
}

/* Reads SKILL.md of one skill. False: there is none. Skills are often downloaded, and this runs
 * with the rights of the user who started the server: a symbolic link named SKILL.md could make any
 * file of that user a resource, so links are not followed. O_NONBLOCK: the open of a FIFO would
 * wait for a writer. */
static bool read_skill_file(int above, const char *name, const char **ret_file, struct buf *buf)
{
	static const char *const files[] = { "SKILL.md", "Skill.md" };
	AUTO_FD int dir = open_child(above, name, O_RDONLY | O_DIRECTORY);

	for (size_t i = 0; dir >= 0 && i < ARRAY_LEN(files); i++) {
		AUTO_FD int fd = open_child(dir, files[i], O_RDONLY | O_NONBLOCK);

		*ret_file = files[i];
		if (fd >= 0 && read_regular_file(fd, buf))
			return true;
	}
	return false;
}

static void add_skill(struct skills *skills, int above, const char *name)
{
	struct skill *skill = &skills->items[skills->count];
	struct front_matter front;
	AUTO_BUF struct buf text;
	const char *file;

	buf_init(&text, SKILL_BYTES_MAX);
	if (!is_skill_name(name) || !read_skill_file(above, name, &file, &text))
		return;
	front_matter_read(buf_view(&text), &front);
	skill_init(skill, name, file, &front);
	skills->prompts[skills->count] = &skill->prompt;
	skills->resources[skills->count] = &skill->resource;
	skills->count++;
}

/* A skill that is passed over for its name alone would be missed by its author. */
static void warn_about_name(int above, const char *name)
{
	AUTO_BUF struct buf text;
	const char *file;

	buf_init(&text, SKILL_BYTES_MAX);
	if (name[0] != '.' && read_skill_file(above, name, &file, &text))
		log_warning("the skill '%s' is left out: rename its directory, with letters, "
		            "digits and \"._-\" only",
		            UTF8_ESCAPED(view_of(name), NAME_MAX + 1));
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int skills_load(const char *directory, struct skills **ret, struct error *err)
{
	AUTO_FREE char **names = mem_array(NAMES_MAX, sizeof *names);
	struct skills *skills;
	struct dirent *entry;
	size_t count = 0;
	AUTO_DIR DIR *dir = opendir(directory);

	if (dir == NULL)
		return error_sys(err, "%s", directory);
	while (count < NAMES_MAX && (entry = readdir(dir)) != NULL)
		if (is_skill_name(entry->d_name))
			names[count++] = mem_dup(entry->d_name);
		else
			warn_about_name(dirfd(dir), entry->d_name);
	qsort(names, count, sizeof *names, by_name);
	skills = mem_new(sizeof *skills);
	for (size_t i = 0; i < count; i++) {
		if (skills->count < SKILLS_MAX)
			add_skill(skills, dirfd(dir), names[i]);
		free(names[i]);
	}
	*ret = skills;
	return 0;
}

struct skills *skills_free(struct skills *skills)
{
	for (size_t i = 0; skills != NULL && i < skills->count; i++)
		skill_done(&skills->items[i]);
	free(skills);
	return NULL;
}

const struct mcp_prompt *const *skills_prompts(const struct skills *skills)
{
	return skills->prompts;
}

const struct mcp_resource *const *skills_resources(const struct skills *skills)
{
	return skills->resources;
}

size_t skills_count(const struct skills *skills)
{
	return skills->count;
}

const struct skill *skills_at(const struct skills *skills, size_t i)
{
	return &skills->items[i];
}

struct skill_info skills_info(const struct skills *skills, size_t i)
{
	const struct skill *skill = &skills->items[i];

	return (struct skill_info){ .id = skill->name,
		                    .name = skill->title,
		                    .description = skill->help,
		                    .version = skill->version,
		                    .dependencies = skill->dependencies,
		                    .file = skill->file };
}

struct view skills_body(struct view text)
{
	struct front_matter front;

	front_matter_read(text, &front);
	return view_trim((struct view){ text.ptr + front.body, text.len - front.body });
}
