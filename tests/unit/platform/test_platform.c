/* SPDX-License-Identifier: MIT */
/* Platforms: units, files and what is refused in which words, the one-line notation, routes against
 * an independent search, the hash, and the presets. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "platform.h"
#include "platform_text.h"

#include <dirent.h>
#include <stdlib.h>

static weft_platform *good(const char *text)
{
    weft_platform *p = NULL;

    CHECK_OK(weft_platform_parse(text, strlen(text), "f.yaml", &p));
    return p;
}

static weft_platform *noted(const char *text)
{
    weft_platform *p = NULL;

    CHECK_OK(weft_platform_notation(text, &p));
    return p;
}

static weft_platform *opened(const char *source)
{
    weft_platform *p = NULL;

    CHECK_OK(weft_platform_open(source, &p));
    return p;
}

static const weft_route *route(const weft_platform *p, int from, int to)
{
    return weft_platform_route(p, from, to);
}

enum { MOST_HOPS = 64 };

/* Link i of a route, with its direction. */
static int hop(const weft_platform *p, int from, int to, int i)
{
    int hops[MOST_HOPS];

    CHECK(i < route(p, from, to)->n_hops && route(p, from, to)->n_hops <= MOST_HOPS);
    weft_platform_hops(p, from, to, hops);
    return hops[i];
}

static int device(const weft_platform *p, const char *name)
{
    for (int d = 0; d < p->n_devices; d++)
        if (strcmp(p->device[d].name, name) == 0)
            return d;
    fail_msg("no device '%s'", name);
    return -1;
}

/* --- units ----------------------------------------------------------------------------------- */

static double unit(const char *text, weft_unit u)
{
    double value = -1;

    CHECK_OK(weft_unit_parse(text, u, false, &value));
    return value;
}

TEST(units_are_exact)
{
    CHECK(unit("12GB/s", WEFT_UNIT_BYTES_PER_S) == 12e9);
    CHECK(unit("8Gbit/s", WEFT_UNIT_BYTES_PER_S) == 1e9); /* 8e9 bits / 8 */
    CHECK(unit("1.2Gbps", WEFT_UNIT_BYTES_PER_S) == 1.5e8);
    CHECK(unit("2 GiB/s", WEFT_UNIT_BYTES_PER_S) == 0x1p31);
    CHECK(unit("256GiB", WEFT_UNIT_BYTES) == 256 * 0x1p30);
    CHECK(unit("1 KiB", WEFT_UNIT_BYTES) == 1024);
    CHECK(unit("1kB", WEFT_UNIT_BYTES) == 1000);
    CHECK(unit("16 kbit", WEFT_UNIT_BYTES) == 2000);
    CHECK(unit(" 1e3B ", WEFT_UNIT_BYTES) == 1000);
    CHECK(unit("10us", WEFT_UNIT_SECONDS) == 1e-5);
    CHECK(unit("3ns", WEFT_UNIT_SECONDS) == 3e-9);
    CHECK(unit("2s", WEFT_UNIT_SECONDS) == 2);
    CHECK(unit("1min", WEFT_UNIT_SECONDS) == 60);
    CHECK(unit("1.05GHz", WEFT_UNIT_HERTZ) == 1.05e9);
    CHECK(unit("19.5TFLOP/s", WEFT_UNIT_FLOPS) == 19.5e12);
    CHECK(unit("19.5TFLOPS", WEFT_UNIT_FLOPS) == 19.5e12);
    CHECK(unit("3GBps", WEFT_UNIT_BYTES_PER_S) == 3e9);
    CHECK(unit("8Gbps", WEFT_UNIT_BYTES_PER_S) == 1e9);
    CHECK(unit("2\xc2\xb5s", WEFT_UNIT_SECONDS) == 2e-6);  /* the micro sign */
    CHECK(unit("2 \xce\xbcs", WEFT_UNIT_SECONDS) == 2e-6); /* the letter mu */
    CHECK(unit("600mm\xc2\xb2", WEFT_UNIT_MM2) == 600);
    CHECK(unit("5 TOPS", WEFT_UNIT_FLOPS) == 5e12);
    CHECK(unit("1EFLOPS", WEFT_UNIT_FLOPS) == 1e18);
    CHECK(unit("20mW", WEFT_UNIT_WATTS) == 0.02);
    CHECK(unit("20MW", WEFT_UNIT_WATTS) == 2e7);
    CHECK(unit("0.5pJ", WEFT_UNIT_JOULES) == 0.5e-12);
    CHECK(unit("600mm2", WEFT_UNIT_MM2) == 600);
    CHECK(unit("1100um2", WEFT_UNIT_MM2) == 0.0011);
}

TEST(plain_numbers_stand_where_they_may)
{
    double value = 0;

    CHECK_OK(weft_unit_parse("1.5e12", WEFT_UNIT_FLOPS, true, &value));
    CHECK(value == 1.5e12);
    CHECK_OK(weft_unit_parse("-.5", WEFT_UNIT_NONE, false, &value));
    CHECK(value == -0.5);
    CHECK_FAILS(weft_unit_parse("12", WEFT_UNIT_BYTES, false, &value), "'12' has no unit");
}

TEST(wrong_quantities_are_refused)
{
    static const char *const bad[] = {"",      "GB",     "12KB",  "12gb",  "12 B B", "12mB",
                                      "nan B", "infB",   "0x1pB", "1e999", "1e999B", "--1B",
                                      "1e+ B", "12GiBs", "1,5B",  ".B",    "12Kbit", "1e"};
    double value = 7;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_FAILS(weft_unit_parse(bad[i], WEFT_UNIT_BYTES, false, &value), "expected bytes like");
    CHECK_FAILS(weft_unit_parse("5B", WEFT_UNIT_NONE, true, &value), "expected a plain number");
    CHECK_FAILS(weft_unit_parse("5Gbit", WEFT_UNIT_BYTES_PER_S, true, &value), "'Gbit'");
    CHECK(value == 7); /* untouched */
}

TEST(units_are_printed_for_people)
{
    char text[48];

    CHECK_TEXT(weft_unit_print(1.2e10, WEFT_UNIT_BYTES_PER_S, text), "12 GB/s");
    CHECK_TEXT(weft_unit_print(1e-5, WEFT_UNIT_SECONDS, text), "10 us");
    CHECK_TEXT(weft_unit_print(90, WEFT_UNIT_SECONDS, text), "90 s");
    CHECK_TEXT(weft_unit_print(0.5e-12, WEFT_UNIT_JOULES, text), "500 fJ");
    CHECK_TEXT(weft_unit_print(0, WEFT_UNIT_BYTES, text), "0 B");
    CHECK_TEXT(weft_unit_print(999.996e6, WEFT_UNIT_HERTZ, text), "1 GHz");
    CHECK_TEXT(weft_unit_print(-2e9, WEFT_UNIT_BYTES, text), "-2 GB");
    CHECK_TEXT(weft_unit_print(3.3, WEFT_UNIT_MM2, text), "3.3 mm2");
    CHECK_TEXT(weft_unit_print(INFINITY, WEFT_UNIT_BYTES, text), "unlimited");
    CHECK_TEXT(weft_unit_print(128, WEFT_UNIT_NONE, text), "128");
}

TEST(printed_units_are_read_back)
{
    weft_rng r = weft_rng_seed(1);

    for (int i = 0; i < 20000; i++) {
        weft_unit u = (weft_unit)weft_rng_below(&r, WEFT_UNIT_MM2 + 1);
        double value = pow(10, weft_rng_real(&r) * 40 - 20), back = 0;
        char text[48];

        weft_unit_print(value, u, text);
        CHECK_OK(weft_unit_parse(text, u, false, &back));
        CHECK(fabs(back - value) <= 5.1e-4 * value); /* four digits: half of 1 in 1000 */
    }
}

/* --- tables ---------------------------------------------------------------------------------- */

TEST(parameters_have_keys_of_their_own_and_sound_defaults)
{
    for (int m = 0; m < WEFT_N_DEVICE_MODELS; m++) {
        int n = 0;
        const weft_param *p = weft_device_params((weft_device_model)m, &n);

        CHECK(n > 0);
        for (int i = 0; i < n; i++) {
            CHECK(p[i].place >= 0 && p[i].place < WEFT_N_PARAMS);
            CHECK(p[i].lowest < p[i].highest);
            CHECK(p[i].is_required ||
                  (p[i].fallback >= p[i].lowest && p[i].fallback <= p[i].highest));
            CHECK(strlen(p[i].help) > 3);
            for (int j = 0; j < i; j++) {
                CHECK(strcmp(p[i].key, p[j].key) != 0);
                CHECK(p[i].place != p[j].place);
            }
        }
    }
    CHECK_TEXT(weft_device_model_name(WEFT_TEMPLATE), "template");
    CHECK_TEXT(weft_transfer_name(WEFT_CONTEND), "contend");
}

/* --- files ----------------------------------------------------------------------------------- */

TEST(a_small_server_is_read)
{
    weft_platform *p = good(
        "schema: weft.platform/1\nname: server-cpu-2gpu\nhost: cpu\ntransfer: overlap\ndevices:\n"
        "  - {name: cpu,  model: roofline, peak_flops: 1.5e12, memory_bandwidth: 1.4e11, memory: "
        "256GiB, overhead: 2us, power: 205W}\n"
        "  - {name: gpu-0, model: roofline, peak_flops: 1.9e13, memory_bandwidth: 9.0e11, memory: "
        "24GiB, overhead: 5us, power: 350W}\n"
        "  - {name: gpu-1, model: roofline, peak_flops: 8.1e12, memory_bandwidth: 3.2e11, memory: "
        "16GiB, overhead: 5us, power: 70W}\n"
        "links:\n"
        "  - {between: [cpu, gpu-0], bandwidth: 12GB/s, latency: 10us}\n"
        "  - {between: [cpu, gpu-1], bandwidth: 12GB/s, latency: 10us}\n");

    CHECK_TEXT(p->name, "server-cpu-2gpu");
    CHECK_TEXT(p->source, "f.yaml");
    CHECK_INT(p->n_devices, 3);
    CHECK_INT(p->n_links, 2);
    CHECK_INT(p->host, 0);
    CHECK_INT(p->transfer, WEFT_OVERLAP);
    CHECK(!p->hides);
    CHECK_TEXT(p->device[1].name, "gpu-0");
    CHECK_TEXT(p->device[1].kind, "gpu-0");
    CHECK(p->device[0].memory_bytes == 256 * 0x1p30);
    CHECK(p->device[2].power_w == 70);
    CHECK(p->device[2].design[0].value[WEFT_P_FLOPS] == 8.1e12);
    CHECK(p->device[2].design[0].value[WEFT_P_OVERHEAD] == 5e-6);
    CHECK(p->device[2].design[0].value[WEFT_P_ETA] == 1);
    CHECK_INT(route(p, 1, 2)->n_hops, 2); /* over the host */
    CHECK_NEAR(route(p, 1, 2)->latency_s, 10e-6 + 10e-6);
    CHECK(route(p, 1, 2)->bytes_per_s == 12e9);
    weft_platform_free(p);
}

TEST(the_same_is_read_from_json)
{
    weft_platform *p =
        good("{\"schema\": \"weft.platform/1\", \"name\": \"j\", \"overlap\": true, \"devices\": "
             "[{\"name\": \"a\", \"model\": \"roofline\", \"peak_flops\": 2, "
             "\"memory_bandwidth\": 3.5, \"efficiency\": {\"norm\": 0.25}}]}");

    CHECK(p->hides);
    CHECK_INT(p->host, -1);
    CHECK(isinf(p->device[0].memory_bytes));
    CHECK(p->device[0].design[0].efficiency[3] == 0.25);
    CHECK(p->device[0].design[0].efficiency[0] == 1);
    CHECK_INT(route(p, 0, 0)->n_hops, 0);
    CHECK(1e9 / route(p, 0, 0)->bytes_per_s + route(p, 0, 0)->latency_s == 0);
    weft_platform_free(p);
}

static const char groups_text[] =
    "schema: weft.platform/1\nname: g\nhost: head\nswitches: [{name: net}]\n"
    "devices: [{name: head, model: roofline, peak_flops: 1e9, memory_bandwidth: 1e9}]\n"
    "groups:\n"
    "  - name: server\n    count: 2\n    switches: [sw]\n    devices:\n"
    "      - {name: gpu, count: 3, model: roofline, peak_flops: 1TFLOP/s, memory_bandwidth: 1e9}\n"
    "      - {name: cpu, model: vector, lanes: 8, clock: 1GHz, memory_bandwidth: 1GB/s}\n"
    "    links:\n"
    "      - {star: {center: sw, to: [gpu, cpu]}, bandwidth: 4GB/s, latency: 1us, duplex: half}\n"
    "      - {all: [gpu], bandwidth: 8GB/s}\n"
    "links:\n"
    "  - {star: {center: net, to: [server.sw, head]}, bandwidth: 1GB/s, latency: 5us}\n";

TEST(groups_and_counts_are_repeated)
{
    weft_platform *p = good(groups_text);
    int a = device(p, "server-0.gpu-2"), b = device(p, "server-1.cpu");

    CHECK_INT(p->n_devices, 1 + 2 * (3 + 1));
    CHECK_INT(p->n_switches, 1 + 2);
    CHECK_INT(p->n_links, 2 * (4 + 3) + 3);
    CHECK_TEXT(p->device[a].kind, "server.gpu");
    CHECK_TEXT(p->device[b].kind, "server.cpu");
    CHECK_INT(route(p, a, device(p, "server-0.gpu-0"))->n_hops, 1);
    CHECK(route(p, a, device(p, "server-0.gpu-0"))->bytes_per_s == 8e9);
    CHECK_INT(route(p, a, b)->n_hops, 4); /* gpu - sw - net - sw - cpu */
    CHECK_NEAR(route(p, a, b)->latency_s, 1e-6 + 5e-6 + 5e-6 + 1e-6);
    CHECK(route(p, a, b)->bytes_per_s == 1e9);
    CHECK(p->device[a].design == p->device[a - 1].design); /* copies share it */
    CHECK(p->link[hop(p, a, b, 0) / 2].is_half_duplex);
    /* names of copies without a dash, as plans of earlier versions have them */
    CHECK_INT(weft_platform_find_device(p, "server0.gpu2"), a);
    CHECK_INT(weft_platform_find_device(p, "server-0.gpu2"), a);
    CHECK_INT(weft_platform_find_device(p, "server0gpu2"), -1);
    CHECK_INT(weft_platform_find_device(p, "server-0.gpu-"), -1);
    weft_platform_free(p);
}

TEST(an_adaptive_device_has_designs)
{
    weft_platform *p = good(
        "schema: weft.platform/1\nname: g\ndevices:\n"
        "  - name: a\n    memory: 1GB\n    designs:\n"
        "      - {name: one, model: systolic, rows: 2, cols: 3, dataflow: simd, clock: 1MHz,\n"
        "         memory_bandwidth: 1, only: [Conv, Gemm]}\n"
        "      - {name: two, model: tiled, Tm: 1, Tn: 2, Tr: 3, Tc: 4, port_in: 5,\n"
        "         port_weight: 6, port_out: 7, serial: true, clock: 1MHz, memory_bandwidth: 1}\n"
        "      - {name: three, model: profile, profile: times.json}\n");
    const weft_design *d = p->device[0].design;

    CHECK_INT(p->device[0].n_designs, 3);
    CHECK_TEXT(d[0].name, "one");
    CHECK_INT(d[0].model, WEFT_SYSTOLIC);
    CHECK_INT(d[0].value[WEFT_P_DATAFLOW], WEFT_DATAFLOW_SIMD);
    CHECK_INT(d[0].value[WEFT_P_VEC], 1);
    CHECK_INT(d[0].n_only, 2);
    CHECK_TEXT(d[0].only[1], "Gemm");
    CHECK_INT(d[1].value[WEFT_P_SERIAL], 1);
    CHECK_INT(d[1].value[WEFT_P_PORT_OUT], 7);
    CHECK_TEXT(d[2].profile, "times.json");
    weft_platform_free(p);
}

/* Each file begins with "# expect LINE: MESSAGE". */
static void check_bad(const char *path)
{
    weft_arena *a = weft_arena_new();
    weft_platform *p = NULL;
    weft_file f;
    const char *text, *message, *where;
    size_t n;

    CHECK_OK(weft_file_open(path, &f));
    text = weft_arena_text(a, (const char *)f.data, f.size);
    weft_file_close(&f);
    CHECK_INT(strncmp(text, "# expect ", 9), 0);
    message = strstr(text, ": ") + 2;
    n = strcspn(message, "\n");
    CHECK_INT(weft_platform_open(path, &p), WEFT_E_INPUT);
    CHECK(p == NULL);
    where = weft_arena_print(a, "%s:%d: ", path, atoi(text + 9));
    if (strncmp(weft_message(), where, strlen(where)) != 0 ||
        strstr(weft_message(), weft_arena_text(a, message, n)) == NULL)
        fail_msg("message was: %s", weft_message());
    weft_arena_free(a);
}

TEST(bad_files_are_refused_with_file_line_and_reason)
{
    weft_arena *a = weft_arena_new();
    DIR *folder = opendir(WEFT_TEST_DATA "/platforms");
    int n = 0;

    CHECK(folder != NULL);
    for (struct dirent *e = readdir(folder); e; e = readdir(folder))
        if (strncmp(e->d_name, "bad-", 4) == 0) {
            check_bad(weft_arena_print(a, "%s/platforms/%s", WEFT_TEST_DATA, e->d_name));
            n++;
        }
    closedir(folder);
    CHECK(n >= 65);
    weft_arena_free(a);
}

TEST(a_wrong_source_is_explained)
{
    weft_platform *p = NULL;

    CHECK_FAILS(weft_platform_open("dgx-a10", &p), "did you mean 'dgx-a100'?");
    CHECK_FAILS(weft_platform_open("elephant", &p), "a file ending in .yaml or .json");
    CHECK_FAILS(weft_platform_open("no/such/file", &p), "no/such/file: cannot be opened");
    CHECK_FAILS(weft_platform_open("missing.yaml", &p), "missing.yaml: cannot be opened");
    CHECK(p == NULL);
}

TEST(counts_of_groups_and_devices_can_be_set)
{
    weft_platform *p = NULL, *q = NULL;

    CHECK_OK(weft_platform_open("cluster-32:server=3,server.gpu=2", &p));
    CHECK_INT(p->n_devices, 3 * 2);
    CHECK_TEXT(p->source, "cluster-32:server=3,server.gpu=2");
    CHECK_TEXT(p->device[5].name, "server-2.gpu-1");
    CHECK_OK(weft_platform_open("cluster-32:server=4", &q)); /* what the file says */
    CHECK(p->hash != q->hash);
    weft_platform_free(p);
    CHECK_OK(weft_platform_open("cluster-32", &p));
    CHECK(p->hash == q->hash);
    weft_platform_free(p);
    weft_platform_free(q);
}

TEST(wrong_counts_are_explained)
{
    static const char *const wrong[][2] = {
        {"cluster-32:sever=3",                     "did you mean 'server'?"                        },
        {"cluster-32:gpu=3",                       "did you mean 'server.gpu'?"                    },
        {"cluster-32:elephant=3",                  "what has a 'count:': server, server.gpu"       },
        {"dgx-a100:cpu=2",                         "'cpu' has no 'count:'"                         },
        {"cluster-32:server",                      "'server' is no setting, expected NAME=COUNT"   },
        {"cluster-32:server=2,",                   "'' is no setting"                              },
        {"cluster-32:server=0",                    "server is '0', expected a whole number from 1" },
        {"cluster-32:server=-1",                   "server is '-1', expected a whole number from 1"},
        {"cluster-32:server=99999999999999999999", "expected a whole number from 1 to 4096"        },
        {"cluster-32:server=2x",                   "server is '2x'"                                },
        {"cluster-32:server=2,server=2",           "'server' is set twice"                         },
        {"cluster-32:server=4096",                 "more than"                                     },
        {"no-such:server=2",                       "no platform is called 'no-such'"               },
        {"folder/file.yaml:server=2",              "folder/file.yaml: cannot be opened"            },
        {"a:server=2.yaml",                        "a:server=2.yaml: cannot be opened"             },
        {"a:b=2/file",                             "a:b=2/file: cannot be opened"                  },
    };
    weft_platform *p = NULL;

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        CHECK_FAILS(weft_platform_open(wrong[i][0], &p), wrong[i][1]);
    CHECK(p == NULL);
}

/* --- notation -------------------------------------------------------------------------------- */

TEST(the_notation_makes_rooflines)
{
    weft_platform *p = noted("2*cpu(flops=1) gpu(flops=4,bw=2,mem=8); cpu0-gpu:8,1us");

    CHECK_INT(p->n_devices, 3);
    CHECK_TEXT(p->device[1].name, "cpu1");
    CHECK_TEXT(p->device[1].kind, "cpu");
    CHECK(p->device[0].design[0].value[WEFT_P_BANDWIDTH] == 1e30);
    CHECK(isinf(p->device[0].memory_bytes));
    CHECK(p->device[2].design[0].value[WEFT_P_FLOPS] == 4);
    CHECK(p->device[2].design[0].value[WEFT_P_BANDWIDTH] == 2);
    CHECK(p->device[2].memory_bytes == 8);
    CHECK_INT(route(p, 0, 2)->n_hops, 1);
    CHECK_INT(hop(p, 0, 2, 0), 0); /* from a to b */
    CHECK_INT(hop(p, 2, 0, 0), 1); /* from b to a */
    CHECK(route(p, 0, 2)->latency_s == 1e-6);
    CHECK_INT(route(p, 1, 2)->n_hops, -1);
    CHECK(isinf(route(p, 1, 2)->latency_s + 0 / route(p, 1, 2)->bytes_per_s));
    CHECK_INT(p->host, -1);
    weft_platform_free(p);
}

TEST(the_notation_links_all_pairs_and_takes_settings)
{
    weft_platform *p = noted("3*a b(flops=2TFLOP/s); a0-b:16 *:8,0.5 @block host=a1");

    CHECK_INT(p->n_links, 4 * 3 / 2);
    CHECK(route(p, 0, 3)->bytes_per_s == 16);
    CHECK(route(p, 1, 3)->bytes_per_s == 8);
    CHECK(route(p, 1, 3)->latency_s == 0.5);
    CHECK_INT(p->transfer, WEFT_BLOCK);
    CHECK_INT(p->host, 1);
    CHECK(p->device[0].design[0].value[WEFT_P_FLOPS] == 1);
    weft_platform_free(p);
    p = noted("cpu @contend");
    CHECK_INT(p->n_devices, 1);
    CHECK_INT(p->transfer, WEFT_CONTEND);
    weft_platform_free(p);
}

TEST(wrong_notations_are_refused)
{
    static const char *const bad[][2] = {
        {"",                 "there are no devices"                  },
        {"; ",               "there are no devices"                  },
        {"cpu cpu",          "the name 'cpu' is used twice, expected"},
        {"2*cpu cpu",        "the name 'cpu' is used twice, expected"},
        {"0*cpu",            "repeated 0 times"                      },
        {"4097*cpu",         "repeated 4097 times"                   },
        {"4096*a b",         "more than 4096 devices"                },
        {"2cpu",             "a whole number"                        },
        {"cpu(flop=1)",      "no value 'flop', expected flops"       },
        {"cpu(flops=x)",     "flops: 'x' is not a number"            },
        {"cpu(flops=0)",     "flops is 0, expected more than 0"      },
        {"cpu(mem=-1)",      "mem is -1, expected at least 0"        },
        {"cpu(flops=1",      "expected ')'"                          },
        {"a b; a-c:1",       "called 'c'"                            },
        {"a b; a-a:1",       "connects 'a' with itself"              },
        {"a b; a-b:1 b-a:1", "linked twice"                          },
        {"a b; a-b:0",       "bandwidth is 0"                        },
        {"a b; a-b:1,-1",    "latency is -1"                         },
        {"a b; a-b",         "expected ':'"                          },
        {"a b; a:1",         "expected '-'"                          },
        {"a @now",           "'@now' is unknown"                     },
        {"a; host=b",        "called 'b'"                            },
        {"a; ; b",           "expected a name"                       },
        {"2*a; a-a0:1",      "'a' stands for 2 places"               },
        {"4096*a; *:1",      "more than 262144 links"                },
    };
    weft_platform *p = NULL;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_FAILS(weft_platform_notation(bad[i][0], &p), bad[i][1]);
        CHECK_INT(strncmp(weft_message(), "platform: ", 10), 0);
    }
    CHECK(p == NULL);
}

/* --- routes ---------------------------------------------------------------------------------- */

enum { MOST_PLACES = 24 };

/* Widest walk of exactly h links from the source, for h = 0, 1, ...: nothing of a search by levels.
 */
static void check_routes_from(const weft_platform *p, int source)
{
    int n = p->n_devices + p->n_switches;
    double width[MOST_PLACES + 1][MOST_PLACES] = {{0}};

    width[0][source] = INFINITY;
    for (int h = 1; h <= n; h++)
        for (int hop = 0; hop < 2 * p->n_links; hop++) {
            const weft_link *l = &p->link[hop / 2];
            int from = hop % 2 ? l->b : l->a, to = hop % 2 ? l->a : l->b;
            bool passes = from == source || from == p->host || from >= p->n_devices;
            double w = passes ? fmin(width[h - 1][from], l->bytes_per_s) : 0;

            width[h][to] = fmax(width[h][to], w);
        }
    for (int d = 0; d < p->n_devices; d++) {
        const weft_route *r = route(p, source, d);
        int h = 0, at = source;
        double latency = 0;

        while (h <= n && !(width[h][d] > 0))
            h++;
        CHECK_INT(r->n_hops, h <= n ? h : -1);
        if (r->n_hops < 0)
            continue;
        CHECK(r->bytes_per_s == width[h][d]);
        for (int i = 0; i < r->n_hops; i++) {
            int k = hop(p, source, d, i);
            const weft_link *l = &p->link[k / 2];

            CHECK_INT(at, k % 2 ? l->b : l->a);
            at = k % 2 ? l->a : l->b;
            latency += l->latency_s;
            CHECK(l->bytes_per_s >= r->bytes_per_s);
        }
        CHECK_INT(at, d);
        CHECK(r->latency_s == latency); /* summed in the order of travel */
    }
}

/* Random devices, switches and links, connected by a chain of switches so that a file may say it.
 */
static const char *random_platform(weft_rng *r, weft_arena *a)
{
    int n_devices = 1 + weft_rng_below(r, 8), n_switches = 1 + weft_rng_below(r, 8);
    int n = n_devices + n_switches;
    char linked[MOST_PLACES][MOST_PLACES] = {{0}};
    const char *text = weft_arena_print(a,
                                        "schema: weft.platform/1\nname: r\n%sdevices:\n"
                                        "  - {name: d, count: %d, model: roofline, peak_flops: 1, "
                                        "memory_bandwidth: 1}\nswitches:\n",
                                        weft_rng_below(r, 2) ? "host: d0\n" : "", n_devices);

    for (int i = 0; i < n_switches; i++)
        text = weft_arena_print(a, "%s  - s%d\n", text, i);
    text = weft_arena_print(a, "%slinks:\n", text);
    for (int i = 0; i < n - 1 + 2 * n; i++) {
        int x = i < n - 1 ? i + 1 : weft_rng_below(r, n), y = weft_rng_below(r, n);

        if (i < n - 1) /* switches hang on earlier switches, devices on any switch */
            y = x < n_switches ? weft_rng_below(r, x) : weft_rng_below(r, n_switches);
        if (x == y || linked[x][y])
            continue;
        linked[x][y] = linked[y][x] = 1;
        text =
            weft_arena_print(a, "%s  - {between: [%c%d, %c%d], bandwidth: %dB/s, latency: %dms}\n",
                             text, x < n_switches ? 's' : 'd', x < n_switches ? x : x - n_switches,
                             y < n_switches ? 's' : 'd', y < n_switches ? y : y - n_switches,
                             1 + weft_rng_below(r, 4), weft_rng_below(r, 3));
    }
    return text;
}

TEST(routes_are_shortest_then_widest)
{
    for (uint64_t seed = 1; seed <= 400; seed++) {
        weft_rng r = weft_rng_seed(seed);
        weft_arena *a = weft_arena_new();
        weft_platform *p = good(random_platform(&r, a)), *again;

        for (int d = 0; d < p->n_devices; d++)
            check_routes_from(p, d);
        r = weft_rng_seed(seed);
        again = good(random_platform(&r, a));
        CHECK(again->hash == p->hash);
        weft_platform_free(again);
        weft_platform_free(p);
        weft_arena_free(a);
    }
}

TEST(equal_routes_go_over_the_lowest_switch)
{
    weft_platform *p = good(
        "schema: weft.platform/1\nname: t\nswitches: [x, y, z]\ndevices:\n"
        "  - {name: d, count: 2, model: roofline, peak_flops: 1, memory_bandwidth: 1}\nlinks:\n"
        "  - {star: {center: z, to: [d]}, bandwidth: 2B/s}\n"
        "  - {star: {center: y, to: [d]}, bandwidth: 2B/s}\n"
        "  - {star: {center: x, to: [d]}, bandwidth: 1B/s}\n"); /* narrow, so y: before z */

    CHECK_INT(route(p, 0, 1)->n_hops, 2);
    CHECK_INT(p->link[hop(p, 0, 1, 0) / 2].b, 2 + 1); /* devices 0, 1, then x, y */
    CHECK_INT(p->link[hop(p, 1, 0, 0) / 2].b, 2 + 1);
    CHECK(route(p, 0, 1)->bytes_per_s == 2);
    weft_platform_free(p);
}

TEST(large_machines_have_routes)
{
    weft_platform *p = good(
        "schema: weft.platform/1\nname: big\nswitches: [spine]\ngroups:\n"
        "  - name: server\n    count: 64\n    switches: [leaf]\n    devices:\n"
        "      - {name: gpu, count: 8, model: roofline, peak_flops: 1, memory_bandwidth: 1}\n"
        "    links: [{star: {center: leaf, to: [gpu]}, bandwidth: 1GB/s, latency: 1us}]\n"
        "links: [{star: {center: spine, to: [server.leaf]}, bandwidth: 1GB/s, latency: 1us}]\n");
    int64_t n_hops = 0;

    CHECK_INT(p->n_devices, 512);
    for (int a = 0; a < 512; a++)
        for (int b = 0; b < 512; b++)
            n_hops += route(p, a, b)->n_hops;
    CHECK_INT(n_hops, 512 * (7 * 2 + 504 * 4)); /* 7 in the same server, 504 elsewhere */
    weft_platform_free(p);
    p = noted("512*a; *:1");
    CHECK_INT(p->n_links, 512 * 511 / 2);
    CHECK_INT(route(p, 511, 510)->n_hops, 1);
    weft_platform_free(p);
}

/* --- hash ------------------------------------------------------------------------------------ */

static uint64_t hash_of(const char *text)
{
    weft_platform *p = good(text);
    uint64_t h = p->hash;

    weft_platform_free(p);
    return h;
}

#define HEAD "schema: weft.platform/1\nname: x\n"

TEST(the_hash_ignores_spelling)
{
    uint64_t h =
        hash_of(HEAD "devices:\n  - {name: g, count: 2, model: roofline, peak_flops: 1e12, "
                     "memory_bandwidth: 2e9, only: [Conv, Add]}\n"
                     "links: [{between: [g0, g1], bandwidth: 8Gbit/s}]\n");

    CHECK(h == hash_of("# a comment\nname: y\nschema: weft.platform/1\ntransfer: overlap\n"
                       "links: [{latency: 0s, duplex: full, all: [g1, g0], bandwidth: 1GB/s}]\n"
                       "devices:\n"
                       "  - {only: [Add, Conv], model: roofline, name: g0, overhead: 0us,\n"
                       "     memory_bandwidth: 2GB/s, peak_flops: 1TFLOP/s}\n"
                       "  - {only: [Add, Conv], model: roofline, name: g1,\n"
                       "     memory_bandwidth: 2GB/s, peak_flops: 1TFLOP/s}\n"));
}

TEST(the_hash_sees_every_change)
{
    static const char *const text[] = {
        HEAD "devices: [{name: g, model: roofline, peak_flops: 1, memory_bandwidth: 2}]",
        HEAD "devices: [{name: h, model: roofline, peak_flops: 1, memory_bandwidth: 2}]",
        HEAD "devices: [{name: g, model: roofline, peak_flops: 3, memory_bandwidth: 2}]",
        HEAD "devices: [{name: g, model: roofline, peak_flops: 1, memory_bandwidth: 3}]",
        HEAD
        "devices: [{name: g, model: roofline, peak_flops: 1, memory_bandwidth: 2, memory: 1B}]",
        HEAD "devices: [{name: g, model: roofline, peak_flops: 1, memory_bandwidth: 2, power: 1W}]",
        HEAD
        "devices: [{name: g, model: roofline, peak_flops: 1, memory_bandwidth: 2, idle_power: 1W}]",
        HEAD "devices: [{name: g, model: roofline, peak_flops: 1, memory_bandwidth: 2, only: [A]}]",
        HEAD "devices: [{name: g, model: roofline, peak_flops: 1, memory_bandwidth: 2, only: [B]}]",
        HEAD "devices: [{name: g, model: roofline, peak_flops: 1, memory_bandwidth: 2, "
             "efficiency: {norm: 0.5}}]",
        HEAD "devices: [{name: g, model: roofline, peak_flops: 1, memory_bandwidth: 2}]\nhost: g",
        HEAD
        "devices: [{name: g, model: roofline, peak_flops: 1, memory_bandwidth: 2}]\noverlap: true",
        HEAD "devices: [{name: g, model: roofline, peak_flops: 1, memory_bandwidth: 2}]\n"
             "transfer: block",
        HEAD "devices: [{name: g, model: roofline, peak_flops: 1, memory_bandwidth: 2}]\n"
             "switches: [s]",
        HEAD "devices: [{name: g, model: roofline, peak_flops: 1, memory_bandwidth: 2}]\n"
             "switches: [s]\nlinks: [{between: [g, s], bandwidth: 1B/s}]",
        HEAD "devices: [{name: g, model: roofline, peak_flops: 1, memory_bandwidth: 2}]\n"
             "switches: [s]\nlinks: [{between: [g, s], bandwidth: 2B/s}]",
        HEAD "devices: [{name: g, model: roofline, peak_flops: 1, memory_bandwidth: 2}]\n"
             "switches: [s]\nlinks: [{between: [g, s], bandwidth: 1B/s, latency: 1s}]",
        HEAD "devices: [{name: g, model: roofline, peak_flops: 1, memory_bandwidth: 2}]\n"
             "switches: [s]\nlinks: [{between: [g, s], bandwidth: 1B/s, duplex: half}]",
        HEAD "devices: [{name: g, model: profile, profile: a}]",
        HEAD "devices: [{name: g, model: profile, profile: b}]",
    };
    enum { N = sizeof text / sizeof *text };
    uint64_t hash[N];

    for (int i = 0; i < N; i++) {
        hash[i] = hash_of(text[i]);
        for (int j = 0; j < i; j++)
            CHECK(hash[i] != hash[j]);
    }
}

/* --- presets --------------------------------------------------------------------------------- */

TEST(all_presets_load)
{
    CHECK_INT(weft_preset_count(), 30);
    for (int i = 0; i < weft_preset_count(); i++) {
        const weft_preset *s = weft_preset_at(i);
        weft_platform *p = opened(s->name);

        CHECK(i == 0 || strcmp(weft_preset_at(i - 1)->name, s->name) < 0);
        CHECK(strlen(s->summary) > 10 && strlen(s->summary) < 80);
        CHECK_INT(strlen(s->text), s->size);
        CHECK_TEXT(p->name, s->name);
        CHECK_TEXT(p->source, s->name);
        CHECK(strstr(s->text, "ssumed") != NULL);
        weft_platform_free(p);
    }
}

TEST(the_adaptive_preset_has_the_constants_of_its_study)
{
    weft_platform *p = opened("f1-2x4");
    int a = device(p, "group-0.fpga-0"), b = device(p, "group-0.fpga-3"),
        c = device(p, "group-1.fpga-0");
    const weft_design *d = p->device[a].design;

    CHECK_INT(p->n_devices, 1 + 2 * 4);
    CHECK_INT(p->n_links, 2 * 6 + 8);
    CHECK_INT(p->device[a].n_designs, 3);
    CHECK(p->device[a].memory_bytes == 1e9);
    CHECK(d[0].value[WEFT_P_TM] * d[0].value[WEFT_P_TN] == 448); /* multiply-adds a cycle */
    CHECK(d[1].value[WEFT_P_ROWS] * d[1].value[WEFT_P_COLS] * d[1].value[WEFT_P_VEC] == 1144);
    /* 6 x 6 x 8 x 2 multipliers; 36 make the 4 x 4 x 9 products of a 3 x 3 tile: 576 * 144 / 36 */
    CHECK(pow(d[2].value[WEFT_P_TILE], 2) * d[2].value[WEFT_P_PM] * d[2].value[WEFT_P_PN] == 576);
    for (int i = 0; i < 3; i++) {
        CHECK(d[i].value[WEFT_P_CLOCK] == 200e6);
        CHECK(d[i].value[WEFT_P_BANDWIDTH] == 64e9);
    }
    CHECK_INT(route(p, a, b)->n_hops, 1);
    CHECK(route(p, a, b)->bytes_per_s == 8e9 / 8);
    CHECK_INT(route(p, a, c)->n_hops, 2);
    CHECK(route(p, a, c)->bytes_per_s == 2e9 / 8);
    weft_platform_free(p);
}

TEST(the_twelve_accelerators_cover_three_kinds_of_layers)
{
    static const char *const ops[] = {"Conv", "Relu", "Gemm", "MatMul", "LSTM"};
    static const int expected[] = {8, 10, 2, 2, 2};
    weft_platform *p = opened("h2h-12");

    CHECK_INT(p->n_devices, 1 + 12);
    CHECK_INT(p->host, 0);
    CHECK_INT(p->device[0].design[0].n_only, 0); /* the host runs everything */
    for (int i = 0; i < 5; i++) {
        int n = 0;

        for (int d = 1; d < p->n_devices; d++)
            for (int k = 0; k < p->device[d].design[0].n_only; k++)
                n += strcmp(p->device[d].design[0].only[k], ops[i]) == 0;
        CHECK_INT(n, expected[i]);
    }
    CHECK(p->device[1].design[0].value[WEFT_P_BANDWIDTH] == 370e6 * 512 / 8);
    CHECK(route(p, 1, 2)->bytes_per_s == 1.2e9 / 8);
    weft_platform_free(p);
}

TEST(template_presets_reach_the_published_peaks)
{
    static const char *const name[] = {"tpu-v2", "tpu-v3", "tpu-v4i", "nvdla-large"};
    static const double tera[] = {46, 123, 138, 4.096};

    for (int i = 0; i < 4; i++) {
        weft_platform *p = opened(name[i]);
        const double *v = p->device[0].design[0].value;
        double peak = 2 * v[WEFT_P_ROWS] * v[WEFT_P_COLS] * v[WEFT_P_CORES] * v[WEFT_P_CLOCK];

        CHECK_INT(p->n_devices, 1);
        CHECK_INT(p->device[0].design[0].model, WEFT_TEMPLATE);
        CHECK(fabs(peak - tera[i] * 1e12) < 0.004 * peak);
        weft_platform_free(p);
    }
}

/* Peaks without sparsity, in TFLOP/s, and memories as the data sheets say. */
TEST(gpu_presets_have_the_peaks_of_data_sheets)
{
    static const struct {
        const char *source, *device;
        double sms, f32, tf32, f16, int8, bytes_per_s, memory;
    } sheet[] = {
        {"cluster-a100:server=1", "server-0.gpu-0", 108, 19.5, 156,   312,   624,   2039e9, 80e9 },
        {"cluster-h100",          "server-3.gpu-7", 132, 67,   494.7, 989.4, 1979,  3350e9, 80e9 },
        {"dgx-h100",              "gpu-7",          132, 67,   494.7, 989.4, 1979,  3350e9, 80e9 },
        {"dgx-h200",              "gpu-0",          132, 67,   494.7, 989.4, 1979,  4800e9, 141e9},
        {"dgx-b200",              "gpu-0",          148, 80,   1125,  2250,  4500,  8000e9, 180e9},
        {"server-8xh100-pcie",    "gpu-7",          114, 51,   378,   756,   1513,  2000e9, 80e9 },
        {"server-l4:gpu=1",       "gpu-0",          58,  30.3, 60.5,  121,   242.5, 300e9,  24e9 },
        {"server-l40s",           "gpu-3",          142, 91.6, 183,   362,   733,   864e9,  48e9 },
        {"server-a10",            "gpu-0",          72,  31.2, 62.5,  125,   250,   600e9,  24e9 },
        {"server-rtx-4090",       "gpu-0",          128, 82.6, 82.6,  165.2, 660.6, 1008e9, 24e9 },
    };

    for (size_t i = 0; i < sizeof sheet / sizeof sheet[0]; i++) {
        weft_platform *p = opened(sheet[i].source);
        const weft_device *d = &p->device[device(p, sheet[i].device)];
        const double *v = d->design[0].value;

        CHECK_INT(d->design[0].model, WEFT_GPU);
        CHECK(v[WEFT_P_SMS] == sheet[i].sms && v[WEFT_P_USE_TF32] == 1);
        CHECK_NEAR(v[WEFT_P_PEAK_F32] / 1e12, sheet[i].f32);
        CHECK_NEAR(v[WEFT_P_PEAK_TF32] / 1e12, sheet[i].tf32);
        CHECK_NEAR(v[WEFT_P_PEAK_F16] / 1e12, sheet[i].f16);
        CHECK(v[WEFT_P_PEAK_BF16] == v[WEFT_P_PEAK_F16]);
        CHECK_NEAR(v[WEFT_P_PEAK_INT8] / 1e12, sheet[i].int8);
        CHECK(v[WEFT_P_BANDWIDTH] == sheet[i].bytes_per_s);
        CHECK(d->memory_bytes == sheet[i].memory);
        weft_platform_free(p);
    }
}

TEST(gpus_talk_over_their_fastest_links)
{
    weft_platform *p = opened("dgx-a100");
    int a = device(p, "gpu-0"), b = device(p, "gpu-7");

    CHECK_INT(route(p, a, b)->n_hops, 2); /* NVSwitch, not the host that is as near */
    CHECK(route(p, a, b)->bytes_per_s == 235e9);
    weft_platform_free(p);
    p = opened("cluster-32");
    CHECK_INT(p->n_devices, 32);
    a = device(p, "server-0.gpu-0");
    CHECK(route(p, a, device(p, "server-0.gpu-1"))->bytes_per_s == 235e9);
    CHECK(route(p, a, device(p, "server-3.gpu-1"))->bytes_per_s == 200e9 / 8);
    weft_platform_free(p);
}

/* --- hostile input --------------------------------------------------------------------------- */

/* Damages a copy of a text in a few places. */
static size_t damaged(weft_rng *r, const char *text, size_t n, char *to)
{
    static const char marks[] = "{}[],:-#'\"\n 0123456789eE.*&!|>%@?~GBkinfa\xff\x01";
    int n_edits = 1 + weft_rng_below(r, 4);

    memcpy(to, text, n);
    for (int i = 0; i < n_edits && n > 0; i++) {
        int at = weft_rng_below(r, (int)n), kind = weft_rng_below(r, 8);

        if (kind == 0)
            n = (size_t)at;
        else if (kind == 1)
            memmove(to + at, to + at + 1, --n - (size_t)at);
        else
            to[at] = marks[weft_rng_below(r, (int)sizeof marks - 1)];
    }
    return n;
}

TEST(damaged_files_are_read_or_refused)
{
    weft_rng r = weft_rng_seed(5);
    int n_read = 0, n_refused = 0;

    for (int i = 0; i < 3000; i++) {
        const weft_preset *s = weft_preset_at(weft_rng_below(&r, weft_preset_count()));
        bool is_small = i % 2 == 0;
        const char *text = is_small ? groups_text : s->text;
        size_t size = is_small ? strlen(groups_text) : s->size;
        char *copy = malloc(size + 1);
        weft_platform *p = NULL;

        size = damaged(&r, text, size, copy);
        if (weft_platform_parse(copy, size, "f", &p) == WEFT_OK) {
            CHECK(p->n_devices > 0);
            n_read++;
        } else {
            CHECK(p == NULL);
            CHECK_INT(strncmp(weft_message(), "f:", 2), 0);
            n_refused++;
        }
        weft_platform_free(p);
        free(copy);
    }
    CHECK(n_read > 100 && n_refused > 100);
}

TEST(damaged_notations_are_read_or_refused)
{
    static const char text[] =
        "2*cpu(flops=1) gpu(flops=4,bw=2,mem=8); cpu0-gpu:8,1us *:1 @contend";
    weft_rng r = weft_rng_seed(6);
    int n_read = 0, n_refused = 0;

    for (int i = 0; i < 5000; i++) {
        char copy[sizeof text];
        weft_platform *p = NULL;

        copy[damaged(&r, text, sizeof text - 1, copy)] = '\0';
        if (weft_platform_notation(copy, &p) == WEFT_OK) {
            CHECK(p->n_devices > 0 && p->routes != NULL);
            n_read++;
        } else {
            CHECK(p == NULL);
            CHECK_INT(strncmp(weft_message(), "platform: ", 10), 0);
            n_refused++;
        }
        weft_platform_free(p);
    }
    CHECK(n_read > 100 && n_refused > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_are_exact),
        cmocka_unit_test(plain_numbers_stand_where_they_may),
        cmocka_unit_test(wrong_quantities_are_refused),
        cmocka_unit_test(units_are_printed_for_people),
        cmocka_unit_test(printed_units_are_read_back),
        cmocka_unit_test(parameters_have_keys_of_their_own_and_sound_defaults),
        cmocka_unit_test(a_small_server_is_read),
        cmocka_unit_test(the_same_is_read_from_json),
        cmocka_unit_test(groups_and_counts_are_repeated),
        cmocka_unit_test(an_adaptive_device_has_designs),
        cmocka_unit_test(bad_files_are_refused_with_file_line_and_reason),
        cmocka_unit_test(a_wrong_source_is_explained),
        cmocka_unit_test(counts_of_groups_and_devices_can_be_set),
        cmocka_unit_test(wrong_counts_are_explained),
        cmocka_unit_test(the_notation_makes_rooflines),
        cmocka_unit_test(the_notation_links_all_pairs_and_takes_settings),
        cmocka_unit_test(wrong_notations_are_refused),
        cmocka_unit_test(routes_are_shortest_then_widest),
        cmocka_unit_test(equal_routes_go_over_the_lowest_switch),
        cmocka_unit_test(large_machines_have_routes),
        cmocka_unit_test(the_hash_ignores_spelling),
        cmocka_unit_test(the_hash_sees_every_change),
        cmocka_unit_test(all_presets_load),
        cmocka_unit_test(the_adaptive_preset_has_the_constants_of_its_study),
        cmocka_unit_test(the_twelve_accelerators_cover_three_kinds_of_layers),
        cmocka_unit_test(template_presets_reach_the_published_peaks),
        cmocka_unit_test(gpu_presets_have_the_peaks_of_data_sheets),
        cmocka_unit_test(gpus_talk_over_their_fastest_links),
        cmocka_unit_test(damaged_files_are_read_or_refused),
        cmocka_unit_test(damaged_notations_are_read_or_refused),
    };

    return RUN_TESTS(tests);
}
