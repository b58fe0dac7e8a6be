/* The kernel's table of sockets. */
#include "tools/run/wait/wait_port.h"
#include "unit/test.h"

static void listening_sockets_are_found(void **state)
{
	static const char table[] = "  sl  local_address rem_address   st tx_queue rx_queue\n"
	                            "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000\n"
	                            "   1: 0100007F:1F91 0100007F:0050 01 00000000:00000000\n"
	                            "   2: 00000000000000000000000000000000:0051 0:0 0A 0\n"
	                            "   3: :\n"
	                            "0A";

	assert_true(wait_port_is_listed(view_of(table), 0x1f90));
	assert_false(wait_port_is_listed(view_of(table), 0x1f91)); /* a connection */
	assert_false(wait_port_is_listed(view_of(table), 0x50));   /* the other side's port */
	assert_true(wait_port_is_listed(view_of(table), 0x51));
	assert_false(wait_port_is_listed(view_of(table), 0));
	assert_false(wait_port_is_listed(view_of(""), 80));
}

int main(void)
{
	const struct CMUnitTest all[] = { TEST(listening_sockets_are_found) };

	return RUN_TESTS("ports", all);
}
