#include <stdio.h>

#include "tools/support/port_links.h"
#include "unit/test.h"

static struct port_link_target make_target(const char *owner, unsigned port)
{
	struct port_link_target target = { .sandbox = "sb", .port = (uint16_t)port };

	(void)snprintf(target.owner, sizeof target.owner, "%s", owner);
	return target;
}

static void add_link(struct port_links *links, const char *owner, unsigned port, char *key)
{
	struct port_link_target target = make_target(owner, port);

	port_links_add(links, &target, key);
}

static bool has_link(struct port_links *links, unsigned port, const char *key)
{
	struct port_link_target target = make_target("", port);

	return port_links_find(links, key, &target);
}

static void second_link_to_a_port_replaces_the_first(void **state)
{
	AUTO(port_links) struct port_links *links = port_links_new();
	char first[PORT_LINK_KEY + 1], second[PORT_LINK_KEY + 1], other[PORT_LINK_KEY + 1];

	add_link(links, "alice", 1, first);
	add_link(links, "bob", 1, other);
	add_link(links, "alice", 1, second);
	assert_false(has_link(links, 1, first));
	assert_true(has_link(links, 1, second));
	assert_true(has_link(links, 1, other));
}

static void owner_with_many_links_loses_their_own_oldest(void **state)
{
	AUTO(port_links) struct port_links *links = port_links_new();
	char bob[PORT_LINK_KEY + 1], keys[2 * PORT_LINKS][PORT_LINK_KEY + 1];

	add_link(links, "bob", 1, bob);
	for (unsigned i = 0; i < 2 * PORT_LINKS; i++)
		add_link(links, "alice", i + 1, keys[i]);
	assert_true(has_link(links, 1, bob));
	for (unsigned i = 0; i < 2 * PORT_LINKS; i++)
		assert_int_equal(has_link(links, i + 1, keys[i]),
		                 i >= 2 * PORT_LINKS - PORT_LINKS_OWNER);
}

static void oldest_link_makes_room_when_all_places_are_taken(void **state)
{
	AUTO(port_links) struct port_links *links = port_links_new();
	char owner[16], keys[PORT_LINKS + 2][PORT_LINK_KEY + 1];

	for (unsigned i = 0; i < PORT_LINKS + 2; i++) {
		(void)snprintf(owner, sizeof owner, "user%u", i);
		add_link(links, owner, 1, keys[i]);
		if (i == PORT_LINKS - 1)
			port_links_remove_owner(links, "user7");
	}
	assert_false(has_link(links, 1, keys[0]));
	assert_false(has_link(links, 1, keys[7]));
	assert_true(has_link(links, 1, keys[1]));
	assert_true(has_link(links, 1, keys[PORT_LINKS + 1]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(second_link_to_a_port_replaces_the_first),
		cmocka_unit_test(owner_with_many_links_loses_their_own_oldest),
		cmocka_unit_test(oldest_link_makes_room_when_all_places_are_taken),
	};

	return RUN_TESTS("tools/support/port_links", tests);
}
