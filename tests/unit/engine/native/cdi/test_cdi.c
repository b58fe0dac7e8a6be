#include "engine/native/cdi/cdi.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "engine/native/cdi/internal.h"
#include "unit/scratch.h"

static struct error err;

/* Written by nvidia-ctk, shortened. */
static const char nvidia[] = "---\n"
                             "cdiVersion: 0.5.0\n"
                             "containerEdits:\n"
                             "  deviceNodes:\n"
                             "  - path: /dev/nvidia-modeset\n"
                             "  - path: /dev/nvidia-uvm\n"
                             "  - path: /dev/nvidia-uvm-tools\n"
                             "  - path: /dev/nvidiactl\n"
                             "  env:\n"
                             "  - NVIDIA_VISIBLE_DEVICES=void\n"
                             "  hooks:\n"
                             "  - args:\n"
                             "    - nvidia-cdi-hook\n"
                             "    - create-symlinks\n"
                             "    - --link\n"
                             "    - libcuda.so.1::/usr/lib/x86_64-linux-gnu/libcuda.so\n"
                             "    hookName: createContainer\n"
                             "    path: /usr/bin/nvidia-cdi-hook\n"
                             "  - args:\n"
                             "    - nvidia-cdi-hook\n"
                             "    - update-ldcache\n"
                             "    - --folder\n"
                             "    - /usr/lib/x86_64-linux-gnu\n"
                             "    - --folder=/usr/lib/x86_64-linux-gnu/vdpau\n"
                             "    env:\n"
                             "    - NVIDIA_CTK_DEBUG=false\n"
                             "    hookName: createContainer\n"
                             "    path: /usr/bin/nvidia-cdi-hook\n"
                             "  mounts:\n"
                             "  - containerPath: /run/nvidia-persistenced/socket\n"
                             "    hostPath: /run/nvidia-persistenced/socket\n"
                             "    options:\n"
                             "    - ro\n"
                             "    - nosuid\n"
                             "    - nodev\n"
                             "    - bind\n"
                             "    - noexec\n"
                             "  - containerPath: /usr/bin/nvidia-smi\n"
                             "    hostPath: /usr/bin/nvidia-smi\n"
                             "    options: [ro, nosuid, nodev, bind]\n"
                             "  - containerPath: /lib/firmware/nvidia/535.161.07/gsp_ga10x.bin\n"
                             "    hostPath: /lib/firmware/nvidia/535.161.07/gsp_ga10x.bin\n"
                             "    options: [ro, nosuid, nodev, bind]\n"
                             "  - containerPath: /usr/lib/x86_64-linux-gnu/libcuda.so.535.161.07\n"
                             "    hostPath: /usr/lib/x86_64-linux-gnu/libcuda.so.535.161.07\n"
                             "    options: [ro, nosuid, nodev, bind]\n"
                             "  - containerPath: /etc/vulkan/icd.d/nvidia_icd.json\n"
                             "    hostPath: /etc/vulkan/icd.d/nvidia_icd.json\n"
                             "    options: [ro, nosuid, nodev, bind]\n"
                             "devices:\n"
                             "- containerEdits:\n"
                             "    deviceNodes:\n"
                             "    - path: /dev/nvidia0\n"
                             "      major: 195\n"
                             "      fileMode: 438\n"
                             "      permissions: rwm\n"
                             "      uid: 0\n"
                             "      gid: 0\n"
                             "    - path: /dev/dri/renderD128\n"
                             "      hostPath: /dev/dri/renderD128\n"
                             "  name: \"0\"\n"
                             "- containerEdits:\n"
                             "    deviceNodes:\n"
                             "    - path: /dev/nvidia1\n"
                             "      type: c\n"
                             "      major: 195\n"
                             "      minor: 1\n"
                             "  name: \"1\"\n"
                             "- containerEdits:\n"
                             "    deviceNodes:\n"
                             "    - path: /dev/nvidia0\n"
                             "    - path: /dev/dri/renderD128\n"
                             "  name: GPU-955ef018-3bd9-5f27-80b3-fa20ee8d19c5\n"
                             "- containerEdits:\n"
                             "    deviceNodes:\n"
                             "    - path: /dev/nvidia0\n"
                             "    - path: /dev/nvidia1\n"
                             "    - path: /dev/dri/renderD128\n"
                             "  name: all\n"
                             "kind: nvidia.com/gpu\n";

static const char plain[] =
        "{\n"
        "\t\"cdiVersion\": \"1.0.0\", \"kind\": \"example.org/plain\",\n"
        "\t\"annotations\": {\"made-by\": \"hand\"},\n"
        "\t\"devices\": [\n"
        "\t\t{\"name\": \"zero\", \"containerEdits\": {\"deviceNodes\": [{\"path\": "
        "\"\\/dev\\/zero\", \"type\": \"c\", \"major\": 1, \"minor\": 5}]}},\n"
        "\t\t{\"name\": \"null\", \"annotations\": {}, \"containerEdits\": {\"deviceNodes\": "
        "[{\"path\": \"/dev/nothing\", \"hostPath\": \"/dev/null\"}], \"env\": "
        "[\"NOTHING=here\"]}}\n"
        "\t],\n"
        "\t\"containerEdits\": {\"env\": [\"PLAIN=yes\"], \"intelRdt\": {\"closID\": \"x\", "
        "\"enableCMT\": true}, \"additionalGids\": [44]}\n"
        "}\n";

static const char *const here[] = { ".", NULL };

static struct cdi *read_here(void)
{
	struct cdi *cdi = NULL;

	CHECK_OK(cdi_read(here, &cdi, &err), err);
	return cdi;
}

static const struct cdi_device *find(const struct cdi *cdi, const char *name)
{
	for (size_t i = 0; i < cdi->count; i++)
		if (strcmp(cdi->devices[i].name, name) == 0)
			return &cdi->devices[i];
	fail_msg("no device '%s'", name);
	return NULL;
}

static void file_of_nvidia_ctk_is_read(void **state)
{
	AUTO(cdi) struct cdi *cdi = NULL;
	const struct cdi_device *first, *second;

	scratch_write("nvidia.yaml", nvidia);
	cdi = read_here();
	assert_int_equal(cdi->count, 4);
	first = find(cdi, "nvidia.com/gpu=0");
	assert_int_equal(first->node_count, 6);
	assert_string_equal(first->nodes[0].path, "/dev/nvidia-modeset");
	assert_int_equal(first->nodes[0].major, -1);
	assert_int_equal(first->nodes[0].minor, -1);
	assert_int_equal(first->nodes[0].type, 0);
	assert_string_equal(first->nodes[4].path, "/dev/nvidia0");
	assert_string_equal(first->nodes[4].host_path, "/dev/nvidia0");
	assert_int_equal(first->nodes[4].major, 195); /* a minor of 0 is left out */
	assert_int_equal(first->nodes[4].minor, 0);
	second = find(cdi, "nvidia.com/gpu=1");
	assert_int_equal(second->nodes[4].type, 'c');
	assert_int_equal(second->nodes[4].minor, 1);
	assert_int_equal(find(cdi, "nvidia.com/gpu=all")->node_count, 7);

	assert_int_equal(first->mount_count, 3); /* the socket and the firmware are left out */
	assert_string_equal(first->mounts[0].path, "/usr/bin/nvidia-smi");
	assert_string_equal(first->mounts[1].path,
	                    "/usr/lib/x86_64-linux-gnu/libcuda.so.535.161.07");
	assert_string_equal(first->mounts[1].host_path, first->mounts[1].path);
	assert_string_equal(first->mounts[2].path, "/etc/vulkan/icd.d/nvidia_icd.json");
	assert_int_equal(first->env_count, 2);
	assert_string_equal(first->env[0], "NVIDIA_VISIBLE_DEVICES=void");
	assert_string_equal(first->env[1], "LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu:"
	                                   "/usr/lib/x86_64-linux-gnu/vdpau");
	assert_string_equal(
	        cdi->problems,
	        "./nvidia.yaml: note: 2 of its mounts are left out, the first is "
	        "'/run/nvidia-persistenced/socket' (sockets and firmware are of no use in "
	        "a sandbox)");
}

static void json_file_is_read(void **state)
{
	AUTO(cdi) struct cdi *cdi = NULL;
	const struct cdi_device *zero, *null;

	scratch_write("plain.json", plain);
	cdi = read_here();
	assert_null(cdi->problems);
	assert_int_equal(cdi->count, 2);
	zero = &cdi->devices[0];
	assert_string_equal(zero->name, "example.org/plain=zero");
	assert_int_equal(zero->node_count, 1);
	assert_string_equal(zero->nodes[0].path, "/dev/zero");
	assert_int_equal(zero->nodes[0].major, 1);
	assert_int_equal(zero->nodes[0].minor, 5);
	assert_int_equal(zero->env_count, 1);
	null = &cdi->devices[1];
	assert_string_equal(null->nodes[0].path, "/dev/nothing");
	assert_string_equal(null->nodes[0].host_path, "/dev/null");
	assert_int_equal(null->env_count, 2);
	assert_string_equal(null->env[0], "PLAIN=yes");
	assert_string_equal(null->env[1], "NOTHING=here");
}

static void check_refused_as(enum cdi_syntax syntax, const char *text, enum error_kind kind,
                             const char *why)
{
	struct cdi_spec spec;

	err = (struct error){ .kind = ERR_KIND_COUNT };
	if (cdi_spec_read(view_of(text), syntax, &spec, &err) == 0) {
		cdi_spec_done(&spec);
		fail_msg("accepted: %s", text);
	}
	if (strcmp(err.msg, why) != 0 || err.kind != kind)
		fail_msg("for %s\nwanted %s (%d)\ngot    %s (%d)", text, why, kind, err.msg,
		         err.kind);
}

static void check_refused(const char *text, enum error_kind kind, const char *why)
{
	check_refused_as(CDI_YAML, text, kind, why);
}

#define HEAD "cdiVersion: 0.6.0\nkind: a.b/c\n"
#define TAIL "\ndevices: [{name: d}]\n"

static void malformed_yaml_is_refused_with_a_reason(void **state)
{
	static const struct {
		const char *text;
		enum error_kind kind;
		const char *why;
	} cases[] = {
		{ "", ERR_SYNTAX, "the file is empty" },
		{ "# nothing\n", ERR_SYNTAX, "the file is empty" },
		{ "{", ERR_SYNTAX, "not YAML: line 2: did not find expected node content" },
		{ "a: \xff\n", ERR_SYNTAX, "not YAML: byte 4: invalid leading UTF-8 octet" },
		{ "a: &x 1\n", ERR_UNSUPPORTED,
		  "line 1: anchors (&) are not supported; write the value out" },
		{ "a: &x [1]\n", ERR_UNSUPPORTED,
		  "line 1: anchors (&) are not supported; write the value out" },
		{ "a: 1\nb: *x\n", ERR_UNSUPPORTED,
		  "line 2: aliases (*) are not supported; write the value out" },
		{ "a: !!str 1\n", ERR_UNSUPPORTED,
		  "line 1: tags (!) are not supported; leave the tag out" },
		{ "a: !x {}\n", ERR_UNSUPPORTED,
		  "line 1: tags (!) are not supported; leave the tag out" },
		{ "a: 1\n---\nb: 1\n", ERR_UNSUPPORTED,
		  "line 2: a second document; a file may have one" },
		{ "{\"a\": 1,\n\"a\": 2}", ERR_INVALID, "line 2: the key 'a' appears twice" },
		{ "? [a]\n: b\n", ERR_INVALID, "line 1: a key must be text" },
		{ "a: \"x\\0y\"\n", ERR_INVALID, "line 1: text contains a NUL character" },
		{ "[[[[[[[[[[[[[1]]]]]]]]]]]]]", ERR_LIMIT,
		  "line 1: nested deeper than 12 levels" },
		{ "%TAG ! x\n---\na: 1\n", ERR_UNSUPPORTED,
		  "line 1: directives (%) are not supported" },
		{ "# x\n\xc2\x85%YAML 1.1\n---\na: 1\n", ERR_UNSUPPORTED,
		  "line 2: directives (%) are not supported" },
		{ "[]", ERR_INVALID, "the file must hold an object" },
		{ "text", ERR_INVALID, "the file must hold an object" },
		{ "kind: a/b\n", ERR_INVALID, "cdiVersion: is missing" },
		{ "cdiVersion: 1.0\n", ERR_INVALID,
		  "cdiVersion: must be text, not the number 1 (put it in quotes)" },
		{ "cdiVersion: yes\n", ERR_INVALID,
		  "cdiVersion: must be text, not the boolean true (put it in quotes)" },
		{ "cdiVersion: \"1.0\"\n", ERR_INVALID,
		  "cdiVersion: '1.0' is not a version such as 0.5.0" },
		{ "cdiVersion: 0.05.0\n", ERR_INVALID,
		  "cdiVersion: '0.05.0' is not a version such as 0.5.0" },
		{ "cdiVersion: 0.5.0-rc\n", ERR_INVALID,
		  "cdiVersion: '0.5.0-rc' is not a version such as 0.5.0" },
		{ "cdiVersion: 0.2.0\n", ERR_UNSUPPORTED,
		  "cdiVersion: '0.2.0' is not supported; 0.3 to 0.8 and 1.x are" },
		{ "cdiVersion: 0.9.0\n", ERR_UNSUPPORTED,
		  "cdiVersion: '0.9.0' is not supported; 0.3 to 0.8 and 1.x are" },
		{ "cdiVersion: 2.0.0\n", ERR_UNSUPPORTED,
		  "cdiVersion: '2.0.0' is not supported; 0.3 to 0.8 and 1.x are" },
		{ HEAD "extra: 1" TAIL, ERR_UNSUPPORTED, "unknown field 'extra'" },
		{ "cdiVersion: 1.7.0\nkind: a/b\nextra: 1" TAIL, ERR_UNSUPPORTED,
		  "unknown field 'extra'" },
		{ "cdiVersion: 0.5.0\nkind: a/b\nannotations: {}" TAIL, ERR_INVALID,
		  "'annotations' needs cdiVersion 0.6.0" },
		{ HEAD "annotations: [a]" TAIL, ERR_INVALID,
		  "annotations: must be an object, not an array" },
		{ HEAD "annotations: {a: 1}" TAIL, ERR_INVALID,
		  "annotations: must be text, not the number 1 (put it in quotes)" },
		{ "cdiVersion: 0.6.0\ndevices: []\n", ERR_INVALID, "kind: is missing" },
		{ HEAD, ERR_INVALID, "devices: is missing" },
		{ HEAD "devices: {}\n", ERR_INVALID, "devices: must be an array, not an object" },
		{ HEAD "devices: []\n", ERR_INVALID, "devices: the list is empty" },
		{ HEAD "devices: [d]\n", ERR_INVALID,
		  "devices[0]: must be an object, not the string \"d\"" },
		{ HEAD "devices: [{}]\n", ERR_INVALID, "devices[0]: name: is missing" },
		{ HEAD "devices: [{name: 0}]\n", ERR_INVALID,
		  "devices[0]: name: must be text, not the number 0 (put it in quotes)" },
		{ HEAD "devices: [{name: ~}]\n", ERR_INVALID, "devices[0]: name: is missing" },
		{ HEAD "devices: [{name: a}, {name: a}]\n", ERR_INVALID,
		  "devices[1]: name: 'a' is the name of two devices" },
		{ HEAD "devices: [{name: a, more: b}]\n", ERR_UNSUPPORTED,
		  "devices[0]: unknown field 'more'" },
		{ HEAD "devices: [{name: a, containerEdits: []}]\n", ERR_INVALID,
		  "devices[0]: containerEdits: must be an object, not an array" },
		{ HEAD "containerEdits: {env: [1]}" TAIL, ERR_INVALID,
		  "devices[0]: containerEdits of the file: env[0]: must be text, not the number 1 (put it in quotes)" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check_refused(cases[i].text, cases[i].kind, cases[i].why);
}

static void malformed_json_is_refused_with_a_reason(void **state)
{
	static const struct {
		const char *text;
		enum error_kind kind;
		const char *why;
	} cases[] = {
		{ "", ERR_SYNTAX, "not JSON: empty text" },
		{ "cdiVersion: 0.6.0\n", ERR_SYNTAX,
		  "not JSON: invalid token near 'cdiVersion' at byte 10" },
		{ "{\"a\": 1, \"a\": 2}", ERR_INVALID, "duplicate object key near '\"a\"'" },
		{ "{\"cdiVersion\": \"1.0.0\\u0000\"}", ERR_INVALID,
		  "cdiVersion: must be text, not the string \"1.0.0\\x00\"" },
		{ "[[[[[[[[[[[[[1]]]]]]]]]]]]]", ERR_LIMIT,
		  "nested deeper than 12 levels (max_depth)" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check_refused_as(CDI_JSON, cases[i].text, cases[i].kind, cases[i].why);
}

static void kinds_and_names_are_checked(void **state)
{
	static const char *const good[] = { "a/b", "vendor.com/x-y_z.1", "A9/b" };
	static const char *const bad[] = { "a",    "a/",  "/b",    "a/b/c", "1a/b",
		                           "a./b", "a/1", "a b/c", "a/b-",  "\u00e4/b" };
	static const char *const bad_names[] = { "-a", "a-", ":a", "a b", "a=b", "a/b" };
	struct cdi_spec spec;
	char text[256];

	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		(void)snprintf(text, sizeof text,
		               "cdiVersion: 0.6.0\nkind: %s\ndevices: [{name: \"0:1\"}]\n",
		               good[i]);
		CHECK_OK(cdi_spec_read(view_of(text), CDI_YAML, &spec, &err), err);
		cdi_spec_done(&spec);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		char why[256];

		(void)snprintf(text, sizeof text, "cdiVersion: 0.6.0\nkind: %s" TAIL, bad[i]);
		(void)snprintf(
		        why, sizeof why,
		        "kind: '%s' must be vendor/class, like nvidia.com/gpu: each starts with a letter "
		        "and consists of letters and digits, with '-', '_' or '.' between them",
		        bad[i]);
		check_refused(text, ERR_INVALID, why);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad_names); i++) {
		char why[256];

		(void)snprintf(text, sizeof text, HEAD "devices: [{name: \"%s\"}]\n", bad_names[i]);
		(void)snprintf(
		        why, sizeof why,
		        "devices[0]: name: '%s' must consist of letters and digits, with '-', '_', '.' "
		        "or ':' between them",
		        bad_names[i]);
		check_refused(text, ERR_INVALID, why);
	}
}

static void wrong_edits_are_refused_with_a_reason(void **state)
{
#define NODE(more)        "deviceNodes: [{" more "}]"
#define MOUNT(host, path) "mounts: [{hostPath: \"" host "\", containerPath: \"" path "\"}]"
#define PLACE                                                                                      \
	" is not a place for driver files; they go below /usr, /lib*, /opt, /etc/vulkan and the like"
	static const struct {
		const char *edits;
		enum error_kind kind;
		const char *why;
	} cases[] = {
		{ "future: 1", ERR_UNSUPPORTED, "unknown field 'future'" },
		{ "additionalGids: [1]", ERR_INVALID, "'additionalGids' needs cdiVersion 0.7.0" },
		{ "env: x", ERR_INVALID, "env: must be an array, not the string \"x\"" },
		{ "env: [[]]", ERR_INVALID, "env[0]: must be text, not an array" },
		{ "env: [A=1, B]", ERR_INVALID, "env[1]: 'B' must be NAME=value" },
		{ "env: [\"=x\"]", ERR_INVALID,
		  "env[0]: '=x': a name has letters, digits and '_', and no digit at its start" },
		{ "env: [1A=x]", ERR_INVALID,
		  "env[0]: '1A=x': a name has letters, digits and '_', and no digit at its start" },
		{ "env: [\"A=x\\ny\"]", ERR_INVALID, "env[0]: 'A=x\\ny' has a control character" },
		{ "env: [LD_PRELOAD=/x]", ERR_INVALID,
		  "env[0]: a device may not set 'LD_PRELOAD'" },
		{ "env: [LD_AUDIT=/x]", ERR_INVALID, "env[0]: a device may not set 'LD_AUDIT'" },
		{ "env: [PATH=/x]", ERR_INVALID, "env[0]: a device may not set 'PATH'" },
		{ "env: [HOME=/x]", ERR_INVALID, "env[0]: a device may not set 'HOME'" },
		{ "env: [PYTHONPATH=/x]", ERR_INVALID,
		  "env[0]: a device may not set 'PYTHONPATH'" },
		{ "env: [LD_LIBRARY_PATH=x]", ERR_INVALID, "env[0]: 'x' is not an absolute path" },
		{ "env: [LD_LIBRARY_PATH=/a;/b]", ERR_INVALID,
		  "env[0]: '/a;/b': a library directory must not have ':', ';' or '$' in its name" },
		{ "deviceNodes: {}", ERR_INVALID, "deviceNodes: must be an array, not an object" },
		{ NODE("type: c"), ERR_INVALID, "deviceNodes[0]: path: is missing" },
		{ NODE("path: dev/x"), ERR_INVALID,
		  "deviceNodes[0]: path: 'dev/x' is not an absolute path" },
		{ NODE("path: /dev/../x"), ERR_INVALID,
		  "deviceNodes[0]: path: '/dev/../x' must not have '.', '..', '//' or a '/' at its end" },
		{ NODE("path: /dev//x"), ERR_INVALID,
		  "deviceNodes[0]: path: '/dev//x' must not have '.', '..', '//' or a '/' at its end" },
		{ NODE("path: /dev/x/"), ERR_INVALID,
		  "deviceNodes[0]: path: '/dev/x/' must not have '.', '..', '//' or a '/' at its end" },
		{ NODE("path: /dev/./x"), ERR_INVALID,
		  "deviceNodes[0]: path: '/dev/./x' must not have '.', '..', '//' or a '/' at its end" },
		{ NODE("path: \"/dev/\\ex\""), ERR_INVALID,
		  "deviceNodes[0]: path: '/dev/\\x1bx' has a control character" },
		{ NODE("path: /dev"), ERR_INVALID,
		  "deviceNodes[0]: path: '/dev' is not below /dev" },
		{ NODE("path: /etc/x"), ERR_INVALID,
		  "deviceNodes[0]: path: '/etc/x' is not below /dev" },
		{ NODE("path: /dev/shm/x"), ERR_INVALID,
		  "deviceNodes[0]: path: '/dev/shm/x' is reserved for the sandbox" },
		{ NODE("path: /dev/null, hostPath: /dev/sda"), ERR_INVALID,
		  "deviceNodes[0]: path: '/dev/null' is reserved for the sandbox" },
		{ NODE("path: /dev/x, hostPath: /proc/kcore"), ERR_INVALID,
		  "deviceNodes[0]: path: '/proc/kcore' cannot be a device node" },
		{ NODE("path: /dev/x, hostPath: x"), ERR_INVALID,
		  "deviceNodes[0]: hostPath: 'x' is not an absolute path" },
		{ NODE("path: /dev/x, type: p"), ERR_INVALID,
		  "deviceNodes[0]: type: must be 'b', 'c' or 'u'" },
		{ NODE("path: /dev/x, type: 5"), ERR_INVALID,
		  "deviceNodes[0]: type: must be text, not the number 5 (put it in quotes)" },
		{ NODE("path: /dev/x, major: x"), ERR_INVALID,
		  "deviceNodes[0]: major: must be a whole number from 0 to 4095, not the string \"x\"" },
		{ NODE("path: /dev/x, major: \"1\""), ERR_INVALID,
		  "deviceNodes[0]: major: must be a whole number from 0 to 4095, not the string \"1\"" },
		{ NODE("path: /dev/x, major: -1"), ERR_INVALID,
		  "deviceNodes[0]: major: must be a whole number from 0 to 4095, not the number -1" },
		{ NODE("path: /dev/x, minor: 1.5"), ERR_INVALID,
		  "deviceNodes[0]: minor: must be a whole number from 0 to 1048575, not the number 1.5" },
		{ NODE("path: /dev/x, major: 4096"), ERR_INVALID,
		  "deviceNodes[0]: major: must be a whole number from 0 to 4095, not the number 4096" },
		{ NODE("path: /dev/x, minor: 99999999999999999999999"), ERR_INVALID,
		  "deviceNodes[0]: minor: must be a whole number from 0 to 1048575, not the string \"99999999999999999999999\"" },
		{ NODE("path: /dev/x, fileMode: 010000"), ERR_INVALID,
		  "deviceNodes[0]: fileMode: must be a whole number from 0 to 4095, not the number 4096" },
		{ NODE("path: /dev/x, uid: []"), ERR_INVALID,
		  "deviceNodes[0]: uid: must be a whole number from 0 to 4294967295, not an array" },
		{ NODE("path: /dev/x, permissions: rx"), ERR_INVALID,
		  "deviceNodes[0]: permissions: must consist of 'r', 'w' and 'm'" },
		{ NODE("path: /dev/x, permissions: r"), ERR_UNSUPPORTED,
		  "deviceNodes[0]: permissions: 'r' cannot be enforced here; 'rw' can" },
		{ NODE("path: /dev/x, mode: 1"), ERR_UNSUPPORTED,
		  "deviceNodes[0]: unknown field 'mode'" },
		{ "mounts: [{hostPath: /x}]", ERR_INVALID, "mounts[0]: containerPath: is missing" },
		{ "mounts: [{containerPath: /usr/lib/x}]", ERR_INVALID,
		  "mounts[0]: hostPath: is missing" },
		{ MOUNT("tmpfs", "/usr/lib/x"), ERR_INVALID,
		  "mounts[0]: hostPath: 'tmpfs' is not an absolute path" },
		{ MOUNT("/a/..", "/usr/lib/x"), ERR_INVALID,
		  "mounts[0]: hostPath: '/a/..' must not have '.', '..', '//' or a '/' at its end" },
		{ MOUNT("/x", "/"), ERR_INVALID,
		  "mounts[0]: containerPath: '/' must not have '.', '..', '//' or a '/' at its end" },
		{ MOUNT("/x", "/proc/x"), ERR_INVALID,
		  "mounts[0]: containerPath: '/proc/x'" PLACE },
		{ MOUNT("/x", "/sys/x"), ERR_INVALID, "mounts[0]: containerPath: '/sys/x'" PLACE },
		{ MOUNT("/x", "/dev/x"), ERR_INVALID, "mounts[0]: containerPath: '/dev/x'" PLACE },
		{ MOUNT("/x", "/etc/passwd"), ERR_INVALID,
		  "mounts[0]: containerPath: '/etc/passwd'" PLACE },
		{ MOUNT("/x", "/usr/lib"), ERR_INVALID,
		  "mounts[0]: containerPath: '/usr/lib'" PLACE },
		{ MOUNT("/x", "/usr/libx"), ERR_INVALID,
		  "mounts[0]: containerPath: '/usr/libx'" PLACE },
		{ MOUNT("/x", "/workspace/x"), ERR_INVALID,
		  "mounts[0]: containerPath: '/workspace/x'" PLACE },
		{ MOUNT("/root/x", "/usr/lib/x"), ERR_INVALID,
		  "mounts[0]: containerPath: '/root/x' is not a place of driver files" },
		{ MOUNT("/proc", "/opt/x"), ERR_INVALID,
		  "mounts[0]: containerPath: '/proc' is not a place of driver files" },
		{ MOUNT("/a:b/libx.so", "/opt/a:b/libx.so"), ERR_INVALID,
		  "mounts[0]: '/opt/a:b': a library directory must not have ':', ';' or '$' in its name" },
		{ "mounts: [{hostPath: /x, containerPath: /usr/lib/x, type: tmpfs}]",
		  ERR_UNSUPPORTED, "mounts[0]: type: must be 'bind' or 'none'" },
		{ "mounts: [{hostPath: /x, containerPath: /usr/lib/x, options: ro}]", ERR_INVALID,
		  "mounts[0]: options: must be an array, not the string \"ro\"" },
		{ "mounts: [{hostPath: /x, containerPath: /usr/lib/x, options: [1]}]", ERR_INVALID,
		  "mounts[0]: options[0]: must be text, not the number 1 (put it in quotes)" },
		{ "hooks: [x]", ERR_INVALID, "hooks[0]: must be an object, not the string \"x\"" },
		{ "hooks: [{path: /x}]", ERR_INVALID, "hooks[0]: hookName: is missing" },
		{ "hooks: [{hookName: x}]", ERR_INVALID, "hooks[0]: path: is missing" },
		{ "hooks: [{hookName: x, path: /x, timeout: x}]", ERR_INVALID,
		  "hooks[0]: timeout: must be a whole number from 0 to 2147483647, not the string \"x\"" },
		{ "hooks: [{hookName: x, path: /x, args: x}]", ERR_INVALID,
		  "hooks[0]: args: must be an array, not the string \"x\"" },
		{ "hooks: [{hookName: x, path: /x, env: [{}]}]", ERR_INVALID,
		  "hooks[0]: env[0]: must be text, not an object" },
		{ "hooks: [{hookName: x, path: /x, args: [update-ldcache, --folder, a]}]",
		  ERR_INVALID, "hooks[0]: args: 'a' is not an absolute path" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char text[1024], why[512];

		(void)snprintf(text, sizeof text,
		               HEAD "devices: [{name: d, containerEdits: {%s}}]\n", cases[i].edits);
		(void)snprintf(why, sizeof why, "devices[0]: containerEdits: %s", cases[i].why);
		check_refused(text, cases[i].kind, why);
	}
}

static void field_of_a_later_version_is_refused(void **state)
{
#define AT(version, edits)                                                                         \
	"cdiVersion: " version "\nkind: a/b\ndevices: [{name: d, containerEdits: {" edits "}}]\n"
	static const char *const good[] = {
		AT("0.3.0", "deviceNodes: [{path: /dev/x, type: u, fileMode: 0o666}]"),
		AT("0.7.0", "additionalGIDs: [1], intelRdt: {closID: x}"),
		AT("1.1.0", "intelRdt: {schemata: [x], enableMonitoring: true}"),
		AT("1.2.0", "future: [1], deviceNodes: [{path: /dev/x, colour: red}]"),
		"{\"cdiVersion\":\"0.6.0\",\"kind\":\"a/b\",\"devices\":[{\"name\":\"d\","
		"\"containerEdits\":{\"env\":[\"A=\\u0041\\/\"],\"mounts\":null}}]}",
		AT("0.6.0", "env: ~, mounts: null, hooks: "),
	};
	static const char *const bad[][2] = {
		{ AT("0.4.0", "deviceNodes: [{path: /dev/x, hostPath: /dev/y}]"),
		  "deviceNodes[0]: 'hostPath' needs cdiVersion 0.5.0" },
		{ AT("0.3.0", "mounts: [{hostPath: /x, containerPath: /opt/x, type: none}]"),
		  "mounts[0]: 'type' needs cdiVersion 0.4.0" },
		{ AT("1.0.0", "netDevices: []"), "'netDevices' needs cdiVersion 1.1.0" },
		{ AT("1.0.0", "intelRdt: {schemata: []}"),
		  "intelRdt: 'schemata' needs cdiVersion 1.1.0" },
		{ AT("1.0.0", "additionalGids: [x]"),
		  "additionalGids[0]: must be a whole number from 0 to 4294967295, not the string \"x\"" },
	};
	struct cdi_spec spec;

	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		CHECK_OK(cdi_spec_read(view_of(good[i]), CDI_YAML, &spec, &err), err);
		assert_int_equal(spec.count, 1);
		cdi_spec_done(&spec);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		char why[256];

		(void)snprintf(why, sizeof why, "devices[0]: containerEdits: %s", bad[i][1]);
		check_refused(bad[i][0], ERR_INVALID, why);
	}
	check_refused(AT("1.1.0", "netDevices: [{hostInterfaceName: eth0}]"), ERR_UNSUPPORTED,
	              "devices[0]: containerEdits: netDevices[0]: network interfaces are "
	              "not supported in sandboxes");
}

/* Reads a text of `head`, then `count` times `item` with its index in place of "#", then `tail`. */
static void check_many(const char *head, const char *item, size_t count, const char *tail,
                       const char *why)
{
	AUTO_BUF struct buf text;
	struct cdi_spec spec;

	buf_init(&text, 4 * 1024 * 1024);
	assert_int_equal(buf_add(&text, view_of(head), &err), 0);
	for (size_t i = 0; i < count; i++) {
		const char *hash = strchr(item, '#');

		assert_int_equal(
		        buf_printf(&text, &err, "%.*s%zu%s", (int)(hash - item), item, i, hash + 1),
		        0);
	}
	assert_int_equal(buf_add(&text, view_of(tail), &err), 0);
	if (why != NULL) {
		CHECK_ERROR(cdi_spec_read(buf_view(&text), CDI_YAML, &spec, &err), err, ERR_LIMIT,
		            why);
	} else {
		CHECK_OK(cdi_spec_read(buf_view(&text), CDI_YAML, &spec, &err), err);
		cdi_spec_done(&spec);
	}
}

static void every_list_has_a_limit(void **state)
{
#define EDITS HEAD "devices: [{name: d, containerEdits: {"
	static const struct {
		const char *head, *item;
		size_t max;
		const char *tail, *why;
	} cases[] = {
		{ HEAD "devices: [", "{name: d#}, ", 128, "]\n", "devices: more than 128" },
		{ EDITS "deviceNodes: [", "{path: /dev/x#}, ", 128, "]}}]\n",
		  "devices[0]: containerEdits: deviceNodes[128]: more than 128 device nodes" },
		{ EDITS "mounts: [", "{hostPath: /x, containerPath: /opt/x#}, ", 256, "]}}]\n",
		  "devices[0]: containerEdits: mounts[256]: more than 256 mounts" },
		{ EDITS "mounts: [", "{hostPath: /x, containerPath: /opt/#/liba.so}, ", 64,
		  "]}}]\n",
		  "devices[0]: containerEdits: mounts[64]: libraries in more than 64 directories" },
		{ EDITS "env: [", "A#=x, ", 64, "]}}]\n",
		  "devices[0]: containerEdits: env[64]: more than 64 variables" },
		{ HEAD "devices: [{name: d}]\nannotations: {", "a#: x, ", 64, "}\n",
		  "annotations: more than 64" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		check_many(cases[i].head, cases[i].item, cases[i].max, cases[i].tail, NULL);
		check_many(cases[i].head, cases[i].item, cases[i].max + 1, cases[i].tail,
		           cases[i].why);
	}
	check_many("[", "#, ", 50000, "]", "more than 50000 values");
	check_many("", "#, ", 300000, "", "more than 1048576 bytes");
	check_many(EDITS "env: [\"A=", "0#", 1100, "\"]}}]\n",
	           "devices[0]: containerEdits: env[0]: 'A=00010203040506070809010011012013014015"
	           "...' has more than 2047 bytes");
	check_many(EDITS "deviceNodes: [{path: /dev/", "0#", 200, "}]}}]\n",
	           "devices[0]: containerEdits: deviceNodes[0]: path: '/dev/0001020304050607080901"
	           "0011012013014...' has more than 511 bytes");
	check_many(HEAD "devices: [{name: ", "x#", 100, "}]\n",
	           "devices[0]: name: together with the kind it has more than 255 bytes");
}

static void put(const char *path, const char *node)
{
	char text[512];

	(void)snprintf(text, sizeof text,
	               "cdiVersion: 0.5.0\nkind: a/b\ndevices: [{name: d, containerEdits: "
	               "{deviceNodes: [{path: /dev/%s}]}}]\n",
	               node);
	scratch_write(path, text);
}

static void later_directory_replaces_a_device(void **state)
{
	static const char *const directories[] = { "missing", "one", "two", NULL };
	AUTO(cdi) struct cdi *cdi = NULL;

	assert_int_equal(mkdir("one", 0755) | mkdir("two", 0755), 0);
	put("one/z.yaml", "first");
	put("two/a.yml", "second");
	CHECK_OK(cdi_read(directories, &cdi, &err), err);
	assert_null(cdi->problems);
	assert_int_equal(cdi->count, 1);
	assert_string_equal(cdi->devices[0].nodes[0].path, "/dev/second");
}

static void device_in_two_files_of_a_directory_is_not_used(void **state)
{
	static const char *const directories[] = { ".", "two", NULL };
	AUTO(cdi) struct cdi *cdi = NULL;

	put("a.yaml", "first");
	put("b.yaml", "second");
	scratch_write("c.json", plain);
	cdi = read_here();
	assert_string_equal(cdi->problems,
	                    "./b.yaml: 'a/b=d' is also in ./a.yaml: neither is used");
	assert_int_equal(cdi->count, 2);
	assert_string_equal(cdi->devices[0].name, "example.org/plain=zero");

	/* A third file in a later directory replaces both. */
	cdi = cdi_free(cdi);
	assert_int_equal(mkdir("two", 0755), 0);
	put("two/c.yaml", "third");
	CHECK_OK(cdi_read(directories, &cdi, &err), err);
	assert_string_equal(find(cdi, "a/b=d")->nodes[0].path, "/dev/third");
}

static void bad_file_does_not_affect_others(void **state)
{
	AUTO(cdi) struct cdi *cdi = NULL;

	scratch_write("bad.json", "{}");
	scratch_write("worse.yaml", "a: [");
	assert_int_equal(mkdir("folder.json", 0755) | mkfifo("pipe.json", 0644), 0);
	assert_int_equal(symlink("nowhere", "lost.json"), 0);
	scratch_write("huge.json", "{}");
	assert_int_equal(truncate("huge.json", 1024 * 1024 + 1), 0);
	scratch_write("ignored.txt", "no");
	scratch_write(".json", "no");
	scratch_write("real", plain);
	assert_int_equal(symlink("real", "good.json"), 0);
	cdi = read_here();
	assert_int_equal(cdi->count, 2);
	assert_string_equal(cdi->problems,
	                    "./bad.json: cdiVersion: is missing\n"
	                    "./folder.json: './folder.json' is not a regular file\n"
	                    "./huge.json: './huge.json': more than 1048576 bytes\n"
	                    "./lost.json: open './lost.json': No such file or directory\n"
	                    "./pipe.json: './pipe.json' is not a regular file\n"
	                    "./worse.yaml: not YAML: line 2: did not find expected node content");
}

static void unreadable_directory_is_an_error(void **state)
{
	static const char *const closed[] = { "closed", NULL };
	struct cdi *cdi = NULL;
	int r;

	assert_int_equal(mkdir("closed", 0), 0);
	if (scratch_drop_root() < 0)
		SKIP_TEST("root cannot become nobody here");
	r = cdi_read(closed, &cdi, &err);
	scratch_regain_root();
	assert_int_equal(r, -1);
	assert_int_equal(err.errnum, EACCES);
	assert_string_equal(err.msg, "read the directory 'closed': Permission denied");
	assert_null(cdi);
}

static void devices_beyond_the_limit_are_left_out(void **state)
{
	AUTO(cdi) struct cdi *cdi = NULL;
	AUTO_BUF struct buf text;

	buf_init(&text, 64 * 1024);
	assert_int_equal(buf_printf(&text, &err, HEAD "devices:\n"), 0);
	for (int i = 0; i < 70; i++)
		assert_int_equal(buf_printf(&text, &err, "- name: d%d\n", i), 0);
	scratch_write("many.yaml", buf_text(&text));
	cdi = read_here();
	assert_int_equal(cdi->count, CDI_DEVICES_MAX);
	assert_string_equal(cdi->problems,
	                    "./many.yaml: 6 of its devices are left out: there can be "
	                    "at most 64");
}

static void library_is_mounted_under_its_links_names_too(void **state)
{
	AUTO(cdi) struct cdi *cdi = NULL;
	const struct cdi_device *device;
	char text[1024];

	scratch_write("libx.so.535.1", "x");
	scratch_write("libx.so.2", "another");
	assert_int_equal(symlink("libx.so.535.1", "libx.so.1"), 0);
	assert_int_equal(symlink("libx.so.1", "libx.so"), 0);
	(void)snprintf(text, sizeof text,
	               HEAD "devices: [{name: d, containerEdits: {mounts: [{hostPath: "
	                    "%s/libx.so.535.1, containerPath: /usr/lib64/libx.so.535.1}]}}]\n",
	               scratch_path);
	scratch_write("x.yaml", text);
	cdi = read_here();
	assert_null(cdi->problems);
	device = find(cdi, "a.b/c=d");
	assert_int_equal(device->mount_count, 3);
	assert_string_equal(device->mounts[1].path, "/usr/lib64/libx.so");
	assert_string_equal(device->mounts[2].path, "/usr/lib64/libx.so.1");
	(void)snprintf(text, sizeof text, "%s/libx.so.535.1", scratch_path);
	assert_string_equal(device->mounts[2].host_path, text);
	assert_string_equal(device->env[0], "LD_LIBRARY_PATH=/usr/lib64");
}

static void edits_of_a_device_replace_those_of_its_file(void **state)
{
	static const char text[] =
	        "cdiVersion: 0.6.0\nkind: a/b\n"
	        "containerEdits: {env: [A=file, B=file, \"LD_LIBRARY_PATH=/x:/y\"],"
	        " deviceNodes: [{path: /dev/x, major: 1}],"
	        " mounts: [{hostPath: /one, containerPath: /opt/x}]}\n"
	        "devices: [{name: d, containerEdits: {env: [A=device, \"LD_LIBRARY_PATH=/y:/z\"],"
	        " deviceNodes: [{path: /dev/x, major: 2}],"
	        " mounts: [{hostPath: /two, containerPath: /opt/x}]}}]\n";
	CLEANUP(cleanup_cdi_spec) struct cdi_spec spec = { 0 };
	const struct cdi_device *device;

	CHECK_OK(cdi_spec_read(VIEW(text), CDI_YAML, &spec, &err), err);
	device = &spec.devices[0];
	assert_int_equal(device->env_count, 3);
	assert_string_equal(device->env[0], "A=device");
	assert_string_equal(device->env[1], "B=file");
	assert_string_equal(device->env[2], "LD_LIBRARY_PATH=/x:/y:/z");
	assert_int_equal(device->node_count, 1);
	assert_int_equal(device->nodes[0].major, 2);
	assert_int_equal(device->mount_count, 1);
	assert_string_equal(device->mounts[0].host_path, "/two");
}

static void sockets_and_firmware_are_not_mounted(void **state)
{
	static const char *const pairs[][2] = {
		{ "/run/x/socket", "/run/x/socket" },
		{ "/var/run/docker.sock", "/usr/lib/docker" },
		{ "/tmp/nvidia-mps", "/tmp/nvidia-mps" },
		{ "/usr/lib/firmware/x.bin", "/usr/lib/firmware/x.bin" },
		{ "/dev/dri/by-path/x", "/dev/dri/by-path/x" },
	};

	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		CLEANUP(cleanup_cdi_spec) struct cdi_spec spec = { 0 };
		char text[512];

		(void)snprintf(text, sizeof text,
		               HEAD "devices: [{name: d, containerEdits: {mounts: [{hostPath: %s, "
		                    "containerPath: %s}]}}]\n",
		               pairs[i][0], pairs[i][1]);
		CHECK_OK(cdi_spec_read(view_of(text), CDI_YAML, &spec, &err), err);
		assert_int_equal(spec.devices[0].mount_count, 0);
		assert_int_equal(spec.skipped_mounts, 1);
		assert_string_equal(spec.skipped_mount, pairs[i][1]);
	}
}

static void devices_are_selected(void **state)
{
	/* Bits 0 to 3 are nvidia 0, 1, GPU-... (the same nodes as 0) and all; 4 and 5 are plain zero
	 * and null. */
	static const struct {
		const char *request;
		uint64_t bits;
	} cases[] = {
		{ "none", 0 },
		{ "auto", 0x33 },
		{ "1", 0x01 },
		{ "2", 0x03 },
		{ "4", 0x33 },
		{ "all", 0x08 },
		{ "nvidia.com/gpu=0", 0x01 },
		{ "GPU-955ef018-3bd9-5f27-80b3-fa20ee8d19c5", 0x04 },
		{ "null", 0x20 },
	};
	AUTO(cdi) struct cdi *cdi = NULL;

	scratch_write("a.yaml", nvidia);
	scratch_write("b.json", plain);
	cdi = read_here();
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		uint64_t bits = 0xffff;

		CHECK_OK(cdi_select(cdi, cases[i].request, &bits, &err), err);
		assert_int_equal(bits, cases[i].bits);
	}
}

static void failed_selection_names_the_devices(void **state)
{
	AUTO(cdi) struct cdi *cdi = NULL;
	uint64_t bits = 7;

	cdi = read_here();
	CHECK_OK(cdi_select(cdi, "auto", &bits, &err), err);
	assert_int_equal(bits, 0);
	CHECK_ERROR(cdi_select(cdi, "1", &bits, &err), err, ERR_LIMIT,
	            "gpus: 1 wanted, but there is none on this machine");
	cdi = cdi_free(cdi);

	put("a.yaml", "x");
	scratch_write("b.yaml", "cdiVersion: 0.5.0\nkind: e.f/g\ndevices: [{name: d}]\n");
	cdi = read_here();
	CHECK_ERROR(cdi_select(cdi, "d", &bits, &err), err, ERR_INVALID,
	            "gpus: 'd' could be several: there is 'a/b=d', 'e.f/g=d'");
	CHECK_ERROR(cdi_select(cdi, "x\n", &bits, &err), err, ERR_NOT_FOUND,
	            "gpus: no device 'x\\n': there is 'a/b=d', 'e.f/g=d' ('none' and 'auto' always "
	            "work)");
	CHECK_ERROR(cdi_select(cdi, "", &bits, &err), err, ERR_NOT_FOUND,
	            "gpus: no device '': there is 'a/b=d', 'e.f/g=d' ('none' and 'auto' always "
	            "work)");
	CHECK_ERROR(cdi_select(cdi, "3", &bits, &err), err, ERR_LIMIT,
	            "gpus: 3 wanted, but there is 'a/b=d', 'e.f/g=d'");
	CHECK_ERROR(
	        cdi_select(cdi, "0", &bits, &err), err, ERR_INVALID,
	        "gpus: '0' must be a number from 1 to 64, 'none', 'auto' or a whole name: there "
	        "is 'a/b=d', 'e.f/g=d'");
	CHECK_ERROR(
	        cdi_select(cdi, "65", &bits, &err), err, ERR_INVALID,
	        "gpus: '65' must be a number from 1 to 64, 'none', 'auto' or a whole name: there "
	        "is 'a/b=d', 'e.f/g=d'");
	assert_int_equal(bits, 0);
}

static void long_list_of_names_is_cut(void **state)
{
	AUTO(cdi) struct cdi *cdi = NULL;
	AUTO_BUF struct buf text;
	uint64_t bits;

	buf_init(&text, 64 * 1024);
	assert_int_equal(buf_printf(&text, &err, HEAD "devices:\n"), 0);
	for (int i = 0; i < 64; i++)
		assert_int_equal(buf_printf(&text, &err, "- name: device-%d\n", i), 0);
	scratch_write("many.yaml", buf_text(&text));
	cdi = read_here();
	CHECK_OK(cdi_select(cdi, "64", &bits, &err), err);
	assert_true(bits == UINT64_MAX);
	assert_int_equal(cdi_select(cdi, "x", &bits, &err), -1);
	assert_non_null(strstr(err.msg, "'a.b/c=device-9', "));
	assert_non_null(strstr(err.msg, " ... ('none' and 'auto' always work)"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_SCRATCH(file_of_nvidia_ctk_is_read),
		IN_SCRATCH(json_file_is_read),
		TEST(malformed_yaml_is_refused_with_a_reason),
		TEST(malformed_json_is_refused_with_a_reason),
		TEST(kinds_and_names_are_checked),
		TEST(wrong_edits_are_refused_with_a_reason),
		TEST(field_of_a_later_version_is_refused),
		TEST(every_list_has_a_limit),
		IN_SCRATCH(later_directory_replaces_a_device),
		IN_SCRATCH(device_in_two_files_of_a_directory_is_not_used),
		IN_SCRATCH(bad_file_does_not_affect_others),
		IN_SCRATCH(unreadable_directory_is_an_error),
		IN_SCRATCH(devices_beyond_the_limit_are_left_out),
		IN_SCRATCH(library_is_mounted_under_its_links_names_too),
		TEST(edits_of_a_device_replace_those_of_its_file),
		TEST(sockets_and_firmware_are_not_mounted),
		IN_SCRATCH(devices_are_selected),
		IN_SCRATCH(failed_selection_names_the_devices),
		IN_SCRATCH(long_list_of_names_is_cut),
	};

	return RUN_TESTS("engine/cdi", tests);
}
