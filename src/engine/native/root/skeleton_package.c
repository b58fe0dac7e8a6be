/* skeleton_package.c - which files of /etc are as a package of the distribution brought them.
 *
 * dpkg(1) keeps the MD5 of each configuration file as it was in its package, ucf(1) that of each
 * file that a package has made. A file that still has this MD5 is public: an operator has written
 * nothing into it. MD5 need not be secure here, because only root can write to these files. */
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "engine/native/root/internal.h"

enum { KNOWN_MAX = 4 << 20, MD5_BYTES = 16, MD5_DIGITS = 2 * MD5_BYTES };

/* Their lines: " /etc/R/Makeconf 0123...", and "0123...  /etc/R/Renviron". */
const char *const skeleton_package_files[] = { "var/lib/dpkg/status", "var/lib/ucf/hashfile",
	                                       NULL };

/* Adds a line "PATH MD5" to *known. A word after the MD5 ("obsolete") is left out, and so is a line
 * of another kind: its word beside the path has not the length of an MD5. */
static void add_known(struct buf *known, char *line)
{
	char *rest, *first = strtok_r(line, " \n", &rest), *second = strtok_r(NULL, " \n", &rest);
	const char *path = first, *md5 = second;

	if (first == NULL || second == NULL)
		return;
	if (second[0] == '/') {
		path = second;
		md5 = first;
	}
	if (strncmp(path, "/etc/", 5) == 0 && strlen(md5) == MD5_DIGITS)
		buf_putf(known, "%s %s\n", path + 1, md5);
}

static void read_known(int host, const char *path, struct buf *known)
{
	int fd = openat(host, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
	char *line = NULL;
	size_t room = 0;

	while (file != NULL && getline(&line, &room, file) > 0)
		if (strstr(line, " /etc/") != NULL)
			add_known(known, line);
	free(line);
	if (file != NULL)
		(void)fclose(file);
	else if (fd >= 0)
		(void)close(fd);
}

void skeleton_packages_read(int host, struct buf *known)
{
	buf_init(known, KNOWN_MAX);
	for (size_t i = 0; skeleton_package_files[i] != NULL; i++)
		read_known(host, skeleton_package_files[i], known);
}

bool skeleton_package_has(const struct buf *known, const char *path, struct view content)
{
	unsigned char md5[EVP_MAX_MD_SIZE];
	char line[SKELETON_PATH_SIZE + MD5_DIGITS + 2];
	unsigned bytes = 0;
	size_t len;

	if (known->len == 0 ||
	    EVP_Digest(content.ptr, content.len, md5, &bytes, EVP_md5(), NULL) != 1 ||
	    bytes != MD5_BYTES)
		return false;
	len = (size_t)snprintf(line, sizeof line, "%s ", path);
	for (unsigned i = 0; i < MD5_BYTES; i++, len += 2)
		(void)snprintf(line + len, 3, "%02x", md5[i]);
	for (const char *at = strstr(known->ptr, line); at != NULL; at = strstr(at + 1, line))
		if (at == known->ptr || at[-1] == '\n')
			return true;
	return false;
}
