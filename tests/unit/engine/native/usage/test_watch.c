/* Who is watched is looked at, whatever else there is to do. */
#include "unit/engine/native/native_test.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "engine/native/spawner/spawner_internal.h"
#include "engine/native/usage/watch.h"

enum { BOXES = 11, MIB = 1024 * 1024, LIMIT = 24 * MIB, TAKEN = 64 * MIB };

static struct spawner *spawner_new(void)
{
	struct spawner *spawner = calloc(1, sizeof *spawner);

	assert_non_null(spawner);
	spawner->shop.disk = (struct disk){ .kind = DISK_QUOTA, .dir = -1 };
	spawner->shop.ids.sandboxes = -1;
	spawner->shop.home.proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return spawner;
}

/* Waits for one, and hands it back as it was. */
static bool end_one(struct spawner *spawner, struct janitor *was, struct janitor_result *result)
{
	for (size_t i = 0; i < JANITORS_MAX; i++)
		if (spawner->janitors[i].pid != 0) {
			*was = spawner->janitors[i];
			assert_int_equal(waitpid(was->pid, NULL, 0), was->pid);
			*result = janitor_end(&spawner->janitors[i]);
			return true;
		}
	return false;
}

static void removing_leaves_places_for_counting(void **state)
{
	struct spawner *spawner = spawner_new();
	struct janitor_result result;
	struct janitor was;
	size_t removed = 0;

	(void)state;
	spawner->erase_count = 3 * JANITORS_MAX;
	for (size_t i = 0; i < spawner->erase_count; i++)
		(void)snprintf(spawner->erase[i], sizeof spawner->erase[i], "gn_%zu", i);
	spawner_start_erasing(spawner);
	assert_in_range(spawner->erase_count, 1, 3 * JANITORS_MAX - 8);
	assert_null(spawner_free_janitor(spawner, JANITOR_REMOVE));
	assert_non_null(spawner_free_janitor(spawner, JANITOR_COUNT));
	assert_non_null(spawner_free_janitor(spawner, JANITOR_MEMORY));
	/* One goes, the next comes, until all have gone. */
	while (end_one(spawner, &was, &result)) {
		assert_int_equal(was.kind, JANITOR_REMOVE);
		removed++;
		spawner_start_erasing(spawner);
	}
	assert_int_equal(removed, 3 * JANITORS_MAX);
	assert_int_equal(close(spawner->shop.home.proc), 0);
	free(spawner);
}

/* Shared with nobody, and after a fork it is the child's alone. */
static pid_t start_process(size_t bytes)
{
	int fds[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		char *taken = mmap(NULL, bytes + 1, PROT_READ | PROT_WRITE,
		                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		for (size_t i = 0; taken != MAP_FAILED && i <= bytes; i += 4096)
			taken[i] = 1;
		(void)!write(fds[1], "", 1);
		(void)pause();
		_exit(0);
	}
	(void)close(fds[1]);
	assert_int_equal(read(fds[0], &byte, 1), 1);
	(void)close(fds[0]);
	return pid;
}

static void start_box(struct box *box, uint64_t number, size_t bytes)
{
	*box = (struct box){ .number = number,
		             .pid = start_process(bytes),
		             .report = -1,
		             .end = ENGINE_END_AGENT_DIED };
	box->group.unified = -1;
	for (size_t i = 0; i < ARRAY_LEN(box->group.v1); i++)
		box->group.v1[i] = -1;
	box->limits.memory = LIMIT;
}

/* There are more of them than janitors who add up. Every third takes too much. */
static void everybodys_memory_is_looked_at_in_turn(void **state)
{
	struct spawner *spawner = spawner_new();
	struct janitor_result result;
	struct janitor was;
	unsigned looks[BOXES + 1] = { 0 };

	(void)state;
	for (size_t i = 0; i < BOXES; i++)
		start_box(&spawner->boxes[i], i + 1, i % 3 == 0 ? TAKEN : 0);
	spawner->box_top = BOXES;
	watch_look(spawner);
	assert_int_not_equal(spawner->memory_next, 0);
	while (end_one(spawner, &was, &result)) {
		assert_int_equal(was.kind, JANITOR_MEMORY);
		assert_false(result.failed);
		assert_in_range(was.number, 1, BOXES);
		looks[was.number]++;
		watch_counted(spawner, was.number, &result);
		if (spawner->memory_next != 0)
			watch_look(spawner);
	}
	for (size_t i = 0; i < BOXES; i++) {
		const struct box *box = &spawner->boxes[i];

		assert_int_equal(looks[i + 1], 1);
		assert_int_equal(box->is_killed, i % 3 == 0);
		assert_int_equal(box->end,
		                 i % 3 == 0 ? ENGINE_END_OUT_OF_MEMORY : ENGINE_END_AGENT_DIED);
		(void)kill(box->pid, SIGKILL);
		assert_int_equal(waitpid(box->pid, NULL, 0), box->pid);
	}
	assert_int_equal(close(spawner->shop.home.proc), 0);
	free(spawner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(removing_leaves_places_for_counting),
		TEST(everybodys_memory_is_looked_at_in_turn),
	};

	return RUN_TESTS("engine/watch", tests);
}
