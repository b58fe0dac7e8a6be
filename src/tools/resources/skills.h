/* skills.h - skills: directories with a SKILL.md that tells a model how to do something.
 *
 * Which there are is read once, at start, from the host's directory; each becomes a prompt and a
 * resource. The texts themselves are read when somebody wants them, inside a sandbox, where the
 * same directory is mounted. */
#pragma once
#include <stddef.h>

#include "base/attr.h"
#include "base/cleanup.h"

struct error;
struct mcp_prompt;
struct mcp_resource;
struct skills;

enum { SKILLS_MAX = 64, SKILL_BYTES_MAX = 64 * 1024 };

/* By name; what has no SKILL.md (or Skill.md), a link or a name with other characters than letters,
 * digits and "._-" is passed over. At most SKILLS_MAX are taken. */
MUST_CHECK int skills_load(const char *directory, struct skills **ret, struct error *err);
struct skills *skills_free(struct skills *skills);
DEFINE_CLEANUP(skills)

/* Arrays that end in NULL, for mcp_config; they live as long as the skills. */
const struct mcp_prompt *const *skills_prompts(const struct skills *skills);
const struct mcp_resource *const *skills_resources(const struct skills *skills);
size_t skills_count(const struct skills *skills);
