/* session_image.S - the kernels that run cells only, as text: loaders for the command line, and the
 * texts for BOOT; and the program that runs Java snippets. */
#define TEXT(name, file)                                                                            \
	.global name##_text, name##_end;                                                            \
	.hidden name##_text, name##_end;                                                            \
name##_text:                                                                                        \
	.incbin file;                                                                               \
name##_end:                                                                                         \
	.byte 0

	.section .rodata, "a", %progbits
TEXT(kernel_bash_loader, "src/kernels/session/bash_loader.sh")
TEXT(kernel_bash, "src/kernels/session/bash.sh")
TEXT(kernel_ruby, "src/kernels/session/ruby.rb")
TEXT(kernel_r, "src/kernels/session/r.R")
TEXT(java_snippets, "src/kernels/java_snippets.java")

	.section .note.GNU-stack, "", %progbits
/* The linker keeps the CET property only if every object has it. */
#ifdef __CET__
#include <cet.h>
#endif
