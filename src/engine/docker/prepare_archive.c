/* prepare_archive.c - the archive that makes an image a prepared one: the agent, the directories of
 * a sandbox, and the files of users with the user of programs in them (see internal.h). */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "engine/docker/internal.h"
#include "engine/root_files.h"
#include "wire/tar.h"

enum { USERS_MAX = 1024 * 1024 };

#define USER_LINE  "coderunner:x:1000:1000:coderunner:" SPEC_HOME ":/bin/sh\n"
#define GROUP_LINE "coderunner:x:1000:\n"
#define ROOT_USER  "root:x:0:0:root:/root:/bin/sh\n"
#define ROOT_GROUP "root:x:0:\n"

/* --- users --- */

/* Copies a file of users or groups without the name and the id of the sandbox's user, and adds the
 * line of that user. The third field is the id in both files. */
static int write_users(struct view file, const char *first, const char *own, struct buf *out,
                       struct error *err)
{
	struct view line;

	if (file.len == 0)
		file = view_of(first);
	while (view_next_line(&file, &line)) {
		struct view fields = line, name = view_cut(&fields, ':');

		(void)view_cut(&fields, ':'); /* the password */
		if (view_is(name, "coderunner") || view_is(view_cut(&fields, ':'), "1000"))
			continue;
		if (buf_add(out, line, err) < 0 || buf_add(out, view_of("\n"), err) < 0)
			return -1;
	}
	return buf_add(out, view_of(own), err);
}

/* --- the archive --- */

/* tar_encode() writes neither owner nor sticky bit, which archives of the channel do not have: both
 * are set in the header afterwards. */
static int add_entry(struct buf *out, const char *name, enum tar_type type, unsigned mode,
                     unsigned owner, struct view data, struct error *err)
{
	static const char zeros[TAR_BLOCK];
	const struct tar_entry entry = {
		.type = type, .mode = mode & 0777, .size = data.len, .name = name, .link = ""
	};
	struct tar_block block;
	size_t at = out->len;

	if (tar_encode(&entry, out, err) < 0)
		return -1;
	memcpy(&block, out->ptr + at, sizeof block);
	(void)snprintf(block.mode, sizeof block.mode, "%07o", mode & 07777);
	(void)snprintf(block.uid, sizeof block.uid, "%07o", owner & 07777777);
	(void)snprintf(block.gid, sizeof block.gid, "%07o", owner & 07777777);
	tar_set_checksum(&block);
	memcpy(out->ptr + at, &block, sizeof block);
	if (buf_add(out, data, err) < 0)
		return -1;
	return buf_add(out, (struct view){ zeros, (size_t)tar_padding(data.len) }, err);
}

int prepare_archive(struct view agent, struct view passwd, struct view group, struct buf *out,
                    struct error *err)
{
	static const char trailer[TAR_TRAILER];
	static const struct {
		const char *name;
		unsigned mode, owner;
	} directories[] = {
		{ DOCKER_AGENT_DIR, 0755, 0 },
		{ "etc", 0755, 0 },
		{ "workspace", 0755, SPEC_UID },
		{ "home", 0755, 0 },
		{ "home/coderunner", 0755, SPEC_UID },
		{ "tmp", 01777, 0 },
		{ "app", 0755, SPEC_UID },
		{ "artifacts", 0755, SPEC_UID },
		/* A tmpfs takes over the mode of the directory that it is mounted on. */
		{ "run", 01777, 0 },
		{ "var", 0755, 0 },
		{ "var/tmp", 01777, 0 },
		{ ROOT_PROGRAMS, 0755, 0 },
	};
	const struct view none = { "", 0 };
	AUTO_BUF struct buf users = { 0 }, groups = { 0 };

	buf_init(&users, USERS_MAX);
	buf_init(&groups, USERS_MAX);
	if (write_users(passwd, ROOT_USER, USER_LINE, &users, err) < 0 ||
	    write_users(group, ROOT_GROUP, GROUP_LINE, &groups, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(directories); i++)
		if (add_entry(out, directories[i].name, TAR_DIRECTORY, directories[i].mode,
		              directories[i].owner, none, err) < 0)
			return -1;
	if (add_entry(out, &DOCKER_AGENT_PATH[1], TAR_FILE, 0755, 0, agent, err) < 0 ||
	    add_entry(out, "etc/passwd", TAR_FILE, 0644, 0, buf_view(&users), err) < 0 ||
	    add_entry(out, "etc/group", TAR_FILE, 0644, 0, buf_view(&groups), err) < 0)
		return -1;
	for (size_t i = 0; i < root_file_count; i++)
		if (add_entry(out, root_files[i].path, TAR_FILE,
		              root_files[i].is_program ? 0755 : 0644, 0,
		              view_of(root_files[i].text), err) < 0)
			return -1;
	return buf_add(out, (struct view){ trailer, sizeof trailer }, err);
}

/* tar_parser.h reads only archives as tar_encode() writes them. The daemon writes GNU and PAX
 * headers in front of an entry: they are skipped, like everything before the first regular file. */
bool prepare_read_file(struct view archive, struct view *ret)
{
	while (archive.len >= TAR_BLOCK) {
		struct tar_block block;
		uint64_t size = 0, whole;

		memcpy(&block, archive.ptr, sizeof block);
		for (size_t i = 0;
		     i < sizeof block.size && block.size[i] >= '0' && block.size[i] <= '7'; i++)
			size = size * 8 + (uint64_t)(block.size[i] - '0');
		archive = (struct view){ archive.ptr + TAR_BLOCK, archive.len - TAR_BLOCK };
		whole = size + tar_padding(size);
		if (size > archive.len)
			return false;
		if (block.type == '0' || block.type == '\0') {
			*ret = (struct view){ archive.ptr, (size_t)size };
			return block.name[0] != '\0';
		}
		if (whole > archive.len)
			return false;
		archive = (struct view){ archive.ptr + whole, archive.len - (size_t)whole };
	}
	return false;
}
