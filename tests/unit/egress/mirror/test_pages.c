#include <string.h>

#include "base/buf.h"
#include "egress/mirror/pages.h"
#include "unit/test.h"

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void links_of_a_page_are_written_anew(void **state)
{
	static const char page[] =
	        "<html><!-- <a href=\"hidden-1.whl\">no</a> --><A class=x HREF='../../p/alpha-1.0%2Bl-"
	        "py3-none-any.whl?a=1&amp;b=2#sha256=" HEX "' data-requires-python=\"&gt;=3.8\" "
	        "data-core-metadata=\"sha256=" HEX "\" data-yanked>alpha</a>"
	        "<a href=beta-1.0.tar.gz#md5=00>b</a> <a href=\"x/..%2f..%2fetc\">bad</a>"
	        "<a href=\"https://other.example/gamma-1.zip\" data-requires-python='\"<x>'>g</a>"
	        "<a name=x><a";
	static const char want[] =
	        "<a href=\"/files/alpha/alpha-1.0+l-py3-none-any.whl#sha256=" HEX
	        "\" data-requires-python=\"&gt;=3.8\" data-yanked=\"\" data-core-metadata=\"sha256=" HEX
	        "\" data-dist-info-metadata=\"sha256=" HEX "\">alpha-1.0+l-py3-none-any.whl</a>\n"
	        "<a href=\"/files/alpha/beta-1.0.tar.gz#md5=00\">beta-1.0.tar.gz</a>\n"
	        "<a href=\"/files/alpha/gamma-1.zip\" "
	        "data-requires-python=\"&quot;&lt;x&gt;\">gamma-1.zip</a>\n"
	        "</body></html>\n";
	struct page_file file;
	struct error err;
	struct buf out;

	buf_init(&out, 65536);
	assert_int_equal(pip_page_write(view_of(page), "alpha", &out, &err), 0);
	assert_true(view_ends(buf_view(&out), want));
	assert_true(pip_page_find(view_of(page), "alpha-1.0+l-py3-none-any.whl", &file));
	assert_string_equal(file.url, "../../p/alpha-1.0%2Bl-py3-none-any.whl?a=1&b=2");
	assert_int_equal(file.digest.kind, DIGEST_SHA256);
	assert_string_equal(file.digest.hex, HEX);
	assert_int_equal(file.metadata.kind, DIGEST_SHA256);
	assert_true(pip_page_find(view_of(page), "beta-1.0.tar.gz", &file));
	assert_int_equal(file.digest.kind, DIGEST_NONE);
	assert_false(pip_page_find(view_of(page), "hidden-1.whl", &file));
	assert_false(pip_page_find(view_of(page), "etc", &file));
	buf_done(&out);
}

static void document_of_npm_points_to_the_mirror(void **state)
{
	static const char text[] =
	        "{\"name\":\"x\",\"versions\":{\"1.0.0\":{\"dist\":{\"tarball\":\"https://r.example/x/-/"
	        "x-1.0.0.tgz\",\"integrity\":\"sha1-AAAA sha512-"
	        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=="
	        "\"}},\"2.0.0\":{\"dist\":{\"tarball\":\"https://r.example/\"}},\"3\":{}}}";
	AUTO_JSON json_t *document = NULL;
	struct page_file file;
	struct error err;
	json_t *versions;

	assert_int_equal(npm_page_read(view_of(text), "http://m/x/-/", &document, &err), 0);
	versions = json_object_get(document, "versions");
	assert_int_equal(json_object_size(versions), 1);
	assert_string_equal(
	        json_text(json_object_get(json_object_get(versions, "1.0.0"), "dist"), "tarball"),
	        "http://m/x/-/x-1.0.0.tgz");
	assert_int_equal(npm_page_find(view_of(text), "x-1.0.0.tgz", &file, &err), 0);
	assert_int_equal(file.digest.kind, DIGEST_SHA512);
	assert_int_equal(strspn(file.digest.hex, "0"), 128);
	assert_string_equal(file.url, "https://r.example/x/-/x-1.0.0.tgz");
	assert_int_equal(npm_page_find(view_of(text), "x-2.0.0.tgz", &file, &err), -1);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	assert_int_equal(npm_page_find(view_of("{}"), "x", &file, &err), -1);
	assert_int_equal(npm_page_find(view_of("no"), "x", &file, &err), -1);
}

static void names_are_checked(void **state)
{
	assert_true(pip_project_is(view_of("zope-interface2")));
	for (const char *const *at =
	             (const char *const[]){ "", "-a", "a-", "A", "a.b", "a/b", "..", "a%2f", NULL };
	     *at != NULL; at++)
		assert_false(pip_project_is(view_of(*at)));
	assert_true(npm_package_is(view_of("lodash.x_1")));
	assert_true(npm_package_is(view_of("@types/node")));
	for (const char *const *at =
	             (const char *const[]){ "", ".", "..", "@x", "@/x", "@x/", "a/b", "@a/b/c",
	                                    "a%2f", "@a/..", "/", NULL };
	     *at != NULL; at++)
		assert_false(npm_package_is(view_of(*at)));
	assert_true(page_is_file_name(view_of("a-1.0+x.tar.gz")));
	for (const char *const *at =
	             (const char *const[]){ "", ".a", "a/b", "a b", "a~b", "a\"b", "-a", NULL };
	     *at != NULL; at++)
		assert_false(page_is_file_name(view_of(*at)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(links_of_a_page_are_written_anew),
		TEST(document_of_npm_points_to_the_mirror),
		TEST(names_are_checked),
	};

	return RUN_TESTS("egress/mirror/pages", tests);
}
