/* SPDX-License-Identifier: MIT */
/* ranks.c: the same search in several processes, by OpenMPI.
 *
 * Every process runs the whole search; only the items of loops over designs are shared out, and all
 * get all results. What each then does with them is the same, so the answer does not depend on the
 * number of processes. Decisions of the clock and contents of a study come from process 0.
 *
 * Results are gathered as a sum to which every process but the owner adds 0: exact. An error of
 * MPI, a lost process among them, ends all processes; a study keeps what was evaluated before.
 *
 * OpenMPI is loaded when processes were started by it, and not before: it takes longer than most
 * commands. Without MPI there is one process, which needs none of this. */
#include "mine.h"

#ifdef WEFT_MPI
#include "dynload.h"

#include <mpi.h>

/* What is called of the library. */
#define MPI_CALLS(X)                                                                               \
    X(MPI_Allreduce)                                                                               \
    X(MPI_Bcast)                                                                                   \
    X(MPI_Comm_rank)                                                                               \
    X(MPI_Comm_size)                                                                               \
    X(MPI_Finalize)                                                                                \
    X(MPI_Init_thread)                                                                             \
    X(MPI_Initialized)
/* What MPI_COMM_WORLD, MPI_DOUBLE and MPI_SUM are: addresses in the library. */
#define MPI_OBJECTS(X)                                                                             \
    X(ompi_mpi_comm_world)                                                                         \
    X(ompi_mpi_double)                                                                             \
    X(ompi_mpi_op_sum)
#define FIELD(call) __typeof__(call) *call;
#define OBJECT(object) void *object;
#define SYMBOL(name) {#name, offsetof(mpi, name)},

typedef struct mpi {
    MPI_CALLS(FIELD)
    MPI_OBJECTS(OBJECT)
} mpi;

static const weft_symbol symbols[] = {MPI_CALLS(SYMBOL) MPI_OBJECTS(SYMBOL)};
static const weft_dynload library = {"OpenMPI", WEFT_MPI_LIBRARY, "libopenmpi3", symbols,
                                     sizeof symbols / sizeof symbols[0]};

/* This process among the others. */
typedef struct process {
    mpi lib;
    MPI_Comm world;
    MPI_Datatype real;
    MPI_Op sum;
    int n, me;
    weft_arena *arena;
} process;

/* Items of other processes count 0. */
static void clear_others(const process *c, double *value, int n_items, int width)
{
    for (int i = 0; i < n_items; i++)
        for (int j = 0; j < width && i % c->n != c->me; j++)
            value[(size_t)i * (size_t)width + (size_t)j] = 0;
}

/* Errors of MPI do not return. */
static void gather(void *context, double *value, int n_items, int width)
{
    process *c = context;

    clear_others(c, value, n_items, width);
    c->lib.MPI_Allreduce(MPI_IN_PLACE, value, n_items * width, c->real, c->sum, c->world);
}

static void tell(void *context, double *value, int n)
{
    process *c = context;

    c->lib.MPI_Bcast(value, n, c->real, 0, c->world);
}

static weft_status start(process *c)
{
    int provided = MPI_THREAD_SINGLE, is_up = 0;

    WEFT_TRY(weft_dynload_open(&library, &c->lib));
    c->world = (MPI_Comm)c->lib.ompi_mpi_comm_world;
    c->real = (MPI_Datatype)c->lib.ompi_mpi_double;
    c->sum = (MPI_Op)c->lib.ompi_mpi_op_sum;
    c->lib.MPI_Initialized(&is_up);
    if (!is_up && c->lib.MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
        return weft_fail(WEFT_E_SYSTEM, "MPI cannot start");
    c->lib.MPI_Comm_size(c->world, &c->n);
    c->lib.MPI_Comm_rank(c->world, &c->me);
    return WEFT_OK;
}

weft_status weft_ranks_open(weft_ranks *out)
{
    weft_arena *a = weft_arena_new();
    process *c = WEFT_NEW(a, process, 1);
    weft_status status;

    c->arena = a;
    status = start(c);
    *out = (weft_ranks){.n = c->n, .me = c->me, .gather = gather, .tell = tell, .context = c};
    if (status != WEFT_OK)
        weft_arena_free(a);
    return status;
}

void weft_ranks_close(weft_ranks *r)
{
    process *c = r->context;

    c->lib.MPI_Finalize();
    weft_arena_free(c->arena);
}

bool weft_ranks_is_built(void)
{
    return true;
}

#else

static void keep(void *context, double *value, int n_items, int width)
{
    (void)context, (void)value, (void)n_items, (void)width;
}

static void keep_told(void *context, double *value, int n)
{
    (void)context, (void)value, (void)n;
}

weft_status weft_ranks_open(weft_ranks *out)
{
    *out = (weft_ranks){.n = 1, .me = 0, .gather = keep, .tell = keep_told};
    return WEFT_OK;
}

void weft_ranks_close(weft_ranks *r)
{
    (void)r;
}

bool weft_ranks_is_built(void)
{
    return false;
}

#endif
