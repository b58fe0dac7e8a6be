/* direct.h - the agent's side of a direct connection (wire/direct_socket.h). */
#pragma once

/* Returns the descriptor of the socket, to be called before HELLO; or -1, which direct_accept()
 * takes too. */
int direct_listen(void);

/* Waits until the server answers HELLO, on `in` or with a connection, which then takes the place of
 * the descriptors `in` and `out`, unless the server closes it without a byte. Closes the
 * listener. */
void direct_accept(int listener, int in, int out);
