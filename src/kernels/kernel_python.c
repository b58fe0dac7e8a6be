#include "kernels/kernels.h"

/* From python_image.S. */
extern const char kernel_python_loader[], kernel_python_boot[], kernel_python_once_boot[],
        kernel_python_text[], kernel_python_end[];
extern const char python_modules_text[], python_modules_end[];

static const char *const loader_options[] = { "-c", kernel_python_loader, NULL };
static const char *const startup_env[] = {
	"PYTHON", "LC_", "LANG", "LD_", "GLIBC_", "MALLOC_", NULL
};

#define PYTHON_PROGRAM                                                                             \
	.language = "python", .runners = " python3 python ", .options = loader_options,            \
	.source = kernel_python_text, .source_end = kernel_python_end, .startup_env = startup_env, \
	.limits_data = true, .saves_in_memory = true

const struct kernel_program kernel_python = {
	PYTHON_PROGRAM,
	.text = kernel_python_boot,
	.text_end = kernel_python_once_boot,
	.session_prefix = "session = True",
	.fresh_prefix = "",
	.is_reusable = true,
	.once = &kernel_python_once,
};

const struct kernel_program kernel_python_once = {
	PYTHON_PROGRAM,
	.text = kernel_python_once_boot,
	.text_end = kernel_python_text,
	.fresh_prefix = "once = True",
	.waiting = &kernel_python,
};

struct view python_modules_source(void)
{
	/* cppcheck-suppress comparePointers ; both symbols are labels in one section */
	size_t len = (size_t)(python_modules_end - python_modules_text);

	return (struct view){ python_modules_text, len };
}
