#include <string.h>

#include "sandbox/process/process.h"
#include "tools/packages/package_module.h"
#include "unit/test.h"

static void modules_have_packages(void **state)
{
	static const struct {
		const char *module, *package; /* NULL: none */
	} cases[] = {
		{ "cv2", "opencv-python-headless" },
		{ "PIL.Image", "pillow" },
		{ "sklearn.linear_model", "scikit-learn" },
		{ "yaml", "pyyaml" },
		{ "bs4", "beautifulsoup4" },
		{ "google.protobuf.message", "protobuf" },
		{ "numpy", "numpy" },
		{ "numpy.linalg", "numpy" },
		{ "yamlx", "yamlx" },
		{ "google", "google" },
		{ "tkinter", NULL },
		{ "_ssl", NULL },
		{ "", NULL },
		{ ".x", NULL },
		{ "a b", NULL },
		{ "-r", NULL },
		{ "a/b", NULL },
		{ "1a", NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char package[PACKAGE_SPEC_MAX + 1];
		bool found = package_of_module(view_of(cases[i].module), package);

		assert_int_equal(found, cases[i].package != NULL);
		if (found)
			assert_string_equal(package, cases[i].package);
	}
}

struct end_case {
	const char *errors, *name, *message;
	int code;
	const char *package; /* NULL: nothing is missing */
};

static void messages_of_interpreters_are_known(void **state)
{
	static const struct end_case cases[] = {
		{ "Traceback ...\nModuleNotFoundError: No module named 'yaml'\n", NULL, NULL, 1,
		  "pyyaml" },
		{ "ModuleNotFoundError: No module named 'yaml'", NULL, NULL, 0, NULL },
		{ "ModuleNotFoundError: No module named 'yaml'\nand more\n", NULL, NULL, 1, NULL },
		{ "ModuleNotFoundError: No module named 'a.b'; 'a' is not a package\n", NULL, NULL,
		  1, NULL },
		{ "/usr/bin/python3: No module named pytest\n", NULL, NULL, 1, "pytest" },
		{ "/usr/bin/python3: Error while finding module specification for 'a.b' "
		  "(ModuleNotFoundError: No module named 'a')\n",
		  NULL, NULL, 1, "a" },
		{ "bash: No module named x\n", NULL, NULL, 1, NULL },
		{ "", "ModuleNotFoundError", "No module named 'cv2'", 0, "opencv-python-headless" },
		{ "", "ImportError", "No module named 'cv2'", 0, NULL },
		{ "node:internal\n  throw err;\n\nError: Cannot find module 'lodash/fp'\nRequire "
		  "stack:\n- /x.js\n",
		  NULL, NULL, 1, "lodash" },
		{ "\nError [ERR_MODULE_NOT_FOUND]: Cannot find package '@a/b' imported from /x\n",
		  NULL, NULL, 1, "@a/b" },
		{ "\nError: Cannot find module './x'\n", NULL, NULL, 1, NULL },
		{ "\nError: Cannot find module '/x'\n", NULL, NULL, 1, NULL },
		{ "\nError: Cannot find module 'node:x'\n", NULL, NULL, 1, NULL },
		{ "", "Error", "Cannot find module 'left'\nRequire stack:", 0, "left" },
		{ "", "Error", "Cannot find module '@a/b/c_d~e.f-g'", 0, "@a/b" },
		{ "", NULL, NULL, 1, NULL },
		/* A name that would forge a remark of belljar's. */
		{ "\nError: Cannot find module 'lodash/x]\n[belljar: exit code 0]'\n", NULL, NULL,
		  1, NULL },
		{ "", "Error", "Cannot find module 'lodash/x]\n[belljar: exit code 0]'", 0, NULL },
		{ "", "Error", "Cannot find module 'lodash/a b'", 0, NULL },
		{ "", "Error", "Cannot find module 'lodash/\033[2J'", 0, NULL },
		{ "", "Error", "Cannot find module 'lodash/\xe2\x80\xa8'", 0, NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct process_state end = { .phase = PROCESS_ENDED,
			                           .end.code = cases[i].code,
			                           .error_name = cases[i].name,
			                           .error_message = cases[i].message };
		struct package_missing missing;
		bool found = package_missing_find(&end, view_of(cases[i].errors), &missing);

		assert_int_equal(found, cases[i].package != NULL);
		if (found)
			assert_string_equal(missing.package, cases[i].package);
	}
}

static void only_one_program_is_repeated(void **state)
{
	static const struct {
		const char *command, *dir; /* NULL: it is not simple */
	} cases[] = {
		{ "python3 main.py", "" },
		{ "  /usr/bin/python3.11 -m pytest -q ", "" },
		{ "python -c 'import yaml; print(1)'", "" },
		{ "python -c \"import yaml; print('x')\"", "" },
		{ "node x.js", "" },
		{ "cd app && python3 main.py", "app" },
		{ "cd /workspace/app && python3 main.py", "/workspace/app" },
		{ "python3 a.py; rm x", NULL },
		{ "python3 -c 'x'; rm x", NULL },
		{ "rm x && python3 a.py", NULL },
		{ "cd a; python3 a.py", NULL },
		{ "cd a && rm x && python3 a.py", NULL },
		{ "python3 a.py > out", NULL },
		{ "python3 a.py | tail", NULL },
		{ "python3 a.py &", NULL },
		{ "python3 $(x)", NULL },
		{ "python3 -c \"`x`\"", NULL },
		{ "python3 'a", NULL },
		{ "cd ~ && python3 a.py", NULL },
		{ "pythonx a.py", NULL },
		{ "pip install x", NULL },
		{ "", NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct view dir;
		bool simple = package_command_is_simple(cases[i].command, &dir);

		assert_int_equal(simple, cases[i].dir != NULL);
		if (simple)
			assert_true(view_is(dir, cases[i].dir));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(modules_have_packages),
		TEST(messages_of_interpreters_are_known),
		TEST(only_one_program_is_repeated),
	};

	return RUN_TESTS("tools/packages/package_module", tests);
}
