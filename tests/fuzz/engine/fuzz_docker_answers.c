/* fuzz_docker_answers.c - everything that is read out of the daemon's answers, and the archive that
 * it sends. Texts that were accepted are terminated, and ids are words. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "engine/docker/internal.h"
#include "fuzz/fuzz.h"

static void check_text(const char *text, size_t size)
{
	if (memchr(text, '\0', size) == NULL)
		abort();
}

static void read_json(struct view text)
{
	static const struct json_limits limits = { .depth = 32, .values = 10000 };
	static struct docker_image image;
	AUTO_JSON json_t *json = NULL;
	struct docker_container container;
	struct docker_version version;
	struct docker_info info;
	char message[100];
	struct error err;

	if (json_read(text, &limits, &json, NULL, &err) < 0)
		return;
	if (answer_version(json, &version, &err) == 0 && (version.api < 140 || version.api > 151))
		abort();
	answer_info(json, "runc", &info);
	check_text(info.storage, sizeof info.storage);
	if (answer_container(json, &container, &err) == 0 &&
	    (strpbrk(container.id, "/?#%. ") != NULL || container.id[0] == '\0'))
		abort();
	if (answer_image(json, &image, &err) == 0)
		check_text(image.path, sizeof image.path);
	answer_message(json, message, sizeof message);
	check_text(message, sizeof message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct pull_progress progress;
	struct view text = { (const char *)data, size }, file, line;
	struct engine_progress sum;

	read_json(text);
	if (prepare_read_file(text, &file) && file.ptr + file.len > text.ptr + text.len)
		abort();
	memset(&progress, 0, sizeof progress);
	while (view_next_line(&text, &line))
		answer_pull_line(line, &progress);
	pull_progress_sum(&progress, &sum);
	if (sum.done > sum.total)
		abort();
	return 0;
}
