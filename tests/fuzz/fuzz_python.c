/* fuzz_python.c - whatever is in a .py file, reading it ends, and what comes out is bounded text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "tools/python_doc.h"
#include "tools/python_show.h"
#include "json/json.h"

static void check(const char *text, size_t max)
{
	if (text == NULL || strlen(text) > max)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(python_doc)
	struct python_doc *doc = python_doc_read((struct view){ (const char *)data, size });
	AUTO_JSON json_t *list = json_list();
	AUTO_BUF struct buf text;
	size_t count, left_out;

	check(doc->doc, PYTHON_DOC_MAX);
	if (doc->count > PYTHON_ITEMS_MAX)
		abort();
	for (size_t i = 0; i < doc->count; i++) {
		check(doc->items[i].name, 4000);
		check(doc->items[i].signature, PYTHON_SIGNATURE_MAX);
		check(doc->items[i].decorators, 400);
		check(doc->items[i].doc, PYTHON_DOC_MAX);
	}
	buf_init(&text, 10000);
	left_out = python_show(doc, NULL, &text, list, &count);
	if (json_array_size(list) + left_out != count)
		abort();
	return 0;
}
