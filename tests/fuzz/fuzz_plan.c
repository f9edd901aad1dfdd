/* SPDX-License-Identifier: MIT */
/* fuzz_plan.c: plan files from anywhere.
 *
 * The bytes become a file in memory, beside a file of three tasks that stands in for whatever model
 * the plan names; for plans of sharded networks and of training, a small network and a platform of
 * two accelerators do. The plan is read, and verified against those: both end with an answer, and
 * whoever verifies twice hears the same. A plan without a fault is legal by the rules too. */
#define _POSIX_C_SOURCE 200809L

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* a and b on either device, then c, which only d1 can run: the plans among the seeds are of it. */
static const char tasks[] = "{\"schema\": \"weft.tasks/1\", \"name\": \"three\",\n"
                            " \"devices\": [\"d0\", \"d1\"],\n"
                            " \"tasks\": [{\"name\": \"a\", \"seconds\": [1, 2]},\n"
                            "  {\"name\": \"b\", \"seconds\": [3, 2], \"memory\": 5},\n"
                            "  {\"name\": \"c\", \"seconds\": [null, 1]}],\n"
                            " \"edges\": [{\"from\": \"a\", \"to\": \"c\", \"amount\": 2},\n"
                            "  {\"from\": \"b\", \"to\": \"c\", \"amount\": 1}],\n"
                            " \"capacity\": [10, 10]}\n";

/* Sharded: the network and the platform that the plans among the seeds are of. */
static const char network[] = "alexnet";
static const char trained[] = "gpt2:layers=2,hidden=64,heads=4,seq=16,vocab=100";
static const char machine[] =
    "schema: weft.platform/1\nname: pair\nhost: cpu\ndevices:\n"
    "  - {name: cpu, model: roofline, peak_flops: 1e9, memory_bandwidth: 10GB/s}\n"
    "  - name: npu\n    count: 2\n    memory: 1GB\n    designs:\n"
    "      - {name: wide, model: roofline, peak_flops: 4e11, memory_bandwidth: 30GB/s}\n"
    "      - {name: grid, model: systolic, rows: 16, cols: 16, vec: 4, dataflow: simd,\n"
    "         clock: 200MHz, memory_bandwidth: 20GB/s}\n"
    "links:\n  - {all: [cpu, npu], bandwidth: 1GB/s, latency: 10us}\n";

/* What stands in for model and platform of a plan. */
typedef struct stand_in {
    const char *model, *platform;
} stand_in;

static void expect(bool condition)
{
    if (!condition)
        abort();
}

/* A new folder, in memory if the system has a place for that. */
static const char *make_folder(weft_arena *a)
{
    struct stat s;
    bool has_memory = stat("/dev/shm", &s) == 0 && S_ISDIR(s.st_mode);
    char *name = weft_arena_print(a, "%s/weft_fuzz_XXXXXX", has_memory ? "/dev/shm" : "/tmp");

    expect(mkdtemp(name) != NULL);
    return name;
}

/* Things that are wrong with the plan; -1 if it cannot be judged. */
static int judge(const char *plan, const stand_in *x)
{
    weft_arena *a = weft_arena_new();
    weft_check_result v;
    weft_violation violation;
    int n = -1;

    if (weft_verify(plan, x->model, x->platform, a, &v) == WEFT_OK) {
        n = v.n_wrong;
        for (int i = 0; i < n && i < 100; i++)
            expect(v.wrong[i] != NULL && *v.wrong[i] != '\0');
        expect(n > 0 || v.has_solution);
        if (n == 0)
            expect(v.kind->violations(&v.problem, v.solution, &violation, 1, a) == 0);
        weft_check_result_close(&v);
    }
    weft_arena_free(a);
    return n;
}

/* No file is of two kinds. */
static void try_plan(const char *plan, const stand_in *place, const stand_in *shard,
                     const stand_in *train)
{
    weft_arena *a = weft_arena_new();
    weft_plan_file file;
    weft_shard_plan_file shards;
    weft_train_plan_file pipeline;
    bool is_place = weft_plan_read(plan, a, &file) == WEFT_OK;
    bool is_shard = weft_shard_plan_read(plan, a, &shards) == WEFT_OK;
    bool is_train = weft_train_plan_read(plan, a, &pipeline) == WEFT_OK;
    const stand_in *x = is_shard ? shard : is_train ? train : place;
    int n = judge(plan, x);

    expect(is_place + is_shard + is_train <= 1);
    expect(is_place || is_shard || is_train || n < 0);
    expect(judge(plan, x) == n);
    weft_arena_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    weft_arena *a = weft_arena_new();
    const char *folder = make_folder(a);
    const char *plan = weft_arena_print(a, "%s/plan.json", folder);
    stand_in place = {weft_arena_print(a, "%s/tasks.json", folder), NULL};
    stand_in shard = {network, weft_arena_print(a, "%s/pair.yaml", folder)};
    stand_in train = {trained, shard.platform};

    expect(weft_file_write(plan, data, size) == WEFT_OK);
    expect(weft_file_write(place.model, tasks, strlen(tasks)) == WEFT_OK);
    expect(weft_file_write(shard.platform, machine, strlen(machine)) == WEFT_OK);
    try_plan(plan, &place, &shard, &train);
    unlink(plan);
    unlink(place.model);
    unlink(shard.platform);
    rmdir(folder);
    weft_arena_free(a);
    return 0;
}
