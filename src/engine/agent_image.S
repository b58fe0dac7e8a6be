/* agent_image.S - the agent's programs as bytes (see engine/agent_image.h). AGENT_IMAGE and
 * HOST_AGENT_IMAGE, from the Makefile, are where they were built. */
	.section .rodata, "a", %progbits
	.global agent_image_bytes, agent_image_size, host_agent_image_bytes, host_agent_image_size
	.hidden agent_image_bytes, agent_image_size, host_agent_image_bytes, host_agent_image_size
	.balign 16
agent_image_bytes:
	.incbin AGENT_IMAGE
agent_image_end:
	.balign 16
host_agent_image_bytes:
	.incbin HOST_AGENT_IMAGE
host_agent_image_end:
	.balign 8
agent_image_size:
	.quad agent_image_end - agent_image_bytes
host_agent_image_size:
	.quad host_agent_image_end - host_agent_image_bytes

	.section .note.GNU-stack, "", %progbits
/* The linker marks a program as protected by CET only if every object has the note. */
#ifdef __CET__
#include <cet.h>
#endif
