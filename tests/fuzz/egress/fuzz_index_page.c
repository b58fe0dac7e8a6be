/* fuzz_index_page.c - any bytes are what an index answers about a project. The first byte says of
 * which kind. What is written for an installer has the same files, points to the mirror only, and
 * its names are names of files. */
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "egress/mirror/pages.h"
#include "fuzz/fuzz.h"

static size_t count_links(struct view page)
{
	struct pip_link link;
	size_t count = 0;

	while (pip_page_next(&page, &link)) {
		fuzz_check(page_is_file_name(view_of(link.file.name)));
		fuzz_check(link.file.url[0] != '\0' && strlen(link.file.url) <= PAGE_URL_MAX);
		fuzz_check(strchr(link.file.url, '\n') == NULL);
		count++;
	}
	return count;
}

static void check_pip(struct view page)
{
	struct pip_link link;
	struct error err;
	struct view rest;
	struct buf out;

	buf_init(&out, 16 << 20);
	fuzz_check(pip_page_write(page, "project", &out, &err) == 0);
	fuzz_check(count_links(page) == count_links(buf_view(&out)));
	rest = buf_view(&out);
	while (pip_page_next(&rest, &link))
		fuzz_check(strncmp(link.file.url, "/files/project/", 15) == 0);
	buf_done(&out);
}

static void check_npm(struct view text)
{
	static const char base[] = "http://npm.example/x/-/";
	AUTO_JSON json_t *document = NULL;
	struct error err = { .msg = "" };
	const char *key;
	json_t *version;

	if (npm_page_read(text, base, &document, &err) < 0) {
		fuzz_check(err.msg[0] != '\0');
		return;
	}
	json_object_foreach (json_object_get(document, "versions"), key, version) {
		const char *url = json_text(json_object_get(version, "dist"), "tarball");
		struct page_file file;

		fuzz_check(url != NULL && strncmp(url, base, strlen(base)) == 0);
		fuzz_check(page_is_file_name(view_of(url + strlen(base))));
		if (npm_page_find(text, url + strlen(base), &file, &err) == 0)
			fuzz_check(strcmp(file.name, url + strlen(base)) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view text = { (const char *)data + 1, size - 1 };

	if (size == 0)
		return 0;
	if (data[0] % 2 == 0)
		check_pip(text);
	else
		check_npm(text);
	return 0;
}
