/* SPDX-License-Identifier: MIT */
/* How a tensor gets from one process to another: it lies in shared memory, or goes through a socket
 * into memory of the reader's own. */
#ifndef WEFT_DEPLOY_TRANSPORT_H
#define WEFT_DEPLOY_TRANSPORT_H

#include "worker.h"

typedef struct weft_incoming {
    int fd;
    uint8_t head[16]; /* of the message: tensor, slot, item, nothing */
    size_t n_head;
    uint8_t *to; /* of its bytes */
    size_t n_left;
} weft_incoming;

typedef struct weft_transport {
    const weft_board *board;
    int worker;
    void **data;            /* [n_tensors * WEFT_DEPTH] where this process has each tensor */
    weft_shared_u32 *ready; /* the same, as in the board */
    weft_incoming *peer;    /* [n_workers]; NULL: shared memory */
    uint64_t *readers;      /* [n_tensors] workers that read it, as bits; sockets only */
    uint8_t *own;           /* memory of this process */
} weft_transport;

WEFT_CHECKED weft_status weft_transport_open(const weft_board *b, int worker, weft_transport *out);
void weft_transport_close(weft_transport *t);

/* Is the tensor of this item there? */
bool weft_transport_has(const weft_transport *t, int tensor, int slot, uint32_t item);
/* A tensor is made. */
WEFT_CHECKED weft_status weft_transport_publish(weft_transport *t, int tensor, int slot,
                                                uint32_t item);
/* Takes what has come; *has: something has. */
WEFT_CHECKED weft_status weft_transport_take(weft_transport *t, bool *has);
/* Waits a moment for something to come; sockets only. */
void weft_transport_poll(weft_transport *t, int milliseconds);

#endif
