#include "cli/cli.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/text/nearest.h"
#include "base/text/utf8.h"
#include "cli/support/help_text.h"
#include "cli/support/out.h"
#include "cli/verb.h"
#include "server/options/options.h"

/* The verb to run, and its arguments. */
struct command {
	const struct verb *verb;
	char *const *args; /* those after the verb */
	bool bare;         /* the command line names no verb */
};

static const struct alias {
	const char *flag;
	const struct verb *verb;
} aliases[] = {
	{ "-h", &verb_help },
	{ "--help", &verb_help },
	{ "--version", &verb_version },
};

static enum verb_result set_unknown_verb(const char *name, struct error *err)
{
	struct nearest best = { 0 };
	const char *known;
	char shown[80];

	for (size_t i = 0; (known = verb_name_at(i)) != NULL; i++)
		nearest_consider(&best, name, known);
	(void)utf8_escape(view_of(name), shown, sizeof shown);
	if (best.name != NULL)
		(void)error_set(err, ERR_INVALID, "unknown verb '%s'; did you mean '%s'?", shown,
		                best.name);
	else
		(void)error_set(err, ERR_INVALID, "unknown verb '%s'", shown);
	return VERB_MISUSED;
}

/* Without a verb, the help is printed on a terminal; otherwise an MCP client started the program
 * with a pipe, and is served. The verb of the result is NULL if it is unknown. */
static struct command find_command(char *const *args)
{
	static char *const none[] = { NULL };

	if (args[0] == NULL || args[1] == NULL)
		return (struct command){ isatty(STDIN_FILENO) ? &verb_help : &verb_serve, none,
			                 .bare = true };
	for (size_t i = 0; i < ARRAY_LEN(aliases); i++)
		if (strcmp(args[1], aliases[i].flag) == 0)
			return (struct command){ aliases[i].verb, args + 2, .bare = false };
	if (args[1][0] == '-')
		return (struct command){ &verb_serve, args + 1, .bare = true };
	return (struct command){ verb_find(args[1]), args + 2, .bare = false };
}

static int set_unknown_operand(const struct verb *verb, const char *operand, struct error *err)
{
	struct nearest best = { 0 };
	const char *known;
	char shown[80], list[160] = "";
	size_t used = 0;

	(void)utf8_escape(view_of(operand), shown, sizeof shown);
	for (size_t i = 0; (known = verb->operand_choice(i)) != NULL; i++) {
		nearest_consider(&best, operand, known);
		if (used < sizeof list)
			used += (size_t)snprintf(list + used, sizeof list - used, "%s%s",
			                         i != 0 ? ", " : "", known);
	}
	if (best.name != NULL)
		return error_set(err, ERR_INVALID, "%s: unknown %s '%s'; did you mean '%s'?",
		                 verb->name, verb->operand, shown, best.name);
	return error_set(err, ERR_INVALID, "%s: unknown %s '%s'; expected one of %s", verb->name,
	                 verb->operand, shown, list);
}

/* True for a flag after "--" that the verb passes on to another program. */
static bool is_passed_on(const struct verb *verb, const char *operand)
{
	return verb->operand_rest != NULL && operand[0] == '-';
}

static int check_operands(const struct command *command, const struct option_args *args,
                          struct error *err)
{
	const struct verb *verb = command->verb;
	size_t allowed = verb->operand != NULL ? 1 : 0;
	const char *known;
	char shown[80];

	if (args->operand_count > allowed && verb->operand_rest == NULL) {
		(void)utf8_escape(view_of(args->operands[allowed]), shown, sizeof shown);
		if (command->bare)
			return error_set(err, ERR_INVALID,
			                 "unexpected argument '%s'; a verb comes first", shown);
		return error_set(err, ERR_INVALID, "%s: unexpected argument '%s'", verb->name,
		                 shown);
	}
	if (args->operand_count == 0) {
		if (verb->operand_needed)
			return error_set(err, ERR_INVALID, "%s: the %s is missing", verb->name,
			                 verb->operand);
		return 0;
	}
	if (verb->operand_choice == NULL || is_passed_on(verb, args->operands[0]))
		return 0;
	for (size_t i = 0; (known = verb->operand_choice(i)) != NULL; i++)
		if (strcmp(known, args->operands[0]) == 0)
			return 0;
	return set_unknown_operand(verb, args->operands[0], err);
}

static enum verb_result load_and_run(const struct command *command, const struct option_args *args,
                                     char *const *environment, int *status, struct error *err)
{
	struct options options = { 0 };
	struct verb_call call = { &options, args->operands, args->separator, status };
	enum verb_result result;

	/* Verbs without options, help above all, must work with a broken environment or file. */
	if (command->verb->options != 0 &&
	    options_load(&options, command->verb->options, args->flags, environment, err) < 0)
		return VERB_MISUSED;
	result = command->verb->run(&call, err);
	options_done(&options);
	return result;
}

static enum verb_result run_command(const struct command *command, char *const *environment,
                                    int *status, struct error *err)
{
	struct option_args args;
	enum verb_result result = VERB_DONE;

	if (options_parse_args(&args, command->verb->options, command->args, err) < 0)
		return VERB_MISUSED;
	if (args.help)
		help_text_print_verb(command->verb);
	else if (check_operands(command, &args, err) < 0)
		result = VERB_MISUSED;
	else
		result = load_and_run(command, &args, environment, status, err);
	option_args_done(&args);
	return result;
}

int cli_run(char *const *args, char *const *environment)
{
	struct command command = find_command(args);
	enum verb_result result;
	struct error err, unwritten;
	int status = 0;

	if (command.verb != NULL)
		result = run_command(&command, environment, &status, &err);
	else
		result = set_unknown_verb(args[1], &err);
	if (out_finish(&unwritten) < 0 && result == VERB_DONE) {
		err = unwritten;
		result = VERB_FAILED;
	}
	if (result != VERB_DONE)
		(void)fprintf(stderr, "belljar: %s\n", err.msg);
	if (result == VERB_MISUSED) {
		bool named = command.verb != NULL && !command.verb->hidden;

		(void)fprintf(stderr, "Try 'belljar help%s%s'.\n", named ? " " : "",
		              named ? command.verb->name : "");
	}
	return result == VERB_DONE ? status : (int)result;
}
