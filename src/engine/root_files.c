#include "engine/root_files.h"

#include "base/attr.h"

/* os.networkInterfaces() of Node uses netlink, which the seccomp filter refuses, and then throws an
 * exception. Development servers call it when they start. With this file, which NODE_OPTIONS names,
 * it returns the loopback interface instead. */
static const char node_preload[] =
        "'use strict';\n"
        "const os = require('os'), ask = os.networkInterfaces;\n"
        "const entry = (family, address, netmask, bits) => ({ address, netmask, family,\n"
        "  mac: '00:00:00:00:00:00', internal: true, cidr: `${address}/${bits}` });\n"
        "os.networkInterfaces = function networkInterfaces() {\n"
        "  try { return ask(); } catch { return { lo: [\n"
        "    entry('IPv4', '127.0.0.1', '255.0.0.0', 8),\n"
        "    { ...entry('IPv6', '::1', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 128),\n"
        "      scopeid: 0 }] }; }\n"
        "};\n";

/* Makes stdout line-buffered also for a pipe, in C and C++ that run_code compiles with -include.
 * The symbols have names of their own: declared as in <stdio.h>, they would have to match it, and
 * to include it would fix _GNU_SOURCE and the like before the code can define them. 1 is
 * _IOLBF. */
static const char stdio_header[] =
        "#ifdef __cplusplus\n"
        "extern \"C\" {\n"
        "#endif\n"
        "extern void *belljar_stdout __asm__(\"stdout\");\n"
        "extern int belljar_setvbuf(void *, char *, int, __SIZE_TYPE__) __asm__(\"setvbuf\");\n"
        "__attribute__((constructor)) static void belljar_line_buffer(void)\n"
        "{ belljar_setvbuf(belljar_stdout, (char *)0, 1, 0); }\n"
        "#ifdef __cplusplus\n"
        "}\n"
        "#endif\n";

const struct root_file root_files[] = {
	{ "etc/belljar-node.js", node_preload, false },
	{ "etc/belljar-ruby.rb", "$stdout.sync = true if $stdout.stat.pipe?\n", false },
	{ "etc/belljar-stdio.h", stdio_header, false },
	/* Distributions mark their Python as externally managed, and pip then refuses to install.
	 * Here the installation belongs to one sandbox. Without a network a second attempt to
	 * connect fails too. */
	{ "etc/pip.conf",
	  "[global]\nbreak-system-packages = true\nretries = 0\n"
	  "disable-pip-version-check = true\n",
	  false },
	/* Many systems have python3 only. */
	{ ROOT_PROGRAMS "/python", "#!/bin/sh\nexec python3 \"$@\"\n", true },
};
const size_t root_file_count = ARRAY_LEN(root_files);
