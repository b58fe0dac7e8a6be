/* python_image.S - the Python kernel as text: the loader for the command line; then, for BOOT,
 * python.py and behind it, as strings, what not every process needs. */
	.section .rodata, "a", %progbits
	.global kernel_python_loader, kernel_python_text, kernel_python_end
	.hidden kernel_python_loader, kernel_python_text, kernel_python_end
kernel_python_loader:
	.incbin "src/kernels/python_loader.py"
	.byte 0
kernel_python_text:
	.incbin "src/kernels/python.py"
	.ascii "\nFRESH = r'''"
	.incbin "src/kernels/python_fresh.py"
	.ascii "'''\nSESSION = r'''"
	.incbin "src/kernels/python_session.py"
	.ascii "'''\nRICH = r'''"
	.incbin "src/kernels/python_rich.py"
	.ascii "'''\n"
kernel_python_end:

	.section .note.GNU-stack, "", %progbits
/* One object without the mark would take it from the whole program. */
#ifdef __CET__
#include <cet.h>
#endif
