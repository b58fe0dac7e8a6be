#include "kernels/kernels.h"

/* python_image.S */
extern const char kernel_python_loader[], kernel_python_text[], kernel_python_end[];

static const char *const options[] = { "-c", kernel_python_loader, NULL };
static const char *const startup_env[] = {
	"PYTHON", "LC_", "LANG", "LD_", "GLIBC_", "MALLOC_", NULL
};

const struct kernel_program kernel_python = {
	.language = "python",
	.options = options,
	.text = kernel_python_text,
	.text_end = kernel_python_end,
	.session_prefix = "session = True\n",
	.startup_env = startup_env,
	.is_reusable = true,
};
