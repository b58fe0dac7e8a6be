/* The front matter of a SKILL.md, and the skills that a directory has. */
#include <fcntl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/tree/remove_tree.h"
#include "mcp/mcp_server.h"
#include "tools/resources/internal.h"
#include "tools/resources/resources.h"
#include "unit/test.h"

static void front_matter_has_name_and_description(void **state)
{
	static const struct {
		const char *text, *name, *description, *body;
	} rows[] = {
		{ "---\nname: a\ndescription: Does it.\n---\nBody", "a", "Does it.", "Body" },
		{ "---\r\nname: \"a \\\"b\\\"\"\r\ndescription: 'it''s'\r\n---\r\nB", "a \"b\"",
		  "it's", "B" },
		{ "\xef\xbb\xbf---\nname: a\n---\n", "a", "", "" },
		{ "---\ndescription: >-\n  One\n\n  two.\nname: x\n---\nB", "x", "One two.", "B" },
		{ "---\ndescription: |\n  One\n  two.\n---\nB", "", "One two.", "B" },
		{ "---\ndescription: One\n  two.\n---\nB", "", "One two.", "B" },
		{ "---\nname: a\nname: b\n---\nB", "a", "", "B" },
		{ "---\nname: a\x1b[31m\n---\nB", "a\\x1b[31m", "", "B" },
		{ "---\n name: a\nnames: b\n---\nB", "", "", "B" },
		{ "---\nname:\n---\nB", "", "", "B" },
		/* Text without front matter, or without its end. */
		{ "", "", "", "" },
		{ "# Title\nname: a\n", "", "", "# Title\nname: a\n" },
		{ "---\nname: a\n", "", "", "---\nname: a\n" },
		{ " ---\nname: a\n ---\n", "", "", " ---\nname: a\n ---\n" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct front_matter front;

		front_matter_read(view_of(rows[i].text), &front);
		assert_string_equal(front.name, rows[i].name);
		assert_string_equal(front.description, rows[i].description);
		assert_string_equal(rows[i].text + front.body, rows[i].body);
	}
}

static void front_matter_cuts_long_values(void **state)
{
	AUTO_FREE char *text = mem_format("---\nname: %0100d\ndescription: %05000d\n---\n", 1, 2);
	struct front_matter front;

	front_matter_read(view_of(text), &front);
	assert_int_equal(strlen(front.name), sizeof front.name - 1);
	assert_string_equal(front.name + strlen(front.name) - 3, "...");
	assert_int_equal(strlen(front.description), sizeof front.description - 1);
}

/* --- a directory of skills --- */

struct skills_dir {
	char path[64];
	int fd;
};

static void make_dir(struct skills_dir *dir)
{
	(void)snprintf(dir->path, sizeof dir->path, "/tmp/belljar-skills-XXXXXX");
	assert_non_null(mkdtemp(dir->path));
	dir->fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir->fd >= 0);
}

static void remove_dir(struct skills_dir *dir)
{
	AUTO_FD int tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t count = 0;
	struct error err;

	(void)close(dir->fd);
	CHECK_OK(remove_tree(tmp, dir->path + strlen("/tmp/"), view_of(dir->path), &count, &err),
	         err);
}

static void put_file(const struct skills_dir *dir, const char *name, const char *file,
                     const char *text)
{
	AUTO_FREE char *path = mem_format("%s/%s", name, file);
	int fd;

	(void)mkdirat(dir->fd, name, 0755);
	fd = openat(dir->fd, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	(void)close(fd);
}

static void load_finds_skills_by_name(void **state)
{
	AUTO(skills) struct skills *skills = NULL;
	struct skills_dir dir;
	struct error err;

	make_dir(&dir);
	put_file(&dir, "zeta", "SKILL.md", "No front matter.");
	put_file(&dir, "alpha", "Skill.md", "---\nname: Alpha!\ndescription: The first.\n---\n");
	put_file(&dir, "empty", "README.md", "");
	put_file(&dir, ".hidden", "SKILL.md", "");
	put_file(&dir, "bad name", "SKILL.md", "");
	assert_int_equal(symlinkat("zeta", dir.fd, "link"), 0);
	(void)mkdirat(dir.fd, "linked", 0755);
	assert_int_equal(symlinkat("/etc/passwd", dir.fd, "linked/SKILL.md"), 0);
	(void)mkdirat(dir.fd, "fifo", 0755);
	assert_int_equal(mkfifoat(dir.fd, "fifo/SKILL.md", 0644), 0);
	CHECK_OK(skills_load(dir.path, &skills, &err), err);
	assert_int_equal(skills_count(skills), 2);
	assert_string_equal(skills_prompts(skills)[0]->name, "skill_alpha");
	assert_string_equal(skills_prompts(skills)[0]->title, "Alpha!");
	assert_string_equal(skills_prompts(skills)[0]->help, "The first.");
	assert_string_equal(skills_prompts(skills)[1]->name, "skill_zeta");
	assert_string_equal(skills_prompts(skills)[1]->title, "zeta");
	assert_string_equal(skills_prompts(skills)[1]->help, "The skill zeta.");
	assert_null(skills_prompts(skills)[2]);
	assert_string_equal(skills_resources(skills)[0]->uri, "skill://alpha");
	assert_null(skills_resources(skills)[2]);
	remove_dir(&dir);
}

static void load_stops_at_the_maximum(void **state)
{
	AUTO(skills) struct skills *skills = NULL;
	struct skills_dir dir;
	struct error err;

	make_dir(&dir);
	for (int i = 0; i < SKILLS_MAX + 3; i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "s%03d", i);
		put_file(&dir, name, "SKILL.md", "x");
	}
	CHECK_OK(skills_load(dir.path, &skills, &err), err);
	assert_int_equal(skills_count(skills), SKILLS_MAX);
	remove_dir(&dir);
}

static void missing_directory_is_an_error(void **state)
{
	struct skills *skills;
	struct error err;

	CHECK_ERROR(skills_load("/nonexistent/skills", &skills, &err), err, ERR_SYSTEM,
	            "/nonexistent/skills: No such file or directory");
	assert_null(skills_free(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(front_matter_has_name_and_description),
		TEST(front_matter_cuts_long_values),
		TEST(load_finds_skills_by_name),
		TEST(load_stops_at_the_maximum),
		TEST(missing_directory_is_an_error),
	};

	return RUN_TESTS("tools/skills", tests);
}
