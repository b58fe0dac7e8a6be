// java_snippets.java - runs Java code that is no program: statements, expressions and declarations, as jshell
// takes them. Prints the value of a last expression without a semicolon. The first error ends the run.
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import jdk.jshell.Diag;
import jdk.jshell.EvalException;
import jdk.jshell.JShell;
import jdk.jshell.JShellException;
import jdk.jshell.Snippet;
import jdk.jshell.Snippet.Kind;
import jdk.jshell.Snippet.Status;
import jdk.jshell.Snippet.SubKind;
import jdk.jshell.SnippetEvent;

class Snippets {
	static final String[] IMPORTS = { // those of jshell
		"java.io.*", "java.math.*", "java.net.*", "java.nio.file.*", "java.util.*", "java.util.concurrent.*",
		"java.util.function.*", "java.util.prefs.*", "java.util.regex.*", "java.util.stream.*",
	};
	final String code;
	final JShell shell = JShell.builder().executionEngine("local").build();
	final Map<String, Integer> lines = new HashMap<>(); // first line of each snippet, by its name in stack traces
	boolean hasRun; // a snippet other than a declaration was run

	Snippets(String code) {
		this.code = code;
	}

	int lineAt(int offset) {
		return 1 + (int) code.substring(0, offset).chars().filter(c -> c == '\n').count();
	}

	// Prints an error in the form of javac.
	void reportError(Diag error, int offset) {
		int at = Math.min(offset + (int) Math.max(error.getPosition(), 0), code.length());
		int start = code.lastIndexOf('\n', at - 1) + 1;
		int end = code.indexOf('\n', at);
		String line = code.substring(start, end < 0 ? code.length() : end);
		System.err.printf("line %d: error: %s%n%s%n%s^%n", lineAt(at), error.getMessage(Locale.ROOT), line,
			line.substring(0, at - start).replaceAll("\\S", " "));
	}

	void reportException(JShellException thrown) {
		String name = thrown.getClass().getName();
		if (thrown instanceof EvalException)
			name = ((EvalException) thrown).getExceptionClassName();
		String message = thrown.getMessage();
		System.err.println("Exception in thread \"main\" " + name + (message == null ? "" : ": " + message));
		for (StackTraceElement each : thrown.getStackTrace()) {
			String file = each.getFileName();
			Integer first = lines.get(file);
			if (first != null)
				System.err.printf("\tat %sline %d%n", each.getMethodName().isEmpty() ? "" : each.getMethodName() + ", ",
					first + each.getLineNumber() - 1);
			else if (!each.getClassName().startsWith("jdk.jshell"))
				System.err.println("\tat " + each);
		}
		if (thrown.getCause() instanceof JShellException) {
			System.err.print("Caused by: ");
			reportException((JShellException) thrown.getCause());
		}
	}

	boolean evaluate(String source, int offset, boolean isShown) {
		int space = source.length() - source.stripLeading().length();
		for (SnippetEvent event : shell.eval(source)) {
			Snippet snippet = event.snippet();
			if (event.causeSnippet() != null)
				continue; // the event of an earlier snippet that this one has changed
			lines.put("#" + snippet.id(), lineAt(offset + space));
			if (event.status() == Status.REJECTED) {
				shell.diagnostics(snippet).filter(Diag::isError).forEach(error -> reportError(error, offset));
				return false;
			}
			if (event.exception() != null) {
				reportException(event.exception());
				return false;
			}
			hasRun |= snippet.kind() != Kind.IMPORT && snippet.kind() != Kind.METHOD && snippet.kind() != Kind.TYPE_DECL;
			boolean isValue = snippet.subKind() == SubKind.TEMP_VAR_EXPRESSION_SUBKIND || snippet.kind() == Kind.EXPRESSION;
			if (isShown && isValue && event.value() != null && !event.value().isEmpty())
				System.out.println(event.value());
		}
		return true;
	}

	boolean run() {
		var analysis = shell.sourceCodeAnalysis();
		for (int at = 0; at < code.length();) {
			var part = analysis.analyzeCompletion(code.substring(at));
			String source = part.source() == null ? code.substring(at) : part.source();
			int end = part.source() == null ? code.length() : code.length() - part.remaining().length();
			if (part.completeness() == jdk.jshell.SourceCodeAnalysis.Completeness.EMPTY)
				break;
			boolean isLast = code.substring(end).isBlank();
			if (!evaluate(source, at, isLast && !code.substring(at, end).stripTrailing().endsWith(";")))
				return false;
			at = end;
		}
		return true;
	}

	// A declaration may use names that are declared later, so missing names are reported after the last snippet.
	boolean isComplete() {
		List<String> missing = new ArrayList<>();
		shell.snippets().filter(each -> shell.status(each) == Status.RECOVERABLE_DEFINED
			|| shell.status(each) == Status.RECOVERABLE_NOT_DEFINED).forEach(each ->
				shell.unresolvedDependencies((jdk.jshell.DeclarationSnippet) each).forEach(missing::add));
		missing.forEach(each -> System.err.println("error: cannot find " + each));
		if (missing.isEmpty() && !hasRun)
			System.err.println("error: nothing was run: the code has neither statements nor a main method");
		return missing.isEmpty() && hasRun;
	}

	static String quote(String text) {
		StringBuilder out = new StringBuilder("\"");
		text.chars().forEach(c -> out.append(c < 128 ? String.format("\\%03o", c) : String.valueOf((char) c)));
		return out.append('"').toString();
	}

	public static void main(String[] args) throws Exception {
		Snippets snippets = new Snippets(Files.readString(Path.of(args[0])));
		for (String each : IMPORTS)
			snippets.shell.eval("import " + each + ";");
		StringBuilder list = new StringBuilder("String[] args = {");
		for (int i = 1; i < args.length; i++)
			list.append(quote(args[i])).append(',');
		snippets.shell.eval(list + "};");
		if (!snippets.run() || !snippets.isComplete())
			System.exit(1);
	}
}
