/* python_show.h - what a module offers, as text for a model and as JSON, both bounded alike. */
#pragma once
#include <stdbool.h>

#include "json/json.h"

struct buf;
struct python_doc;

/* Names that begin with "_" are left out, but for __init__ and __call__. Of each item the first
 * line of its docstring; with `only` ("area", "Shape") that item, and what is in it, with all of
 * theirs. Text and list end where the text is full. Returns how many were left out for that;
 * *ret_count: how many are there. */
size_t python_show(const struct python_doc *doc, const char *only, struct buf *text, json_t *list,
                   size_t *ret_count);

/* The first line of a docstring. */
struct view python_summary(const char *doc);
