#include "server/access/token_store.h"

#include <sys/wait.h>

#include "mcp/caller.h"
#include "server/access/token_file.h"
#include "unit/scratch.h"

static struct error err;

static struct token make_token(const char *user)
{
	struct token token = { .scopes = MCP_SCOPE_RUN, .created = 1 };
	char secret[TOKEN_LEN + 1];

	(void)snprintf(token.user, sizeof token.user, "%s", user);
	token_generate(&token, secret);
	return token;
}

static void file_is_created_private_and_keeps_comments(void **state)
{
	struct token first = make_token("alice"), second = make_token("bob");
	struct token_list list;
	struct stat st;

	CHECK_OK(token_store_load("dir/tokens", &list, &err), err);
	assert_int_equal(list.count, 0);
	CHECK_OK(token_store_add("dir/tokens", &first, &err), err);
	CHECK_OK(token_store_add("dir/tokens", &second, &err), err);
	assert_int_equal(stat("dir/tokens", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	CHECK_OK(token_store_remove("dir/tokens", first.id, &err), err);
	assert_memory_equal(scratch_read("dir/tokens"), "# Tokens of belljar", 19);
	CHECK_OK(token_store_load("dir/tokens", &list, &err), err);
	assert_int_equal(list.count, 1);
	assert_string_equal(list.at[0].id, second.id);
	token_list_done(&list);
	assert_int_equal(token_store_remove("dir/tokens", first.id, &err), -1);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	CHECK_ERROR(token_store_remove("dir/tokens", "#", &err), err, ERR_NOT_FOUND,
	            "token file 'dir/tokens': there is no token '#'; 'belljar token list' has all");
}

static void file_that_others_may_write_is_refused(void **state)
{
	struct token token = make_token("alice");
	struct token_list list;

	scratch_write("tokens", "");
	assert_int_equal(chmod("tokens", 0620), 0);
	CHECK_ERROR(token_store_load("tokens", &list, &err), err, ERR_INVALID,
	            "token file 'tokens': other users may write this file, and so make tokens; run "
	            "chmod 600 on it");
	assert_int_equal(token_store_add("tokens", &token, &err), -1);
}

static void malformed_file_is_not_changed(void **state)
{
	struct token token = make_token("alice");

	scratch_write("tokens", "nonsense\n");
	assert_int_equal(chmod("tokens", 0600), 0);
	assert_int_equal(token_store_add("tokens", &token, &err), -1);
	assert_string_equal(scratch_read("tokens"), "nonsense\n");
}

static void link_to_the_file_stays_a_link(void **state)
{
	struct token token = make_token("alice");
	struct stat st;

	assert_int_equal(mkdir("real", 0700), 0);
	scratch_write("real/tokens", "");
	assert_int_equal(chmod("real/tokens", 0600), 0);
	assert_int_equal(symlink("real/tokens", "tokens"), 0);
	CHECK_OK(token_store_add("tokens", &token, &err), err);
	assert_int_equal(lstat("tokens", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_non_null(strstr(scratch_read("real/tokens"), token.id));
}

static void adds_of_several_processes_are_all_kept(void **state)
{
	enum { PROCESSES = 8, TOKENS = 5 };
	struct token_list list;
	int status;

	for (int i = 0; i < PROCESSES; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0) {
			for (int j = 0; j < TOKENS; j++) {
				struct token token = make_token("u");

				if (token_store_add("tokens", &token, &err) < 0)
					_exit(1);
			}
			_exit(0);
		}
	}
	for (int i = 0; i < PROCESSES; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	CHECK_OK(token_store_load("tokens", &list, &err), err);
	assert_int_equal(list.count, PROCESSES * TOKENS);
	token_list_done(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_SCRATCH(file_is_created_private_and_keeps_comments),
		IN_SCRATCH(file_that_others_may_write_is_refused),
		IN_SCRATCH(malformed_file_is_not_changed),
		IN_SCRATCH(link_to_the_file_stays_a_link),
		IN_SCRATCH(adds_of_several_processes_are_all_kept),
	};

	return RUN_TESTS("token_store", tests);
}
