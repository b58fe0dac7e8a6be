/* run_result_schema.c - the fields of a run's structured content, for the schema and the manual. */
#include "tools/run/answer/run_result.h"
#include "tools/support/params.h"

static const struct param value_fields[] = {
	FIELD("mime", STRING, "MIME type."),
	FIELD_OPTIONAL("text", STRING, "The value as text."),
	FIELD_OPTIONAL("path", STRING, "Or the file in the sandbox with the value."),
	{ 0 },
};

static const struct param error_fields[] = {
	FIELD("name", STRING, "Class of the exception."),
	FIELD("message", STRING, "Its message."),
	FIELD("traceback", STRING, "Its traceback."),
	{ 0 },
};

const struct param run_result_output[] = {
	FIELD_OPTIONAL("exit_code", INT,
	               "Absent while the process runs, and if a signal killed it."),
	FIELD_OPTIONAL("signal", STRING,
	               "The signal that killed the process, for instance SIGKILL."),
	FIELD("stdout", STRING,
	      "Standard output as text, without colours and other terminal escapes; a NUL is "
	      "U+2400. Long output is cut in the middle."),
	FIELD("stderr", STRING, "Standard error, in the same form."),
	FIELD("duration_ms", INT, "Time from the start to the end, or until now."),
	FIELD_OPTIONAL("timed_out", BOOL,
	               "timeout_s passed, and the program was ended with all it had started."),
	FIELD_OPTIONAL("truncated", BOOL, "Output or values are not complete in this answer."),
	FIELD_OPTIONAL("stdout_bytes", INT, "Bytes of stdout in all, if they are not all here."),
	FIELD_OPTIONAL("stderr_bytes", INT, "Bytes of stderr in all, if they are not all here."),
	FIELD_OPTIONAL("stdout_file", STRING, "File in the sandbox with the complete stdout."),
	FIELD_OPTIONAL("stderr_file", STRING, "File in the sandbox with the complete stderr."),
	FIELD_OPTIONAL("running", BOOL,
	               "The process has not ended. Absent if it has and has no id."),
	FIELD_OPTIONAL("process", STRING, "Id for process_output, process_input and process_stop."),
	FIELD_OPTIONAL("next", INT, "`since` for the next process_output."),
	FIELD_OPTIONAL("more", BOOL, "More output can be read from `next` on now."),
	FIELD_OPTIONAL("session", STRING, "Session of the code."),
	FIELD_OPTIONAL("state_lost", BOOL,
	               "The session's variables and imports are lost; `note` says why."),
	FIELD_OPTIONAL("compile_error", BOOL, "The compiler failed, and the program was not run."),
	FIELD_OPTIONAL("values", RECORDS, "The value of the last expression, and displayed values.",
	               .fields = value_fields),
	FIELD_OPTIONAL("error", RECORD, "The exception that ended code in a session.",
	               .fields = error_fields),
	FIELD_OPTIONAL("note", STRING, "Further facts: which limits were met, why state was lost."),
	FIELD_OPTIONAL("files", STRINGS,
	               "Paths in the sandbox: files that the run created or changed, "
	               "pictures, and files with complete output."),
	FIELD_OPTIONAL("sandbox", STRING, "Id of the sandbox, if you named one."),
	{ 0 },
};
