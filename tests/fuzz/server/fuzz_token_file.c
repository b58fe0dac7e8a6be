/* fuzz_token_file.c - a token file of any bytes is an error, or its tokens are within their limits,
 * and written and read again they are the same. */
#include <string.h>

#include "base/error.h"
#include "fuzz/fuzz.h"
#include "server/access/token_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct token_list list, again;
	struct error err;
	struct buf text;

	if (token_list_parse((struct view){ (const char *)data, size }, &list, &err) < 0)
		return 0;
	fuzz_check(list.count <= TOKENS_MAX);
	buf_init(&text, TOKEN_FILE_MAX);
	for (size_t i = 0; i < list.count; i++) {
		fuzz_check(list.at[i].scopes != 0 && list.at[i].created > 0);
		fuzz_check(token_is_user(view_of(list.at[i].user)));
		fuzz_check(token_write(&list.at[i], &text, &err) == 0);
	}
	fuzz_check(token_list_parse(buf_view(&text), &again, &err) == 0);
	fuzz_check(again.count == list.count);
	if (list.count != 0)
		fuzz_check(memcmp(list.at, again.at, list.count * sizeof list.at[0]) == 0);
	(void)token_list_find(&list, (struct view){ (const char *)data, size });
	token_list_done(&list);
	token_list_done(&again);
	buf_done(&text);
	return 0;
}
