/* packages_image.S - the programs that install packages in a sandbox, as text with a zero behind it. */
	.section .rodata, "a", %progbits
	.global packages_python_text, packages_node_text, python_needs_text
	.hidden packages_python_text, packages_node_text, python_needs_text
packages_python_text:
	.incbin "src/kernels/python_project.py"
	.incbin "src/kernels/packages_python.py"
	.byte 0
packages_node_text:
	.incbin "src/kernels/packages_node.js"
	.byte 0
python_needs_text:
	.incbin "src/kernels/python_project.py"
	.incbin "src/kernels/python_needs.py"
	.byte 0

	.section .note.GNU-stack, "", %progbits
/* The linker keeps the CET property only if every object has it. */
#ifdef __CET__
#include <cet.h>
#endif
