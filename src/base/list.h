/* list.h - intrusive doubly linked lists.
 *
 * A node is embedded in its object; a list head is a node too, linked to itself while
 * empty. Removing an unlinked node does nothing, so destructors need not ask. */
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

static inline void list_add(struct list *head, struct list *node) /* at the end */
{
	node->prev = head->prev;
	node->next = head;
	head->prev->next = node;
	head->prev = node;
}

static inline void list_remove(struct list *node)
{
	/* The analyser does not follow the links. NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
	if (node->next == NULL)
		return;
	node->prev->next = node->next;
	node->next->prev = node->prev;
	node->prev = node->next = NULL;
}

#define LIST_EACH(pos, head) for (struct list *pos = (head)->next; pos != (head); pos = pos->next)
