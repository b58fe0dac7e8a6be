#include "server/profile_mounts.h"

#include <stdio.h>
#include <string.h>

#include "server/options/options.h"
#include "tools/profiles/profiles.h"

static struct mcp_server *make_mcp(struct profile_mount *mount, struct loop *loop,
                                   const struct options *options, const struct profile *profile)
{
	struct mcp_config config;

	mcp_setup_init(&mount->setup, profile, mount->tools.skills);
	config = mcp_setup_config(&mount->setup, options,
	                          profile->instructions != NULL ? profile->instructions
	                                                        : catalogue_instructions);
	config.app = &mount->tools;
	return mcp_server_new(loop, &config);
}

void profile_mounts_init(struct profile_mounts *mounts, struct loop *loop,
                         const struct options *options, const struct profile *chosen,
                         struct mcp_server *mcp, const struct tools_context *tools)
{
	mounts->count = 0;
	mounts->mounts[0] = (struct mcp_http_mount){ .prefix = "", .server = mcp };
	mounts->side = (struct side_paths){ .tools = tools,
		                            .max_artifact = options->artifact_mib << 20 };
	for (size_t i = 0; i < PROFILE_MOUNTS_MAX && profiles[i] != NULL; i++) {
		struct profile_mount *mount = &mounts->at[i];
		struct mcp_http_mount *path = &mounts->mounts[++mounts->count];

		(void)snprintf(mount->prefix, sizeof mount->prefix, "/p/%s", profiles[i]->name);
		if (profiles[i] != chosen) {
			mount->tools = *tools;
			profile_apply(profiles[i], &mount->tools);
			mount->mcp = make_mcp(mount, loop, options, profiles[i]);
		}
		*path = (struct mcp_http_mount){ .prefix = mount->prefix,
			                         .server = mount->mcp != NULL ? mount->mcp : mcp };
		if (!profiles[i]->has_side_paths)
			continue;
		path->serve = side_paths_serve;
		path->ctx = &mounts->side;
		if (profiles[i] == chosen) {
			mounts->mounts[0].serve = side_paths_serve;
			mounts->mounts[0].ctx = &mounts->side;
		} else {
			mounts->side.tools = &mount->tools;
		}
	}
}

void profile_mounts_set_unavailable(struct profile_mounts *mounts,
                                    const struct tools_context *tools)
{
	for (size_t i = 0; i < mounts->count; i++) {
		mounts->at[i].tools.manager = tools->manager;
		mounts->at[i].tools.why_not = tools->why_not;
	}
}

void profile_mounts_cancel_tasks(struct profile_mounts *mounts)
{
	/* The chosen profile has no server of its own here. */
	for (size_t i = 0; i < mounts->count; i++)
		if (mounts->at[i].mcp != NULL)
			mcp_server_cancel_tasks(mounts->at[i].mcp);
}

void profile_mounts_done(struct profile_mounts *mounts)
{
	for (size_t i = 0; i < mounts->count; i++) {
		(void)mcp_server_free(mounts->at[i].mcp);
		mcp_setup_done(&mounts->at[i].setup);
	}
	*mounts = (struct profile_mounts){ 0 };
}
