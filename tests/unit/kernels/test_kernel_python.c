#include "base/buf.h"
#include "kernels/kernels.h"
#include "unit/test.h"

static void add_file(struct buf *out, const char *path)
{
	FILE *file = fopen(path, "re");
	char part[4096];
	struct error err;
	size_t n;

	assert_non_null(file);
	while ((n = fread(part, 1, sizeof(part), file)) > 0)
		CHECK_OK(buf_add(out, (struct view){ part, n }, &err), err);
	(void)fclose(file);
}

static const struct {
	const char *name, *paths[2];
} parts[] = {
	{ "FRESH", { "src/kernels/python_fresh.py" } },
	{ "RUN", { "src/kernels/python_run.py" } },
	{ "ONCE", { "src/kernels/python_once.py" } },
	{ "SESSION", { "src/kernels/python_session.py" } },
	{ "RICH",
	  { "src/kernels/notebook/python_pictures.py", "src/kernels/notebook/python_rich.py" } },
	{ "SYNTAX", { "src/kernels/notebook/python_syntax.py" } },
	{ "MAGICS",
	  { "src/kernels/notebook/python_commands.py", "src/kernels/notebook/python_magics.py" } },
	{ "NAMES", { "src/kernels/notebook/python_names.py" } },
	{ "SCRIPTS", { "src/kernels/notebook/python_scripts.py" } },
	{ "EXTENSIONS", { "src/kernels/notebook/python_extensions.py" } },
	{ "NOTEBOOK", { "src/kernels/notebook/python_notebook.py" } },
	{ "FIGURES", { "src/kernels/notebook/python_figures.py" } },
	{ "LOOP", { "src/kernels/notebook/python_loop.py" } },
	{ "LATE", { "src/kernels/notebook/python_late.py" } },
	{ "THREADS", { "src/kernels/notebook/python_threads.py" } },
};

static struct view kernel_text(void)
{
	const struct kernel_program *program = &kernel_python;

	return (struct view){ program->source, (size_t)(program->source_end - program->source) };
}

/* BOOT has the end of the first line and the compiled code; both stand in front of the text. */
static void boot_begins_with_the_end_of_a_line(void **state)
{
	const struct kernel_program *const all[] = { &kernel_python, &kernel_python_once };

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		struct view boot = kernel_source(all[i]);
		bool is_last = i + 1 == ARRAY_LEN(all);

		assert_true(boot.len >= 5);
		assert_int_equal(boot.ptr[0], '\n');
		assert_ptr_equal(boot.ptr + boot.len,
		                 is_last ? all[i]->source : kernel_source(all[i + 1]).ptr);
	}
	assert_ptr_equal(kernel_python.once, &kernel_python_once);
	assert_ptr_equal(kernel_python_once.waiting, &kernel_python);
}

static void kernel_text_is_its_sources(void **state)
{
	const struct view got = kernel_text();
	AUTO_BUF struct buf want;
	struct error err;

	buf_init(&want, 1 << 20);
	add_file(&want, "src/kernels/python.py");
	add_file(&want, "src/kernels/notebook/python_displays.py");
	CHECK_OK(buf_add(&want, VIEW("\n"), &err), err);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		CHECK_OK(buf_printf(&want, &err, "%s = r'''", parts[i].name), err);
		for (size_t j = 0; j < ARRAY_LEN(parts[i].paths) && parts[i].paths[j] != NULL; j++)
			add_file(&want, parts[i].paths[j]);
		CHECK_OK(buf_add(&want, VIEW("'''\n"), &err), err);
	}
	assert_int_equal(got.len, want.len);
	assert_memory_equal(got.ptr, want.ptr, want.len);
}

static void kernel_options_are_the_loader(void **state)
{
	AUTO_BUF struct buf want;

	buf_init(&want, 4096);
	add_file(&want, "src/kernels/python_loader.py");
	assert_string_equal(kernel_python.options[0], "-c");
	assert_string_equal(kernel_python.options[1], buf_text(&want));
	assert_null(kernel_python.options[2]);
}

/* Three quotes within a part would end the string that the part is embedded as. */
static void parts_contain_no_triple_quotes(void **state)
{
	const struct view text = kernel_text();
	size_t count = 0;

	for (size_t i = 0; i + 3 <= text.len; i++)
		count += memcmp(text.ptr + i, "'''", 3) == 0;
	assert_int_equal(count, 2 * ARRAY_LEN(parts));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(boot_begins_with_the_end_of_a_line),
		TEST(kernel_text_is_its_sources),
		TEST(kernel_options_are_the_loader),
		TEST(parts_contain_no_triple_quotes),
	};

	return RUN_TESTS("kernel_python", tests);
}
