#include "unit/agent/live/live_files.h"

bool files_as_child = false, files_as_pid1 = true;

void files_begin(struct live *live, void **state, struct live_options options)
{
	options.is_pid1 = *(const bool *)*state;
	if (options.is_pid1 && !live_can_be_pid1())
		SKIP_TEST("no PID namespaces here");
	live_start(live, &options);
}

const char *files_at(const struct live *live, const char *name)
{
	static char paths[4][4096];
	static unsigned next;
	char *path = paths[next++ % ARRAY_LEN(paths)];

	(void)snprintf(path, sizeof paths[0], "%s/%s",
	               live->made[0] != '\0' ? live->made : live->workspace, name);
	return path;
}

void files_put_at(const char *path, struct view bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0)
		fail_msg("%s: %s", path, strerror(errno));
	while (bytes.len != 0) {
		ssize_t n = write(fd, bytes.ptr, bytes.len);

		assert_true(n > 0);
		bytes.ptr += n;
		bytes.len -= (size_t)n;
	}
	(void)close(fd);
}

void files_put(const struct live *live, const char *name, struct view bytes)
{
	files_put_at(files_at(live, name), bytes);
}

void files_mkdir(const struct live *live, const char *name)
{
	if (mkdir(files_at(live, name), 0755) < 0)
		fail_msg("mkdir %s: %s", name, strerror(errno));
}

bool files_exist(const struct live *live, const char *name)
{
	struct stat st;

	return lstat(files_at(live, name), &st) == 0;
}

void files_check_at(const char *path, const char *want)
{
	char text[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		fail_msg("%s: %s", path, strerror(errno));
	n = read(fd, text, sizeof text - 1);
	(void)close(fd);
	assert_true(n >= 0);
	text[n] = '\0';
	assert_string_equal(text, want);
}

void files_check(const struct live *live, const char *name, const char *want)
{
	files_check_at(files_at(live, name), want);
}

size_t files_count(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	size_t n = 0;

	if (dir == NULL)
		fail_msg("%s: %s", path, strerror(errno));
	while ((entry = readdir(dir)) != NULL)
		n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	(void)closedir(dir);
	return n;
}

void files_new_directory(char path[64])
{
	(void)snprintf(path, 64, "/tmp/belljar-files-XXXXXX");
	assert_non_null(mkdtemp(path));
	assert_int_equal(chmod(path, 0755), 0);
}

void files_remove(const char *path)
{
	live_remove_tree(path);
}

struct live_stream *files_open_read(struct live *live, const char *path)
{
	return live_open(live, &(struct wire_message){ .type = WIRE_READ,
	                                               .read = { .count = UINT64_MAX,
	                                                         .max = UINT64_MAX,
	                                                         .path = view_of(path) } });
}

struct live_stream *files_open_write(struct live *live, const char *path, enum wire_write_mode mode,
                                     uint64_t max)
{
	struct live_stream *s = live_open(
	        live, &(struct wire_message){ .type = WIRE_WRITE,
	                                      .write = { .mode = (uint8_t)mode,
	                                                 .perm = 0640,
	                                                 .max = max,
	                                                 .path = view_of(path) } });

	s->keeps_open = true;
	return s;
}

struct live_stream *files_write(struct live *live, const char *path, enum wire_write_mode mode,
                                const char *text)
{
	struct live_stream *s = files_open_write(live, path, mode, UINT64_MAX);

	s->keeps_open = false;
	live_feed(s, view_of(text), strlen(text));
	return live_wait(s);
}

pid_t files_worker(struct live *live)
{
	pid_t pid = 0;

	LIVE_UNTIL(live, live_descendants(live, &pid, 1) == 1, LIVE_MS);
	assert_true(pid > 1); /* it is going to be signalled */
	return pid;
}

char *files_noise(size_t len)
{
	uint64_t x = 88172645463325252U;
	char *bytes = mem_new(len);

	for (size_t i = 0; i < len; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		bytes[i] = (char)(x >> 32);
	}
	return bytes;
}
