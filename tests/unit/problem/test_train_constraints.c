/* SPDX-License-Identifier: MIT */
/* What is asked of a training plan: read from one line; contradictions in words. */
#include "check.h"
#include "draw_training.h"
#include "platform_text.h"

static const weft_train_constraints usual = {.batch = 24,
                                             .schedules = (1u << WEFT_N_SCHEDULES) - 1,
                                             .recomputes = (1u << WEFT_N_RECOMPUTES) - 1,
                                             .most_chunks = 4};

TEST(a_line_sets_what_it_names)
{
    weft_train_constraints x = usual;

    CHECK_OK(weft_train_exactly(
        "--exactly", "tp=8,pp=4,dp=3,mbs=2,schedule=interleaved,recompute=full,chunks=6,zero=1",
        &x));
    CHECK(weft_counts_only(&x.tp) == 8 && weft_counts_only(&x.pp) == 4);
    CHECK(weft_counts_only(&x.dp) == 3 && weft_counts_only(&x.mbs) == 2);
    CHECK(x.chunks == 6 && x.zero == 1 && x.zeros == 2);
    CHECK(x.schedules == 1u << WEFT_INTERLEAVED && x.recomputes == 1u << WEFT_KEEP_NONE);
    CHECK(x.most_chunks == 6 && x.batch == 24 && x.microbatch == 0);
    x = usual;
    CHECK_OK(weft_train_exactly("--exactly", "pp=2", &x));
    CHECK(weft_counts_only(&x.pp) == 2 && x.tp.n == 0 && x.schedules == usual.schedules);
}

TEST(lines_that_are_wrong_say_where)
{
    static const struct {
        const char *text, *part;
    } wrong[] = {
        {"",                "--exactly: '', expected KEY=VALUE"                                },
        {"tp",              "'tp', expected KEY=VALUE"                                         },
        {"tp=2,",           "'', expected KEY=VALUE"                                           },
        {"width=2",         "'width=2', expected KEY=VALUE with tp, pp, dp"                    },
        {"tp=",             "tp is '', expected a number from 1"                               },
        {"tp=-1",           "tp is '-1', expected a number from 1"                             },
        {"dp=2x",           "dp is '2x', expected"                                             },
        {"mbs=99999999999", "mbs is '99999999999', expected a number from 1 to 1000000000"     },
        {"pp=2,pp=2",       "pp is given twice"                                                },
        {"schedule=1f",     "schedule is '1f', expected one of gpipe, 1f1b, eager, interleaved"},
        {"recompute=",      "recompute is '', expected one of none, selective, full"           },
        {"zero=9",          "zero is '9', expected a number from 0 to"                         },
    };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        weft_train_constraints x = usual;

        CHECK_FAILS(weft_train_exactly("--exactly", wrong[i].text, &x), wrong[i].part);
    }
}

/* On two servers of two devices and one more, with a chain of five units. */
TEST(what_cannot_be_is_refused_with_a_reason)
{
    static const struct {
        const char *text, *part; /* NULL: it can be */
    } row[] = {
        {"tp=2,pp=2,dp=1,mbs=3",                     NULL                                           },
        {"tp=1,pp=5,dp=1,mbs=1,schedule=1f1b",       NULL                                           },
        {"pp=2,mbs=1,schedule=interleaved,chunks=2", NULL                                           },
        {"tp=3",                                     "one server, of which 'notation' has 2 at most"},
        {"tp=1,pp=3,dp=2",                           "are 6 devices, 'notation' has 5"              },
        {"tp=2,pp=3",                                "are 6 devices"                                },
        {"pp=4,tp=1,dp=2",                           "are 8 devices"                                },
        {"mbs=5",                                    "do not divide the batch of 24"                },
        {"mbs=8,dp=2",                               "microbatches of 16 samples do not divide"     },
        {"chunks=2,schedule=1f1b",                   "chunks=2 needs schedule=interleaved"          },
        {"chunks=1,schedule=interleaved",            "chunks=1 contradicts schedule=interleaved"    },
        {"pp=1,schedule=interleaved",                "pp=1 contradicts schedule=interleaved"        },
        {"pp=5,dp=1,mbs=1,schedule=interleaved",     "24 microbatches (batch 24 / dp=1 / mbs=1)"    },
        {"pp=3,chunks=2",                            "needs 6 units, the network has 5"             },
    };
    weft_arena *a = weft_arena_new();
    weft_platform *p = NULL;
    weft_cluster *cluster;
    weft_blocks u;

    weft_blocks_chain(5, a, &u);
    CHECK_OK(
        weft_platform_notation("5*gpu(flops=4,mem=100); gpu0-gpu1:40,1 gpu2-gpu3:40,1 *:4,1", &p));
    CHECK_OK(weft_cluster_new(p, &cluster));
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        weft_train_constraints x = usual;

        CHECK_OK(weft_train_exactly("--exactly", row[i].text, &x));
        if (row[i].part == NULL)
            CHECK_OK(weft_train_constraints_check(&x, cluster, &u));
        else
            CHECK_FAILS(weft_train_constraints_check(&x, cluster, &u), row[i].part);
    }
    weft_cluster_free(cluster);
    weft_platform_free(p);
    weft_arena_free(a);
}

TEST(limits_and_exact_numbers_agree)
{
    weft_train_constraints x = usual;

    x.tp = weft_counts_of(4);
    x.most_width = 2;
    CHECK_FAILS(weft_train_constraints_check(&x, NULL, NULL),
                "tp=4 is more than the largest tensor");
    x = usual;
    x.dp = weft_counts_of(2);
    x.mbs = weft_counts_of(2);
    x.microbatch = 8;
    CHECK_FAILS(weft_train_constraints_check(&x, NULL, NULL), "contradict mbs=2");
    x.microbatch = 4;
    CHECK_OK(weft_train_constraints_check(&x, NULL, NULL));
}

TEST(counts_are_any_one_or_several)
{
    static const struct {
        const char *text, *part;
    } wrong[] = {
        {"",       "--tp: '', expected auto or numbers from 1"},
        {"2,",     "--tp: '', expected auto or numbers"       },
        {"0",      "--tp: '0', expected auto or numbers"      },
        {"2,x",    "--tp: 'x', expected auto or numbers"      },
        {"2 4",    "--tp: '2 4', expected auto or numbers"    },
        {"4,2,4",  "--tp: 4 is given twice"                   },
        {"-1",     "--tp: '-1', expected auto or numbers"     },
        {"auto,2", "--tp: 'auto', expected auto or numbers"   },
    };
    weft_arena *a = weft_arena_new();
    weft_counts c;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_FAILS(weft_counts_read("--tp", wrong[i].text, &c), wrong[i].part);
    CHECK_FAILS(weft_counts_read("--tp", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", &c),
                "has more than 16 numbers");
    CHECK_OK(weft_counts_read("--tp", "auto", &c));
    CHECK(c.n == 0 && weft_counts_allow(&c, 5) && weft_counts_only(&c) == 0);
    CHECK(strcmp(weft_counts_text(&c, a), "auto") == 0);
    CHECK_OK(weft_counts_read("--tp", "8,1,4", &c));
    CHECK(strcmp(weft_counts_text(&c, a), "1,4,8") == 0);
    CHECK(weft_counts_allow(&c, 4) && !weft_counts_allow(&c, 2) && weft_counts_only(&c) == 0);
    CHECK(weft_counts_least(&c) == 1 && weft_counts_most(&c) == 8);
    weft_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_sets_what_it_names),
        cmocka_unit_test(lines_that_are_wrong_say_where),
        cmocka_unit_test(what_cannot_be_is_refused_with_a_reason),
        cmocka_unit_test(counts_are_any_one_or_several),
        cmocka_unit_test(limits_and_exact_numbers_agree),
    };

    return RUN_TESTS(tests);
}
