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
/* A compiler that makes a program. */
#define MAKES(name, ...)                                                                           \
	.program = name, .compile = { "{program}", __VA_ARGS__ }, .run = { "{out}" }
#define VERSION     .version = { "--version" }
#define C_OPTIONS   LINE_BUFFER, "-O1", "-Wall", "-o", "{out}", "{file}", "-lm", "-pthread"
#define CPP_OPTIONS LINE_BUFFER, "-std=gnu++17", "-O1", "-Wall", "-o", "{out}", "{file}", "-pthread"
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
/* Java itself runs the first class of a source file. If another one is public, or is named Main,
 * the file is compiled, and that class is run. */
#define JAVA_MAIN                                                                                  \
	"dir=${file%/*} kind='((final|abstract|sealed|public) +)*(class|interface|enum|record)'\n" \
	"first=$(sed -nE \"s/^$kind +([[:alnum:]_$]+).*/\\\\4/p\" \"$file\" | head -n 1)\n"        \
	"main=$(sed -nE \"s/^public +$kind +([[:alnum:]_$]+).*/\\\\4/p\" \"$file\" | head -n 1)\n" \
	"[ \"$main\" ] || ! grep -Eq \"^$kind +Main([^[:alnum:]_$]|$)\" \"$file\" || main=Main\n"  \
	"if [ \"${main:-$first}\" = \"$first\" ] || grep -q '^package ' \"$file\"; then\n"         \
	"  set -- \"$file\" \"$@\"\n"                                                              \
	"else\n"                                                                                   \
	"  [ \"$file\" = \"$dir/$main.java\" ] || cp \"$file\" \"$dir/$main.java\"\n"              \
	"  javac \"-J$ram\" -d \"$dir\" \"$dir/$main.java\" || exit\n"                             \
	"  set -- -cp \"$dir:${CLASSPATH:-.}\" \"$main\" \"$@\"\n"                                 \
	"fi\n"
/* `java FILE` compiles too, and unlike javac allows any name of the class. Code without main() is
 * run by java_snippets.java, which is $0, with options that halve the time of its start. Java
 * cannot see the limit of a cgroup from inside, and would size its heap by the machine's memory. */
#define JAVA_SCRIPT                                                                                \
	"run=$1 file=$2 ram=$3 driver=${2%/*}/Snippets.java; shift 3\n"                            \
	"if grep -Eq '(^|[^[:alnum:]_])main[[:space:]]*\\(' \"$file\"; then\n"                     \
	"  " JAVA_MAIN "else\n"                                                                    \
	"  printf %s \"$0\" >\"$driver\"\n"                                                        \
	"  set -- -XX:TieredStopAtLevel=1 -XX:+UseSerialGC \"$driver\" \"$file\" \"$@\"\n"         \
	"fi\n"                                                                                     \
	"exec \"$run\" \"$ram\" -XX:MaxRAMPercentage=50 \"$@\""
/* Removes the types of a file with the package that has the command tsc. Checking them would take
 * ten times as long, and lack the types of Node. */
static const char types_script[] =
        "const f = require('fs'), p = require('path'), [, file, out] = process.argv;"
        "const dir = process.env.PATH.split(':').find((d) => f.existsSync(p.join(d, 'tsc')));"
        "const tsc = f.realpathSync(p.join(dir, 'tsc')), code = f.readFileSync(file, 'utf8');"
        "const { transpileModule } = require('module').createRequire(tsc)('..');"
        "const is_module = /^\\s*(import|export|await)\\b|=\\s*await\\b/m.test(code);"
        "const compilerOptions = { target: 99, module: is_module ? 99 : 1 };"
        "const { outputText } = transpileModule(code, { compilerOptions });"
        "f.writeFileSync(out + (is_module ? '.mjs' : '.cjs'), outputText);";
/* $0 is r_fresh.R. R reads it from a descriptor, so no file is left in the program's directory. */
static const char r_script[] =
        "exec 4<<END\n$0\nEND\n"
        "BELLJAR_R_PROFILE_USER=${R_PROFILE_USER-} R_PROFILE_USER=/dev/fd/4 exec \"$@\"";

const struct language languages[] = {
	LANGUAGE("python", "Python", " py python3 ", " py pyw ", "main.py", &kernel_python,
	         { RUNS("python3", "{file}"), VERSION }, { RUNS("python", "{file}"), VERSION }),
	LANGUAGE("javascript", "JavaScript", " js node nodejs ", " js mjs cjs ", "main.js",
	         &kernel_node, { RUNS("node", "{file}"), VERSION },
	         { RUNS("bun", "{file}"), VERSION },
	         { RUNS("deno", "run", "--allow-all", "{file}"), VERSION },
	         { RUNS("qjs", "{file}") }),
	/* Node is behind those that need no test: only starting it shows whether it is new
	 * enough. An older Node needs the package typescript, which has the command tsc. The last
	 * two only remove or check types, and leave a program for Node. */
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
	           .compile = { "{program}", "-e", types_script, "{file}", "{out}" },
	           .run = { "sh", "-c", "exec node \"$0\".?js \"$@\"", "{out}" },
	           VERSION },
	         { .program = "esbuild",
	           .needs = "has node",
	           .compile = { "{program}", "--log-level=warning", "--platform=node",
	                        "--format=esm", "--outfile={out}.mjs", "{file}" },
	           .run = { "node", "{out}.mjs" },
	           VERSION },
	         { .program = "tsc",
	           .needs = "has node",
	           .compile = { "{program}", "--target", "es2022", "--module", "commonjs",
	                        "--skipLibCheck", "--outDir", "{out}", "{file}" },
	           .run = { "sh", "-c", "exec node \"$0\"/*.js \"$@\"", "{out}" },
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
	           VERSION }),
	LANGUAGE("go", "Go", " golang ", " go ", "main.go", NULL,
	         { MAKES("go", "build", "-o", "{out}", "{file}"), .version = { "version" } }),
	LANGUAGE("c", "C", " c11 c17 ", " c ", "main.c", NULL,
	         { MAKES("cc", C_OPTIONS), VERSION, BUILDS_C },
	         { MAKES("gcc", C_OPTIONS), VERSION, BUILDS_C },
	         { MAKES("clang", C_OPTIONS), VERSION, BUILDS_C },
	         { MAKES("tcc", C_OPTIONS), .version = { "-v" },
	           .check = "echo 'int main(void) { return 0; }' | builds" }),
	LANGUAGE("cpp", "C++", " c++ cxx cc cplusplus ", " cpp cc cxx c++ ", "main.cpp", NULL,
	         { MAKES("c++", CPP_OPTIONS), VERSION, BUILDS_CPP },
	         { MAKES("g++", CPP_OPTIONS), VERSION, BUILDS_CPP },
	         { MAKES("clang++", CPP_OPTIONS), VERSION, BUILDS_CPP }),
	LANGUAGE(
	        "rust", "Rust", " rs rustc ", " rs ", "main.rs", NULL,
	        { MAKES("rustc", "--edition", "2021", "-C", "opt-level=1", "-o", "{out}", "{file}"),
	          VERSION, .needs = "has cc" }),
	LANGUAGE("java", "Java", " jshell ", " java jsh ", "Main.java", NULL,
	         { .program = "java",
	           .needs = "has javac",
	           .run = { "sh", "-c", JAVA_SCRIPT, java_snippets_text, "{program}", "{file}",
	                    "-XX:MaxRAM={memory}" },
	           VERSION }),
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
	LANGUAGE("scala", "Scala", " sc ", " scala sc ", "main.scala", NULL,
	         { RUNS("scala-cli", "run", "{file}"), VERSION },
	         { RUNS("scala", "{file}"), .version = { "-version" }, .needs = "has java" }),
	LANGUAGE("dart", "Dart", " ", " dart ", "main.dart", NULL,
	         { RUNS("dart", "run", "{file}"), VERSION }),
	LANGUAGE("powershell", "PowerShell", " pwsh ps1 ", " ps1 ", "main.ps1", NULL,
	         { RUNS("pwsh", "-NoProfile", "-NonInteractive", "-File", "{file}"), VERSION }),
	LANGUAGE("awk", "AWK", " gawk mawk ", " awk ", "main.awk", NULL,
	         { RUNS("awk", "-f", "{file}"), .version = { "-W", "version" } }),
	LANGUAGE("sqlite", "SQL (SQLite)", " sql sqlite3 ", " sql ", "main.sql", NULL,
	         { RUNS("sqlite3", "-batch", "-bail", ":memory:", ".read '{file}'"), VERSION }),
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
	LANGUAGE("cobol", "COBOL", " cob ", " cob cbl ", "main.cob", NULL,
	         { MAKES("cobc", "-x", "-free", "-o", "{out}", "{file}"), VERSION, NEEDS_CC }),
};

const size_t language_count = ARRAY_LEN(languages);
_Static_assert(ARRAY_LEN(languages) <= LANGUAGES_MAX, "raise LANGUAGES_MAX in languages.h");
