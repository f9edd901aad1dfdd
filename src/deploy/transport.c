/* SPDX-License-Identifier: MIT */
/* transport.c: shared memory and sockets.
 *
 * A writer whose socket is full takes what comes in meanwhile, so that two who write to each other
 * do not wait for ever. */
#define _POSIX_C_SOURCE 200809L
#include "transport.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { MOST_WORKERS = 64 };

static void *zeros(size_t n, size_t size)
{
    void *p = calloc(n + 1, size);

    if (p == NULL)
        weft_out_of_memory(n * size);
    return p;
}

/* --- opening --------------------------------------------------------------------------------- */

static int worker_of(const weft_board *b, int device)
{
    for (int w = 0; w < b->n_workers; w++)
        if (b->worker_device[w] == device)
            return w;
    return -1;
}

static void find_readers(weft_transport *t)
{
    const weft_split_net *s = t->board->s;

    for (int i = 0; i < s->n_segments; i++)
        for (int k = 0; k < s->segment[i].n_reads; k++)
            t->readers[s->segment[i].reads[k]] |= (uint64_t)1
                                                  << worker_of(t->board, s->segment[i].device);
}

/* Memory of this process: a copy of all inputs, and room for the rest. */
static void take_memory(weft_transport *t)
{
    const weft_board *b = t->board;
    size_t n = (size_t)b->s->n_tensors * WEFT_DEPTH, bytes = b->at[n];

    t->own = zeros(bytes, 1);
    t->ready = zeros(n, sizeof *t->ready);
    memcpy(t->own, b->data, bytes);
    for (size_t i = 0; i < n; i++) {
        t->data[i] = t->own + b->at[i];
        t->ready[i] = b->ready[i];
    }
}

weft_status weft_transport_open(const weft_board *b, int worker, weft_transport *out)
{
    size_t n = (size_t)b->s->n_tensors * WEFT_DEPTH;

    *out = (weft_transport){.board = b, .worker = worker, .ready = b->ready};
    out->data = zeros(n, sizeof *out->data);
    for (size_t i = 0; i < n; i++)
        out->data[i] = b->data + b->at[i];
    if (b->socket == NULL)
        return WEFT_OK;
    if (b->n_workers > MOST_WORKERS)
        return weft_fail(WEFT_E_INPUT, "%d devices, expected at most %d with sockets", b->n_workers,
                         MOST_WORKERS);
    out->peer = zeros((size_t)b->n_workers, sizeof *out->peer);
    out->readers = zeros((size_t)b->s->n_tensors, sizeof *out->readers);
    for (int w = 0; w < b->n_workers; w++)
        out->peer[w].fd = w == worker ? -1
                                      : b->socket[(worker < w ? worker : w) * b->n_workers +
                                                  (worker < w ? w : worker)][worker < w ? 0 : 1];
    find_readers(out);
    take_memory(out);
    return WEFT_OK;
}

void weft_transport_close(weft_transport *t)
{
    free(t->data);
    if (t->peer != NULL)
        free((void *)t->ready);
    free(t->peer);
    free(t->readers);
    free(t->own);
}

bool weft_transport_has(const weft_transport *t, int tensor, int slot, uint32_t item)
{
    return atomic_load_explicit(&t->ready[tensor * WEFT_DEPTH + slot], memory_order_acquire) >=
           item + 1;
}

/* --- taking ---------------------------------------------------------------------------------- */

/* Up to n bytes; 0: nothing is there. */
static weft_status receive(int fd, void *to, size_t n, size_t *got)
{
    ssize_t r = recv(fd, to, n, MSG_DONTWAIT);

    *got = r > 0 ? (size_t)r : 0;
    if (r > 0 || (r < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)))
        return WEFT_OK;
    return weft_fail(WEFT_E_SYSTEM, "the connection to another device is lost");
}

static weft_status begin_message(weft_transport *t, weft_incoming *in)
{
    uint32_t head[4];

    memcpy(head, in->head, sizeof head);
    if (head[0] >= (uint32_t)t->board->s->n_tensors || head[1] >= WEFT_DEPTH)
        return weft_fail(WEFT_E_INTERNAL, "a message names tensor %u", head[0]);
    in->to = t->data[head[0] * WEFT_DEPTH + head[1]];
    in->n_left = (size_t)t->board->s->tensor[head[0]].bytes;
    return WEFT_OK;
}

static void end_message(weft_transport *t, weft_incoming *in)
{
    uint32_t head[4];

    memcpy(head, in->head, sizeof head);
    atomic_store_explicit(&t->ready[head[0] * WEFT_DEPTH + head[1]], head[2] + 1,
                          memory_order_release);
    in->n_head = 0;
}

static weft_status take_from(weft_transport *t, weft_incoming *in, bool *has)
{
    size_t got = 1;

    while (got > 0) {
        if (in->n_head < sizeof in->head) {
            WEFT_TRY(receive(in->fd, in->head + in->n_head, sizeof in->head - in->n_head, &got));
            in->n_head += got;
            if (in->n_head == sizeof in->head)
                WEFT_TRY(begin_message(t, in));
        } else {
            if (in->n_left > 0)
                WEFT_TRY(receive(in->fd, in->to, in->n_left, &got));
            in->to += in->n_left > 0 ? got : 0;
            in->n_left -= in->n_left > 0 ? got : 0;
        }
        if (in->n_head == sizeof in->head && in->n_left == 0)
            end_message(t, in);
        *has |= got > 0;
    }
    return WEFT_OK;
}

weft_status weft_transport_take(weft_transport *t, bool *has)
{
    *has = false;
    for (int w = 0; t->peer != NULL && w < t->board->n_workers; w++)
        if (w != t->worker)
            WEFT_TRY(take_from(t, &t->peer[w], has));
    return WEFT_OK;
}

void weft_transport_poll(weft_transport *t, int milliseconds)
{
    struct pollfd look[MOST_WORKERS];
    nfds_t n = 0;

    for (int w = 0; w < t->board->n_workers; w++)
        if (w != t->worker)
            look[n++] = (struct pollfd){.fd = t->peer[w].fd, .events = POLLIN};
    poll(look, n, milliseconds);
}

/* --- publishing ------------------------------------------------------------------------------ */

static weft_status send_all(weft_transport *t, int fd, const void *from, size_t n)
{
    const uint8_t *at = from;
    bool has;

    while (n > 0) {
        ssize_t sent = send(fd, at, n, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (sent > 0) {
            at += sent;
            n -= (size_t)sent;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) {
            WEFT_TRY(weft_transport_take(t, &has));
            if (atomic_load(&t->board->control->failed))
                return weft_fail(WEFT_E_SYSTEM, "another device has failed");
        } else {
            return weft_fail(WEFT_E_SYSTEM, "the connection to another device is lost");
        }
    }
    return WEFT_OK;
}

weft_status weft_transport_publish(weft_transport *t, int tensor, int slot, uint32_t item)
{
    uint32_t head[4] = {(uint32_t)tensor, (uint32_t)slot, item, 0};

    atomic_store_explicit(&t->ready[tensor * WEFT_DEPTH + slot], item + 1, memory_order_release);
    if (t->peer == NULL) {
        weft_tell(t->board->control);
        return WEFT_OK;
    }
    for (int w = 0; w < t->board->n_workers; w++)
        if (w != t->worker && (t->readers[tensor] >> w & 1)) {
            WEFT_TRY(send_all(t, t->peer[w].fd, head, sizeof head));
            WEFT_TRY(send_all(t, t->peer[w].fd, t->data[tensor * WEFT_DEPTH + slot],
                              (size_t)t->board->s->tensor[tensor].bytes));
        }
    return WEFT_OK;
}
