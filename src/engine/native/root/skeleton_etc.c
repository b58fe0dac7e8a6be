/* skeleton_etc.c - which files of the host a skeleton holds copies of.
 *
 * These are the rows of a list, and entries of /etc with the name of an installed program, which
 * skeleton_rule.c describes. A row is for a library or a group of programs that has another name,
 * or for files that the rule would refuse. Files in which people keep passwords, proxies or names
 * of machines are not in the list (environment, profile, profile.d, gitconfig, npmrc, gemrc,
 * odbc.ini, wgetrc, ssh, apt, subversion, maven's settings), nor are files about the host's users
 * and services, nor private keys. */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/view.h"
#include "engine/native/root/internal.h"

enum {
	DEPTH_MAX = 8,
	ENTRIES_MAX = 20000,
	FILE_MAX = 8 * 1024 * 1024,
	ALL_MAX = 64 * 1024 * 1024,
	RULE_FILE_MAX = 256 * 1024,
};

/* A path that ends in "*" stands for all names in /etc with that beginning. */
static const struct row {
	const char *path, *skip; /* names below `path` that end in `skip` are not copied */
} rows[] = {
	/* the loader, and the alternatives system */
	{ "etc/alternatives", ".gz" }, /* manual pages */
	{ "etc/ld.so.cache", NULL },
	{ "etc/ld.so.conf", NULL },
	{ "etc/ld.so.conf.d", NULL },
	{ "etc/ld-musl*", NULL },
	/* certificates */
	{ "etc/ca-certificates", NULL },
	{ "etc/ca-certificates.conf", NULL },
	{ "etc/crypto-policies", NULL },
	{ "etc/gcrypt", NULL },
	{ "etc/gnutls", NULL },
	{ "etc/pki/ca-trust", NULL },
	{ "etc/pki/java", NULL },
	{ "etc/pki/tls/cert.pem", NULL },
	{ "etc/pki/tls/certs", NULL },
	{ "etc/pki/tls/openssl.cnf", NULL },
	{ "etc/ssl/cert.pem", NULL },
	{ "etc/ssl/certs", NULL },
	{ "etc/ssl/openssl.cnf", NULL },
	{ "var/lib/ca-certificates", NULL },
	/* distribution, language, time zone */
	{ "etc/alpine-release", NULL },
	{ "etc/arch-release", NULL },
	{ "etc/debian_version", NULL },
	{ "etc/fedora-release", NULL },
	{ "etc/gentoo-release", NULL },
	{ "etc/locale.alias", NULL },
	{ "etc/localtime", NULL },
	{ "etc/lsb-release", NULL },
	{ "etc/os-release", NULL },
	{ "etc/redhat-release", NULL },
	{ "etc/SuSE-release", NULL },
	{ "etc/system-release", NULL },
	{ "etc/timezone", NULL },
	/* tables of the C library and of others */
	{ "etc/ethertypes", NULL },
	{ "etc/gai.conf", NULL },
	{ "etc/host.conf", NULL },
	{ "etc/iproute2", NULL },
	{ "etc/libibverbs.d", NULL },
	{ "etc/libnl*", NULL },
	{ "etc/magic*", NULL },
	{ "etc/mailcap*", NULL },
	{ "etc/mime.types", NULL },
	{ "etc/mke2fs.conf", NULL },
	{ "etc/netconfig", NULL },
	{ "etc/odbcinst.ini", NULL },
	{ "etc/papersize", NULL },
	{ "etc/paperspecs", NULL },
	{ "etc/protocols", NULL },
	{ "etc/rpc", NULL },
	{ "etc/services", NULL },
	{ "etc/sgml", NULL },
	{ "etc/xattr.conf", NULL },
	{ "etc/xml", NULL },
	/* terminals, shells and editors */
	{ "etc/DIR_COLORS*", NULL },
	{ "etc/bash_completion*", NULL },
	{ "etc/inputrc", NULL },
	{ "etc/lynx", NULL },
	{ "etc/shells", NULL },
	{ "etc/terminfo", NULL },
	{ "etc/w3m", NULL },
	/* languages and their tools */
	{ "etc/common-lisp", NULL },
	{ "etc/dmd.conf", NULL },
	{ "etc/dpkg", NULL }, /* dpkg-architecture and dpkg-buildflags, for builds */
	{ "etc/findlib.conf", NULL },
	{ "etc/fpc*", NULL }, /* made when the package is installed */
	{ "etc/gnucobol", NULL },
	{ "etc/gprc", NULL },
	{ "etc/java*", NULL },
	{ "etc/jvm*", NULL },
	{ "etc/lazarus", NULL },
	{ "etc/ldc2.conf", NULL },
	{ "etc/lisp-config.lisp", NULL },
	{ "etc/matplotlibrc", NULL },
	{ "etc/maven", "settings.xml" },
	{ "etc/mono", NULL },
	{ "etc/mpich*", NULL },
	{ "etc/openmpi*", NULL },
	{ "etc/pmix*", NULL },
	{ "etc/swi-prolog", NULL },
	{ "var/lib/ghc", NULL }, /* /usr/lib/ghc/package.conf.d leads there */
	/* fonts, pictures, documents, graphics */
	{ "etc/ImageMagick*", NULL },
	{ "etc/OpenCL", NULL },
	{ "etc/X11/app-defaults", NULL },
	{ "etc/X11/fonts", NULL },
	{ "etc/X11/rgb.txt", NULL },
	{ "etc/X11/xkb", NULL },
	{ "etc/dictionaries-common", NULL },
	{ "etc/drirc", NULL },
	{ "etc/fonts", NULL },
	{ "etc/glvnd", NULL },
	{ "etc/gtk-2.0", NULL },
	{ "etc/gtk-3.0", NULL },
	{ "etc/libpaper.d", NULL },
	{ "etc/pango", NULL },
	{ "etc/texmf", NULL },
	{ "etc/vulkan", NULL },
	{ "etc/xdg", "autostart" },
	/* for new home directories */
	{ "etc/skel", NULL },
};

struct walk {
	const struct skeleton_visitor *visitor;
	const char *skip;
	bool by_rule;     /* the entry is none of the rows */
	struct buf known; /* files of packages (skeleton_package.c) */
	uint64_t entries, bytes;
	char path[SKELETON_PATH_SIZE];
};

/* Private keys of a web server are sometimes readable for everyone by mistake. */
static bool is_excluded(const struct walk *walk, const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, "private") == 0 ||
	       view_ends(view_of(name), ".key") ||
	       (walk->skip != NULL && view_ends(view_of(name), walk->skip)) ||
	       (walk->by_rule && !skeleton_rule_allows_name(name));
}

/* The spawner may be root. Only files that every user of the host may read are copied, because a
 * sandbox must not see more than its user could; the limits bound a strange /etc. */
static bool is_allowed(struct walk *walk, const struct stat *st)
{
	uint64_t size = (uint64_t)st->st_size;

	if (S_ISDIR(st->st_mode) && (st->st_mode & 0005) != 0005)
		return false;
	if (S_ISREG(st->st_mode) &&
	    ((st->st_mode & 0004) == 0 || size > FILE_MAX || size > ALL_MAX - walk->bytes))
		return false;
	if ((!S_ISDIR(st->st_mode) && !S_ISREG(st->st_mode) && !S_ISLNK(st->st_mode)) ||
	    walk->entries == ENTRIES_MAX)
		return false;
	walk->entries++;
	walk->bytes += S_ISREG(st->st_mode) ? size : 0;
	return true;
}

static void report_seen(const struct walk *walk, const struct stat *st)
{
	if (walk->visitor->seen != NULL)
		walk->visitor->seen(walk->visitor->ctx, walk->path, st);
}

static int report_entry(const struct walk *walk, int at, const char *name, const struct stat *st,
                        struct error *err)
{
	return walk->visitor->visit(walk->visitor->ctx, walk->path, at, name, st, err);
}

static bool is_safe_file(const struct walk *walk, int at, const char *name)
{
	static char text[RULE_FILE_MAX + 1];
	AUTO_FD int fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	size_t len = 0;
	ssize_t n = -1;

	while (fd >= 0 && len < RULE_FILE_MAX &&
	       (n = read(fd, text + len, RULE_FILE_MAX - len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	return n == 0 && skeleton_rule_allows_text(text, len) &&
	       skeleton_package_has(&walk->known, walk->path, (struct view){ text, len });
}

static bool is_safe_link(int at, const char *name)
{
	char target[SKELETON_PATH_SIZE];
	ssize_t n = readlinkat(at, name, target, sizeof target - 1);

	target[n < 0 ? 0 : n] = '\0';
	return n > 0 && skeleton_rule_allows_link(target);
}

/* For an entry that is none of the rows. */
static bool is_safe_entry(const struct walk *walk, int at, const char *name, mode_t mode)
{
	return S_ISDIR(mode) ||
	       (S_ISLNK(mode) ? is_safe_link(at, name) : is_safe_file(walk, at, name));
}

static int walk_directory(struct walk *walk, int at, const char *name, int depth,
                          struct error *err);

/* walk->path is the path of the entry. Most entries are links, and fstatat(2) of each took a
 * millisecond of every start: a link that changes is a new link, which changes the time of its
 * directory, so the visitor gets only its type. */
static int walk_entry(struct walk *walk, int at, const char *name, bool is_link, int depth,
                      struct error *err)
{
	struct stat st = { .st_mode = S_IFLNK | 0777 };

	if (!is_link && fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (!S_ISLNK(st.st_mode))
		report_seen(walk, &st);
	if (!is_allowed(walk, &st) || (walk->by_rule && !is_safe_entry(walk, at, name, st.st_mode)))
		return 0;
	if (report_entry(walk, at, name, &st, err) < 0)
		return -1;
	if (!S_ISDIR(st.st_mode) || depth == DEPTH_MAX)
		return 0;
	return walk_directory(walk, at, name, depth + 1, err);
}

/* walk->path is the path of the directory, and has the same value again afterwards. */
static int walk_child(struct walk *walk, DIR *dir, const struct dirent *entry, int depth,
                      struct error *err)
{
	const char *name = entry->d_name;
	size_t len = strlen(walk->path);
	int failed;

	if (is_excluded(walk, name) || len + 1 + strlen(name) >= sizeof walk->path)
		return 0;
	(void)snprintf(walk->path + len, sizeof walk->path - len, "/%s", name);
	failed = walk_entry(walk, dirfd(dir), name, entry->d_type == DT_LNK, depth, err);
	walk->path[len] = '\0';
	return failed;
}

static int walk_directory(struct walk *walk, int at, const char *name, int depth, struct error *err)
{
	AUTO_DIR DIR *dir = fd_open_dir(at, name);
	const struct dirent *entry;
	int failed = 0;

	if (dir == NULL)
		return 0;
	while (failed == 0 && (entry = readdir(dir)) != NULL)
		failed = walk_child(walk, dir, entry, depth, err);
	return failed;
}

/* --- entries of /etc without a row ---------------------------------------------------- */

static bool is_readable_tree(struct walk *walk, int at, const char *name, int depth);

static bool is_readable_child(struct walk *walk, int at, const char *name, int depth)
{
	size_t len = strlen(walk->path);
	bool is_readable;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return true;
	if (len + 1 + strlen(name) >= sizeof walk->path)
		return false;
	(void)snprintf(walk->path + len, sizeof walk->path - len, "/%s", name);
	is_readable = is_readable_tree(walk, at, name, depth);
	walk->path[len] = '\0';
	return is_readable;
}

/* A directory with a file that only some users may read is for secrets, and none of its files is
 * copied. */
static bool is_readable_tree(struct walk *walk, int at, const char *name, int depth)
{
	const struct dirent *entry;
	bool is_readable = true;
	struct stat st;
	AUTO_DIR DIR *dir = NULL;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	if (S_ISLNK(st.st_mode))
		return true;
	report_seen(walk, &st);
	if (S_ISREG(st.st_mode))
		return (st.st_mode & 0004) != 0;
	if (!S_ISDIR(st.st_mode) || (st.st_mode & 0005) != 0005 || depth == DEPTH_MAX)
		return false;
	dir = fd_open_dir(at, name);
	while (is_readable && dir != NULL && (entry = readdir(dir)) != NULL)
		is_readable = is_readable_child(walk, dirfd(dir), entry->d_name, depth + 1);
	return is_readable && dir != NULL;
}

static bool has_row(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *row = rows[i].path + strlen("etc/");

		if (strncmp(rows[i].path, "etc/", 4) == 0 && strncmp(row, name, len) == 0 &&
		    (row[len] == '\0' || row[len] == '/'))
			return true;
	}
	return false;
}

static bool matches_star(const char *path, const char *name)
{
	const char *start = path + strlen("etc/");

	return view_ends(view_of(path), "*") && strncmp(name, start, strlen(start) - 1) == 0;
}

static bool has_star(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (matches_star(rows[i].path, name))
			return true;
	return false;
}

static bool is_by_rule(struct walk *walk, int host, int etc, const struct dirent *entry)
{
	const char *name = entry->d_name;

	if (has_row(name) || skeleton_is_generated(name) || !skeleton_rule_allows_name(name) ||
	    !skeleton_rule_names(host, name))
		return false;
	return entry->d_type == DT_LNK || is_readable_child(walk, etc, name, 0);
}

static void report_all_seen(struct walk *walk, int host, const char *const *paths)
{
	struct stat st;

	for (size_t i = 0; paths[i] != NULL; i++) {
		(void)snprintf(walk->path, sizeof walk->path, "%s", paths[i]);
		if (fstatat(host, walk->path, &st, 0) == 0)
			report_seen(walk, &st);
	}
}

/* One pass over /etc for all rows with a star, and for the rule. */
static int walk_etc(struct walk *walk, int host, struct error *err)
{
	AUTO_DIR DIR *dir = fd_open_dir(host, "etc");
	const struct dirent *entry;
	int failed = 0;

	report_all_seen(walk, host, skeleton_rule_dirs);
	report_all_seen(walk, host, skeleton_package_files);
	skeleton_packages_read(host, &walk->known);
	(void)snprintf(walk->path, sizeof walk->path, "etc");
	walk->skip = NULL;
	while (failed == 0 && dir != NULL && (entry = readdir(dir)) != NULL) {
		walk->by_rule = !has_star(entry->d_name);
		if (!walk->by_rule || is_by_rule(walk, host, dirfd(dir), entry))
			failed = walk_child(walk, dir, entry, 0, err);
	}
	buf_done(&walk->known);
	return failed;
}

/* --- rows ---------------------------------------------------------------------------- */

/* Directories above a row are made as directories even if they are links on the host: a copied link
 * would lead out of the copied files. The visitor gets only their mode: their times change with
 * entries that are not copied. */
static int walk_parents(struct walk *walk, int host, const char *path, struct error *err)
{
	struct stat st, above = { 0 };
	bool exists = fstatat(host, path, &st, AT_SYMLINK_NOFOLLOW) == 0;

	for (const char *end = strchr(path, '/'); end != NULL; end = strchr(end + 1, '/')) {
		(void)snprintf(walk->path, sizeof walk->path, "%.*s", (int)(end - path), path);
		if (fstatat(host, walk->path, &st, 0) < 0 || !S_ISDIR(st.st_mode))
			continue;
		report_seen(walk, &st);
		above.st_mode = st.st_mode;
		if (exists && report_entry(walk, host, walk->path, &above, err) < 0)
			return -1;
	}
	return 0;
}

static int walk_path(struct walk *walk, int host, const char *path, struct error *err)
{
	if (strchr(path, '/') != strrchr(path, '/') && walk_parents(walk, host, path, err) < 0)
		return -1;
	(void)snprintf(walk->path, sizeof walk->path, "%s", path);
	return walk_entry(walk, host, path, false, 0, err);
}

int skeleton_walk(int host, const struct skeleton_visitor *visitor, struct error *err)
{
	struct walk walk = { .visitor = visitor };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		walk.skip = rows[i].skip;
		if (!view_ends(view_of(rows[i].path), "*") &&
		    walk_path(&walk, host, rows[i].path, err) < 0)
			return -1;
	}
	return walk_etc(&walk, host, err);
}
