/* What a Python file offers, and how it is shown. */
#include "base/buf.h"
#include "base/mem.h"
#include "tools/python_doc.h"
#include "tools/python_show.h"
#include "unit/test.h"
#include "json/json.h"

/* Everything in one text: "name|signature|decorators|doc" a line. */
static void summarise(const char *source, struct buf *out)
{
	AUTO(python_doc) struct python_doc *doc = python_doc_read(view_of(source));
	struct error err;

	CHECK_OK(buf_printf(out, &err, "%s\n", doc->doc), err);
	for (size_t i = 0; i < doc->count; i++) {
		const struct python_item *item = &doc->items[i];

		CHECK_OK(buf_printf(out, &err, "%s|%s|%s|%s\n", item->name, item->signature,
		                    item->decorators, item->doc),
		         err);
	}
}

static void reads_definitions(void **state)
{
	static const struct {
		const char *source, *want;
	} rows[] = {
		{ "", "\n" },
		{ "\"\"\"Doc.\"\"\"\n", "Doc.\n" },
		{ "\xef\xbb\xbf# c\n\n'Doc'\nx = 1\n'not'\n", "Doc\n" },
		{ "x = 1\n'no doc'\n", "\n" },
		{ "def f(a, b=1): pass\n", "\nf|f(a, b=1)||\n" },
		{ "def f(a, b=1) -> dict[str, int]:\n    '''Doc.'''\n",
		  "\nf|f(a, b=1) -> dict[str, int]||Doc.\n" },
		{ "async  def f ( ) :\n\t'D'\n", "\nf|async f ()||D\n" },
		{ "def f(\n    a,  # first\n    b=(1,),\n):\n    'D'\n", "\nf|f(a, b=(1,))||D\n" },
		{ "def f(a=lambda x: x, b={1: 2}): 'D'\n", "\nf|f(a=lambda x: x, b={1: 2})||D\n" },
		{ "def f(a=\"):\", b='#'):\n  u'D'\n", "\nf|f(a=\"):\", b='#')||D\n" },
		{ "def f(a): # c\n  # more\n\n  r'\\d'\n", "\nf|f(a)||\\d\n" },
		{ "def f(a): return 1\n", "\nf|f(a)||\n" },
		{ "def f(a):\n  b'no'\ndef g():\n  f'no'\n", "\nf|f(a)||\ng|g()||\n" },
		{ "def f(a):\n  'a' \"b\"\n", "\nf|f(a)||ab\n" },
		{ "def f(a):\n  'a' + x\n", "\nf|f(a)||\n" },
		{ "def f(a):\n'no: not indented'\n", "\nf|f(a)||\n" },
		{ "def f[T](a: T) -> T: ...\n", "\nf|f[T](a: T) -> T||\n" },
		{ "def f(a):\r\n    '''One.\r\n\r\n    Two.\r\n    '''\r\n",
		  "\nf|f(a)||One.\n\nTwo.\n" },
		{ "def f(a): \\\n  pass\nx = \"\"\"\ndef no(): pass\n\"\"\"\ndef g(): pass\n",
		  "\nf|f(a)||\ng|g()||\n" },
		{ "class A(B, metaclass=C):\n  'A doc'\n  x = 1\n  def m(self): 'M'\n  class I:\n"
		  "    def n(self): ...\n  def o(self):\n    def hidden(): 'no'\n    class No: "
		  "...\n"
		  "def g(): ...\n",
		  "\nA|A(B, metaclass=C)||A "
		  "doc\nA.m|m(self)||M\nA.I|I||\nA.I.n|n(self)||\nA.o|o(self)||\n"
		  "g|g()||\n" },
		{ "if x:\n    def f(): 'F'\nelse:\n    def f(): 'E'\ntry:\n  class C: pass\nexcept "
		  "E:\n  "
		  "pass\n",
		  "\nf|f()||F\nf|f()||E\nC|C||\n" },
		{ "@a\n@b(1,\n   2)\ndef f(): 'F'\n@x\ny = 1\ndef g(): ...\n",
		  "\nf|f()|@a @b(1, 2)|F\ng|g()||\n" },
		{ "def f(): 'ends in \\", "\nf|f()||ends in \\\n" },
		{ "defx(1)\nclassy = 2\nasync with x: pass\n", "\n" },
		{ "def f(a='unclosed\n  'D'\ndef g(): 'G'\n",
		  "\nf|f(a='unclosed 'D' def g(): 'G'||\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO_BUF struct buf out;

		buf_init(&out, 10000);
		summarise(rows[i].source, &out);
		if (strcmp(buf_text(&out), rows[i].want) != 0)
			fail_msg("row %zu: got\n%s\nwant\n%s", i, buf_text(&out), rows[i].want);
	}
}

static void cleans_docstrings_as_python_does(void **state)
{
	static const struct {
		const char *literal, *want;
	} rows[] = {
		{ "'''\n    One.\n\n      Two.\n    '''", "One.\n\n  Two." },
		{ "'''One.\n\t\tTwo.\n                Three.\n'''", "One.\nTwo.\nThree." },
		{ "'''   One.  \n  Two  '''", "One.\nTwo" },
		{ "'a\\n  b\\tc\\x41\\u00e9\\U0001F600\\101\\'\\\\'",
		  "a\nb\tcA\xc3\xa9\xf0\x9f\x98\x80"
		  "A'\\" },
		{ "'a\\\nb\\q\\xZZ\\N{BULLET}'", "ab\\q\\xZZ\\N{BULLET}" },
		{ "'\\ud800'", "\xef\xbf\xbd" },
		{ "''", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO(python_doc) struct python_doc *doc = python_doc_read(view_of(rows[i].literal));

		assert_string_equal(doc->doc, rows[i].want);
	}
}

static void what_is_too_much_is_cut(void **state)
{
	AUTO_BUF struct buf source;
	struct error err;

	(void)state;
	buf_init(&source, 1 << 20);
	for (int i = 0; i < PYTHON_ITEMS_MAX + 5; i++)
		CHECK_OK(buf_printf(&source, &err, "def f%d(): pass\n", i), err);
	AUTO(python_doc) struct python_doc *many = python_doc_read(buf_view(&source));
	assert_int_equal(many->count, PYTHON_ITEMS_MAX);
	assert_true(many->is_cut);
	buf_clear(&source);
	CHECK_OK(buf_printf(&source, &err, "def f(%*s): '%*s'\n", PYTHON_SIGNATURE_MAX, "x",
	                    PYTHON_DOC_MAX * 2, "y"),
	         err);
	for (size_t i = 0; i < source.len; i++)
		if (source.ptr[i] == ' ' && i > 10 && source.ptr[i - 1] != ':')
			source.ptr[i] = 'a';
	AUTO(python_doc) struct python_doc *large = python_doc_read(buf_view(&source));
	assert_int_equal(large->count, 1);
	assert_true(strlen(large->items[0].signature) <= PYTHON_SIGNATURE_MAX);
	assert_int_equal(strlen(large->items[0].doc), PYTHON_DOC_MAX);
	/* Deeper than anybody looks. */
	buf_clear(&source);
	for (int i = 0; i < 100; i++)
		CHECK_OK(buf_printf(&source, &err, "%*sclass C:\n", i, ""), err);
	AUTO(python_doc) struct python_doc *deep = python_doc_read(buf_view(&source));
	assert_true(deep->count > 10);
}

static const char module[] =
        "def area(w):\n  '''Area.\n\n  Long.'''\n"
        "def _private(): ...\n"
        "class Shape:\n  'A shape.'\n  def __init__(self): ...\n"
        "  def _p(self): ...\n  @property\n  def size(self): 'Its size.\\nMore.'\n"
        "class _P:\n  def m(self): ...\n";

static void shows_what_others_may_use(void **state)
{
	AUTO(python_doc) struct python_doc *doc = python_doc_read(view_of(module));
	AUTO_JSON json_t *list = json_list();
	AUTO_BUF struct buf text;
	size_t count;

	(void)state;
	buf_init(&text, 1000);
	assert_int_equal(python_show(doc, NULL, &text, list, &count), 0);
	assert_int_equal(count, 4);
	assert_string_equal(buf_text(&text), "area(w)\n    Area.\nclass Shape\n    A shape.\n"
	                                     "    __init__(self)\n    @property\n    size(self)\n"
	                                     "        Its size.\n");
	assert_int_equal(json_array_size(list), 4);
	assert_string_equal(json_text(json_array_get(list, 3), "decorators"), "@property");
}

static void shows_one_thing_whole(void **state)
{
	AUTO(python_doc) struct python_doc *doc = python_doc_read(view_of(module));
	AUTO_JSON json_t *list = json_list();
	AUTO_BUF struct buf text;
	size_t count;

	(void)state;
	buf_init(&text, 1000);
	assert_int_equal(python_show(doc, "area", &text, list, &count), 0);
	assert_string_equal(buf_text(&text), "area(w)\n    Area.\n\n    Long.\n");
	buf_clear(&text);
	assert_int_equal(python_show(doc, "Shape.size", &text, list, &count), 0);
	assert_string_equal(buf_text(&text),
	                    "    @property\n    size(self)\n        Its size.\n        More.\n");
	buf_clear(&text);
	assert_int_equal(python_show(doc, "_private", &text, list, &count), 0);
	assert_int_equal(count, 1);
	assert_int_equal(python_show(doc, "Sha", &text, list, &count), 0);
	assert_int_equal(count, 0);
}

static void leaves_out_what_does_not_fit_and_says_so(void **state)
{
	AUTO(python_doc) struct python_doc *doc = python_doc_read(view_of(module));
	AUTO_JSON json_t *list = json_list();
	AUTO_BUF struct buf text;
	size_t count;

	(void)state;
	/* The class does not fit; its method would, but nothing is shown behind a gap. */
	buf_init(&text, 38);
	assert_int_equal(python_show(doc, NULL, &text, list, &count), 3);
	assert_int_equal(count, 4);
	assert_int_equal(json_array_size(list), 1);
	assert_string_equal(buf_text(&text), "area(w)\n    Area.\n");
}

static void checks_names(void **state)
{
	(void)state;
	assert_true(python_is_name("a", false));
	assert_true(python_is_name("a_1.B2", true));
	assert_false(python_is_name("a.b", false));
	assert_false(python_is_name("", true));
	assert_false(python_is_name("a..b", true));
	assert_false(python_is_name(".a", true));
	assert_false(python_is_name("a.", true));
	assert_false(python_is_name("1a", true));
	assert_false(python_is_name("../etc", true));
	assert_false(python_is_name("a/b", true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(reads_definitions),
		TEST(cleans_docstrings_as_python_does),
		TEST(what_is_too_much_is_cut),
		TEST(shows_what_others_may_use),
		TEST(shows_one_thing_whole),
		TEST(leaves_out_what_does_not_fit_and_says_so),
		TEST(checks_names),
	};

	return RUN_TESTS("tools/python_doc", tests);
}
