/* python_image.S - Python programs: the loader for the command line; the kernel for BOOT; and the
 * program of tool_help. BOOT has the rest of a line, which may be a prefix, and the kernel as
 * compiled code (scripts/compile-kernel.py), with fewer parts for a process that is for one run. A
 * second BOOT, for a Python with another byte code, has the kernel as text: python.py with
 * python_displays.py and behind it, as strings, the parts that not every process needs. */
	.section .rodata, "a", %progbits
	.global kernel_python_loader, kernel_python_boot, kernel_python_once_boot
	.hidden kernel_python_loader, kernel_python_boot, kernel_python_once_boot
	.global kernel_python_text, kernel_python_end
	.hidden kernel_python_text, kernel_python_end
	.global python_modules_text, python_modules_end
	.hidden python_modules_text, python_modules_end
kernel_python_loader:
	.incbin "src/kernels/python_loader.py"
	.byte 0
kernel_python_boot:
	.ascii "\n"
	.incbin "build/kernels/python.code"
kernel_python_once_boot:
	.ascii "\n"
	.incbin "build/kernels/python_once.code"
kernel_python_text:
	.incbin "src/kernels/python.py"
	.incbin "src/kernels/notebook/python_displays.py"
	.ascii "\nFRESH = r'''"
	.incbin "src/kernels/python_fresh.py"
	.ascii "'''\nRUN = r'''"
	.incbin "src/kernels/python_run.py"
	.ascii "'''\nONCE = r'''"
	.incbin "src/kernels/python_once.py"
	.ascii "'''\nSESSION = r'''"
	.incbin "src/kernels/python_session.py"
	.ascii "'''\nRICH = r'''"
	.incbin "src/kernels/notebook/python_pictures.py"
	.incbin "src/kernels/notebook/python_rich.py"
	.ascii "'''\nSYNTAX = r'''"
	.incbin "src/kernels/notebook/python_syntax.py"
	.ascii "'''\nMAGICS = r'''"
	.incbin "src/kernels/notebook/python_commands.py"
	.incbin "src/kernels/notebook/python_magics.py"
	.ascii "'''\nNAMES = r'''"
	.incbin "src/kernels/notebook/python_names.py"
	.ascii "'''\nSCRIPTS = r'''"
	.incbin "src/kernels/notebook/python_scripts.py"
	.ascii "'''\nEXTENSIONS = r'''"
	.incbin "src/kernels/notebook/python_extensions.py"
	.ascii "'''\nNOTEBOOK = r'''"
	.incbin "src/kernels/notebook/python_notebook.py"
	.ascii "'''\nFIGURES = r'''"
	.incbin "src/kernels/notebook/python_figures.py"
	.ascii "'''\nLOOP = r'''"
	.incbin "src/kernels/notebook/python_loop.py"
	.ascii "'''\nLATE = r'''"
	.incbin "src/kernels/notebook/python_late.py"
	.ascii "'''\nTHREADS = r'''"
	.incbin "src/kernels/notebook/python_threads.py"
	.ascii "'''\n"
kernel_python_end:
python_modules_text:
	.incbin "src/kernels/python_modules.py"
python_modules_end:

	.section .note.GNU-stack, "", %progbits
/* The linker keeps the CET property only if every object has it. */
#ifdef __CET__
#include <cet.h>
#endif
