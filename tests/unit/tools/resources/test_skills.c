/* What a SKILL.md says of itself, and which skills a directory has. */
#include <fcntl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/tree/remove_tree.h"
#include "mcp/server.h"
#include "tools/resources/front_matter.h"
#include "tools/resources/skills.h"
#include "unit/test.h"

static void reads_name_and_description(void **state)
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
		/* none, or none that ends */
		{ "", "", "", "" },
		{ "# Title\nname: a\n", "", "", "# Title\nname: a\n" },
		{ "---\nname: a\n", "", "", "---\nname: a\n" },
		{ " ---\nname: a\n ---\n", "", "", " ---\nname: a\n ---\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct front_matter front;

		front_matter_read(view_of(rows[i].text), &front);
		assert_string_equal(front.name, rows[i].name);
		assert_string_equal(front.description, rows[i].description);
		assert_string_equal(rows[i].text + front.body, rows[i].body);
	}
}

static void long_values_are_cut(void **state)
{
	AUTO_FREE char *text = mem_format("---\nname: %0100d\ndescription: %05000d\n---\n", 1, 2);
	struct front_matter front;

	(void)state;
	front_matter_read(view_of(text), &front);
	assert_int_equal(strlen(front.name), sizeof front.name - 1);
	assert_string_equal(front.name + strlen(front.name) - 3, "...");
	assert_int_equal(strlen(front.description), sizeof front.description - 1);
}

/* --- a directory of them --- */

struct place {
	char path[64];
	int fd;
};

static void begin(struct place *place)
{
	(void)snprintf(place->path, sizeof place->path, "/tmp/belljar-skills-XXXXXX");
	assert_non_null(mkdtemp(place->path));
	place->fd = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(place->fd >= 0);
}

static void end(struct place *place)
{
	AUTO_FD int tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t count = 0;
	struct error err;

	(void)close(place->fd);
	CHECK_OK(
	        remove_tree(tmp, place->path + strlen("/tmp/"), view_of(place->path), &count, &err),
	        err);
}

static void put(const struct place *place, const char *dir, const char *file, const char *text)
{
	AUTO_FREE char *path = mem_format("%s/%s", dir, file);
	int fd;

	(void)mkdirat(place->fd, dir, 0755);
	fd = openat(place->fd, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	(void)close(fd);
}

static void finds_skills_by_name(void **state)
{
	AUTO(skills) struct skills *skills = NULL;
	struct place place;
	struct error err;

	(void)state;
	begin(&place);
	put(&place, "zeta", "SKILL.md", "No front matter.");
	put(&place, "alpha", "Skill.md", "---\nname: Alpha!\ndescription: The first.\n---\n");
	put(&place, "empty", "README.md", "");
	put(&place, ".hidden", "SKILL.md", "");
	put(&place, "bad name", "SKILL.md", "");
	assert_int_equal(symlinkat("zeta", place.fd, "link"), 0);
	(void)mkdirat(place.fd, "linked", 0755);
	assert_int_equal(symlinkat("/etc/passwd", place.fd, "linked/SKILL.md"), 0);
	CHECK_OK(skills_load(place.path, &skills, &err), err);
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
	end(&place);
}

static void takes_so_many_and_no_more(void **state)
{
	AUTO(skills) struct skills *skills = NULL;
	struct place place;
	struct error err;

	(void)state;
	begin(&place);
	for (int i = 0; i < SKILLS_MAX + 3; i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "s%03d", i);
		put(&place, name, "SKILL.md", "x");
	}
	CHECK_OK(skills_load(place.path, &skills, &err), err);
	assert_int_equal(skills_count(skills), SKILLS_MAX);
	end(&place);
}

static void a_missing_directory_is_an_error(void **state)
{
	struct skills *skills;
	struct error err;

	(void)state;
	CHECK_ERROR(skills_load("/nonexistent/skills", &skills, &err), err, ERR_SYSTEM,
	            "/nonexistent/skills: No such file or directory");
	assert_null(skills_free(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(reads_name_and_description),
		TEST(long_values_are_cut),
		TEST(finds_skills_by_name),
		TEST(takes_so_many_and_no_more),
		TEST(a_missing_directory_is_an_error),
	};

	return RUN_TESTS("tools/skills", tests);
}
