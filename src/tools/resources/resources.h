/* resources.h - skills: directories with a SKILL.md that tells a model how to do something well.
 *
 * skills_load() reads once, when the server starts, which skills the host's directory has. Each
 * skill becomes an MCP prompt and an MCP resource. The text of a skill is read on request, inside a
 * sandbox, where the same directory is mounted.
 *
 * The other resources and prompts of this folder need no set-up and are declared in catalogue.h. */
#pragma once
#include <stddef.h>

#include "base/attr.h"
#include "base/cleanup.h"

struct error;
struct mcp_prompt;
struct mcp_resource;
struct skills;

enum { SKILLS_MAX = 64, SKILL_BYTES_MAX = 64 * 1024 };

/* Reads at most SKILLS_MAX skills, in the order of their names. Directories without a SKILL.md (or
 * Skill.md), symbolic links, and names with other characters than letters, digits and "._-" are
 * passed over. */
MUST_CHECK int skills_load(const char *directory, struct skills **ret, struct error *err);
struct skills *skills_free(struct skills *skills);
DEFINE_CLEANUP(skills)

/* Arrays that end in NULL, for struct mcp_config; they live as long as the skills. */
const struct mcp_prompt *const *skills_prompts(const struct skills *skills);
const struct mcp_resource *const *skills_resources(const struct skills *skills);
size_t skills_count(const struct skills *skills);

/* A skill in words; the texts live as long as the skills. */
struct skill_info {
	const char *id;                                          /* the name of its directory */
	const char *name, *description, *version, *dependencies; /* of its front matter */
	const char *file;                                        /* "SKILL.md" or "Skill.md" */
};
struct skill_info skills_info(const struct skills *skills, size_t i);
/* The text of a skill's file behind its front matter. */
struct view skills_body(struct view text);
