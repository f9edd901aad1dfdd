/* SPDX-License-Identifier: MIT */
/* child.c: a process for code of somebody else.
 *
 * 1. The input is written to a file without a name, which becomes standard input: so nobody waits
 *    for a program that does not read, and nothing is left if everybody dies.
 * 2. The copy leads a group of its own, dies with the thread that made it (Linux), has no files but
 *    the three, and becomes the program, or calls the job and ends itself.
 * 3. The caller reads both outputs as they come, and every LOOK_MS looks at clock and stop.
 * 4. Once the leader has ended, its group is killed and what is left in the pipes is read. Processes
 *    that have left the group are not found; they cannot keep the caller waiting either.
 *
 * Between fork and exec only calls are made that are safe there. */
#define _GNU_SOURCE /* pipe2, prctl */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

enum { LOOK_MS = 10, CHUNK = 1 << 16, MOST_COMPLAINT = 200, MOST_FILES = 4096 };

typedef struct pipes {
    int input, output[2], error[2], failed[2];
} pipes;

typedef struct watcher {
    const weft_child *c;
    weft_arena *a;
    pid_t child;
    double begin_s;
    bool is_asked; /* to end */
    WEFT_VEC(char) output;
    char tail[MOST_COMPLAINT + 1]; /* of the last line of standard error */
    size_t n_tail;
    bool is_new_line;
    weft_child_end *out;
} watcher;

/* --- the copy -------------------------------------------------------------------------------- */

static void close_others(int kept)
{
    long n = sysconf(_SC_OPEN_MAX);

    for (int fd = 3; fd < (n > 0 && n < MOST_FILES ? (int)n : MOST_FILES); fd++)
        if (fd != kept)
            close(fd);
}

void weft_follow_parent(const char *name)
{
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (name != NULL)
        prctl(PR_SET_NAME, name);
#else
    (void)name;
#endif
}

/* Tells the caller how it went, 0 or errno, and ends at once: nothing that belongs to the end of the
 * program (handlers, buffers, checks for leaks) may run twice. */
static void end_copy(int fd, int code)
{
    if (write(fd, &code, sizeof code) < 0)
        code = errno; /* nobody listens any more */
    kill(getpid(), SIGKILL);
}

static void be_child(const weft_child *c, const pipes *p, pid_t parent)
{
    sigset_t none;

    setpgid(0, 0);
    weft_follow_parent(NULL);
    if (getppid() != parent) /* it is dead already */
        end_copy(p->failed[1], ESRCH);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int s = 1; s < 32; s++)
        signal(s, SIG_DFL);
    if (dup2(p->input, 0) < 0 || dup2(p->output[1], 1) < 0 || dup2(p->error[1], 2) < 0)
        end_copy(p->failed[1], errno);
    close_others(p->failed[1]);
    if (c->word != NULL) {
        execvp(c->word[0], (char *const *)(uintptr_t)c->word);
        end_copy(p->failed[1], errno);
    }
    weft_on_out_of_memory(NULL);
    c->job(c->context);
    end_copy(p->failed[1], 0);
}

/* --- the caller ------------------------------------------------------------------------------ */

/* A file without a name that holds the input, at its beginning. */
static int open_input(const weft_bytes *input)
{
    FILE *file = tmpfile();
    int fd = -1;

    if (file == NULL)
        return -1;
    if (fwrite(input->data, 1, input->size, file) == input->size && fflush(file) == 0)
        fd = fcntl(fileno(file), F_DUPFD_CLOEXEC, 3);
    fclose(file);
    if (fd >= 0)
        lseek(fd, 0, SEEK_SET);
    return fd;
}

static void close_pipes(pipes *p)
{
    int *all[] = {&p->input,    &p->output[0], &p->output[1], &p->error[0],
                  &p->error[1], &p->failed[0], &p->failed[1]};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (*all[i] >= 0)
            close(*all[i]);
}

static bool open_pipes(const weft_child *c, pipes *p)
{
    *p = (pipes){
        -1, {-1, -1},
         {-1, -1},
         {-1, -1}
    };
    p->input = open_input(&c->input);
    return p->input >= 0 && pipe2(p->output, O_CLOEXEC) == 0 && pipe2(p->error, O_CLOEXEC) == 0 &&
           pipe2(p->failed, O_CLOEXEC) == 0;
}

static void end_with(watcher *w, weft_child_fate fate)
{
    if (w->out->fate == WEFT_CHILD_ENDED)
        w->out->fate = fate;
    kill(-w->child, SIGKILL);
    kill(w->child, SIGKILL); /* it may not lead its group yet */
}

static void keep_output(watcher *w, const char *text, size_t n)
{
    if ((size_t)w->output.n + n > w->c->most_bytes) {
        end_with(w, WEFT_CHILD_TOO_LOUD);
        return;
    }
    for (size_t i = 0; i < n; i++)
        WEFT_PUSH(w->a, w->output, text[i]);
}

/* The last line that is not empty, as far as it fits. */
static void keep_complaint(watcher *w, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\n') {
            w->is_new_line = true;
            continue;
        }
        if (w->is_new_line)
            w->n_tail = 0;
        w->is_new_line = false;
        if (w->n_tail < MOST_COMPLAINT)
            w->tail[w->n_tail++] = text[i] >= ' ' && text[i] < 127 ? text[i] : '?';
    }
}

/* Reads once; false: there is no more. */
static bool drain(watcher *w, int fd, void (*keep)(watcher *w, const char *text, size_t n))
{
    char chunk[CHUNK];
    ssize_t n = read(fd, chunk, sizeof chunk);

    if (n > 0)
        keep(w, chunk, (size_t)n);
    return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

static void look(watcher *w)
{
    double passed_s = weft_wall_s() - w->begin_s;

    if (w->c->stop != NULL && *w->c->stop)
        end_with(w, WEFT_CHILD_STOPPED);
    else if (passed_s > w->c->limit_s + w->c->grace_s)
        end_with(w, WEFT_CHILD_LATE);
    else if (passed_s > w->c->limit_s && !w->is_asked) {
        w->is_asked = true;
        kill(-w->child, SIGTERM);
    }
}

static bool has_ended(const watcher *w)
{
    siginfo_t info = {0};

    return waitid(P_PID, (id_t)w->child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == w->child;
}

static void watch(watcher *w, const pipes *p)
{
    struct pollfd at[] = {
        {.fd = p->output[0], .events = POLLIN},
        {.fd = p->error[0],  .events = POLLIN}
    };

    while (!has_ended(w)) {
        if (poll(at, 2, LOOK_MS) > 0) {
            if (at[0].revents != 0 && !drain(w, p->output[0], keep_output))
                at[0].fd = -1;
            if (at[1].revents != 0 && !drain(w, p->error[0], keep_complaint))
                at[1].fd = -1;
        }
        if (at[0].fd < 0 && at[1].fd < 0)
            poll(NULL, 0, 1); /* it has closed both, and runs on */
        look(w);
    }
    kill(-w->child, SIGKILL);
}

/* What is in a pipe; others may hold it open. */
static void empty(watcher *w, int fd, void (*keep)(watcher *w, const char *text, size_t n))
{
    struct pollfd at = {.fd = fd, .events = POLLIN};

    while (poll(&at, 1, 0) > 0 && (at.revents & POLLIN) != 0 &&
           w->out->fate != WEFT_CHILD_TOO_LOUD && drain(w, fd, keep))
        ;
}

static void settle(watcher *w, const pipes *p)
{
    struct pollfd told = {.fd = p->failed[0], .events = POLLIN};
    int status = 0, code = 0;

    while (waitpid(w->child, &status, 0) < 0 && errno == EINTR)
        ;
    empty(w, p->output[0], keep_output);
    empty(w, p->error[0], keep_complaint);
    if (poll(&told, 1, 0) > 0 && read(p->failed[0], &code, sizeof code) == sizeof code) {
        w->out->fate = code == 0 ? w->out->fate : WEFT_CHILD_MISSING;
        w->out->code = code;
    } else if (WIFSIGNALED(status)) {
        w->out->code = WTERMSIG(status);
        if (w->out->fate == WEFT_CHILD_ENDED)
            w->out->fate = w->is_asked ? WEFT_CHILD_LATE : WEFT_CHILD_CRASHED;
    } else if (WIFEXITED(status)) {
        w->out->code = WEXITSTATUS(status);
    }
    WEFT_PUSH(w->a, w->output, '\0');
    w->out->output = w->output.at;
    w->out->n = (size_t)w->output.n - 1;
    w->out->complaint = weft_arena_text(w->a, w->tail, w->n_tail);
}

weft_status weft_child_run(const weft_child *c, weft_arena *a, weft_child_end *out)
{
    watcher w = {.c = c, .a = a, .begin_s = weft_wall_s(), .out = out};
    pid_t parent = getpid();
    pipes p;

    *out = (weft_child_end){.fate = WEFT_CHILD_ENDED};
    if (open_pipes(c, &p))
        w.child = fork();
    else
        w.child = -1;
    if (w.child == 0)
        be_child(c, &p, parent);
    if (w.child < 0) {
        weft_status status = weft_fail(WEFT_E_SYSTEM, "no process: %s", strerror(errno));

        close_pipes(&p);
        return status;
    }
    setpgid(w.child, w.child); /* whoever comes first */
    close(p.output[1]);
    close(p.error[1]);
    close(p.failed[1]);
    p.output[1] = p.error[1] = p.failed[1] = -1;
    watch(&w, &p);
    settle(&w, &p);
    close_pipes(&p);
    return WEFT_OK;
}
