/* record_test.h - the records that an operation has sent, as one line of text; and trees for it to
 * find. */
#pragma once
#include "unit/agent/files/job_test.h"

enum { RECORD_TEXT_SIZE = 64 * 1024 };
/* Appends to a terminated text of that size. */
void record_append(char *out, const char *text, size_t len);

/* Each entry and a blank: "a.txt ", "dir/ ", "link>target ", "fifo? ". */
const char *record_entries(struct job_test *t);
size_t record_count(struct job_test *t); /* entries */
/* Each match as "path:line:column:text|". */
const char *record_matches(struct job_test *t);

/* Creates empty files; format has one %u. */
void make_files(const char *directory, const char *format, unsigned count);
/* Creates directories within one another, all of this name. Returns the innermost one. */
int make_deep(const char *directory, const char *name, unsigned levels);
