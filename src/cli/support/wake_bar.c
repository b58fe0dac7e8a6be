#include "cli/support/wake_bar.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "loop/loop.h"
#include "sandbox/sandbox.h"

enum { INTERVAL_MS = 200, CELLS = 30, MB = 1000 * 1000 };

struct wake_bar {
	struct loop_timer *timer;
	struct sandbox *const *sandbox;
	bool is_shown;
};

static void erase_bar(struct wake_bar *bar)
{
	if (bar->is_shown)
		(void)fputs("\r\033[K", stderr);
	bar->is_shown = false;
}

static void draw_bar(struct wake_bar *bar, const struct engine_progress *progress)
{
	char cells[CELLS + 1];
	uint64_t filled = progress->total != 0 ? progress->done * CELLS / progress->total : 0;

	for (uint64_t i = 0; i < CELLS; i++)
		cells[i] = i < filled ? '#' : '.';
	cells[CELLS] = '\0';
	if (progress->total != 0)
		(void)fprintf(stderr, "\r%s [%s] %llu of %llu MB\033[K", progress->text, cells,
		              (unsigned long long)(progress->done / MB),
		              (unsigned long long)(progress->total / MB));
	else
		(void)fprintf(stderr, "\r%s ...\033[K", progress->text);
	(void)fflush(stderr);
	bar->is_shown = true;
}

static void on_timer(void *ctx)
{
	struct wake_bar *bar = ctx;
	const struct engine_progress *progress = *bar->sandbox != NULL
	                                                 ? sandbox_progress(*bar->sandbox)
	                                                 : NULL;

	if (progress != NULL)
		draw_bar(bar, progress);
	else
		erase_bar(bar);
	loop_timer_start(bar->timer, INTERVAL_MS);
}

struct wake_bar *wake_bar_new(struct loop *loop, struct sandbox *const *sandbox)
{
	struct wake_bar *bar;

	if (!isatty(STDERR_FILENO))
		return NULL;
	bar = mem_new(sizeof *bar);
	bar->sandbox = sandbox;
	bar->timer = loop_timer_new(loop, on_timer, bar);
	loop_timer_start(bar->timer, INTERVAL_MS);
	return bar;
}

struct wake_bar *wake_bar_free(struct wake_bar *bar)
{
	if (bar == NULL)
		return NULL;
	erase_bar(bar);
	(void)loop_timer_free(bar->timer);
	free(bar);
	return NULL;
}
