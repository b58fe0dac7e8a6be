#include "base/list.h"
#include "unit/test.h"

struct item {
	int number;
	struct list node;
};

static void check_order(const struct list *head, const char *want)
{
	char got[16] = "";
	size_t len = 0;

	LIST_EACH (pos, head)
		got[len++] = (char)('0' + container_of(pos, struct item, node)->number);
	assert_string_equal(got, want);
	len = 0;
	for (const struct list *pos = head->prev; pos != head; pos = pos->prev)
		len++;
	assert_int_equal(len, strlen(want)); /* the backward links are complete */
}

static void add_appends_at_the_end(void **state)
{
	struct item a = { .number = 1 }, b = { .number = 2 }, c = { .number = 3 };
	struct list head;

	list_init(&head);
	assert_true(list_is_empty(&head));
	check_order(&head, "");
	list_add(&head, &a.node);
	list_add(&head, &b.node);
	list_add(&head, &c.node);
	assert_false(list_is_empty(&head));
	check_order(&head, "123");
}

static void node_is_removed_anywhere_and_twice(void **state)
{
	static const struct {
		size_t first, second;
		const char *once, *twice;
	} cases[] = { { 0, 1, "23", "3" }, { 1, 0, "13", "3" }, { 2, 0, "12", "2" } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct item items[3] = { { .number = 1 }, { .number = 2 }, { .number = 3 } };
		struct list head;

		list_init(&head);
		for (size_t j = 0; j < 3; j++)
			list_add(&head, &items[j].node);
		list_remove(&items[cases[i].first].node);
		check_order(&head, cases[i].once);
		list_remove(&items[cases[i].first].node);
		check_order(&head, cases[i].once);
		list_remove(&items[cases[i].second].node);
		check_order(&head, cases[i].twice);
	}
}

static void remove_of_an_unlinked_node_does_nothing(void **state)
{
	struct item loose = { .number = 1 };

	list_remove(&loose.node);
	assert_null(loose.node.next);
}

static void removed_node_can_be_added_again(void **state)
{
	struct item a = { .number = 1 }, b = { .number = 2 };
	struct list head;

	list_init(&head);
	list_add(&head, &a.node);
	list_add(&head, &b.node);
	list_remove(&a.node);
	list_add(&head, &a.node);
	check_order(&head, "21");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(add_appends_at_the_end),
		TEST(node_is_removed_anywhere_and_twice),
		TEST(remove_of_an_unlinked_node_does_nothing),
		TEST(removed_node_can_be_added_again),
	};

	return RUN_TESTS("base/list", tests);
}
