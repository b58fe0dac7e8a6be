#include "unit/engine/native/native_test.h"

#include <dirent.h>
#include <ftw.h>
#include <sys/file.h>

#include "engine/native/root/skeleton.h"
#include "engine/native/root/skeleton_internal.h"
#include "unit/engine/native/root/skeleton_test.h"

/* A machine with all that matters, and the directory for skeletons. */
struct machine {
	struct place place;
	int host, parent;
	mode_t umask;
};

static void put_text(int at, const char *path, const char *text)
{
	AUTO_FD int fd = openat(at, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static int make_sub(int at, const char *name)
{
	assert_int_equal(mkdirat(at, name, 0700), 0);
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void machine_start(struct machine *m)
{
	m->umask = umask(077); /* as the spawner's */
	place_start(&m->place);
	m->host = make_sub(m->place.fd, "host");
	m->parent = make_sub(m->place.fd, "skeletons");
	for (size_t i = 0; i < ARRAY_LEN(on_host); i++) {
		const char *path = on_host[i].path;
		mode_t type = on_host[i].mode & S_IFMT;

		if (type == S_IFLNK) {
			assert_int_equal(symlinkat(on_host[i].text, m->host, path), 0);
			continue;
		}
		if (type == S_IFDIR)
			assert_int_equal(mkdirat(m->host, path, 0700), 0);
		else if (type == S_IFIFO)
			assert_int_equal(mkfifoat(m->host, path, 0700), 0);
		else
			put_text(m->host, path, on_host[i].text);
		assert_int_equal(fchmodat(m->host, path, on_host[i].mode & 07777, 0), 0);
	}
}

static void machine_stop(struct machine *m)
{
	assert_int_equal(umask(m->umask), 077);
	(void)close(m->host);
	(void)close(m->parent);
	place_stop(&m->place);
}

static struct skeleton open_one(const struct machine *m)
{
	struct skeleton skeleton;
	struct error err;

	CHECK_OK(skeleton_open_from(m->host, m->parent, geteuid(), getegid(), &skeleton, &err),
	         err);
	return skeleton;
}

static int count_entries(int at)
{
	DIR *dir = fdopendir(openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	int count = -2;

	assert_non_null(dir);
	while (readdir(dir) != NULL)
		count++;
	(void)closedir(dir);
	return count;
}

static int count_in(const struct machine *m)
{
	return count_entries(m->parent);
}

static void check_inside(const struct skeleton *skeleton, size_t i)
{
	char got[1024] = "";
	const char *path = inside[i].path[0] == '\0' ? "." : inside[i].path;
	struct stat st;

	if (fstatat(skeleton->dir, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		fail_msg("%s is missing", path);
	if (st.st_mode != inside[i].mode)
		fail_msg("%s has mode %o", path, st.st_mode);
	assert_int_equal(st.st_uid, geteuid());
	if (S_ISLNK(st.st_mode)) {
		assert_true(readlinkat(skeleton->dir, path, got, sizeof got - 1) > 0);
	} else if (S_ISREG(st.st_mode)) {
		AUTO_FD int fd = openat(skeleton->dir, path, O_RDONLY | O_CLOEXEC);

		assert_true(read(fd, got, sizeof got - 1) >= 0);
	}
	if (inside[i].text != NULL)
		assert_string_equal(got, inside[i].text);
}

static size_t counted;

static int count_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	const char *below = strstr(path, "/skeleton-");

	(void)st;
	(void)type;
	(void)ftw;
	below = strchr(below + 1, '/');
	below = below == NULL ? "" : below + 1;
	for (size_t i = 0; i < ARRAY_LEN(inside); i++)
		if (strcmp(inside[i].path, below) == 0) {
			counted++;
			return 0;
		}
	fail_msg("%s should not be there", below);
	return 0;
}

static void it_holds_what_the_table_names_and_nothing_else(void **state)
{
	struct skeleton skeleton;
	struct machine m;
	char path[256];

	(void)state;
	machine_start(&m);
	skeleton = open_one(&m);
	for (size_t i = 0; i < ARRAY_LEN(inside); i++)
		check_inside(&skeleton, i);
	(void)snprintf(path, sizeof path, "%s/skeletons/%s", m.place.path, skeleton.name);
	counted = 0;
	assert_int_equal(nftw(path, count_entry, 16, FTW_PHYS), 0);
	assert_int_equal(counted, ARRAY_LEN(inside));
	/* /bin is a link into /usr, /lib is not. */
	assert_string_equal(skeleton.over[0], "lib");
	assert_null(skeleton.over[1]);
	(void)close(skeleton.dir);
	machine_stop(&m);
}

static void it_is_made_once_and_found_again(void **state)
{
	struct skeleton first, second;
	struct machine m;
	struct stat a, b;

	(void)state;
	machine_start(&m);
	first = open_one(&m);
	second = open_one(&m);
	assert_string_equal(first.name, second.name);
	assert_string_equal(second.over[0], "lib");
	assert_int_equal(fstat(first.dir, &a) + fstat(second.dir, &b), 0);
	assert_int_equal(a.st_ino, b.st_ino);
	assert_int_equal(count_in(&m), 1);
	(void)close(first.dir);
	(void)close(second.dir);
	machine_stop(&m);
}

static void change_file(const struct machine *m)
{
	put_text(m->host, "etc/ssl/certs/a.pem", "another certificate");
}

static void change_link(const struct machine *m)
{
	assert_int_equal(unlinkat(m->host, "etc/alternatives/vi", 0), 0);
	assert_int_equal(symlinkat("/usr/bin/vin", m->host, "etc/alternatives/vi"), 0);
}

static void change_mode(const struct machine *m)
{
	assert_int_equal(fchmodat(m->host, "etc/ssl/certs/a.pem", 0755, 0), 0);
}

static void add_file(const struct machine *m)
{
	put_text(m->host, "etc/timezone", "Europe/Berlin");
	assert_int_equal(fchmodat(m->host, "etc/timezone", 0644, 0), 0);
}

static void change_processors(const struct machine *m)
{
	assert_int_equal(fchmodat(m->host, "sys/devices/system/cpu/online", 0644, 0), 0);
	put_text(m->host, "sys/devices/system/cpu/online", "0-7\n");
}

static void boot(const struct machine *m)
{
	assert_int_equal(mkdirat(m->host, "proc/sys", 0755) +
	                         mkdirat(m->host, "proc/sys/kernel", 0755) +
	                         mkdirat(m->host, "proc/sys/kernel/random", 0755),
	                 0);
	put_text(m->host, "proc/sys/kernel/random/boot_id", "1234");
}

static void remove_shell(const struct machine *m)
{
	assert_int_equal(unlinkat(m->host, "usr/bin/bash", 0), 0);
}

static void merge_usr(const struct machine *m)
{
	assert_int_equal(renameat(m->host, "lib", m->host, "usr/lib"), 0);
	assert_int_equal(symlinkat("usr/lib", m->host, "lib"), 0);
}

static void another_state_of_the_host_is_another_one(void **state)
{
	static void (*const changes[])(const struct machine *) = {
		change_file,       change_link, change_mode,  add_file,
		change_processors, boot,        remove_shell, merge_usr,
	};
	struct skeleton used, now;
	struct machine m;

	(void)state;
	machine_start(&m);
	used = open_one(&m);
	for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
		struct skeleton before = open_one(&m);

		changes[i](&m);
		now = open_one(&m);
		assert_string_not_equal(now.name, before.name);
		/* Both are in use, and the first as well. */
		assert_int_equal(count_in(&m), i == 0 ? 2 : 3);
		assert_int_equal(faccessat(m.parent, before.name, F_OK, 0), 0);
		(void)close(before.dir);
		(void)close(now.dir);
	}
	assert_null(now.over[0]);
	(void)close(used.dir);
	now = open_one(&m);
	assert_int_equal(count_in(&m), 1);
	(void)close(now.dir);
	machine_stop(&m);
}

static void what_did_not_come_to_an_end_is_swept(void **state)
{
	struct skeleton skeleton;
	struct machine m;
	int busy;

	(void)state;
	machine_start(&m);
	(void)close(make_sub(m.parent, "new-0123456789abcdef"));
	(void)close(make_sub(m.parent, "skeleton-0123456789abcdef"));
	assert_int_equal(mkdirat(m.parent, "skeleton-0123456789abcdef/etc", 0), 0);
	busy = make_sub(m.parent, "new-0123456789abcde0");
	assert_int_equal(flock(busy, LOCK_SH), 0);
	(void)close(make_sub(m.parent, "new-of-somebody-else"));
	skeleton = open_one(&m);
	assert_int_equal(count_in(&m), 3);
	assert_int_equal(faccessat(m.parent, "new-0123456789abcde0", F_OK, 0), 0);
	assert_int_equal(faccessat(m.parent, "new-of-somebody-else", F_OK, 0), 0);
	(void)close(busy);
	(void)close(skeleton.dir);
	machine_stop(&m);
}

static void servers_that_start_together_share_it(void **state)
{
	struct machine m;
	pid_t children[6];

	(void)state;
	machine_start(&m);
	for (size_t i = 0; i < ARRAY_LEN(children); i++) {
		children[i] = fork();
		if (children[i] == 0) {
			for (int round = 0; round < 10; round++) {
				struct skeleton skeleton;
				struct error err;

				if (skeleton_open_from(m.host, m.parent, geteuid(), getegid(),
				                       &skeleton, &err) < 0)
					_exit(1);
				if (faccessat(skeleton.dir, "etc/passwd", R_OK, 0) < 0 ||
				    faccessat(skeleton.dir, "sys/devices/system/cpu/online", R_OK,
				              0) < 0)
					_exit(2);
				(void)close(skeleton.dir);
			}
			_exit(0);
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(children); i++) {
		int status = -1;

		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(count_in(&m), 1);
	machine_stop(&m);
}

static int give_away(int fd)
{
	struct skeleton skeleton;
	struct error err;

	if (setresuid(NOBODY, NOBODY, NOBODY) < 0)
		return 1;
	if (skeleton_open_from(fd, fd, 1, 1, &skeleton, &err) == 0)
		return 2;
	return strcmp(err.msg, "give /dev to 1:1: Operation not permitted") == 0 ? 0 : 3;
}

static void it_belongs_to_whom_it_is_for(void **state)
{
	struct skeleton skeleton, other;
	struct machine m;
	struct error err;
	struct stat st;
	struct place place;

	(void)state;
	if (geteuid() != 0)
		SKIP_TEST("only root can give files away");
	machine_start(&m);
	CHECK_OK(skeleton_open_from(m.host, m.parent, 524288, 524289, &skeleton, &err), err);
	for (size_t i = 0; i < ARRAY_LEN(inside); i++) {
		const char *path = inside[i].path[0] == '\0' ? "." : inside[i].path;

		assert_int_equal(fstatat(skeleton.dir, path, &st, AT_SYMLINK_NOFOLLOW), 0);
		assert_true(st.st_uid == 524288 && st.st_gid == 524289);
		assert_int_equal(st.st_mode, inside[i].mode);
	}
	CHECK_OK(skeleton_open_from(m.host, m.parent, 524288, 1, &other, &err), err);
	assert_string_not_equal(skeleton.name, other.name);
	(void)close(skeleton.dir);
	(void)close(other.dir);
	machine_stop(&m);

	place_start(&place);
	assert_int_equal(fchmod(place.fd, 0777), 0);
	in_child(give_away, place.fd);
	assert_int_equal(count_entries(place.fd), 0);
	place_stop(&place);
}

static void this_machine_has_one(void **state)
{
	static const char *const absent[] = { "etc/shadow", "etc/ssl/private", "etc/ssh",
		                              "etc/ld.so.preload" };
	struct skeleton skeleton;
	struct place place;
	struct error err;
	struct stat st;

	(void)state;
	place_start(&place);
	CHECK_OK(skeleton_open(place.fd, geteuid(), getegid(), &skeleton, &err), err);
	for (size_t i = 0; i < ARRAY_LEN(absent); i++)
		assert_int_equal(fstatat(skeleton.dir, absent[i], &st, AT_SYMLINK_NOFOLLOW), -1);
	if (access("/etc/ld.so.cache", R_OK) == 0)
		assert_int_equal(faccessat(skeleton.dir, "etc/ld.so.cache", R_OK, 0), 0);
	(void)close(skeleton.dir);
	place_stop(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(it_holds_what_the_table_names_and_nothing_else),
		TEST(it_is_made_once_and_found_again),
		TEST(another_state_of_the_host_is_another_one),
		TEST(what_did_not_come_to_an_end_is_swept),
		TEST(servers_that_start_together_share_it),
		TEST(it_belongs_to_whom_it_is_for),
		TEST(this_machine_has_one),
	};

	return RUN_TESTS("engine/skeleton", tests);
}
