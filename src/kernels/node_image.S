/* node_image.S - the Node kernel as text for BOOT: an expression that makes a function of the
 * loader's import. */
	.section .rodata, "a", %progbits
	.global kernel_node_text, kernel_node_end
	.hidden kernel_node_text, kernel_node_end
kernel_node_text:
	.ascii "((main, session, imports) => (load) => main(load, session, imports))(\n"
	.incbin "src/kernels/node.js"
	.ascii ",\n"
	.incbin "src/kernels/node_session.js"
	.ascii ",\n"
	.incbin "src/kernels/node_imports.js"
	.ascii ")\n"
kernel_node_end:

	.section .note.GNU-stack, "", %progbits
/* One object without the mark would take it from the whole program. */
#ifdef __CET__
#include <cet.h>
#endif
