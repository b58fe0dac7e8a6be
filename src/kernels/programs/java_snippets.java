// java_snippets.java - runs Java code that is no program: statements, expressions and declarations, as jshell
// takes them. With a file and arguments: runs that code, and prints the value of a last expression without a
// semicolon; the first error ends the run. Without: the Java kernel, Java's side of the protocol in
// sandbox/interpreter/kernel_wire.h, whose cells share one jshell. Java 11 and later.
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
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
	final JShell shell = JShell.builder().executionEngine("local").build();
	final Map<String, Integer> lines = new HashMap<>(); // first line of each snippet, by its name in stack traces
	final Map<String, String> cells = new HashMap<>(); // the cell of each snippet: "cell 2, "; "" in a fresh run
	// Of the code that is run:
	String code, cell = "";
	boolean hasRun; // a snippet other than a declaration was run
	String mainType; // the class of the code that has a method main
	String value; // of the last expression
	String errorName, errorMessage;
	StringBuilder report = new StringBuilder(); // what is printed about the error
	volatile boolean isRunning, isInterrupted;

	Snippets(String[] args) {
		for (String each : IMPORTS)
			shell.eval("import " + each + ";");
		if (System.getenv("CLASSPATH") != null)
			shell.addToClasspath(System.getenv("CLASSPATH"));
		setArgs(args);
	}

	static String quote(String text) {
		StringBuilder out = new StringBuilder("\"");
		text.chars().forEach(c -> out.append(c < 128 ? String.format("\\%03o", c) : String.valueOf((char) c)));
		return out.append('"').toString();
	}

	void setArgs(String[] args) {
		StringBuilder list = new StringBuilder("String[] args = {");
		for (String each : args)
			list.append(quote(each)).append(',');
		shell.eval(list + "};");
	}

	int lineAt(int offset) {
		return 1 + (int) code.substring(0, offset).chars().filter(c -> c == '\n').count();
	}

	// Reports an error in the form of javac.
	void reportError(Diag error, int offset) {
		int at = Math.min(offset + (int) Math.max(error.getPosition(), 0), code.length());
		int start = code.lastIndexOf('\n', at - 1) + 1;
		int end = code.indexOf('\n', at);
		String line = code.substring(start, end < 0 ? code.length() : end);
		errorName = "CompileError";
		errorMessage = error.getMessage(Locale.ROOT);
		report.append(String.format("line %d: error: %s%n%s%n%s^%n", lineAt(at), errorMessage, line,
			line.substring(0, at - start).replaceAll("\\S", " ")));
	}

	void reportException(JShellException thrown) {
		String name = thrown.getClass().getName();
		if (thrown instanceof EvalException)
			name = ((EvalException) thrown).getExceptionClassName();
		String message = thrown.getMessage();
		if (errorName == null) {
			errorName = name;
			errorMessage = message == null ? "" : message;
		}
		report.append(name + (message == null ? "" : ": " + message) + "\n");
		for (StackTraceElement each : thrown.getStackTrace()) {
			String file = each.getFileName();
			Integer first = lines.get(file);
			if (first != null)
				report.append(String.format("\tat %s%sline %d%n", each.getMethodName().isEmpty() ? ""
					: each.getMethodName() + ", ", cells.get(file), first + each.getLineNumber() - 1));
			else if (!each.getClassName().startsWith("jdk.jshell"))
				report.append("\tat " + each + "\n");
		}
		if (thrown.getCause() instanceof JShellException) {
			report.append("Caused by: ");
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
			cells.put("#" + snippet.id(), cell);
			if (event.status() == Status.REJECTED) {
				shell.diagnostics(snippet).filter(Diag::isError).forEach(error -> reportError(error, offset));
				return false;
			}
			if (event.exception() != null) {
				report.append(cell.isEmpty() ? "Exception in thread \"main\" " : "");
				reportException(event.exception());
				return false;
			}
			hasRun |= snippet.kind() != Kind.IMPORT && snippet.kind() != Kind.METHOD && snippet.kind() != Kind.TYPE_DECL;
			if (snippet.kind() == Kind.TYPE_DECL && source.matches("(?s).*\\bvoid\\s+main\\s*\\(.*"))
				mainType = ((jdk.jshell.TypeDeclSnippet) snippet).name();
			boolean isValue = snippet.subKind() == SubKind.TEMP_VAR_EXPRESSION_SUBKIND || snippet.kind() == Kind.EXPRESSION;
			if (isShown && isValue && event.value() != null && !event.value().isEmpty())
				value = event.value();
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
			boolean isDone = evaluate(source, at, isLast && !code.substring(at, end).stripTrailing().endsWith(";"));
			if (!isDone || isInterrupted)
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
		missing.forEach(each -> report.append("error: cannot find " + each + "\n"));
		if (missing.isEmpty() && !hasRun)
			report.append("error: nothing was run: the code has neither statements nor a main method\n");
		return missing.isEmpty() && hasRun;
	}

	public static void main(String[] args) throws Exception {
		if (args.length == 0) {
			new Kernel().serve();
			return;
		}
		Snippets snippets = new Snippets(java.util.Arrays.copyOfRange(args, 1, args.length));
		snippets.code = Files.readString(Path.of(args[0]));
		boolean isDone = snippets.run() && snippets.isComplete();
		if (isDone && snippets.value != null)
			System.out.println(snippets.value);
		System.err.print(snippets.report);
		if (!isDone)
			System.exit(1);
	}
}

class Kernel {
	static final int TEXT_MAX = 60 * 1024; // characters of a value, of a message: the server cuts further
	final Snippets snippets = new Snippets(new String[0]);
	final OutputStream[] streams = { new FileOutputStream(FileDescriptor.out), new FileOutputStream(FileDescriptor.err) };
	final PrintStream out = System.out, err = System.err;
	final InputStream nothing = System.in;
	final DataInputStream from;
	final OutputStream to;
	ByteBuffer body; // of the message RUN

	Kernel() throws Exception {
		Path folder = Path.of(System.getProperty("belljar")); // of this file, which Java has read
		Files.delete(folder.resolve("Snippets.java"));
		Files.delete(folder);
		var constructor = FileDescriptor.class.getDeclaredConstructor(int.class);
		constructor.setAccessible(true); // by --add-opens; Java has no other way to a socket that is open already
		FileDescriptor channel = constructor.newInstance(3);
		from = new DataInputStream(new FileInputStream(channel));
		to = new FileOutputStream(channel);
		sun.misc.Signal.handle(new sun.misc.Signal("INT"), signal -> {
			snippets.isInterrupted = snippets.isRunning;
			if (snippets.isRunning)
				snippets.shell.stop();
		});
	}

	static void putNumber(OutputStream out, int number) throws Exception {
		out.write(ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(number).array());
	}

	void send(char type, String... fields) throws Exception {
		var all = new ByteArrayOutputStream();
		for (String each : fields) {
			byte[] bytes = each.getBytes(StandardCharsets.UTF_8);
			putNumber(all, bytes.length);
			all.write(bytes);
		}
		var message = new ByteArrayOutputStream();
		message.write(type);
		putNumber(message, all.size());
		all.writeTo(message);
		to.write(message.toByteArray());
	}

	byte[] takeBytes() {
		byte[] bytes = new byte[body.getInt()];
		body.get(bytes);
		return bytes;
	}

	String take() {
		return new String(takeBytes(), StandardCharsets.UTF_8);
	}

	String[] takeList() {
		String[] list = new String[Integer.parseInt(take())];
		for (int i = 0; i < list.length; i++)
			list[i] = take();
		return list;
	}

	static String cut(String text) {
		return text.length() <= TEXT_MAX ? text
			: text.substring(0, TEXT_MAX) + "\n... (" + (text.length() - TEXT_MAX) + " characters more)";
	}

	// Runs the cell whose fields are in `body`. Returns its exit code.
	int runCell() throws Exception {
		take(); // "cell"
		String name = take(), cwd = take();
		snippets.cell = name.replaceAll("[<>]", "") + ", ";
		snippets.code = take();
		boolean hasStdin = take().equals("1");
		byte[] stdin = takeBytes();
		take();
		take(); // the limits of pictures
		String[] args = takeList(), env = takeList();
		if (env.length != 0 || !(cwd.isEmpty() || cwd.equals(System.getProperty("user.dir")))) {
			String why = "a session of Java has the working directory and the environment of its start: leave out cwd and"
				+ " env, or the session";
			send('e', "IllegalArgumentException", why, why + "\n");
			return 1;
		}
		if (args.length != 0)
			snippets.setArgs(args);
		System.setIn(hasStdin ? new ByteArrayInputStream(stdin) : nothing);
		snippets.hasRun = snippets.isInterrupted = false;
		snippets.mainType = snippets.value = snippets.errorName = null;
		snippets.errorMessage = "";
		snippets.report.setLength(0);
		snippets.isRunning = true;
		boolean isDone = snippets.run();
		if (isDone && !snippets.hasRun && snippets.mainType != null)
			isDone = snippets.evaluate(snippets.mainType + ".main(args);", 0, false);
		snippets.isRunning = false;
		if (snippets.isInterrupted)
			send('e', "InterruptedException", "", "the cell was interrupted\n");
		else if (!isDone)
			send('e', snippets.errorName, cut(snippets.errorMessage), cut(snippets.report.toString()));
		else if (snippets.value != null)
			send('v', "text/plain", cut(snippets.value), "");
		return isDone && !snippets.isInterrupted ? 0 : 1;
	}

	void serve() throws Exception {
		for (;;) {
			int type = from.read();
			if (type < 0)
				Runtime.getRuntime().halt(0);
			byte[] bytes = from.readNBytes(Integer.reverseBytes(from.readInt()));
			if (type == 'B') {
				send('r', System.getProperty("java.version"));
			} else if (type == 'R') {
				body = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
				int code = runCell();
				for (PrintStream each : new PrintStream[] { System.out, System.err, out, err })
					each.flush();
				send('x', String.valueOf(code), "0", "0", "0", "0", "0");
			} else {
				for (OutputStream each : streams)
					each.write(bytes);
			}
		}
	}
}
