/* kernel_session.c - the kernels of Bash, Ruby, R and Java. Their texts are in session_image.S, and
 * that of Java is java_snippets.java. */
#include "kernels/kernels.h"

extern const char kernel_bash_loader_text[], kernel_bash_text[], kernel_bash_end[];
extern const char kernel_ruby_text[], kernel_ruby_end[];
extern const char kernel_r_text[], kernel_r_end[];

const struct kernel_program kernel_bash = {
	.language = "bash",
	.runners = " bash ",
	.options = (const char *const[]){ "-c", kernel_bash_loader_text, "bash", NULL },
	.text = kernel_bash_text,
	.text_end = kernel_bash_end,
	.session_prefix = "",
	.runs_cells_only = true,
};

static const char ruby_loader[] =
        "->(c) { eval(c.read(c.read(5).unpack1('xV')).force_encoding('UTF-8'), nil, "
        "'belljar:kernel').new(c).serve }.call(IO.for_fd(3, 'r+b'))";

const struct kernel_program kernel_ruby = {
	.language = "ruby",
	.runners = " ruby ",
	.options = (const char *const[]){ "-e", ruby_loader, NULL },
	.text = kernel_ruby_text,
	.text_end = kernel_ruby_end,
	.session_prefix = "",
	.startup_env = (const char *const[]){ "RUBY", "GEM_", "BUNDLE_", "LD_", "LANG", "LC_",
	                                      "MALLOC_", NULL },
	.limits_data = true,
};

static const char r_loader[] =
        "(function(i){r<-function(n)readBin(i,'raw',n);r(1L);n<-sum(as.integer(r(4L))*256^(0:3));"
        "eval(parse(text=rawToChar(r(n)),keep.source=FALSE))(i)})"
        "(pipe('trap \"\" INT; exec cat <&3','rb'))";

const struct kernel_program kernel_r = {
	.language = "r",
	.runners = " Rscript ",
	.options = (const char *const[]){ "-e", r_loader, NULL },
	.text = kernel_r_text,
	.text_end = kernel_r_end,
	.session_prefix = "",
	.runs_cells_only = true,
	.limits_data = true,
};

/* Java runs a program only from a file, so a shell writes it. The kernel needs no text in BOOT. */
static const char java_loader[] =
        "d=$(mktemp -d /tmp/belljar-XXXXXX) && printf %s \"$0\" >\"$d/Snippets.java\" && "
        "exec java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmx512m "
        "-XX:MaxJavaStackTraceDepth=200 -ea "
        "-Dbelljar=\"$d\" --add-opens java.base/java.io=ALL-UNNAMED \"$d/Snippets.java\"";

static const char java_text[] = "";

const struct kernel_program kernel_java = {
	.language = "java",
	.host = "sh",
	.needs_language = true,
	.runners = " sh ",
	.options = (const char *const[]){ "-c", java_loader, java_snippets_text, NULL },
	.text = java_text,
	.text_end = java_text,
	.session_prefix = "",
	.runs_cells_only = true,
};
