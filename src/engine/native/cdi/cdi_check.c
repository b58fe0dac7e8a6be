#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text/utf8.h"
#include "engine/native/cdi/internal.h"

enum { ENV_MAX = 2047, VENDOR_MAX = 253, CLASS_MAX = 63, SHOWN = 160 };

/* Text of the file for an error message, without control characters. The compound literal lives
 * until the end of the enclosing block. */
#define show(text) utf8_escape(view_of(text), (char[SHOWN]){ 0 }, SHOWN)

static bool has_control(const char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return true;
	return false;
}

/* True if the path is `folder` or lies below it. */
static bool is_in(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	return strncmp(path, folder, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

static bool is_in_one(const char *path, const char *const *folders)
{
	for (; *folders != NULL; folders++)
		if (is_in(path, *folders))
			return true;
	return false;
}

static bool is_below_one(const char *path, const char *const *folders)
{
	for (; *folders != NULL; folders++)
		if (is_in(path, *folders) && path[strlen(*folders)] == '/')
			return true;
	return false;
}

int cdi_check_path(const char *path, struct error *err)
{
	const char *part = path;

	if (path[0] != '/')
		return error_set(err, ERR_INVALID, "'%s' is not an absolute path", show(path));
	if (strlen(path) > CDI_PATH_MAX)
		return error_set(err, ERR_LIMIT, "'%.40s...' has more than %d bytes", show(path),
		                 CDI_PATH_MAX);
	if (has_control(path) || !utf8_is_valid(view_of(path)))
		return error_set(err, ERR_INVALID, "'%s' has a control character", show(path));
	/* Prefixes of paths are compared below: "/dev/../etc" must not count as a path in /dev. */
	while (*part == '/') {
		size_t len = strcspn(++part, "/");

		if (len == 0 || (len == 1 && part[0] == '.') ||
		    (len == 2 && part[0] == '.' && part[1] == '.'))
			return error_set(err, ERR_INVALID,
			                 "'%s' must not have '.', '..', '//' or a '/' at its end",
			                 show(path));
		part += len;
	}
	return 0;
}

int cdi_check_node(const char *path, const char *host_path, struct error *err)
{
	static const char *const dev[] = { "/dev", NULL };
	/* Nodes that every sandbox has: a specification may name them, but not put another device
	 * in their place, which every program would then use. */
	static const char *const same[] = { "/dev/null",    "/dev/zero", "/dev/full", "/dev/random",
		                            "/dev/urandom", "/dev/tty",  NULL };
	/* Nodes and links that the sandbox's own mounts provide. */
	static const char *const ours[] = { "/dev/pts",    "/dev/ptmx",   "/dev/shm",
		                            "/dev/fd",     "/dev/stdin",  "/dev/stdout",
		                            "/dev/stderr", "/dev/mqueue", "/dev/console",
		                            "/dev/core",   NULL };
	/* Files of the kernel that are no device nodes: /proc/kcore is the kernel's memory. */
	static const char *const not_nodes[] = { "/proc", "/sys", NULL };

	if (!is_below_one(path, dev))
		return error_set(err, ERR_INVALID, "'%s' is not below /dev", show(path));
	if (is_in_one(path, ours) || (is_in_one(path, same) && strcmp(path, host_path) != 0))
		return error_set(err, ERR_INVALID, "'%s' is reserved for the sandbox", show(path));
	if (is_in_one(host_path, not_nodes))
		return error_set(err, ERR_INVALID, "'%s' cannot be a device node", show(host_path));
	return 0;
}

/* True for mounts that generators write but a sandbox must not or need not have. A socket leads to
 * a daemon of the host that trusts its peers, and a read-only mount does not prevent connecting.
 * Firmware is loaded by the host's kernel. Links by bus path are a convenience. */
static bool is_skipped(const char *path, const char *host_path)
{
	static const char *const folders[] = { "/run",
		                               "/var/run",
		                               "/tmp",
		                               "/lib/firmware",
		                               "/usr/lib/firmware",
		                               "/dev/dri/by-path",
		                               NULL };

	struct view host = view_of(host_path);

	return is_in_one(path, folders) || view_ends(host, "/socket") || view_ends(host, ".sock") ||
	       view_ends(host, ".socket");
}

int cdi_check_mount(const char *path, const char *host_path, bool *ret_skip, struct error *err)
{
	/* Directories of programs, libraries and their data. A mount goes below one of them, never
	 * on the directory itself, which would hide all of its files. */
	static const char *const targets[] = {
		"/usr/bin",     "/usr/sbin",
		"/usr/lib",     "/usr/lib32",
		"/usr/lib64",   "/usr/libx32",
		"/usr/libexec", "/usr/share",
		"/usr/local",   "/usr/src",
		"/bin",         "/sbin",
		"/lib",         "/lib32",
		"/lib64",       "/libx32",
		"/opt",         "/nix/store",
		"/etc/vulkan",  "/etc/OpenCL",
		"/etc/glvnd",   "/etc/egl",
		"/etc/nvidia",  "/etc/X11",
		"/etc/amd",     "/etc/ld.so.conf.d",
		NULL,
	};
	/* Directories of the host with interfaces of the kernel, devices, or users' secrets. */
	static const char *const private_dirs[] = { "/proc", "/sys",  "/dev", "/root",
		                                    "/home", "/boot", NULL };

	if (is_skipped(path, host_path)) {
		*ret_skip = true;
		return 0;
	}
	if (!is_below_one(path, targets))
		return error_set(err, ERR_INVALID,
		                 "'%s' is not a place for driver files; they go below /usr, /lib*, "
		                 "/opt, /etc/vulkan and the like",
		                 show(path));
	/* The specification is root's, but a careless one must not hand out secrets. */
	if (is_in_one(host_path, private_dirs) || strcmp(host_path, "/etc/shadow") == 0)
		return error_set(err, ERR_INVALID, "'%s' is not a place of driver files",
		                 show(host_path));
	*ret_skip = false;
	return 0;
}

int cdi_check_library_dir(const char *path, struct error *err)
{
	if (cdi_check_path(path, err) < 0)
		return -1;
	/* ld.so splits LD_LIBRARY_PATH at colons and semicolons, and expands $ORIGIN and $LIB. */
	if (strpbrk(path, ":;$") != NULL)
		return error_set(
		        err, ERR_INVALID,
		        "'%s': a library directory must not have ':', ';' or '$' in its name",
		        show(path));
	return 0;
}

static bool is_alpha(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_alnum(char c)
{
	return is_alpha(c) || (c >= '0' && c <= '9');
}

/* True for variables that decide what other programs load, execute or trust. A device that sets one
 * of them would control every program in the sandbox. */
static bool is_protected(struct view name)
{
	static const char names[] =
	        "PATH HOME USER LOGNAME SHELL PWD IFS ENV BASH_ENV BASHOPTS SHELLOPTS "
	        "PS4 PROMPT_COMMAND CDPATH TMPDIR TERM LANG HOSTNAME EDITOR PAGER "
	        "GCONV_PATH LOCPATH NLSPATH HOSTALIASES RES_OPTIONS GLIBC_TUNABLES "
	        "NODE_OPTIONS NODE_PATH RUBYOPT RUBYLIB PERL5OPT PERL5LIB PERL5DB "
	        "JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH OPENSSL_CONF "
	        "SSL_CERT_FILE SSL_CERT_DIR http_proxy https_proxy all_proxy no_proxy "
	        "HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY";
	static const char *const beginnings[] = { "LD_",   "BASH_FUNC_", "PYTHON", "MALLOC_",
		                                  "LC_",   "GIT_",       "SSH_",   "BELLJAR_",
		                                  "DYLD_", "XDG_",       "npm_" };

	char word[ENV_MAX + 1];

	(void)snprintf(word, sizeof word, "%.*s", (int)name.len, name.ptr);
	if (view_list_has(view_of(names), ' ', word))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(beginnings); i++)
		if (view_starts(name, beginnings[i]))
			return true;
	return false;
}

int cdi_check_env(const char *entry, struct error *err)
{
	struct view name = { entry, strcspn(entry, "=") };

	if (entry[name.len] != '=')
		return error_set(err, ERR_INVALID, "'%s' must be NAME=value", show(entry));
	/* The environment of every program in the sandbox is made of these; execve() has a
	 * limit. */
	if (strlen(entry) > ENV_MAX)
		return error_set(err, ERR_LIMIT, "'%.40s...' has more than %d bytes", show(entry),
		                 ENV_MAX);
	for (size_t i = 0; i < name.len; i++)
		if (name.ptr[i] != '_' && !(i == 0 ? is_alpha(name.ptr[i]) : is_alnum(name.ptr[i])))
			name.len = 0;
	if (name.len == 0)
		return error_set(
		        err, ERR_INVALID,
		        "'%s': a name has letters, digits and '_', and no digit at its start",
		        show(entry));
	if (has_control(entry) || !utf8_is_valid(view_of(entry)))
		return error_set(err, ERR_INVALID, "'%s' has a control character", show(entry));
	if (is_protected(name))
		return error_set(err, ERR_INVALID, "a device may not set '%.*s'", (int)name.len,
		                 name.ptr);
	return 0;
}

/* True if the word consists of letters, digits and characters of `between`, and begins and ends
 * with a letter or digit. */
static bool is_word(struct view word, const char *between, bool letter_first)
{
	if (word.len == 0 || !is_alnum(word.ptr[0]) || !is_alnum(word.ptr[word.len - 1]) ||
	    (letter_first && !is_alpha(word.ptr[0])))
		return false;
	for (size_t i = 0; i < word.len; i++)
		if (!is_alnum(word.ptr[i]) && strchr(between, word.ptr[i]) == NULL)
			return false;
	return true;
}

int cdi_check_kind(const char *kind, struct error *err)
{
	struct view vendor = { kind, strcspn(kind, "/") };
	struct view class = { kind + vendor.len, 0 };

	if (*class.ptr == '/')
		class = view_of(class.ptr + 1);
	if (!is_word(vendor, "-_.", true) || !is_word(class, "-_.", true))
		return error_set(
		        err, ERR_INVALID,
		        "'%s' must be vendor/class, like nvidia.com/gpu: each starts with a letter "
		        "and consists of letters and digits, with '-', '_' or '.' between them",
		        show(kind));
	if (vendor.len > VENDOR_MAX || class.len > CLASS_MAX)
		return error_set(err, ERR_LIMIT,
		                 "'%.40s...': at most %d bytes for the vendor and %d for the class",
		                 show(kind), VENDOR_MAX, CLASS_MAX);
	return 0;
}

int cdi_check_name(const char *name, struct error *err)
{
	if (!is_word(view_of(name), "-_.:", false))
		return error_set(err, ERR_INVALID,
		                 "'%s' must consist of letters and digits, with "
		                 "'-', '_', '.' or ':' between them",
		                 show(name));
	return 0;
}
