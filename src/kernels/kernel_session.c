/* kernel_session.c - the kernels that run cells only. Their texts are in session_image.S. */
#include "kernels/kernels.h"

extern const char kernel_bash_loader_text[], kernel_bash_text[], kernel_bash_end[];

const struct kernel_program kernel_bash = {
	.language = "bash",
	.options = (const char *const[]){ "-c", kernel_bash_loader_text, "bash", NULL },
	.text = kernel_bash_text,
	.text_end = kernel_bash_end,
	.session_prefix = "",
	.runs_cells_only = true,
};
