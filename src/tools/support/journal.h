/* journal.h - what a process printed since somebody asked last, as a result. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "tools/support/run_result.h"

struct attend;
struct sandbox;

enum { JOURNAL_SINCE_LAST = -1 };

/* Answers the attended call: what there is from byte `since` on, at most `limit` bytes (0: as much
 * as fits an answer), and the end if it has ended. */
void journal_tell(struct attend *attend, struct sandbox *sandbox, struct process *process,
                  int64_t since, size_t limit, const char *remark);

/* Bytes printed so far, of both streams together. */
uint64_t journal_total(struct process *process);

/* The parameter every such tool has. */
#define JOURNAL_PARAM_PROCESS(type_, member_)                                                      \
	{                                                                                          \
		.name = "process", .type = PARAM_STRING, .required = true, .min = 1,               \
		.max = PROCESS_ID_MAX, .offset = offsetof(type_, member_),                         \
		.help = "Its name, as run_command or run_code answered it: \"p7\"."                \
	}
