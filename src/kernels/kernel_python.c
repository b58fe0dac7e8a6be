#include "kernels/kernels.h"

/* From python_image.S. */
extern const char kernel_python_loader[], kernel_python_boot[], kernel_python_end[];
extern const char python_modules_text[], python_modules_end[];

const struct kernel_program kernel_python = {
	.language = "python",
	.options = (const char *const[]){ "-c", kernel_python_loader, NULL },
	.text = kernel_python_boot,
	.text_end = kernel_python_end,
	.session_prefix = "session = True",
	.startup_env = (const char *const[]){ "PYTHON", "LC_", "LANG", "LD_", "GLIBC_", "MALLOC_",
	                                      NULL },
	.is_reusable = true,
};

struct view python_modules_source(void)
{
	/* cppcheck-suppress comparePointers ; both symbols are labels in one section */
	size_t len = (size_t)(python_modules_end - python_modules_text);

	return (struct view){ python_modules_text, len };
}
