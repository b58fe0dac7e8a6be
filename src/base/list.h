/* list.h - intrusive doubly linked lists.
 *
 * A node is embedded in its object, which container_of() (attr.h) finds again. A list head is a
 * node that is linked to itself while the list is empty. Removing a zeroed or already removed
 * node does nothing, so destructors need not check. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct list {
	struct list *prev, *next;
};

static inline void list_init(struct list *head)
{
	head->prev = head->next = head;
}

static inline bool list_is_empty(const struct list *head)
{
	return head->next == head;
}

/* Appends the node at the end of the list. */
static inline void list_add(struct list *head, struct list *node)
{
	node->prev = head->prev;
	node->next = head;
	head->prev->next = node;
	head->prev = node;
}

static inline void list_remove(struct list *node)
{
	/* clang's analyser loses track of list links and reports a use after free here.
	 * NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
	if (node->next == NULL)
		return;
	node->prev->next = node->next;
	node->next->prev = node->prev;
	node->prev = node->next = NULL;
}

#define LIST_EACH(pos, head) for (struct list *pos = (head)->next; pos != (head); pos = pos->next)
