/* SPDX-License-Identifier: MIT */
/* Reports of platforms: exact text of a small one, documents by what they must say, presets. */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include "check.h"

#include <stdlib.h>

#include "platform_text.h"
#include "report.h"

/* What was written; the caller frees it. */
static char *platform_text(const weft_platform *p)
{
    char *text = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&text, &n);

    weft_platform_text(p, 80, to);
    fclose(to);
    return text;
}

/* Characters of the longest line; bytes that continue a UTF-8 character do not count. */
static int longest_line(const char *text)
{
    int longest = 0, n = 0;

    for (; *text; text++) {
        n = *text == '\n' ? 0 : n + (((unsigned char)*text & 0xc0) != 0x80);
        longest = n > longest ? n : longest;
    }
    return longest;
}

static int count(const char *text, const char *part)
{
    int n = 0;

    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part))
        n++;
    return n;
}

#define CHECK_HAS(text, part)                                                                      \
    do {                                                                                           \
        if (strstr(text, part) == NULL)                                                            \
            fail_msg("'%s' is not in:\n%s", part, text);                                           \
    } while (0)

static double real_of(const weft_doc *map, const char *key)
{
    double value = NAN;

    CHECK_OK(weft_doc_real(map, key, -INFINITY, INFINITY, &value));
    return value;
}

static const char *text_of(const weft_doc *map, const char *key)
{
    const char *value = NULL;

    CHECK_OK(weft_doc_text(map, key, &value));
    return value;
}

TEST(a_small_platform_is_told_in_full)
{
    weft_platform *p = NULL;
    char *text;

    CHECK_OK(weft_platform_notation("cpu(flops=1e12,bw=1e11,mem=16GB) "
                                    "2*gpu(flops=1e13,bw=1e12,mem=8GB,overhead=5us); "
                                    "cpu-gpu0:12GB/s,10us cpu-gpu1:12GB/s,10us host=cpu @contend",
                                    &p));
    text = platform_text(p);
    CHECK_TEXT(text,
               "notation: 3 devices, 2 links\n"
               "\n"
               "  host          cpu\n"
               "  transfers     beside computation, one at a time on each link (contend)\n"
               "  costs         uncalibrated: other constants were 2–42 % off on public data\n"
               "\n"
               "  device                       count  model         memory    power     idle\n"
               "  cpu                              1  roofline       16 GB        -        -\n"
               "    peak_flops 1 TFLOP/s, memory_bandwidth 100 GB/s\n"
               "  gpu0 .. gpu1                     2  roofline        8 GB        -        -\n"
               "    peak_flops 10 TFLOP/s, memory_bandwidth 1 TB/s, overhead 5 us\n"
               "\n"
               "  link                                    count    bandwidth    latency\n"
               "  cpu - gpu0, ..                              2      12 GB/s      10 us\n"
               "  Bandwidths are of each direction.\n"
               "\n"
               "  Bandwidth in GB/s\n"
               "  from \\ to            cpu    gpu0    gpu1\n"
               "  cpu                    -      12      12\n"
               "  gpu0                  12       -      12\n"
               "  gpu1                  12      12       -\n");
    free(text);
    weft_platform_free(p);
}

TEST(a_device_alone_and_devices_apart)
{
    weft_platform *p = NULL;
    char *text;

    CHECK_OK(weft_platform_notation("cpu", &p));
    text = platform_text(p);
    CHECK_HAS(text, "notation: 1 device, 0 links\n");
    CHECK_HAS(text, "unlimited");
    CHECK_INT(count(text, "GB/s"), 0);
    free(text);
    weft_platform_free(p);
    CHECK_OK(weft_platform_notation("x y", &p));
    text = platform_text(p);
    CHECK_HAS(text, "  x                      -    none\n");
    free(text);
    weft_platform_free(p);
}

TEST(large_platforms_are_summed_up)
{
    weft_platform *p = NULL;
    weft_arena *a = weft_arena_new();
    char *text;

    CHECK_OK(weft_platform_notation("300*cpu 2*gpu; *:1GB/s", &p));
    text = platform_text(p);
    CHECK_HAS(text, "cpu0 .. cpu299                 300  roofline");
    CHECK_HAS(text, "first two and last device of each kind\n"
                    "  from \\ to           cpu0    cpu1  cpu299    gpu0    gpu1\n");
    CHECK(count(text, "\n") < 100);
    free(text);
    CHECK(weft_doc_get(weft_platform_doc(p, a), "latency_s")->kind == WEFT_DOC_NULL);
    weft_platform_free(p);
    weft_arena_free(a);
}

TEST(documents_of_platforms_have_every_number)
{
    weft_platform *p = NULL;
    weft_arena *a = weft_arena_new();
    const weft_doc *d, *design, *link, *rows;

    CHECK_OK(weft_platform_notation("cpu(flops=2) gpu(mem=8); cpu-gpu:8,1us host=cpu", &p));
    d = weft_platform_doc(p, a);
    design = weft_doc_get(weft_doc_get(d, "devices")->item[0], "designs")->item[0];
    CHECK_NEAR(real_of(weft_doc_get(design, "parameters"), "peak_flops"), 2.0);
    CHECK(weft_doc_get(weft_doc_get(design, "parameters"), "memory_bandwidth")->kind ==
          WEFT_DOC_NULL);
    CHECK(weft_doc_get(weft_doc_get(d, "devices")->item[0], "memory_bytes")->kind == WEFT_DOC_NULL);
    CHECK_NEAR(real_of(weft_doc_get(d, "devices")->item[1], "memory_bytes"), 8.0);
    link = weft_doc_get(d, "links")->item[0];
    CHECK_TEXT(weft_doc_get(link, "between")->item[1]->text, "gpu");
    CHECK_NEAR(real_of(link, "bytes_per_s"), 8.0);
    CHECK_NEAR(real_of(link, "latency_s"), 1e-6);
    rows = weft_doc_get(d, "bandwidth_bytes_per_s");
    CHECK(rows->item[0]->item[0]->kind == WEFT_DOC_NULL);
    CHECK_NEAR(rows->item[1]->item[0]->real, 8.0);
    CHECK_TEXT(text_of(d, "host"), "cpu");
    weft_platform_free(p);
    weft_arena_free(a);
}

TEST(presets_fit_a_terminal)
{
    weft_arena *a = weft_arena_new();

    CHECK(weft_preset_count() > 0);
    for (int i = 0; i < weft_preset_count(); i++) {
        weft_platform *p = NULL;
        char *text;

        CHECK_OK(weft_platform_open(weft_preset_at(i)->name, &p));
        text = platform_text(p);
        CHECK(longest_line(text) <= 80);
        CHECK_HAS(text, weft_preset_at(i)->name);
        CHECK_INT(weft_doc_get(weft_platform_doc(p, a), "devices")->n, p->n_devices);
        free(text);
        weft_platform_free(p);
    }
    weft_arena_free(a);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_small_platform_is_told_in_full),
    cmocka_unit_test(a_device_alone_and_devices_apart),
    cmocka_unit_test(large_platforms_are_summed_up),
    cmocka_unit_test(documents_of_platforms_have_every_number),
    cmocka_unit_test(presets_fit_a_terminal),
};

int main(void)
{
    return RUN_TESTS(tests);
}
