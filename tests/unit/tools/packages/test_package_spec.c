#include "base/buf.h"
#include "tools/packages/package_spec.h"
#include "unit/test.h"

typedef int read_fn(struct view text, struct buf *out, struct error *err);

struct spec_case {
	read_fn *read;
	const char *text;
	const char *want; /* NULL: refused */
};

static void specifiers_are_written_anew(void **state)
{
	static const struct spec_case cases[] = {
		{ package_spec_python, "numpy", "numpy" },
		{ package_spec_python, " requests >= 2.28 , < 3 ", "requests>=2.28,<3" },
		{ package_spec_python, "pandas[excel, aws]==2.2.*", "pandas[excel,aws]==2.2.*" },
		{ package_spec_python, "zope.interface~=6.0", "zope.interface~=6.0" },
		{ package_spec_python, "a!=1.0+local.1", "a!=1.0+local.1" },
		{ package_spec_python, "a===1!2.0-rc1", "a===1!2.0-rc1" },
		{ package_spec_python, "-r requirements.txt", NULL },
		{ package_spec_python, "--index-url=http://evil", NULL },
		{ package_spec_python, "pkg @ https://evil.example/x.whl", NULL },
		{ package_spec_python, "https://evil.example/x.whl", NULL },
		{ package_spec_python, "git+https://evil.example/x", NULL },
		{ package_spec_python, "./local", NULL },
		{ package_spec_python, "/etc", NULL },
		{ package_spec_python, "a/b", NULL },
		{ package_spec_python, "a;rm -rf /", NULL },
		{ package_spec_python, "a$(id)", NULL },
		{ package_spec_python, "a b", NULL },
		{ package_spec_python, "a==", NULL },
		{ package_spec_python, "a=1", NULL },
		{ package_spec_python, "a==1,", "a==1" },
		{ package_spec_python, "a[", NULL },
		{ package_spec_python, "a[]", NULL },
		{ package_spec_python, "a[b", NULL },
		{ package_spec_python, "-a", NULL },
		{ package_spec_python, "a-", NULL },
		{ package_spec_python, "", NULL },
		{ package_spec_python, "\xc3\xa4", NULL },
		{ package_name_python, "numpy", "numpy" },
		{ package_name_python, "numpy==1", NULL },
		{ package_spec_npm, "lodash", "lodash" },
		{ package_spec_npm, "lodash@4", "lodash@4" },
		{ package_spec_npm, "@types/node@^20.1.0", "@types/node@^20.1.0" },
		{ package_spec_npm, "x@>=1 <2 || 3.x", "x@>=1 <2 || 3.x" },
		{ package_spec_npm, "x@latest", "x@latest" },
		{ package_spec_npm, "x@npm:y", NULL },
		{ package_spec_npm, "x@file:../y", NULL },
		{ package_spec_npm, "x@https://evil.example/", NULL },
		{ package_spec_npm, "user/repo", NULL },
		{ package_spec_npm, "./x", NULL },
		{ package_spec_npm, "../x", NULL },
		{ package_spec_npm, "--global", NULL },
		{ package_spec_npm, "@scope", NULL },
		{ package_spec_npm, "@/x", NULL },
		{ package_spec_npm, "x@", NULL },
		{ package_spec_npm, "x@--flag", NULL },
		{ package_spec_npm, "x@1;id", NULL },
		{ package_name_npm, "@types/node", "@types/node" },
		{ package_name_npm, "x@1", NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_BUF struct buf out;
		struct error err = { .msg = "" };
		int r;

		buf_init(&out, 1000);
		r = cases[i].read(view_of(cases[i].text), &out, &err);
		if ((r == 0) != (cases[i].want != NULL))
			fail_msg("'%s': %s", cases[i].text, r == 0 ? buf_text(&out) : err.msg);
		if (r == 0)
			assert_string_equal(buf_text(&out), cases[i].want);
	}
}

static void refusal_says_what_to_give_instead(void **state)
{
	AUTO_BUF struct buf out;
	struct error err;

	buf_init(&out, 1000);
	CHECK_ERROR(package_spec_python(VIEW("-r x"), &out, &err), err, ERR_INVALID,
	            "'-r x': options of the installer cannot be given");
	CHECK_ERROR(package_spec_python(VIEW("x @ https://y"), &out, &err), err, ERR_INVALID,
	            "'x @ https://y': a URL cannot be installed: give a name and a "
	            "version");
	assert_int_equal(package_spec_python(VIEW("a\0b"), &out, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(specifiers_are_written_anew),
		TEST(refusal_says_what_to_give_instead),
	};

	return RUN_TESTS("tools/packages/package_spec", tests);
}
