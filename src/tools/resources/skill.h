/* skill.h - one skill, and its text on request: what skills.c and the handlers share. */
#pragma once
#include "mcp/server.h"

struct front_matter;
struct skills;

struct skill {
	char name[65];    /* of its directory */
	const char *file; /* in it */
	char *uri, *title, *help, *prompt_name;
	struct mcp_prompt prompt;
	struct mcp_resource resource;
};

void skill_init(struct skill *skill, const char *name, const char *file,
                const struct front_matter *front);
void skill_done(struct skill *skill);

const struct skill *skills_at(const struct skills *skills, size_t i);
