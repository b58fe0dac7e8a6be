/* pages.h - what indexes answer about a project: the links of a page for pip (PEP 503), and the
 * document of a package of npm. Hostile input: an index serves what anyone has uploaded.
 *
 * Both are written anew for installers, with links to the mirror, and only with what is checked
 * here. */
#pragma once
#include <stdbool.h>

#include "base/attr.h"
#include "base/view.h"
#include "egress/mirror/digest.h"
#include "json/json.h"

struct buf;
struct error;

enum { PAGE_FILE_MAX = 160, PAGE_URL_MAX = 2000, PAGE_NAME_MAX = 214 };

/* A file of a project. */
struct page_file {
	char name[PAGE_FILE_MAX + 1];
	char url[PAGE_URL_MAX + 1]; /* may be relative to the page */
	struct digest digest;
	struct digest metadata; /* of the file NAME.metadata beside it */
};

/* Whether the name has only characters that have no other meaning in a path, on a command line or
 * in HTML. */
bool page_is_file_name(struct view name);

/* --- pip --- */

/* One link of a page; the views point into the page. */
struct pip_link {
	struct page_file file;
	struct view fragment; /* "sha256=..." or another hash; or empty */
	struct view requires, yanked, metadata;
	bool has_yanked;
};

/* Moves to the next link that is to a file. */
bool pip_page_next(struct view *rest, struct pip_link *ret);
/* Appends the page for an installer; its links are below /files/PROJECT/. */
MUST_CHECK int pip_page_write(struct view page, const char *project, struct buf *out,
                              struct error *err);
bool pip_page_find(struct view page, const char *name, struct page_file *ret);
/* Whether the name is one of a project, in the spelling of PEP 503. */
bool pip_project_is(struct view name);

/* --- npm --- */

/* Parses the document and puts `base` in front of the names of files: "http://HOST/NAME/-/". */
MUST_CHECK int npm_page_read(struct view text, const char *base, json_t **ret, struct error *err);
MUST_CHECK int npm_page_find(struct view text, const char *name, struct page_file *ret,
                             struct error *err);
/* Whether the name is one of a package: "name" or "@scope/name". */
bool npm_package_is(struct view name);
