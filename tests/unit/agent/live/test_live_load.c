/* test_live_load.c - many streams at once through the real agent: the bytes arrive unchanged, and
 * the memory of neither side grows with them.
 *
 * BELLJAR_LOAD_MIB is the size of the large file, 1024 by default. With a file of less than 256 MiB the
 * programs get less input as well: a 128th of the file's size. */
#include <malloc.h>
#include <sys/prctl.h>

#include "unit/agent/live/live_files.h"

enum {
	RUNS = 100,
	RUN_BYTES = 2 * 1024 *
	            1024, /* the most to each program and back, in each of the two halves */
	NOISE = 1024 * 1024 + 4093, /* the pattern: its end falls nowhere twice */
	LOAD_MS = 400 * 1000,
	SAMPLE_MS = 100,
	/* The agent alone. Input that programs have not read yet, because they got no processor
	 * time, waits in the agent. */
	AGENT_KIB = 2 * 1024 + RUNS * (WIRE_WINDOW / 1024),
	FAMILY_KIB = 64 * 1024, /* with its keepers and workers, shared pages counted each time */
	SERVER_KIB = 8 * 1024,  /* on the heap of the test itself: the channel's queues */
	SANITIZED = 40,         /* so much more has an agent with ASan in it */
};

struct load {
	struct live live;
	struct live_stream *runs[RUNS], *file;
	unsigned long agent_kib, family_kib, server_kib, server_start_kib; /* the most seen */
	uint64_t next_sample;
	char *noise;
	uint64_t size, run_bytes;
};

static uint64_t file_size(void)
{
	const char *mib = getenv("BELLJAR_LOAD_MIB");

	return (mib != NULL ? strtoull(mib, NULL, 10) : 1024) * 1024 * 1024;
}

/* --- memory --- */

#ifdef __SANITIZE_ADDRESS__
/* Declared in sanitizer/allocator_interface.h, which not every compiler has. */
size_t __sanitizer_get_current_allocated_bytes(void);
#endif

/* The heap in use instead of VmRSS: ASan keeps hundreds of megabytes of freed memory. */
static unsigned long heap_kib(void)
{
#ifdef __SANITIZE_ADDRESS__
	return __sanitizer_get_current_allocated_bytes() / 1024;
#else
	return mallinfo2().uordblks / 1024;
#endif
}

static bool is_agent(pid_t pid) /* or one of its keepers and workers: not a program it runs */
{
	char path[64], name[32] = "";
	int fd;

	(void)snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		(void)!read(fd, name, sizeof name - 1);
	if (fd >= 0)
		(void)close(fd);
	return strncmp(name, "cat", 3) != 0;
}

static void note(unsigned long *most, unsigned long now)
{
	if (now > *most)
		*most = now;
}

static void sample(struct load *load)
{
	unsigned long agent = live_status(load->live.agent, "VmRSS:"), family = agent;
	pid_t pids[4 * RUNS];
	size_t n;

	if (clock_now_ms() < load->next_sample)
		return;
	n = live_descendants(&load->live, pids, ARRAY_LEN(pids));
	assert_true(n <= ARRAY_LEN(pids));
	for (size_t i = 0; i < n; i++)
		if (is_agent(pids[i]))
			family += live_status(pids[i], "VmRSS:");
	note(&load->agent_kib, agent);
	note(&load->family_kib, family);
	note(&load->server_kib, heap_kib());
	load->next_sample = clock_now_ms() + SAMPLE_MS;
}

static void check_memory(const struct load *load)
{
	unsigned long server_kib = load->server_kib - load->server_start_kib;
	unsigned long more = strstr(live_program(), "san/agent") != NULL ? SANITIZED : 1;

	print_message(
	        "# at most: agent %lu KiB, with keepers and workers %lu KiB, server +%lu KiB\n",
	        load->agent_kib, load->family_kib, server_kib);
	assert_in_range(load->agent_kib, 1, AGENT_KIB * more);
	assert_in_range(load->family_kib, load->agent_kib + 1, FAMILY_KIB * more);
	assert_in_range(server_kib, 0, SERVER_KIB);
}

/* --- bytes --- */

static void start_runs(struct load *load)
{
	for (unsigned i = 0; i < RUNS; i++)
		load->runs[i] = live_start_run(&load->live,
		                               LIVE_RUN(.flags = WIRE_EXEC_STDIN,
		                                        .keeps_open = true, .counts_only = true,
		                                        .hashes = true),
		                               "cat");
	for (unsigned i = 0; i < RUNS; i++)
		(void)live_started(load->runs[i]);
}

/* Each program gets a different pattern. */
static void feed_runs(struct load *load)
{
	for (unsigned i = 0; i < RUNS; i++)
		live_feed(load->runs[i], (struct view){ load->noise + i * 37, NOISE - 10000 },
		          load->run_bytes - i);
}

static bool are_back(struct load *load)
{
	sample(load);
	for (unsigned i = 0; i < RUNS; i++)
		if (load->runs[i]->bytes[WIRE_OUT] != load->runs[i]->to_send)
			return false;
	return true;
}

static bool is_all_done(struct load *load)
{
	return are_back(load) && load->file->is_over;
}

/* All programs echo their input while the file is transferred in one direction. */
static void carry(struct load *load, struct live_stream *file)
{
	file->counts_only = file->hashes = true;
	load->file = file;
	feed_runs(load);
	LIVE_UNTIL(&load->live, is_all_done(load), LOAD_MS);
	(void)live_check(file);
	assert_int_equal(file->done.total, load->size);
}

static void end_runs(struct load *load)
{
	for (unsigned i = 0; i < RUNS; i++)
		live_end_input(load->runs[i]);
	for (unsigned i = 0; i < RUNS; i++) {
		struct live_stream *run = live_exited(load->runs[i]);

		assert_int_equal(run->exited.code, 0);
		assert_int_equal(run->bytes[WIRE_OUT], 2 * (load->run_bytes - i));
		assert_true(run->hash[WIRE_OUT] == run->sent_hash);
	}
}

static void agent_carries_100_programs_and_a_large_file_at_once(void **state)
{
	struct load load = { .size = file_size() };
	struct live_stream *in, *out;
	uint64_t start = clock_now_ms();

	load.run_bytes = load.size / 128 < RUN_BYTES ? load.size / 128 : RUN_BYTES;
	load.noise = files_noise(NOISE);
	files_begin(&load.live, state, (struct live_options){ 0 });
	load.server_start_kib = heap_kib();
	start_runs(&load);
	in = files_open_write(&load.live, "large", WIRE_WRITE_REPLACE, load.size);
	in->hashes = in->counts_only = true;
	in->keeps_open = false;
	live_feed(in, (struct view){ load.noise, NOISE }, load.size);
	carry(&load, in);
	out = files_open_read(&load.live, "large");
	carry(&load, out);
	assert_int_equal(out->bytes[WIRE_OUT], load.size);
	assert_true(out->hash[WIRE_OUT] == in->sent_hash);
	end_runs(&load);
	print_message("# %llu MiB in and out in %llu ms\n",
	              (unsigned long long)load.size / 1024 / 1024,
	              (unsigned long long)(clock_now_ms() - start));
	check_memory(&load);
	live_wait_no_descendants(&load.live, LIVE_MS);
	live_stop(&load.live);
	free(load.noise);
}

/* --- many sessions --- */

static size_t own_fds(void)
{
	return files_count("/proc/self/fd");
}

/* The test is a subreaper: processes that an agent left behind become its children. */
static void agents_leave_nothing_behind_after_100_starts(void **state)
{
	struct live live;
	size_t before;

	files_begin(&live, state, (struct live_options){ 0 });
	live_stop(&live);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	before = own_fds();
	for (unsigned i = 0; i < 100; i++) {
		struct live_stream *s;

		files_begin(&live, state, (struct live_options){ 0 });
		s = live_exec(&live, "sh", "-c", "sleep 100 & (setsid sleep 100 &) ; echo $PPID");
		assert_int_equal(s->exited.code, 0);
		live_stop(&live);
		assert_true(WIFEXITED(live.status) && WEXITSTATUS(live.status) == 0);
		assert_int_equal(own_fds(), before);
		assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
		assert_int_equal(errno, ECHILD);
	}
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0), 0);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TWICE(agent_carries_100_programs_and_a_large_file_at_once),
		TWICE(agents_leave_nothing_behind_after_100_starts),
	};

	return RUN_TESTS("live load", all);
}
