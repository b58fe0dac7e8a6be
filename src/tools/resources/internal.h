/* internal.h - what the files of this folder share: skills, their front matter, manuals of
 * tools. */
#pragma once
#include <stddef.h>

#include "base/attr.h"
#include "base/view.h"
#include "mcp/mcp_server.h"

struct buf;
struct error;
struct skills;

/* --- front matter ------------------------------------------------------------------------ */

/* The front matter of a SKILL.md: the YAML between its two lines of "---". */
struct front_matter {
	char name[65];          /* one printable line, or "" */
	char description[1025]; /* one printable line, or ""; a longer one ends in "..." */
	char version[33], dependencies[257]; /* as `description` */
	size_t body;                         /* offset of the text behind the front matter */
};

/* Understands the YAML that skills use: `key: value` with plain or quoted text, and blocks of lines
 * behind `>` or `|`. Everything else is passed over, so any text is accepted. */
void front_matter_read(struct view text, struct front_matter *ret);

/* --- skills ------------------------------------------------------------------------------ */

struct skill {
	char name[65];    /* of its directory */
	const char *file; /* "SKILL.md" or "Skill.md" */
	char *uri, *title, *help, *prompt_name, *version, *dependencies;
	struct mcp_prompt prompt;
	struct mcp_resource resource;
};

void skill_init(struct skill *skill, const char *name, const char *file,
                const struct front_matter *front);
void skill_done(struct skill *skill);

const struct skill *skills_at(const struct skills *skills, size_t i);

/* --- manuals ----------------------------------------------------------------------------- */

struct tool_example {
	const char *tool, *what;
	const char *arguments; /* JSON; a unit test decodes it with the tool's table */
};

/* The examples of one tool stand together. A NULL tool ends the array. */
extern const struct tool_example tool_examples[];

/* Writes the manual of a tool as Markdown: description, arguments, answer, examples. `app` is that
 * of mcp_call_app(), or NULL: without the limits of this server. */
MUST_CHECK int manual_write(const struct mcp_tool *tool, const void *app, struct buf *buf,
                            struct error *err);
