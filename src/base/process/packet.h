/* packet.h - fixed-size messages between two processes over a SOCK_SEQPACKET socket. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Sends the bytes, which stay as they are, and a descriptor; -1: none. False: the other process has
 * closed its end. */
bool packet_send(int socket, void *bytes, size_t len, int fd);
/* Waits for a message. True if it has exactly `len` bytes and no descriptor. */
bool packet_receive(int socket, void *bytes, size_t len);
/* Takes a message that has arrived, and in *ret_fd the descriptor that came along, or -1. Returns
 * 1; 0: there is no message; -1: the other process has closed its end, or the message does not have
 * `len` bytes. */
int packet_take(int socket, void *bytes, size_t len, int *ret_fd);
