/* SPDX-License-Identifier: MIT */
/* subprocess.c: a call in a process of its own, so that a library that crashes does not take the program
 * with it.
 *
 * 1. A pipe and a byte of shared memory; fork.
 * 2. The copy calls, sets the byte, and ends itself by a signal: nothing that belongs to the end of
 *    the program (handlers, buffers, checks for leaks) may run twice.
 * 3. The caller waits for the end of the pipe, which the kernel closes with the copy, and every
 *    LOOK_MS looks whether it should tell the copy to stop. A copy that was told so and does not end
 *    is killed after MOST_LOOKS more looks: it may hang.
 *
 * Other threads are not in the copy: the job must need no lock but those of memory, which the C
 * library keeps usable. Costs about a millisecond. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "subprocess.h"

#include <errno.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOK_MS = 20, MOST_LOOKS = 500 };

void *weft_subprocess_memory(size_t n_bytes)
{
    void *memory = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

void weft_subprocess_release(void *memory, size_t n_bytes)
{
    if (memory != NULL)
        munmap(memory, n_bytes);
}

/* Until the process has ended. Another copy, made by another thread at the same time, may hold the
 * pipe open: so its end is not what counts. */
static void wait_for(pid_t child, int pipe_end, const volatile sig_atomic_t *stop,
                     volatile sig_atomic_t *told)
{
    struct pollfd look = {.fd = pipe_end, .events = POLLIN};
    int n_looks = 0; /* since it was told to stop */
    pid_t ended;

    do {
        bool has_closed = poll(&look, 1, LOOK_MS) > 0;

        if (stop != NULL && *stop) {
            *told = 1;
            if (n_looks++ == MOST_LOOKS)
                kill(child, SIGKILL);
        }
        ended = waitpid(child, NULL, has_closed ? 0 : WNOHANG);
    } while (ended == 0 || (ended < 0 && errno == EINTR));
}

bool weft_subprocess(void (*job)(void *context), void *context, const volatile sig_atomic_t *stop,
                     volatile sig_atomic_t *told)
{
    volatile char *is_done = weft_subprocess_memory(1);
    bool answer = false;
    int end[2];
    pid_t child;

    if (is_done == NULL || pipe(end) != 0) {
        weft_subprocess_release((void *)is_done, 1);
        return false;
    }
    child = fork();
    if (child == 0) {
        weft_on_out_of_memory(NULL); /* the copy dies and the caller goes on */
        job(context);
        *is_done = 1;
        kill(getpid(), SIGKILL);
    }
    close(end[1]);
    if (child > 0)
        wait_for(child, end[0], stop, told);
    close(end[0]);
    answer = *is_done == 1;
    weft_subprocess_release((void *)is_done, 1);
    return answer;
}
