/* fuzz_package_spec.c - any text is a package. What is accepted has no space or control character
 * (npm's ranges may have spaces), no path and no URL in it, begins like a name, and is accepted again
 * as itself. The first byte chooses the reader. */
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "fuzz/fuzz.h"
#include "tools/packages/package_spec.h"

typedef int read_fn(struct view text, struct buf *out, struct error *err);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static read_fn *const readers[] = { package_spec_python, package_spec_npm,
		                            package_name_python, package_name_npm };
	struct buf out, again;
	struct error err = { .msg = "" };
	bool is_npm;

	if (size == 0)
		return 0;
	is_npm = data[0] % 2 == 1;
	buf_init(&out, 1024);
	buf_init(&again, 1024);
	if (readers[data[0] % 4]((struct view){ (const char *)data + 1, size - 1 }, &out, &err) ==
	    0) {
		fuzz_check(out.len != 0 && out.ptr[0] != '-' && out.ptr[0] != '.');
		fuzz_check(strpbrk(buf_text(&out), ":;$`&\"'\\()\n\t#%?") == NULL);
		fuzz_check(strlen(buf_text(&out)) == out.len);
		fuzz_check(is_npm || strpbrk(buf_text(&out), " /@|") == NULL);
		fuzz_check(readers[data[0] % 4](buf_view(&out), &again, &err) == 0);
		fuzz_check(strcmp(buf_text(&out), buf_text(&again)) == 0 || is_npm);
	} else
		fuzz_check(err.msg[0] != '\0');
	buf_done(&out);
	buf_done(&again);
	return 0;
}
