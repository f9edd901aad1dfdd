/* SPDX-License-Identifier: MIT */
/* ranks.c: the same search in several processes, by MPI.
 *
 * Every process runs the whole search; only the items of loops over designs are shared out, and all
 * get all results. What each then does with them is the same, so the answer does not depend on the
 * number of processes. Decisions of the clock and contents of a study come from process 0.
 *
 * Results are gathered as a sum to which every process but the owner adds 0: exact. An error of
 * MPI, a lost process among them, ends all processes; a study keeps what was evaluated before.
 *
 * Without MPI there is one process, which needs none of this. */
#include "weft/mine.h"

/* Items of other processes count 0. */
static void clear_others(const weft_ranks *r, double *value, int n_items, int width)
{
    for (int i = 0; i < n_items; i++)
        for (int j = 0; j < width && i % r->n != r->me; j++)
            value[(size_t)i * (size_t)width + (size_t)j] = 0;
}

#ifdef WEFT_MPI
#include <mpi.h>

static void gather(void *context, double *value, int n_items, int width)
{
    clear_others(context, value, n_items, width);
    MPI_Allreduce(MPI_IN_PLACE, value, n_items * width, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void tell(void *context, double *value, int n)
{
    (void)context;
    MPI_Bcast(value, n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

weft_status weft_ranks_open(weft_ranks *out)
{
    int provided = MPI_THREAD_SINGLE, is_up = 0;

    MPI_Initialized(&is_up);
    if (!is_up && MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
        return weft_fail(WEFT_E_SYSTEM, "MPI cannot start");
    *out = (weft_ranks){.gather = gather, .tell = tell, .context = out};
    MPI_Comm_size(MPI_COMM_WORLD, &out->n);
    MPI_Comm_rank(MPI_COMM_WORLD, &out->me);
    return WEFT_OK;
}

void weft_ranks_close(weft_ranks *r)
{
    (void)r;
    MPI_Finalize();
}

bool weft_ranks_is_built(void)
{
    return true;
}

#else

static void gather(void *context, double *value, int n_items, int width)
{
    clear_others(context, value, n_items, width);
}

static void tell(void *context, double *value, int n)
{
    clear_others(context, value, n, 1);
}

weft_status weft_ranks_open(weft_ranks *out)
{
    *out = (weft_ranks){.n = 1, .me = 0, .gather = gather, .tell = tell, .context = out};
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
