/* languages.c - the table of languages. Of several ways to run a language the best for most users
 * stands first: the first whose program is installed is used. */
#include "kernels/languages.h"

#include "kernels/kernels.h"

/* The last arguments are the runners. */
#define LANGUAGE(name_, title_, aliases_, extensions_, file_, kernel_, ...)                        \
	{                                                                                          \
		.name = name_, .title = title_, .aliases = aliases_, .extensions = extensions_,    \
		.file = file_, .kernel = kernel_, .runners = {                                     \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
/* An interpreter, with the arguments up to the file. */
#define RUNS(name, ...) .program = name, .run = { "{program}", __VA_ARGS__ }
/* An interpreter that keeps its output for a pipe in a buffer of the C library. */
#define RUNS_BY_LINES(name, ...)                                                                   \
	.program = name, .run = { "sh", "-c", by_lines, "{program}", __VA_ARGS__ }
/* A compiler that makes a program. */
#define MAKES(name, ...)                                                                           \
	.program = name, .compile = { "{program}", __VA_ARGS__ }, .run = { "{out}" }
/* Not for languages whose program starts a JVM only to print its version: that takes seconds. */
#define VERSION     .version = { "--version" }
#define C_OPTIONS   LINE_BUFFER, "-O1", "-Wall", "-o", "{out}", "{file}", "-lm", "-pthread"
#define CPP_OPTIONS LINE_BUFFER, "-std=gnu++17", "-O1", "-Wall", "-o", "{out}", "{file}", "-pthread"
/* Files of the user are in the working directory, and the code itself is not. */
#define QUOTED_HEADERS "-iquote."
/* A compiler may be there without its passes, its linker or the headers of the C library. */
#define BUILDS_C                                                                                   \
	.check = "printf '#include <stdio.h>\\nint main(void) { puts(\"\"); }\\n' | builds -x c"
#define BUILDS_CPP                                                                                 \
	.check = "printf '#include <cstdio>\\nint main() { std::puts(\"\"); }\\n' | "              \
	         "builds -x c++"
/* Compilers of other languages that call a C compiler, at least to link. */
#define NEEDS_CC .needs = "has cc || has gcc || has clang"
/* The file is part of every sandbox: see skeleton_make.c. */
#define LINE_BUFFER "-include", "/etc/belljar-stdio.h"
/* $0 is r_fresh.R. R reads it from a descriptor, so no file is left in the program's directory. */
static const char r_script[] =
        "exec 4<<END\n$0\nEND\n"
        "BELLJAR_R_PROFILE_USER=${R_PROFILE_USER-} R_PROFILE_USER=/dev/fd/4 exec \"$@\"";

/* stdbuf, where it is installed, has the C library write each line of $0 at once. */
static const char by_lines[] =
        "command -v stdbuf >/dev/null && exec stdbuf -oL \"$0\" \"$@\"; exec \"$0\" \"$@\"";

const struct language languages[] = {
	/* The second runner is tried, because every sandbox has a `python` that starts python3. */
	LANGUAGE("python", "Python", " py python3 ", " py pyw ", "main.py", &kernel_python,
	         { RUNS("python3", "{file}"), VERSION },
	         { RUNS("python", "{file}"), VERSION, .needs = "\"$P\" -c ''" }),
	LANGUAGE("javascript", "JavaScript", " js node nodejs ", " js mjs cjs ", "main.js",
	         &kernel_node, { RUNS("node", "{file}"), VERSION },
	         { RUNS("bun", "{file}"), VERSION },
	         { RUNS("deno", "run", "--allow-all", "{file}"), VERSION },
	         { RUNS("qjs", "{file}") }),
	/* Node is behind those that need no test: only starting it shows whether it is new
	 * enough. An older Node needs the package typescript, which has the command tsc. The last
	 * two only remove the types, and leave a program for Node. */
	LANGUAGE("typescript", "TypeScript", " ts ", " ts mts cts ", "main.ts", &kernel_typescript,
	         { RUNS("tsx", "{file}"), VERSION }, { RUNS("bun", "{file}"), VERSION },
	         { RUNS("deno", "run", "--allow-all", "{file}"), VERSION },
	         { RUNS("ts-node", "{file}"), VERSION },
	         { RUNS("node", "--experimental-strip-types", "--no-warnings", "{file}"), VERSION,
	           .kernel = &kernel_typescript_stripped,
	           .needs = "case $(\"$P\" --version) in v22.[6-9]* | v22.1[0-9]* | "
	                    "v2[3-9].* | v[3-9][0-9].*) ;; *) false ;; esac" },
	         { .program = "node",
	           .kernel = &kernel_typescript_compiled,
	           .needs = "(find tsc && T=$(readlink -f \"$P\") && "
	                    "[ -f \"${T%/*/*}/lib/typescript.js\" ])",
	           .compile = { "{program}", "-e", typescript_compile_text, "tsc", "{file}",
	                        "{out}" },
	           .run = { "sh", "-c", "exec node \"$0\"/*js \"$@\"", "{out}" },
	           VERSION },
	         { .program = "esbuild",
	           .needs = "has node",
	           .compile = { "{program}", "--log-level=warning", "--platform=node",
	                        "--format=esm", "--outfile={out}.mjs", "{file}" },
	           .run = { "node", "{out}.mjs" },
	           VERSION },
	         { .program = "tsc",
	           .needs = "has node",
	           .compile = { "node", "-e", typescript_compile_text, "{program}", "{file}",
	                        "{out}" },
	           .run = { "sh", "-c", "exec node \"$0\"/*js \"$@\"", "{out}" },
	           VERSION }),
	LANGUAGE("bash", "Bash", " shell ", " sh bash ", "main.sh", &kernel_bash,
	         { RUNS("bash", "{file}"), VERSION }),
	LANGUAGE("sh", "POSIX shell", " dash ash posix ", " ", "main.sh", NULL,
	         { RUNS("sh", "{file}") }),
	LANGUAGE("zsh", "Zsh", " ", " zsh ", "main.zsh", NULL, { RUNS("zsh", "{file}"), VERSION }),
	LANGUAGE("fish", "fish", " ", " fish ", "main.fish", NULL,
	         { RUNS("fish", "{file}"), VERSION }),
	LANGUAGE("ruby", "Ruby", " rb ", " rb ", "main.rb", &kernel_ruby,
	         { RUNS("ruby", "{file}"), VERSION }),
	LANGUAGE("perl", "Perl", " pl perl5 ", " pl pm ", "main.pl", NULL,
	         { RUNS("perl", "{file}"), VERSION }),
	LANGUAGE("php", "PHP", " ", " php ", "main.php", NULL, { RUNS("php", "{file}"), VERSION }),
	LANGUAGE("lua", "Lua", " luajit ", " lua ", "main.lua", NULL,
	         { RUNS("lua", "{file}"), .version = { "-v" } },
	         { RUNS("lua5.4", "{file}"), .version = { "-v" } },
	         { RUNS("lua5.3", "{file}"), .version = { "-v" } },
	         { RUNS("luajit", "{file}"), .version = { "-v" } }),
	LANGUAGE("r", "R", " rscript rlang ", " r ", "main.R", &kernel_r,
	         { .program = "Rscript",
	           .run = { "sh", "-c", r_script, r_fresh_text, "{program}", "{file}" },
	           .has_displays = true,
	           .limits_data = true,
	           VERSION }),
	LANGUAGE("go", "Go", " golang ", " go ", "main.go", NULL,
	         { MAKES("go", "build", "-o", "{out}", "{file}"), .version = { "version" } }),
	LANGUAGE("c", "C", " c11 c17 ", " c ", "main.c", NULL,
	         { MAKES("cc", QUOTED_HEADERS, C_OPTIONS), VERSION, BUILDS_C },
	         { MAKES("gcc", QUOTED_HEADERS, C_OPTIONS), VERSION, BUILDS_C },
	         { MAKES("clang", QUOTED_HEADERS, C_OPTIONS), VERSION, BUILDS_C },
	         { MAKES("tcc", "-I.", C_OPTIONS), .version = { "-v" },
	           .check = "echo 'int main(void) { return 0; }' | builds" }),
	LANGUAGE("cpp", "C++", " c++ cxx cc cplusplus ", " cpp cc cxx c++ ", "main.cpp", NULL,
	         { MAKES("c++", QUOTED_HEADERS, CPP_OPTIONS), VERSION, BUILDS_CPP },
	         { MAKES("g++", QUOTED_HEADERS, CPP_OPTIONS), VERSION, BUILDS_CPP },
	         { MAKES("clang++", QUOTED_HEADERS, CPP_OPTIONS), VERSION, BUILDS_CPP }),
	LANGUAGE("rust", "Rust", " rs rustc ", " rs ", "main.rs", NULL,
	         { MAKES("rustc", "--edition", "2021", "-C", "opt-level=1", "-C",
	                 "debug-assertions=on", "-o", "{out}", "{file}"),
	           VERSION, .needs = "has cc" }),
	LANGUAGE("java", "Java", " jshell ", " java jsh ", "Main.java", &kernel_java,
	         { .program = "java",
	           .needs = "has javac",
	           .compile = { "sh", "-c", java_compile_text, "sh", "{program}", "{file}", "{out}",
	                        "-XX:MaxRAM={memory}" },
	           .run = { "sh", "-c", java_run_text, java_snippets_text, "{program}", "{file}",
	                    "{out}", "-XX:MaxRAM={memory}" },
	           VERSION }),
	LANGUAGE("kotlin", "Kotlin", " kt kts kotlin_script ", " kt kts ", "main.kt", NULL,
	         { .program = "kotlinc",
	           .needs = "has java",
	           .compile = { "sh", "-c", kotlin_compile_text, "sh", "{program}", "{file}",
	                        "{out}.jar" },
	           .run = { "sh", "-c", kotlin_run_text, "sh", "{program}", "{file}", "{out}.jar",
	                    "-XX:MaxRAM={memory}" } }),
	LANGUAGE("csharp", "C#", " c# cs dotnet ", " cs ", "main.cs", NULL,
	         { RUNS("dotnet", "run", "{file}"), VERSION,
	           .needs = "case $(\"$P\" --version) in [1-9][0-9].*) ;; *) false ;; "
	                    "esac" },
	         { .program = "mcs",
	           .needs = "has mono",
	           .compile = { "{program}", "-out:{out}", "{file}" },
	           .run = { "mono", "{out}" },
	           VERSION }),
	LANGUAGE("swift", "Swift", " ", " swift ", "main.swift", NULL,
	         { MAKES("swiftc", "-o", "{out}", "{file}"), VERSION }),
	LANGUAGE("zig", "Zig", " ", " zig ", "main.zig", NULL,
	         { MAKES("zig", "build-exe", "-femit-bin={out}", "{file}"),
	           .version = { "version" } }),
	LANGUAGE("nim", "Nim", " ", " nim ", "main.nim", NULL,
	         { MAKES("nim", "compile", "--hints:off", "--nimcache:{dir}/nimcache", "-o:{out}",
	                 "{file}"),
	           VERSION, NEEDS_CC }),
	LANGUAGE("d", "D", " dlang ", " d ", "main.d", NULL,
	         { MAKES("ldc2", "-of={out}", "{file}"), VERSION, NEEDS_CC },
	         { MAKES("dmd", "-of={out}", "{file}"), VERSION, NEEDS_CC },
	         { MAKES("gdc", "-o", "{out}", "{file}"), VERSION }),
	LANGUAGE("haskell", "Haskell", " hs ", " hs ", "Main.hs", NULL,
	         { MAKES("ghc", "-v0", "-outputdir", "{dir}", "-o", "{out}", "{file}"), VERSION,
	           NEEDS_CC },
	         { RUNS("runghc", "{file}"), VERSION }),
	LANGUAGE("ocaml", "OCaml", " ml ", " ml ", "main.ml", NULL,
	         { RUNS("ocaml", "{file}"), .version = { "-version" } }),
	LANGUAGE("julia", "Julia", " jl ", " jl ", "main.jl", NULL,
	         { RUNS("julia", "{file}"), VERSION }),
	LANGUAGE(
	        "elixir", "Elixir", " exs ", " exs ex ", "main.exs", NULL,
	        { RUNS("elixir", "{file}"), .version = { "--short-version" }, .needs = "has erl" }),
	LANGUAGE("erlang", "Erlang", " erl escript ", " erl escript ", "main.erl", NULL,
	         { RUNS("escript", "{file}") }),
	/* The launcher of Scala 2 would leave a compiler running, and before 2.12 takes the class
	 * path of Java from a place that Java 9 and later do not have. */
	LANGUAGE("scala", "Scala", " sc ", " scala sc ", "main.scala", NULL,
	         { RUNS("scala-cli", "run", "{file}"), VERSION },
	         { RUNS("scala", "-nc", "-nobootcp", "{file}"),
	           .needs = "has java && grep -q nobootcp \"$P\"" },
	         { RUNS("scala", "{file}"), .needs = "has java" }),
	LANGUAGE("dart", "Dart", " ", " dart ", "main.dart", NULL,
	         { RUNS("dart", "run", "{file}"), VERSION }),
	LANGUAGE("powershell", "PowerShell", " pwsh ps1 ", " ps1 ", "main.ps1", NULL,
	         { RUNS("pwsh", "-NoProfile", "-NonInteractive", "-File", "{file}"), VERSION }),
	LANGUAGE("awk", "AWK", " gawk mawk ", " awk ", "main.awk", NULL,
	         { RUNS_BY_LINES("awk", "-f", "{file}"), .version = { "-W", "version" } }),
	LANGUAGE("sqlite", "SQL (SQLite)", " sql sqlite3 ", " sql ", "main.sql", NULL,
	         { RUNS_BY_LINES("sqlite3", "-batch", "-bail", ":memory:", ".read '{file}'"),
	           VERSION }),
	LANGUAGE("tcl", "Tcl", " tclsh ", " tcl ", "main.tcl", NULL, { RUNS("tclsh", "{file}") }),
	LANGUAGE("scheme", "Scheme", " scm guile ", " scm ss ", "main.scm", NULL,
	         { RUNS("guile", "--no-auto-compile", "-s", "{file}"), VERSION },
	         { RUNS("csi", "-s", "{file}"), .version = { "-release" } }),
	LANGUAGE("lisp", "Common Lisp", " commonlisp common-lisp cl sbcl ", " lisp lsp cl ",
	         "main.lisp", NULL, { RUNS("sbcl", "--script", "{file}"), VERSION },
	         { RUNS("clisp", "{file}"), VERSION },
	         { RUNS("ecl", "--shell", "{file}"), VERSION }),
	LANGUAGE("prolog", "Prolog", " swipl ", " pro prolog ", "main.pro", NULL,
	         { RUNS("swipl", "-q", "-g", "halt", "{file}"), VERSION }),
	LANGUAGE("fortran", "Fortran", " f90 ", " f90 f95 f03 f08 ", "main.f90", NULL,
	         { MAKES("gfortran", "-O1", "-Wall", "-J", "{dir}", "-o", "{out}", "{file}"),
	           VERSION, .check = "printf 'print *\\nend\\n' | builds -x f95" }),
	LANGUAGE("pascal", "Pascal", " pas delphi ", " pas pp ", "main.pas", NULL,
	         { MAKES("fpc", "-l-", "-v0ew", "-FU{dir}", "-o{out}", "{file}"),
	           .version = { "-iV" }, .needs = "has ld" }),
	LANGUAGE("octave", "Octave", " matlab ", " m ", "main.m", NULL,
	         { RUNS("octave-cli", "-q", "{file}"), VERSION },
	         { RUNS("octave", "-q", "--no-gui", "{file}"), VERSION }),
	LANGUAGE("racket", "Racket", " rkt ", " rkt ", "main.rkt", NULL,
	         { RUNS("racket", "{file}"), VERSION }),
	LANGUAGE("clojure", "Clojure", " clj ", " clj ", "main.clj", NULL,
	         { RUNS("clojure", "{file}") }),
	LANGUAGE("groovy", "Groovy", " ", " groovy ", "main.groovy", NULL,
	         { RUNS("groovy", "{file}"), .needs = "has java" }),
	LANGUAGE("crystal", "Crystal", " ", " cr ", "main.cr", NULL,
	         { MAKES("crystal", "build", "-o", "{out}", "{file}"), VERSION, NEEDS_CC }),
	LANGUAGE("coffeescript", "CoffeeScript", " coffee ", " coffee ", "main.coffee", NULL,
	         { RUNS("coffee", "{file}"), VERSION, .needs = "has node" }),
	LANGUAGE("verilog", "Verilog", " iverilog systemverilog ", " v sv ", "main.v", NULL,
	         { .program = "iverilog",
	           .needs = "has vvp",
	           .compile = { "{program}", "-g2012", "-o", "{out}", "{file}" },
	           .run = { "vvp", "-n", "{out}" },
	           .version = { "-V" } }),
	LANGUAGE("cobol", "COBOL", " cob ", " cob cbl ", "main.cob", NULL,
	         { MAKES("cobc", "-x", "-free", "-o", "{out}", "{file}"), VERSION, NEEDS_CC }),
};

const size_t language_count = ARRAY_LEN(languages);
_Static_assert(ARRAY_LEN(languages) <= LANGUAGES_MAX, "raise LANGUAGES_MAX in languages.h");
