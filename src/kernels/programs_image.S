/* programs_image.S - programs that compile and run code of some languages, as text for a command
 * line. */
#define TEXT(name, file)                                                                            \
	.global name##_text;                                                                        \
	.hidden name##_text;                                                                        \
name##_text:                                                                                        \
	.incbin file;                                                                               \
	.byte 0

	.section .rodata, "a", %progbits
TEXT(java_compile, "src/kernels/programs/java_compile.sh")
TEXT(java_run, "src/kernels/programs/java_run.sh")
TEXT(java_snippets, "src/kernels/programs/java_snippets.java")
TEXT(kotlin_compile, "src/kernels/programs/kotlin_compile.sh")
TEXT(kotlin_run, "src/kernels/programs/kotlin_run.sh")
TEXT(typescript_compile, "src/kernels/programs/typescript_compile.js")

	.section .note.GNU-stack, "", %progbits
/* The linker keeps the CET property only if every object has it. */
#ifdef __CET__
#include <cet.h>
#endif
