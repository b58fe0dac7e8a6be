#include "tools/catalogue.h"

const struct mcp_tool *const catalogue_tools[] = {
	&tool_run_code,       &tool_run_command,      &tool_process_output,
	&tool_process_input,  &tool_process_stop,     &tool_read_file,
	&tool_write_file,     &tool_edit_file,        &tool_list_directory,
	&tool_search_files,   &tool_move_path,        &tool_delete_path,
	&tool_copy_in,        &tool_copy_out,         &tool_create_sandbox,
	&tool_update_sandbox, &tool_list_sandboxes,   &tool_sandbox_info,
	&tool_reset_sandbox,  &tool_delete_sandbox,   &tool_request_network,
	&tool_expose_port,    &tool_install_packages, &tool_list_packages,
	&tool_tool_help,      &tool_server_info,      NULL,
};

const struct mcp_resource *const catalogue_resources[] = { &resource_server_info, NULL };
const struct mcp_template *const catalogue_templates[] = {
	&template_sandbox_file,
	&template_skill,
	&template_tool_manual,
	NULL,
};
const struct mcp_prompt *const catalogue_prompts[] = {
	&prompt_getting_started,
	&prompt_use_skill,
	NULL,
};

const char catalogue_instructions[] =
        "Belljar runs code and commands in isolated sandboxes on this machine. Nothing has to be "
        "prepared: run_code and run_command work as the first call, in a default sandbox that "
        "keeps its files under /workspace between calls. Name a 'session' in run_code to keep "
        "variables too. Sandboxes have no network unless the operator allows one; "
        "install_packages, where it is listed, needs none. A call that takes long answers with a "
        "process, which process_output reads later. Figures come back as pictures. copy_in and "
        "copy_out, where they are listed, move files between this machine and a sandbox. "
        "sandbox_info shows the limits and languages; each tool's manual is the resource "
        "belljar://tools/{name}.";
