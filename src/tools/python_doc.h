/* python_doc.h - what a Python file offers, read from its text: nothing in it is ever run.
 *
 * Functions, classes and their methods with signature, decorators and docstring, in the order they
 * stand there. What is defined within a function is left out; `if` and `try` around a definition do
 * not matter. The text is a stranger's: any bytes are taken, and what is no Python gives less. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/view.h"

enum python_kind { PYTHON_FUNCTION, PYTHON_CLASS };

enum {
	PYTHON_ITEMS_MAX = 1000,
	PYTHON_SIGNATURE_MAX = 2000, /* bytes; cut behind that */
	PYTHON_DOC_MAX = 16 * 1024,  /* bytes; cut behind that */
};

struct python_item {
	enum python_kind kind;
	char *name;       /* "area", "Shape", "Shape.area" */
	char *signature;  /* "area(width: int = 1) -> int", "async fetch(url)", "Shape(Base)" */
	char *decorators; /* "@property @cache", or "" */
	char *doc;        /* "" if it has none */
};

struct python_doc {
	char *doc; /* the module's */
	struct python_item *items;
	size_t count;
	bool is_cut; /* there was more than PYTHON_ITEMS_MAX */
};

struct python_doc *python_doc_read(struct view source);
struct python_doc *python_doc_free(struct python_doc *doc);
DEFINE_CLEANUP(python_doc)

/* A name as Python has them, ASCII only; `dotted`: several with dots between. */
bool python_is_name(const char *text, bool dotted);
