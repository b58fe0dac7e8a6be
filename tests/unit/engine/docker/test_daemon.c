/* test_daemon.c - where the daemon is looked for, how its address is read, the archive of a prepared
 * image, and which images may be pulled. */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/buf.h"
#include "engine/docker/internal.h"
#include "unit/engine/native/rig.h"
#include "unit/test.h"
#include "wire/tar.h"

static void address_is_parsed(void **state)
{
	static const struct {
		const char *url, *certs, *socket, *base, *error;
	} cases[] = {
		{ "unix:///run/docker.sock", NULL, "/run/docker.sock", "http://docker", NULL },
		{ "tcp://10.0.0.1:2375", NULL, "", "http://10.0.0.1:2375", NULL },
		{ "tcp://10.0.0.1:2376/", "/nonexistent", "", "https://10.0.0.1:2376", NULL },
		{ "https://host:2376", NULL, "", "https://host:2376", NULL },
		{ "unix://run/docker.sock", NULL, NULL, NULL,
		  "the address of Docker, 'unix://run/docker.sock', needs an absolute path of at most "
		  "107 bytes" },
		{ "tcp://", NULL, NULL, NULL,
		  "the address of Docker, 'tcp://', is not unix:///PATH or tcp://HOST:PORT" },
		{ "tcp://a@b:1", NULL, NULL, NULL,
		  "the address of Docker, 'tcp://a@b:1', is not unix:///PATH or tcp://HOST:PORT" },
		{ "tcp://h:1/path", NULL, NULL, NULL,
		  "the address of Docker, 'tcp://h:1/path', is not unix:///PATH or "
		  "tcp://HOST:PORT" },
		{ "/run/docker.sock", NULL, NULL, NULL,
		  "the address of Docker, '/run/docker.sock', is not unix:///PATH or "
		  "tcp://HOST:PORT" },
		{ "ssh://me@host", NULL, NULL, NULL,
		  "the address of Docker, 'ssh://me@host', is reached by ssh, which belljar does not "
		  "start: forward the socket with 'ssh -L /tmp/docker.sock:/run/docker.sock HOST' and "
		  "use unix:///tmp/docker.sock" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct daemon_address address;
		struct error err;
		int r = daemon_parse(cases[i].url, cases[i].certs, &address, &err);

		if (cases[i].error != NULL) {
			assert_int_equal(r, -1);
			assert_string_equal(err.msg, cases[i].error);
			continue;
		}
		assert_int_equal(r, 0);
		assert_string_equal(address.socket, cases[i].socket);
		assert_string_equal(address.base, cases[i].base);
		assert_int_equal(address.is_local, cases[i].socket[0] != '\0');
	}
}

static void write_text(const char *dir, const char *name, const char *text)
{
	char path[600];
	FILE *file;

	(void)snprintf(path, sizeof path, "%s/%s", dir, name);
	for (char *slash = strchr(path + strlen(dir) + 1, '/'); slash != NULL;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(path, 0755);
		*slash = '/';
	}
	file = fopen(path, "w");
	assert_non_null(file);
	(void)fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void listen_at(const char *dir, const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", dir, name);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	(void)close(fd);
}

static void clear_env(void)
{
	static const char *const names[] = { "DOCKER_HOST",       "CONTAINER_HOST",
		                             "DOCKER_CONTEXT",    "DOCKER_CONFIG",
		                             "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		(void)unsetenv(names[i]);
}

/* /var/run/docker.sock comes first and may exist on this machine, so the context is tried, which
 * comes before it. */
static void daemon_is_looked_for_in_order(void **state)
{
	struct test_dir dir;
	struct daemon_address address;
	char want[700];
	struct error err;

	test_dir_open(&dir);
	clear_env();
	(void)setenv("HOME", dir.path, 1);
	(void)setenv("XDG_RUNTIME_DIR", dir.path, 1);
	listen_at(dir.path, "docker.sock");
	(void)snprintf(want, sizeof want, "%s/docker.sock", dir.path);
	CHECK_OK(daemon_find(NULL, &address, &err), err);
	if (access("/var/run/docker.sock", W_OK) != 0)
		assert_string_equal(address.socket, want);
	write_text(dir.path, ".docker/config.json", "{\"currentContext\":\"far\"}");
	CHECK_ERROR(daemon_find(NULL, &address, &err), err, ERR_NOT_FOUND,
	            "Docker's context 'far' does not exist: see 'docker context ls'");
	write_text(dir.path, ".docker/contexts/meta/xyz/meta.json",
	           "{\"Name\":\"far\",\"Endpoints\":{\"docker\":{\"Host\":\"tcp://far:2376\"}}}");
	write_text(dir.path, ".docker/contexts/tls/xyz/docker/ca.pem", "x");
	CHECK_OK(daemon_find(NULL, &address, &err), err);
	assert_string_equal(address.base, "https://far:2376");
	(void)snprintf(want, sizeof want, "%s/.docker/contexts/tls/xyz/docker/ca.pem", dir.path);
	assert_string_equal(address.ca, want);
	assert_string_equal(address.cert, "");
	(void)setenv("CONTAINER_HOST", "tcp://podman:1", 1);
	CHECK_OK(daemon_find(NULL, &address, &err), err);
	assert_string_equal(address.base, "http://podman:1");
	(void)setenv("DOCKER_HOST", "tcp://docker:1", 1);
	CHECK_OK(daemon_find(NULL, &address, &err), err);
	assert_string_equal(address.base, "http://docker:1");
	(void)setenv("DOCKER_TLS_VERIFY", "1", 1);
	CHECK_OK(daemon_find(NULL, &address, &err), err);
	assert_string_equal(address.base, "https://docker:1");
	CHECK_OK(daemon_find("unix:///given", &address, &err), err);
	assert_string_equal(address.socket, "/given");
	clear_env();
	test_dir_remove(&dir);
}

static void prepared_image_has_the_user(void **state)
{
	static const char passwd[] = "root:x:0:0:root:/root:/bin/bash\n"
	                             "node:x:1000:1000::/home/node:/bin/bash\n"
	                             "coderunner:x:7:7::/:/bin/sh\n"
	                             "daemon:x:1:1000:d:/:/bin/sh";
	static const char want[] = "root:x:0:0:root:/root:/bin/bash\n"
	                           "daemon:x:1:1000:d:/:/bin/sh\n"
	                           "coderunner:x:1000:1000:coderunner:/home/coderunner:/bin/sh\n";
	AUTO_BUF struct buf archive;
	struct view file, rest;
	struct error err;
	bool found = false;

	buf_init(&archive, 1 << 20);
	CHECK_OK(prepare_archive(VIEW("agent"), VIEW(passwd), VIEW(""), &archive, &err), err);
	assert_int_equal(archive.len % TAR_BLOCK, 0);
	rest = buf_view(&archive);
	while (rest.len >= TAR_BLOCK && !found) {
		struct tar_block block;

		memcpy(&block, rest.ptr, sizeof block);
		if (strcmp(block.name, "workspace") == 0)
			assert_string_equal(block.uid, "0001750");
		if (strcmp(block.name, "tmp") == 0)
			assert_string_equal(block.mode, "0001777");
		found = strcmp(block.name, "etc/passwd") == 0;
		if (found) {
			assert_true(prepare_read_file(rest, &file));
			CHECK_VIEW(file, want);
		}
		rest.ptr += TAR_BLOCK;
		rest.len -= TAR_BLOCK;
	}
	assert_true(found);
}

static void damaged_archive_has_no_file(void **state)
{
	struct tar_block block = { .type = '0' };
	char bytes[2 * TAR_BLOCK] = "";
	struct view file;

	(void)snprintf(block.name, sizeof block.name, "passwd");
	memcpy(block.size, "00000000005", 11);
	memcpy(bytes, &block, sizeof block);
	memcpy(bytes + TAR_BLOCK, "hello", 5);
	assert_true(prepare_read_file((struct view){ bytes, sizeof bytes }, &file));
	CHECK_VIEW(file, "hello");
	assert_false(prepare_read_file((struct view){ bytes, TAR_BLOCK + 4 }, &file));
	assert_false(prepare_read_file((struct view){ bytes, 100 }, &file));
	memcpy(block.size, "777777777777", 12);
	memcpy(bytes, &block, sizeof block);
	assert_false(prepare_read_file((struct view){ bytes, sizeof bytes }, &file));
	block.type = 'x';
	memcpy(bytes, &block, sizeof block);
	assert_false(prepare_read_file((struct view){ bytes, sizeof bytes }, &file));
}

static void only_listed_images_are_pulled(void **state)
{
	struct broker_options options = { .image = "own:1", .images = "python:3,host.example/*" };

	assert_true(image_may_be_pulled(&options, "own:1"));
	assert_true(image_may_be_pulled(&options, "python:3"));
	assert_true(image_may_be_pulled(&options, "host.example/a/b:c"));
	assert_false(image_may_be_pulled(&options, "python:3.12"));
	assert_false(image_may_be_pulled(&options, "pytho"));
	assert_false(image_may_be_pulled(&options, "other"));
	options.images = NULL;
	assert_false(image_may_be_pulled(&options, "host.example/a"));
	options.any_image = true;
	assert_true(image_may_be_pulled(&options, "other"));
}

static void registry_is_part_of_the_name(void **state)
{
	static const struct {
		const char *image, *registry;
	} cases[] = {
		{ "python:3", "usual" },
		{ "team/tools", "usual" },
		{ "localhost/x", "localhost" },
		{ "host.example/x", "host.example" },
		{ "10.0.0.1:5000/x:1", "10.0.0.1:5000" },
	};
	char out[SPEC_IMAGE_MAX + 1];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_string_equal(credentials_registry(cases[i].image, "usual", out),
		                    cases[i].registry);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(address_is_parsed),
		TEST(daemon_is_looked_for_in_order),
		TEST(prepared_image_has_the_user),
		TEST(damaged_archive_has_no_file),
		TEST(only_listed_images_are_pulled),
		TEST(registry_is_part_of_the_name),
	};

	return RUN_TESTS("daemon", tests);
}
