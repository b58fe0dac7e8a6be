/* package_spec.h - the packages that a caller asks for, as installers understand them.
 *
 * A specifier is parsed and written anew, so that nothing reaches an installer that is an option, a
 * URL, a path or a command of a shell. Python: a name, extras and versions (PEP 508 without URLs
 * and markers). JavaScript: a name and a version, a range or a tag. */
#pragma once
#include "base/attr.h"
#include "base/view.h"

struct buf;
struct error;

enum { PACKAGE_SPEC_MAX = 200, PACKAGE_SPECS_MAX = 200 };

/* Appends the specifier in its usual spelling to `out`. */
MUST_CHECK int package_spec_python(struct view text, struct buf *out, struct error *err);
MUST_CHECK int package_spec_npm(struct view text, struct buf *out, struct error *err);
/* Appends a bare name, without a version, of a package that is to be removed. */
MUST_CHECK int package_name_python(struct view text, struct buf *out, struct error *err);
MUST_CHECK int package_name_npm(struct view text, struct buf *out, struct error *err);
