/* sessions.c - interpreters that remember, and whose turn it is in each (declared in kernels.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "kernels/kernels.h"
#include "kernels/languages.h"
#include "loop/loop.h"
#include "sandbox/interpreter/interpreter.h"
#include "sandbox/interpreter/interpreter_pool.h"
#include "sandbox/sandbox.h"

/* One in which no cell has begun had nothing to lose; what was lost before still is. */
static bool lost(struct session *session, const char *why)
{
	bool knew = session->knows;

	session->interpreter = NULL;
	session->knows = false;
	if (!knew)
		return false;
	session->is_lost = true;
	(void)snprintf(session->why_lost, sizeof session->why_lost, "%s", why);
	return true;
}

bool session_lose(struct session *session, const char *why)
{
	interpreter_drop(session->interpreter);
	return lost(session, why);
}

void session_begin(struct session *session)
{
	session->cells++;
	session->knows = true;
	session->is_lost = false;
}

void session_free(struct session *session)
{
	interpreter_drop(session->interpreter);
	list_remove(&session->node);
	(void)loop_timer_free(session->turn);
	free(session);
}

/* --- whose turn it is ------------------------------------------------------------------------- */

static void on_turn(void *ctx)
{
	struct session *session = ctx;
	struct session_cell *cell;

	if (session->current != NULL || list_is_empty(&session->queue))
		return;
	cell = container_of(session->queue.next, struct session_cell, node);
	list_remove(&cell->node);
	session->waiting--;
	session->current = cell;
	cell->begin(cell->ctx);
}

static void on_idle(void *ctx)
{
	(void)ctx; /* whoever ran in it says so itself: session_leave() */
}

static void on_gone(void *ctx, const char *why)
{
	(void)lost(ctx, why);
}

static const struct interpreter_owner owner = { on_idle, on_gone };

/* --- which there are -------------------------------------------------------------------------- */

static struct session *find(struct kernels *kernels, const char *name)
{
	LIST_EACH (node, &kernels->sessions) {
		struct session *session = container_of(node, struct session, node);

		if (strcmp(session->name, name) == 0)
			return session;
	}
	return NULL;
}

static bool is_used(const struct session *session)
{
	return session->interpreter != NULL || session->current != NULL || session->waiting != 0;
}

/* Of one that was lost there is only the name left: the oldest makes room. */
static bool make_room(struct kernels *kernels)
{
	size_t count = 0;

	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it does not follow the links */
	LIST_EACH (node, &kernels->sessions)
		count++;
	if (count < SESSIONS_MAX)
		return true;
	LIST_EACH (node, &kernels->sessions) {
		struct session *session = container_of(node, struct session, node);

		if (!is_used(session)) {
			session_free(session);
			return true;
		}
	}
	return false;
}

static int refuse_more(const struct kernels *kernels, struct error *err)
{
	char names[256];
	struct buf list = buf_fixed(names, sizeof names);
	struct error full;

	names[0] = '\0';
	LIST_EACH (node, &kernels->sessions)
		(void)!buf_printf(&list, &full, "%s%s", list.len != 0 ? ", " : "",
		                  container_of(node, struct session, node)->name);
	return error_set(
	        err, ERR_LIMIT,
	        "session: a sandbox has at most %d of them: go on in one of %s, or end one by "
	        "running exit() in it",
	        SESSIONS_MAX, names);
}

static int check_name(const char *name, struct error *err)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < len; i++)
		if (name[i] <= ' ' || name[i] > '~')
			len = 0;
	if (len == 0 || len > SESSION_NAME_MAX)
		return error_set(err, ERR_INVALID,
		                 "session: a name of 1 to %d letters, digits and signs, without "
		                 "spaces",
		                 SESSION_NAME_MAX);
	return 0;
}

static struct session *make(struct kernels *kernels, const char *name,
                            const struct language *language)
{
	struct session *session = mem_new(sizeof *session);

	session->kernels = kernels;
	(void)snprintf(session->name, sizeof session->name, "%s", name);
	(void)snprintf(session->language, sizeof session->language, "%s", language->name);
	list_init(&session->queue);
	session->turn = loop_timer_new(sandbox_loop(kernels->sandbox), on_turn, session);
	list_add(&kernels->sessions, &session->node);
	return session;
}

int session_join(struct kernels *kernels, const char *name, const struct language *language,
                 struct session_cell *cell, struct error *err)
{
	struct session *session = find(kernels, name);

	if (language->kernel == NULL)
		return error_set(
		        err, ERR_INVALID,
		        "session: %s keeps no state between runs; python and javascript do",
		        language->title);
	if (check_name(name, err) < 0)
		return -1;
	if (session != NULL && session->cells == 0 && !is_used(session)) {
		session_free(session); /* it never was one */
		session = NULL;
	}
	if (session == NULL) {
		if (!make_room(kernels))
			return refuse_more(kernels, err);
		session = make(kernels, name, language);
	}
	if (strcmp(session->language, language->name) != 0)
		return error_set(err, ERR_INVALID,
		                 "session: '%s' is a session of %s: use that language, or another "
		                 "name",
		                 name, session->language);
	if (session->waiting >= SESSION_QUEUE_MAX)
		return error_set(err, ERR_LIMIT,
		                 "session: %d cells wait in '%s' already: wait for some to end",
		                 SESSION_QUEUE_MAX, name);
	cell->session = session;
	list_add(&session->queue, &cell->node);
	session->waiting++;
	loop_timer_start(session->turn, 0);
	return 0;
}

void session_leave(struct session_cell *cell)
{
	struct session *session = cell->session;

	if (session == NULL)
		return;
	cell->session = NULL;
	if (session->current == cell) {
		session->current = NULL;
		loop_timer_start(session->turn, 0);
		return;
	}
	list_remove(&cell->node);
	session->waiting--;
}

int session_interpreter(struct session *session, const struct kernel_program *program,
                        const char *path, struct interpreter **ret, struct error *err)
{
	const struct interpreter_wish wish = { .program = program,
		                               .path = path,
		                               .is_session = true };

	if (session->interpreter == NULL &&
	    interpreter_start(session->kernels->sandbox, &wish, &owner, session,
	                      &session->interpreter, err) < 0)
		return -1;
	*ret = session->interpreter;
	return 0;
}

void sessions_each(struct kernels *kernels,
                   void (*each)(void *ctx, const char *name, const char *language, bool is_busy),
                   void *ctx)
{
	LIST_EACH (node, &kernels->sessions) {
		const struct session *session = container_of(node, struct session, node);

		if (is_used(session))
			each(ctx, session->name, session->language, session->current != NULL);
	}
}

bool sessions_any_lost(const struct kernels *kernels)
{
	LIST_EACH (node, &kernels->sessions)
		if (container_of(node, struct session, node)->is_lost)
			return true;
	return false;
}
