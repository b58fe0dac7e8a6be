/* direct_socket.h - where an agent whose channel is its standard input and output listens for a
 * direct connection, which takes the place of both.
 *
 * The agent sends HELLO on standard output while it listens. A server that can reach the socket,
 * because the directory is also one of its own machine, connects before it sends WELCOME; from then
 * on the connection is the channel. Otherwise WELCOME arrives on standard input, and the agent
 * stops listening. A server that cannot tell which process is at the other end closes the
 * connection without a byte, and sends WELCOME to standard input, too. No program runs in the
 * sandbox before WELCOME, so none can connect. */
#pragma once

#define DIRECT_DIR  "/tmp"
#define DIRECT_NAME ".belljar-channel"
