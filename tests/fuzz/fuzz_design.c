/* SPDX-License-Identifier: MIT */
/* fuzz_design.c: design files from anywhere.
 *
 * The bytes become a file in memory. A small network and a small template stand in for whatever the
 * file names. It is read and verified: both end with an answer, whoever verifies twice hears the
 * same, and a file without a fault becomes a page. */
#define _POSIX_C_SOURCE 200809L

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kind.h"
#include "report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The network and the template that the designs among the seeds are of. */
static const char network[] = "gpt2:layers=2,hidden=64,heads=4,seq=16,vocab=100";
static const char space[] =
    "schema: weft.template/1\nname: tiny\nsizes:\n"
    "  {rows: [16, 32], cols: [16, 32], tensor_cores: [1, 2], lanes: [16, 64],\n"
    "   vector_cores: [1, 2], buffer: [1MiB, 2MiB]}\n"
    "clock: 700MHz\nhbm: {bandwidth: 70GB/s, efficiency: {value: 0.85, error: 0.15}, size: 16GiB}\n"
    "area: {fixed: {value: 200mm2, error: 0.5}, pe: 1100um2, lane: 3000um2, sram_per_MiB: 1.2mm2}\n"
    "power: {fixed: 90W, mac: 2.2pJ, lane: 8pJ}\ndataflow: ws\nstate_bytes: 8\n"
    "designs:\n"
    "  - {name: first, rows: 16, cols: 16, tensor_cores: 2, lanes: 16, vector_cores: 2,\n"
    "     buffer: 1MiB}\n";

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

static void make_page(const weft_check_result *v, weft_arena *a)
{
    weft_page_more more = {.graph = v->problem.graph};
    const weft_doc *page = weft_write_page(v->kind->facts(v->solution, &more, a));

    expect(weft_doc_get(page, "facts")->n > 0);
}

/* Things that are wrong with the design; -1 if it cannot be judged. */
static int judge(const char *path, const char *template_)
{
    weft_arena *a = weft_arena_new();
    weft_check_result v;
    int n = -1;

    if (weft_verify(path, network, template_, a, &v) == WEFT_OK) {
        n = v.n_wrong;
        for (int i = 0; i < n && i < 100; i++)
            expect(v.wrong[i] != NULL && *v.wrong[i] != '\0');
        expect(n > 0 || v.has_solution);
        if (n == 0)
            make_page(&v, a);
        weft_check_result_close(&v);
    }
    weft_arena_free(a);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    weft_arena *a = weft_arena_new();
    const char *folder = make_folder(a);
    const char *path = weft_arena_print(a, "%s/design.json", folder);
    const char *template_ = weft_arena_print(a, "%s/tiny.yaml", folder);
    weft_design_file file;

    expect(weft_file_write(path, data, size) == WEFT_OK);
    expect(weft_file_write(template_, space, strlen(space)) == WEFT_OK);
    if (weft_design_read(path, a, &file) == WEFT_OK) { /* plans are fuzz_plan's */
        int n = judge(path, template_);

        expect(judge(path, template_) == n);
    }
    unlink(path);
    unlink(template_);
    rmdir(folder);
    weft_arena_free(a);
    return 0;
}
