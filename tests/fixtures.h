/* SPDX-License-Identifier: MIT */
/* Problems that several tests use: instances of the literature and random ones. A test that needs
 * them links fixtures.c. Everything returned belongs to the caller: weft_problem_free. */
#ifndef WEFT_FIXTURES_H
#define WEFT_FIXTURES_H

#include "problem.h"

/* The notation: seconds of a task on each device ("x": not supported), '/' between tasks, ';', then
 * edges "from-to:amount", each a tensor of its own. A leading "1:" counts the tasks from 1 instead
 * of 0. Tasks are called T0, T1, ..., devices P1, P2, ...; an amount takes as many seconds between
 * any two devices. A text that cannot be read fails the test. */
weft_problem *fixture_tasks(const char *text);

extern const char fixture_heft[]; /* Topcuoglu et al. 2002; T1 .. T10 */
extern const char fixture_ahmad[];
extern const char fixture_hamid[];
extern const char fixture_hsu[];
extern const char fixture_kang1[];
extern const char fixture_kuan[];
extern const char fixture_sample[];

/* An instance and its known makespans: the best single device,
 * the fastest device for each task, greedy earliest finish, HEFT, and the proved optimum. */
typedef struct fixture_known {
    const char *name;
    const char *file; /* the same instance in tests/data/tasks */
    const char *text;
    int n_tasks, n_edges;
    double single_s, fastest_s, greedy_s, heft_s, optimum_s;
} fixture_known;

enum { N_FIXTURES = 7 };
extern const fixture_known fixture_all[N_FIXTURES];

/* A random problem: unrelated integer times, some not supported; tensors with several readers;
 * latencies and bandwidths by pair; sinks make outputs; every third seed has a host and an input
 * that starts there. Memory is not limited. All numbers are small multiples of 1/2, so that sums
 * are exact. */
weft_problem *random_problem(uint64_t seed, int n_tasks, int n_devices);
/* The same with memory limits on weights (other tensors take none); there is a plan that fits. */
weft_problem *random_limited_problem(uint64_t seed, int n_tasks, int n_devices);

/* What a random problem may have besides. */
enum {
    TRAIT_HOST = 1,     /* an input that starts on a device */
    TRAIT_ZERO = 2,     /* a third of the tasks take no time on some devices or on all */
    TRAIT_EQUAL = 4,    /* all devices take the same times, all links are the same */
    TRAIT_PINS = 8,     /* a quarter of the tasks */
    TRAIT_COLOURS = 16, /* a third of the tasks share two colours */
    TRAIT_WEIGHTS = 32, /* memory is limited, weights take room, some have several readers */
    TRAIT_MEMORY = 64,  /* memory is limited, weights and all other tensors take room */
    TRAIT_SKIPS = 128,  /* a chain with edges that skip tasks, instead of any edges */
    TRAIT_LONE = 256,   /* no edges between the first and the second half of the tasks */
    TRAITS = 512        /* every combination is below */
};

/* A random problem with these traits. There need not be a plan. Small multiples of 1/2 again. */
weft_problem *random_mixed_problem(uint64_t seed, int n_tasks, int n_devices, unsigned traits);

#endif
