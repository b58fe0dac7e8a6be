/* sessions.c - interpreters that keep state from cell to cell, and the queues of their cells (see
 * internal.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "kernels/kernels.h"
#include "kernels/languages.h"
#include "loop/loop.h"
#include "sandbox/interpreter/internal.h"
#include "sandbox/sandbox.h"

/* --- state ------------------------------------------------------------------------------------ */

/* Records that the interpreter has ended. Returns whether state was lost: an interpreter in which
 * no cell was started had none, and an earlier loss that was not reported yet stays recorded. */
static bool record_interpreter_end(struct session *session, const char *why)
{
	bool had_state = session->has_state;

	session->interpreter = NULL;
	session->has_state = false;
	if (!had_state)
		return false;
	session->is_lost = true;
	(void)snprintf(session->why_lost, sizeof session->why_lost, "%s", why);
	return true;
}

bool session_kill(struct session *session, const char *why)
{
	interpreter_kill(session->interpreter);
	return record_interpreter_end(session, why);
}

void session_cell_started(struct session *session)
{
	session->cells++;
	session->has_state = true;
	session->is_lost = false;
}

void session_free(struct session *session)
{
	interpreter_kill(session->interpreter);
	list_remove(&session->node);
	(void)loop_timer_free(session->turn_timer);
	free(session);
}

/* --- the queue -------------------------------------------------------------------------------- */

static void on_turn_timer(void *ctx)
{
	struct session *session = ctx;
	struct session_cell *cell;

	if (session->current != NULL || list_is_empty(&session->queue))
		return;
	cell = container_of(session->queue.next, struct session_cell, node);
	list_remove(&cell->node);
	session->waiting--;
	session->current = cell;
	cell->turn(cell->ctx);
}

static void on_idle(void *ctx)
{
	(void)ctx; /* the next cell's turn comes with session_leave() of this one */
}

static void on_gone(void *ctx, const char *why)
{
	(void)record_interpreter_end(ctx, why);
}

static const struct interpreter_owner_events session_events = { on_idle, on_gone, NULL };

/* --- the sessions of a pool ------------------------------------------------------------------- */

static struct session *find_session(struct interpreter_pool *pool, const char *name)
{
	LIST_EACH (node, &pool->sessions) {
		struct session *session = container_of(node, struct session, node);

		if (strcmp(session->name, name) == 0)
			return session;
	}
	return NULL;
}

static bool is_in_use(const struct session *session)
{
	return session->interpreter != NULL || session->current != NULL || session->waiting != 0;
}

/* At the maximum the oldest session that has neither an interpreter nor cells is freed: only its
 * name and the reason of its loss are left. Returns false if all are in use. */
static bool make_room(struct interpreter_pool *pool)
{
	size_t count = 0;

	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it does not follow the links */
	LIST_EACH (node, &pool->sessions)
		count++;
	if (count < SESSIONS_MAX)
		return true;
	LIST_EACH (node, &pool->sessions) {
		struct session *session = container_of(node, struct session, node);

		if (!is_in_use(session)) {
			session_free(session);
			return true;
		}
	}
	return false;
}

static int fail_too_many_sessions(const struct interpreter_pool *pool, struct error *err)
{
	char names[256];
	struct buf list = buf_fixed(names, sizeof names);

	names[0] = '\0';
	LIST_EACH (node, &pool->sessions)
		buf_putf(&list, "%s%s", list.len != 0 ? ", " : "",
		         container_of(node, struct session, node)->name);
	return error_set(err, ERR_LIMIT,
	                 "session: a sandbox has at most %d sessions: use one of %s, or end one "
	                 "(process_stop)",
	                 SESSIONS_MAX, names);
}

static int check_session_name(const char *name, struct error *err)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < len; i++)
		if (name[i] <= ' ' || name[i] > '~')
			len = 0;
	if (len == 0 || len > SESSION_NAME_MAX)
		return error_set(err, ERR_INVALID,
		                 "argument 'session': expected a name of 1 to %d letters, digits "
		                 "and signs, without spaces",
		                 SESSION_NAME_MAX);
	return 0;
}

static struct session *new_session(struct interpreter_pool *pool, const char *name,
                                   const struct language *language)
{
	struct session *session = mem_new(sizeof *session);

	session->pool = pool;
	(void)snprintf(session->name, sizeof session->name, "%s", name);
	(void)snprintf(session->language, sizeof session->language, "%s", language->name);
	list_init(&session->queue);
	session->turn_timer = loop_timer_new(sandbox_loop(pool->sandbox), on_turn_timer, session);
	list_add(&pool->sessions, &session->node);
	return session;
}

int session_join(struct interpreter_pool *pool, const char *name, const struct language *language,
                 struct session_cell *cell, struct error *err)
{
	struct session *session = find_session(pool, name);
	char names[128];

	if (language->kernel == NULL)
		return error_set(err, ERR_INVALID,
		                 "session: %s keeps no state between runs; these languages do: %s",
		                 language->title, language_session_names(names, sizeof names));
	if (check_session_name(name, err) < 0)
		return -1;
	/* A session whose only cells were cancelled before they started may change its language. */
	if (session != NULL && session->cells == 0 && !is_in_use(session)) {
		session_free(session);
		session = NULL;
	}
	if (session == NULL) {
		if (!make_room(pool))
			return fail_too_many_sessions(pool, err);
		session = new_session(pool, name, language);
	}
	if (strcmp(session->language, language->name) != 0)
		return error_set(
		        err, ERR_INVALID,
		        "session: '%s' is a session of %s: use that language, or another name",
		        name, session->language);
	if (session->waiting >= SESSION_QUEUE_MAX)
		return error_set(err, ERR_LIMIT,
		                 "session: %d cells wait in '%s' already: wait for some to end",
		                 SESSION_QUEUE_MAX, name);
	cell->session = session;
	list_add(&session->queue, &cell->node);
	session->waiting++;
	loop_timer_start(session->turn_timer, 0);
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
		loop_timer_start(session->turn_timer, 0);
		return;
	}
	list_remove(&cell->node);
	session->waiting--;
}

int session_interpreter(struct session *session, const struct kernel_program *program,
                        const char *path, struct interpreter **ret, struct error *err)
{
	const struct interpreter_options options = { .program = program,
		                                     .path = path,
		                                     .is_session = true };

	if (session->interpreter == NULL &&
	    interpreter_start(session->pool->sandbox, &options, &session_events, session,
	                      &session->interpreter, err) < 0)
		return -1;
	*ret = session->interpreter;
	return 0;
}

int interpreter_pool_end_session(struct interpreter_pool *pool, const char *name, struct error *err)
{
	struct session *session = find_session(pool, name);

	if (session == NULL)
		return error_set(err, ERR_NOT_FOUND,
		                 "there is no session '%s'; sandbox_info lists them",
		                 UTF8_ESCAPED(view_of(name), SESSION_NAME_MAX + 1));
	if (session->current != NULL || session->waiting != 0)
		return error_set(err, ERR_INVALID,
		                 "code runs in '%s': stop its process first; sandbox_info lists "
		                 "the processes",
		                 session->name);
	session_free(session);
	return 0;
}

void interpreter_pool_each_session(struct interpreter_pool *pool,
                                   void (*each)(void *ctx, const char *name, const char *language,
                                                bool is_busy),
                                   void *ctx)
{
	LIST_EACH (node, &pool->sessions) {
		const struct session *session = container_of(node, struct session, node);

		if (is_in_use(session))
			each(ctx, session->name, session->language, session->current != NULL);
	}
}

bool interpreter_pool_has_lost_session(const struct interpreter_pool *pool)
{
	LIST_EACH (node, &pool->sessions)
		if (container_of(node, struct session, node)->is_lost)
			return true;
	return false;
}
