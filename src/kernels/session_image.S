/* session_image.S - the kernels of Bash, Ruby and R as text: loaders for the command line, and the
 * texts for BOOT; and the profile of R's fresh runs. */
#define TEXT(name, file)                                                                            \
	.global name##_text, name##_end;                                                            \
	.hidden name##_text, name##_end;                                                            \
name##_text:                                                                                        \
	.incbin file;                                                                               \
name##_end:                                                                                         \
	.byte 0

/* A call of the function in one file with the function in the other. */
#define CALL_TEXT(name, function, argument)                                                         \
	.global name##_text, name##_end;                                                            \
	.hidden name##_text, name##_end;                                                            \
name##_text:                                                                                        \
	.ascii "(";                                                                                 \
	.incbin function;                                                                           \
	.ascii ")(";                                                                                \
	.incbin argument;                                                                           \
	.ascii ")\n";                                                                               \
name##_end:                                                                                         \
	.byte 0

	.section .rodata, "a", %progbits
TEXT(kernel_bash_loader, "src/kernels/session/bash_loader.sh")
TEXT(kernel_bash, "src/kernels/session/bash.sh")
TEXT(kernel_ruby, "src/kernels/session/ruby.rb")
CALL_TEXT(kernel_r, "src/kernels/session/r.R", "src/kernels/session/r_plots.R")
CALL_TEXT(r_fresh, "src/kernels/session/r_fresh.R", "src/kernels/session/r_plots.R")

	.section .note.GNU-stack, "", %progbits
/* The linker keeps the CET property only if every object has it. */
#ifdef __CET__
#include <cet.h>
#endif
