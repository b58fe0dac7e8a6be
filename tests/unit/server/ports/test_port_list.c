#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "loop/loop.h"
#include "server/ports/internal.h"
#include "server/ports/ports.h"
#include "unit/test.h"

static struct {
	struct loop *loop;
	struct ports *ports;
	struct port_entry entries[PORT_SANDBOX_REQUESTS + 2];
	int ended[PORT_SANDBOX_REQUESTS + 2]; /* the status with which each entry was ended */
} list;

static struct error err;
static const char sandboxes[2]; /* addresses that stand for sandboxes */

static int set_up(void **state)
{
	(void)state;
	memset(&list, 0, sizeof list);
	if (loop_new(&list.loop, &err) < 0)
		return -1;
	list.ports = ports_new(list.loop);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	list.ports = ports_free(list.ports);
	list.loop = loop_free(list.loop);
	return 0;
}

static void end_entry(struct port_entry *entry, int status, const char *why)
{
	assert_string_not_equal(why, "");
	list.ended[entry - list.entries] = status;
	port_list_remove(entry);
}

static int add_entry(size_t i, size_t sandbox, const char *owner)
{
	struct port_entry *entry = &list.entries[i];

	entry->sandbox = (const struct sandbox *)(const void *)&sandboxes[sandbox];
	entry->end = end_entry;
	(void)snprintf(entry->owner, sizeof entry->owner, "%s", owner);
	return port_list_add(list.ports, entry, &err);
}

static void sandbox_has_a_limit_of_requests(void **state)
{
	for (size_t i = 0; i < PORT_SANDBOX_REQUESTS; i++)
		CHECK_OK(add_entry(i, 0, "alice"), err);
	assert_int_equal(add_entry(PORT_SANDBOX_REQUESTS, 0, "alice"), -1);
	assert_non_null(strstr(err.msg, "try again"));
	CHECK_OK(add_entry(PORT_SANDBOX_REQUESTS + 1, 1, "alice"), err);
	port_list_remove(&list.entries[3]);
	port_list_remove(&list.entries[3]);
	CHECK_OK(add_entry(PORT_SANDBOX_REQUESTS, 0, "alice"), err);
	assert_int_equal(add_entry(3, 0, "alice"), -1);
}

static void waiting_bodies_have_a_limit_over_all_requests(void **state)
{
	for (size_t i = 0; i < 3; i++)
		CHECK_OK(add_entry(i, i & 1, "alice"), err);
	CHECK_OK(port_list_add_body(&list.entries[0], PORT_BODIES_MAX - 1, &err), err);
	assert_int_equal(port_list_add_body(&list.entries[1], 2, &err), -1);
	assert_non_null(strstr(err.msg, "try again"));
	CHECK_OK(port_list_add_body(&list.entries[1], 1, &err), err);
	/* The bytes are given back once, whether the body was read or the request has ended. */
	port_list_remove_body(&list.entries[0]);
	port_list_remove(&list.entries[0]);
	assert_int_equal(port_list_add_body(&list.entries[2], PORT_BODIES_MAX, &err), -1);
	port_list_remove(&list.entries[1]);
	CHECK_OK(port_list_add_body(&list.entries[2], PORT_BODIES_MAX, &err), err);
}

static void requests_of_a_lost_owner_end(void **state)
{
	static const char *const owners[] = { "alice", "bob", "alice>u", "alicea", "alice" };

	for (size_t i = 0; i < ARRAY_LEN(owners); i++)
		CHECK_OK(add_entry(i, 0, owners[i]), err);
	ports_end_owner(list.ports, "alice");
	for (size_t i = 0; i < ARRAY_LEN(owners); i++)
		assert_int_equal(list.ended[i], i == 1 || i == 3 ? 0 : 401);
}

static void idle_requests_end(void **state)
{
	uint64_t now;

	for (size_t i = 0; i < 3; i++)
		CHECK_OK(add_entry(i, 0, "alice"), err);
	now = clock_now_ms();
	list.entries[1].active_ms = now - PORT_IDLE_MS;
	list.entries[2].active_ms = now - PORT_IDLE_MS;
	port_list_touch(&list.entries[2]);
	port_list_end_idle(list.ports, now);
	assert_int_equal(list.ended[0], 0);
	assert_int_equal(list.ended[1], 504);
	assert_int_equal(list.ended[2], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sandbox_has_a_limit_of_requests, set_up, tear_down),
		cmocka_unit_test_setup_teardown(waiting_bodies_have_a_limit_over_all_requests,
		                                set_up, tear_down),
		cmocka_unit_test_setup_teardown(requests_of_a_lost_owner_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(idle_requests_end, set_up, tear_down),
	};

	return RUN_TESTS("port_list", tests);
}
