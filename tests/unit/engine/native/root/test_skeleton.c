/* The skeleton: what it holds, when a new one is made, and when one is removed. */
#include "unit/engine/native/rig.h"

#include <dirent.h>
#include <ftw.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>

#include "engine/native/root/internal.h"
#include "unit/engine/native/root/skeleton_test.h"

/* The root of a made-up host, and the directory for skeletons. */
struct machine {
	struct test_dir dir;
	int host, parent;
	mode_t umask;
};

static void write_bytes(int at, const char *path, struct view bytes)
{
	AUTO_FD int fd = openat(at, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes.ptr, bytes.len), bytes.len);
}

static void write_text(int at, const char *path, const char *text)
{
	write_bytes(at, path, view_of(text));
}

static int make_subdir(int at, const char *name)
{
	assert_int_equal(mkdirat(at, name, 0700), 0);
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void machine_open(struct machine *m)
{
	m->umask = umask(077); /* the spawner has this one */
	test_dir_open(&m->dir);
	m->host = make_subdir(m->dir.fd, "host");
	assert_int_equal(fchmod(m->host, 0755), 0);
	m->parent = make_subdir(m->dir.fd, "skeletons");
	for (size_t i = 0; i < ARRAY_LEN(host_files); i++) {
		const char *path = host_files[i].path;
		mode_t type = host_files[i].mode & S_IFMT;

		if (type == S_IFLNK) {
			assert_int_equal(symlinkat(host_files[i].text, m->host, path), 0);
			continue;
		}
		if (type == S_IFDIR)
			assert_int_equal(mkdirat(m->host, path, 0700), 0);
		else if (type == S_IFIFO)
			assert_int_equal(mkfifoat(m->host, path, 0700), 0);
		else
			write_bytes(m->host, path,
			            host_files[i].text != NULL ? view_of(host_files[i].text)
			                                       : (struct view){ "a\0b", 3 });
		assert_int_equal(fchmodat(m->host, path, host_files[i].mode & 07777, 0), 0);
	}
}

static void machine_remove(struct machine *m)
{
	assert_int_equal(umask(m->umask), 077);
	(void)close(m->host);
	(void)close(m->parent);
	test_dir_remove(&m->dir);
}

static struct skeleton open_skeleton(const struct machine *m)
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

static int count_skeletons(const struct machine *m)
{
	return count_entries(m->parent) - (faccessat(m->parent, "list", F_OK, 0) == 0 ? 1 : 0);
}

static void check_entry(const struct skeleton *skeleton, size_t i)
{
	char got[1024] = "";
	const char *path = expected[i].path[0] == '\0' ? "." : expected[i].path;
	struct stat st;

	if (fstatat(skeleton->dir, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		fail_msg("%s is missing", path);
	if (st.st_mode != expected[i].mode)
		fail_msg("%s has mode %o", path, st.st_mode);
	assert_int_equal(st.st_uid, geteuid());
	if (S_ISLNK(st.st_mode)) {
		assert_true(readlinkat(skeleton->dir, path, got, sizeof got - 1) > 0);
	} else if (S_ISREG(st.st_mode)) {
		AUTO_FD int fd = openat(skeleton->dir, path, O_RDONLY | O_CLOEXEC);

		assert_true(read(fd, got, sizeof got - 1) >= 0);
	}
	if (expected[i].text != NULL)
		assert_string_equal(got, expected[i].text);
}

static size_t checked;

static int check_is_expected(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	const char *below = strstr(path, "/skeleton-");

	(void)st;
	(void)type;
	(void)ftw;
	below = strchr(below + 1, '/');
	below = below == NULL ? "" : below + 1;
	for (size_t i = 0; i < ARRAY_LEN(expected); i++)
		if (strcmp(expected[i].path, below) == 0) {
			checked++;
			return 0;
		}
	fail_msg("%s should not be there", below);
	return 0;
}

static void skeleton_holds_the_listed_files_and_no_other(void **state)
{
	struct skeleton skeleton;
	struct machine m;
	char path[256];

	machine_open(&m);
	skeleton = open_skeleton(&m);
	for (size_t i = 0; i < ARRAY_LEN(expected); i++)
		check_entry(&skeleton, i);
	(void)snprintf(path, sizeof path, "%s/skeletons/%s", m.dir.path, skeleton.name);
	checked = 0;
	assert_int_equal(nftw(path, check_is_expected, 16, FTW_PHYS), 0);
	assert_int_equal(checked, ARRAY_LEN(expected));
	/* /bin is a link into /usr, /lib is not. */
	assert_string_equal(skeleton.program_dirs[0], "lib");
	assert_null(skeleton.program_dirs[1]);
	(void)close(skeleton.dir);
	machine_remove(&m);
}

static void copies_keep_the_time_of_the_last_change(void **state)
{
	const struct timespec times[2] = { { .tv_sec = 1000000 }, { .tv_sec = 1000000 } };
	struct skeleton skeleton;
	struct machine m;
	struct stat st;

	machine_open(&m);
	assert_int_equal(utimensat(m.host, "etc/maven/m2.conf", times, 0), 0);
	skeleton = open_skeleton(&m);
	assert_int_equal(fstatat(skeleton.dir, "etc/maven/m2.conf", &st, 0), 0);
	assert_int_equal(st.st_mtim.tv_sec, 1000000);
	(void)close(skeleton.dir);
	machine_remove(&m);
}

static void skeleton_is_made_once_and_found_again(void **state)
{
	struct skeleton first, second;
	struct machine m;
	struct stat a, b;

	machine_open(&m);
	first = open_skeleton(&m);
	second = open_skeleton(&m);
	assert_string_equal(first.name, second.name);
	assert_string_equal(second.program_dirs[0], "lib");
	assert_int_equal(fstat(first.dir, &a) + fstat(second.dir, &b), 0);
	assert_int_equal(a.st_ino, b.st_ino);
	assert_int_equal(count_skeletons(&m), 1);
	(void)close(first.dir);
	(void)close(second.dir);
	machine_remove(&m);
}

static void change_file(const struct machine *m)
{
	write_text(m->host, "etc/ssl/certs/a.pem", "another certificate");
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
	write_text(m->host, "etc/timezone", "Europe/Berlin");
	assert_int_equal(fchmodat(m->host, "etc/timezone", 0644, 0), 0);
}

/* The file was skipped before. */
static void make_readable(const struct machine *m)
{
	assert_int_equal(fchmodat(m->host, "etc/rpc", 0644, 0), 0);
}

/* No row of a skeleton was below this directory before. */
static void add_directory(const struct machine *m)
{
	assert_int_equal(mkdirat(m->host, "etc/pki", 0755) + mkdirat(m->host, "etc/pki/tls", 0755) +
	                         mkdirat(m->host, "etc/pki/tls/certs", 0755),
	                 0);
	assert_int_equal(fchmodat(m->host, "etc/pki", 0755, 0) +
	                         fchmodat(m->host, "etc/pki/tls", 0755, 0) +
	                         fchmodat(m->host, "etc/pki/tls/certs", 0755, 0),
	                 0);
}

/* In place, with the same size and the old modification time. */
static void change_file_secretly(const struct machine *m)
{
	const char *path = "etc/java-17-openjdk/security/policy";
	struct timespec times[2];
	struct stat st;

	assert_int_equal(fstatat(m->host, path, &st, 0), 0);
	write_text(m->host, path, "taken");
	times[0] = times[1] = st.st_mtim;
	assert_int_equal(utimensat(m->host, path, times, 0), 0);
}

static void change_processors(const struct machine *m)
{
	assert_int_equal(fchmodat(m->host, "sys/devices/system/cpu/online", 0644, 0), 0);
	write_text(m->host, "sys/devices/system/cpu/online", "0-7\n");
}

static void change_boot_id(const struct machine *m)
{
	assert_int_equal(mkdirat(m->host, "proc/sys", 0755) +
	                         mkdirat(m->host, "proc/sys/kernel", 0755) +
	                         mkdirat(m->host, "proc/sys/kernel/random", 0755),
	                 0);
	write_text(m->host, "proc/sys/kernel/random/boot_id", "1234");
}

static void install_program(const struct machine *m)
{
	write_text(m->host, "usr/bin/unknown", "");
	assert_int_equal(fchmodat(m->host, "usr/bin/unknown", 0755, 0), 0);
}

static void remove_service(const struct machine *m)
{
	assert_int_equal(unlinkat(m->host, "usr/lib/systemd/system/web.service", 0), 0);
}

static void open_closed_file(const struct machine *m)
{
	assert_int_equal(fchmodat(m->host, "etc/mixed/sub/closed", 0644, 0), 0);
}

static void remove_password(const struct machine *m)
{
	write_text(m->host, "etc/text.conf", "user = me");
}

static void remove_shell(const struct machine *m)
{
	assert_int_equal(unlinkat(m->host, "usr/bin/bash", 0), 0);
}

static void merge_usr(const struct machine *m)
{
	assert_int_equal(renameat(m->host, "usr/lib", m->host, "usr/old-lib"), 0);
	assert_int_equal(renameat(m->host, "lib", m->host, "usr/lib"), 0);
	assert_int_equal(symlinkat("usr/lib", m->host, "lib"), 0);
}

static void changed_host_file_leads_to_a_new_skeleton(void **state)
{
	static void (*const changes[])(const struct machine *) = {
		change_file,
		change_link,
		change_mode,
		add_file,
		make_readable,
		add_directory,
		change_file_secretly,
		install_program,
		remove_service,
		open_closed_file,
		remove_password,
		change_processors,
		change_boot_id,
		remove_shell,
		merge_usr,
	};
	struct skeleton used, now;
	struct machine m;

	machine_open(&m);
	used = open_skeleton(&m);
	for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
		struct skeleton before = open_skeleton(&m);

		changes[i](&m);
		now = open_skeleton(&m);
		assert_string_not_equal(now.name, before.name);
		/* The skeletons of this round and the first one are locked, so none is removed. */
		assert_int_equal(count_skeletons(&m), i == 0 ? 2 : 3);
		assert_int_equal(faccessat(m.parent, before.name, F_OK, 0), 0);
		(void)close(before.dir);
		(void)close(now.dir);
	}
	assert_null(now.program_dirs[0]);
	(void)close(used.dir);
	now = open_skeleton(&m);
	assert_int_equal(count_skeletons(&m), 1);
	(void)close(now.dir);
	machine_remove(&m);
}

/* A change of a file that no skeleton has makes the list invalid, but leads to the same name. */
static void other_files_of_the_host_lead_to_no_new_skeleton(void **state)
{
	struct skeleton before, after;
	struct machine m;

	machine_open(&m);
	before = open_skeleton(&m);
	write_text(m.host, "etc/resolv.conf.new", "nameserver 192.0.2.1");
	assert_int_equal(renameat(m.host, "etc/resolv.conf.new", m.host, "etc/resolv.conf"), 0);
	after = open_skeleton(&m);
	assert_string_equal(before.name, after.name);
	(void)close(before.dir);
	(void)close(after.dir);
	machine_remove(&m);
}

static void damaged_list_is_not_used(void **state)
{
	static const char *const lists[] = {
		"",
		"\n",
		"x",
		"0123456789abcdef\n",
		"0123456789abcdef skeleton-0123456789abcdef\n",
		"0123456789abcdef ../../etc\netc\n",
		"0123456789abcdef skeleton-0123456789abcdef\nno such path\n",
	};
	struct skeleton first, again;
	struct machine m;

	machine_open(&m);
	first = open_skeleton(&m);
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		write_text(m.parent, "list", lists[i]);
		again = open_skeleton(&m);
		assert_string_equal(first.name, again.name);
		(void)close(again.dir);
	}
	assert_int_equal(unlinkat(m.parent, "list", 0) + mkfifoat(m.parent, "list", 0600), 0);
	again = open_skeleton(&m);
	assert_string_equal(first.name, again.name);
	(void)close(first.dir);
	(void)close(again.dir);
	assert_int_equal(count_skeletons(&m), 1);
	machine_remove(&m);
}

/* The list of the state before leads to the skeleton's name without a walk: the name in it is
 * believed as long as the files are the same. */
static void list_gives_the_name_of_unchanged_files(void **state)
{
	struct skeleton first, again;
	struct machine m;
	char text[16 * 1024] = "";
	AUTO_FD int list = -1;

	machine_open(&m);
	first = open_skeleton(&m);
	list = openat(m.parent, "list", O_RDWR | O_CLOEXEC);
	assert_true(read(list, text, sizeof text - 1) > 0);
	assert_non_null(strstr(text, "\netc\n"));
	assert_non_null(strstr(text, "\netc/ssl/certs/a.pem\n"));
	assert_null(strstr(text, "\netc/shadow\n"));
	/* One digit of the name. */
	assert_int_equal(pwrite(list, text[26] == 'f' ? "e" : "f", 1, 26), 1);
	again = open_skeleton(&m);
	assert_string_not_equal(first.name, again.name);
	(void)close(first.dir);
	(void)close(again.dir);
	machine_remove(&m);
}

static void unlocked_leftovers_are_removed(void **state)
{
	struct skeleton skeleton;
	struct machine m;
	int busy;

	machine_open(&m);
	(void)close(make_subdir(m.parent, "new-0123456789abcdef"));
	(void)close(make_subdir(m.parent, "skeleton-0123456789abcdef"));
	assert_int_equal(mkdirat(m.parent, "skeleton-0123456789abcdef/etc", 0), 0);
	busy = make_subdir(m.parent, "new-0123456789abcde0");
	assert_int_equal(flock(busy, LOCK_SH), 0);
	(void)close(make_subdir(m.parent, "new-of-another-program"));
	skeleton = open_skeleton(&m);
	assert_int_equal(count_skeletons(&m), 3);
	assert_int_equal(faccessat(m.parent, "new-0123456789abcde0", F_OK, 0), 0);
	assert_int_equal(faccessat(m.parent, "new-of-another-program", F_OK, 0), 0);
	(void)close(busy);
	(void)close(skeleton.dir);
	machine_remove(&m);
}

static void servers_that_start_together_share_one_skeleton(void **state)
{
	struct machine m;
	pid_t children[6];

	machine_open(&m);
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
	assert_int_equal(count_skeletons(&m), 1);
	machine_remove(&m);
}

static int check_owner_is_refused(int fd)
{
	struct skeleton skeleton;
	struct error err;

	if (setresuid(NOBODY, NOBODY, NOBODY) < 0)
		return 1;
	if (skeleton_open_from(fd, fd, 1, 1, &skeleton, &err) == 0)
		return 2;
	return strcmp(err.msg, "give the root to 1:1: Operation not permitted") == 0 ? 0 : 3;
}

/* Another process renames the packaged file and one with a secret onto the same name in turn. */
static NORETURN void exchange_files(int host)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* a failed check does not kill it */
	write_text(host, "etc/good", "set tabsize 8");
	write_text(host, "etc/bad", "pass = hunter2");
	(void)fchmodat(host, "etc/good", 0644, 0);
	(void)fchmodat(host, "etc/bad", 0644, 0);
	for (;;) {
		(void)renameat2(host, "etc/good", host, "etc/nanorc", RENAME_EXCHANGE);
		(void)renameat2(host, "etc/bad", host, "etc/nanorc", RENAME_EXCHANGE);
	}
}

static void file_that_changes_after_its_check_is_not_copied(void **state)
{
	struct machine m;
	pid_t other;

	machine_open(&m);
	other = fork();
	if (other == 0)
		exchange_files(m.host);
	for (int i = 0; i < 300; i++) {
		struct skeleton skeleton = open_skeleton(&m);
		AUTO_FD int fd = openat(skeleton.dir, "etc/nanorc", O_RDONLY | O_CLOEXEC);
		char text[32] = "";

		if (fd >= 0) {
			assert_true(read(fd, text, sizeof text - 1) > 0);
			assert_string_equal(text, "set tabsize 8");
		}
		(void)close(skeleton.dir);
	}
	assert_int_equal(kill(other, SIGKILL), 0);
	assert_int_equal(waitpid(other, NULL, 0), other);
	machine_remove(&m);
}

static void skeleton_belongs_to_the_given_owner(void **state)
{
	struct skeleton skeleton, other;
	struct machine m;
	struct error err;
	struct stat st;
	struct test_dir dir;

	if (geteuid() != 0)
		SKIP_TEST("only root can chown files");
	machine_open(&m);
	CHECK_OK(skeleton_open_from(m.host, m.parent, 524288, 524289, &skeleton, &err), err);
	for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
		const char *path = expected[i].path[0] == '\0' ? "." : expected[i].path;

		assert_int_equal(fstatat(skeleton.dir, path, &st, AT_SYMLINK_NOFOLLOW), 0);
		assert_true(st.st_uid == 524288 && st.st_gid == 524289);
		assert_int_equal(st.st_mode, expected[i].mode);
	}
	CHECK_OK(skeleton_open_from(m.host, m.parent, 524288, 1, &other, &err), err);
	assert_string_not_equal(skeleton.name, other.name);
	(void)close(skeleton.dir);
	(void)close(other.dir);
	machine_remove(&m);

	test_dir_open(&dir);
	assert_int_equal(fchmod(dir.fd, 0777), 0);
	check_in_child(check_owner_is_refused, dir.fd);
	assert_int_equal(count_entries(dir.fd), 1); /* the list */
	test_dir_remove(&dir);
}

static void skeleton_of_this_machine_has_no_secrets(void **state)
{
	static const char *const absent[] = { "etc/shadow", "etc/ssl/private", "etc/ssh",
		                              "etc/ld.so.preload" };
	struct skeleton skeleton;
	struct test_dir dir;
	struct error err;
	struct stat st;

	test_dir_open(&dir);
	CHECK_OK(skeleton_open(dir.fd, geteuid(), getegid(), &skeleton, &err), err);
	for (size_t i = 0; i < ARRAY_LEN(absent); i++)
		assert_int_equal(fstatat(skeleton.dir, absent[i], &st, AT_SYMLINK_NOFOLLOW), -1);
	if (access("/etc/ld.so.cache", R_OK) == 0)
		assert_int_equal(faccessat(skeleton.dir, "etc/ld.so.cache", R_OK, 0), 0);
	(void)close(skeleton.dir);
	test_dir_remove(&dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(skeleton_holds_the_listed_files_and_no_other),
		TEST(copies_keep_the_time_of_the_last_change),
		TEST(skeleton_is_made_once_and_found_again),
		TEST(changed_host_file_leads_to_a_new_skeleton),
		TEST(other_files_of_the_host_lead_to_no_new_skeleton),
		TEST(damaged_list_is_not_used),
		TEST(list_gives_the_name_of_unchanged_files),
		TEST(unlocked_leftovers_are_removed),
		TEST(servers_that_start_together_share_one_skeleton),
		TEST(file_that_changes_after_its_check_is_not_copied),
		TEST(skeleton_belongs_to_the_given_owner),
		TEST(skeleton_of_this_machine_has_no_secrets),
	};

	return RUN_TESTS("engine/skeleton", tests);
}
