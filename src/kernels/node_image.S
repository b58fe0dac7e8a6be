/* node_image.S - the Node kernel as text for BOOT: an expression whose value is a function. The loader
 * calls it with its own import(), which only code from the command line can use. */
	.section .rodata, "a", %progbits
	.global kernel_node_text, kernel_node_end
	.hidden kernel_node_text, kernel_node_end
kernel_node_text:
	.ascii "((main, session, display, types, imports, value) => (load) => main(load, session, display, imports, types, value))(\n"
	.incbin "src/kernels/node/node.js"
	.ascii ",\n"
	.incbin "src/kernels/node/node_session.js"
	.ascii ",\n"
	.incbin "src/kernels/node/node_display.js"
	.ascii ",\n"
	.incbin "src/kernels/node/node_types.js"
	.ascii ",\n"
	.incbin "src/kernels/node/node_imports.js"
	.ascii ",\n"
	.incbin "src/kernels/node/node_value.js"
	.ascii ")\n"
kernel_node_end:

	.section .note.GNU-stack, "", %progbits
/* The linker keeps the CET property only if every object has it. */
#ifdef __CET__
#include <cet.h>
#endif
