/* SPDX-License-Identifier: MIT */
/* Machines: devices, the designs they may be configured with, links, switches and routes. Nothing
 * here knows how long an operator takes: cost models read the parameters. */
#ifndef WEFT_PLATFORM_H
#define WEFT_PLATFORM_H

#include <math.h>

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The device models, a row each: its file in src/cost defines weft_device_NAME. */
#define WEFT_DEVICE_MODELS(X)                                                                      \
    X(ROOFLINE, roofline)                                                                          \
    X(GPU, gpu)                                                                                    \
    X(SYSTOLIC, systolic)                                                                          \
    X(TILED, tiled)                                                                                \
    X(WINOGRAD, winograd)                                                                          \
    X(VECTOR, vector)                                                                              \
    X(TEMPLATE, template)                                                                          \
    X(PROFILE, profile)

#define WEFT_ENUMERATOR(NAME, name) WEFT_##NAME,
typedef enum weft_device_model {
    WEFT_DEVICE_MODELS(WEFT_ENUMERATOR) WEFT_N_DEVICE_MODELS
} weft_device_model;

/* Parameters of each model: places in weft_design.value. Which a model has, their units, ranges and
 * defaults stand in its row. Those from WEFT_P_OWN on mean what the model says. */
enum {                   /* several models */
       WEFT_P_BANDWIDTH, /* memory_bandwidth, bytes/s */
       WEFT_P_OVERHEAD,  /* overhead: seconds before each operator that does work */
       WEFT_P_CLOCK,     /* clock, Hz */
       WEFT_P_ETA,       /* memory_efficiency: usable part of the memory bandwidth */
       WEFT_P_SRAM,      /* sram: bytes on chip */
       WEFT_P_FLOPS,     /* peak_flops, 1/s: roofline; tiled: arithmetic that is not overlapped */
       WEFT_P_ROWS,
       WEFT_P_COLS,
       WEFT_P_VEC,      /* systolic: SIMD width over input channels; 1 for GEMM arrays */
       WEFT_P_CORES,    /* systolic, vector: number of cores; template: tensor cores */
       WEFT_P_DATAFLOW, /* weft_dataflow */
       WEFT_P_TM,
       WEFT_P_TN,
       WEFT_P_TR,
       WEFT_P_TC,
       WEFT_P_PORT_IN, /* elements a cycle */
       WEFT_P_PORT_WEIGHT,
       WEFT_P_PORT_OUT,
       WEFT_P_SERIAL, /* tiled: 1 if loads and arithmetic do not overlap (H2H's devices) */
       WEFT_P_TILE,   /* winograd: n, side of the transformed tile */
       WEFT_P_PM,
       WEFT_P_PN,
       WEFT_P_DEPTH, /* winograd: pipeline depth, cycles */
       WEFT_P_LANES, /* vector, template: lanes a vector core */
       WEFT_P_VECTOR_CORES,
       WEFT_P_PORT,     /* template: bytes a cycle between buffer and all cores; 0: no limit */
       WEFT_P_SMS,      /* gpu: multiprocessors */
       WEFT_P_PEAK_F64, /* gpu, roofline: operations a second of products, by type; 0: none */
       WEFT_P_PEAK_F32,
       WEFT_P_PEAK_TF32,
       WEFT_P_PEAK_F16,
       WEFT_P_PEAK_BF16,
       WEFT_P_PEAK_FP8,
       WEFT_P_PEAK_INT8,
       WEFT_P_PEAK_VECTOR,     /* gpu: of all other arithmetic; 0: no limit */
       WEFT_P_TILE_COST,       /* gpu: loading of a tile, in units of its rows and columns */
       WEFT_P_FILL,            /* gpu: seconds before each wave of tiles */
       WEFT_P_CONV_EFFICIENCY, /* gpu: of convolutions, beside that of products */
       WEFT_P_ATTENTION, /* gpu: speed of the products of attention kernels, beside that of products */
       WEFT_P_STEP,      /* gpu: seconds of each step of a recurrent layer */
       WEFT_P_ALIGN,     /* gpu: sizes of 16-bit products that run at their peak */
       WEFT_P_USE_TF32,     /* gpu, roofline: 1 if products of f32 run as tf32 */
       WEFT_P_USE_WINOGRAD, /* gpu: 1 if convolutions of f32 may be transformed */
       WEFT_P_MEMORY_HALF,  /* gpu: bytes at which memory reaches half of its efficiency */
       WEFT_P_PJ_FLOP,      /* energy_per_flop, joules (written pJ) */
       WEFT_P_PJ_BYTE,      /* energy_per_byte of memory traffic, joules */
       WEFT_P_AREA,         /* area, mm2; 0: computed where the model has one */
       WEFT_P_HOST_TIME,    /* host_time: seconds of the host for each operator (eager) */
       WEFT_P_BLOCKING,     /* blocking: 1 if the host waits for each operator */
       WEFT_P_OWN,          /* parameters of a single model; its file names them */
       WEFT_N_PARAMS = WEFT_P_OWN + 8
};

typedef enum weft_dataflow {
    WEFT_DATAFLOW_BEST, /* the best of the three for each operator */
    WEFT_DATAFLOW_WS,
    WEFT_DATAFLOW_OS,
    WEFT_DATAFLOW_IS,
    WEFT_DATAFLOW_SIMD, /* rows over output channels, columns over a spatial axis, vec over input
                           channels */
} weft_dataflow;

enum { WEFT_N_FAMILIES = 7 }; /* as weft_fusion: tensor element reduce norm view move none */

/* One way to configure a device. */
typedef struct weft_design {
    const char *name;
    weft_device_model model;
    double value[WEFT_N_PARAMS];
    double efficiency[WEFT_N_FAMILIES]; /* of the peak, by operator family; default 1 */
    int n_only;                         /* operators it supports; 0: all */
    const char *const *only;
    const char *const *only_at; /* where the file names each: "server.yaml:12" */
    const char *profile;        /* path of a weft.profile/1 file with measured times, or NULL */
} weft_design;

typedef struct weft_device {
    const char *name;
    const char *old_name; /* "gpu0" of the copy "gpu-0", which hashes cover; NULL: the name */
    const char *kind;     /* devices of one kind are equal: "gpu" of gpu[0..7]; else the name */
    int group;            /* copy of a group of the file that it belongs to, from 1; 0: of none */
    int n_designs; /* more than 1: adaptive; the first is what it is configured as by default */
    const weft_design *design;
    double memory_bytes; /* INFINITY: not limited */
    int pool;            /* shared memory that its memory_bandwidth is a part of, from 1; 0: none */
    double pool_bytes_per_s,
        alone_bytes_per_s;  /* of the pool; of the device with nobody beside it */
    double power_w, idle_w; /* 0: not given */
    double switch_s;        /* to go on with what another device made (problem/switch.c) */
    const char *engine;     /* that runs networks on it (deploy/engine.h); NULL: not given */
    int n_cores;
    const int *cores; /* of this machine, that the engine may use */
} weft_device;

/* Seconds of a message by its size, latency not included: link_curve.c. */
typedef struct weft_link_curve {
    int n;                 /* points, at least 1 */
    const double *bytes;   /* ascending, positive */
    const double *seconds; /* ascending, or equal */
} weft_link_curve;

enum { WEFT_MOST_CURVES = 64 }; /* different ones of a platform: sets of them are bits */

double weft_link_curve_s(const weft_link_curve *c, double bytes);
/* The slowest of some: bits into the list. 0 for none. */
double weft_link_curves_s(const weft_link_curve *list, uint64_t curves, double bytes);

typedef struct weft_link {
    int a, b;                      /* places: devices 0 .. n_devices - 1, then switches */
    double bytes_per_s, latency_s; /* no curve is ever faster than bytes_per_s */
    int curve;                     /* number in weft_platform.curve, from 1; 0: none */
    bool is_half_duplex;           /* both directions share it; else each direction has its own */
} weft_link;

typedef enum weft_transfer {
    WEFT_OVERLAP, /* beside computation, without contention */
    WEFT_CONTEND, /* a link (direction) carries one transfer at a time, first come first served */
    WEFT_BLOCK,   /* a transfer occupies sender and receiver */
    WEFT_CALLS,   /* accelerators are called once an item by the host, with their transfers */
} weft_transfer;

const char *weft_transfer_name(weft_transfer t);

/* What runs the network: which operators become one kernel, and what launching them takes. The
 * words of `software:` in platform files and of --software. */
typedef enum weft_software {
    WEFT_SOFTWARE_GRAPH, /* a launch for each operator, recorded beforehand: no host time */
    WEFT_SOFTWARE_EAGER, /* a launch for each operator, by the host as it comes to it */
    WEFT_SOFTWARE_FUSED, /* kernels of several operators (ops/fusion.c) */
    WEFT_SOFTWARE_FLASH, /* and attention as one kernel */
    WEFT_N_SOFTWARES,
} weft_software;

#define WEFT_SOFTWARE_WORDS "graph|eager|fused|flash"
const char *weft_software_name(weft_software s);
weft_software weft_software_find(const char *name); /* WEFT_N_SOFTWARES: no such word */

/* Path between two devices: fewest links, then inside of the group of both, then largest bottleneck
 * bandwidth, then lowest numbers.
 * Time of b bytes: weft_route_s. */
typedef struct weft_route {
    int n_hops;                    /* links; 0: the same device; -1: not connected */
    double latency_s, bytes_per_s; /* sum; smallest, of shared resources too */
    uint64_t curves;               /* of its links: bits into weft_platform.curve */
} weft_route;

/* What constants were fitted to (`calibrated:`, written by weft calibrate). It changes no cost. */
typedef struct weft_calibrated {
    int64_t rows;                              /* measurements; 0: the platform says nothing */
    const char *device, *what;                 /* kind of device; "products", ... */
    double held_out_median, held_out_p90, rho; /* errors of rows that the fit had not seen */
} weft_calibrated;

/* What several links share: their data together, in one direction or (half duplex) in both. */
typedef struct weft_resource {
    const char *name; /* "card", "card back" */
    double bytes_per_s;
} weft_resource;

typedef struct weft_platform {
    const char *name, *source; /* source: preset name or file as the user gave it */
    int n_devices, n_switches, n_links;
    const weft_device *device;
    const char *const *switch_name;
    const int *switch_group; /* as weft_device.group; NULL: all 0 */
    const weft_link *link;
    int n_curves;
    const weft_link_curve *curve;
    int n_resources;
    const weft_resource *resource;
    const int *use_at, *use;  /* CSR: 2 * link + direction -> resources; NULL: there are none */
    const weft_route *routes; /* the different ones */
    const int *route_of;      /* [n_devices * n_devices] into routes; see weft_platform_route */
    const int *reached_by;    /* [n_devices * places] from device to place: the last directed link;
                                 -1: none; see weft_platform_hops */
    int host;                 /* device, or -1 */
    weft_transfer transfer;
    weft_software software; /* unless a flag says otherwise */
    bool hides;     /* `overlap: true`: sharding may hide communication behind computation */
    bool has_trees; /* `collectives: best`: an all-reduce is a ring or a tree, as is faster */
    weft_calibrated calibrated;
    uint64_t hash; /* of the content, not of the spelling */
    weft_arena *arena;
} weft_platform;

/* Refuses devices with measured times (`profile`), which say nothing about `what`. */
WEFT_CHECKED weft_status weft_platform_unmeasured(const weft_platform *p, const char *what);

/* The name of an end of a link: devices come first, then switches. */
static inline const char *weft_place_name(const weft_platform *p, int place)
{
    return place < p->n_devices ? p->device[place].name : p->switch_name[place - p->n_devices];
}

/* A preset by name, or a file (a '/' or an ending .yaml, .yml, .json), with other counts where they
 * are given: "cluster-a100:server=48,server.gpu=4" (counts.c). The caller owns *out. */
WEFT_CHECKED weft_status weft_platform_open(const char *source, weft_platform **out);
WEFT_CHECKED weft_status weft_platform_parse(const char *text, size_t n, const char *file,
                                             weft_platform **out);
/* The document of a platform, with its counts. In `a`. */
WEFT_CHECKED weft_status weft_platform_read(const char *source, weft_arena *a,
                                            const weft_doc **out);
/* The preset or file that a source names, without counts. */
const char *weft_platform_bare(const char *source, weft_arena *a);
/* The name of copy i of a device or group that has a `count`: "gpu-0". In `a`. */
const char *weft_copy_name(weft_arena *a, const char *name, int i);
/* Is it the name, or what the copy was called before: "gpu0" for "gpu-0"? */
bool weft_is_copy_name(const char *name, const char *asked);
/* The device of that name, as above; -1: none. */
int weft_platform_find_device(const weft_platform *p, const char *name);
void weft_platform_free(weft_platform *p);

static inline const weft_route *weft_platform_route(const weft_platform *p, int from, int to)
{
    return &p->routes[p->route_of[(size_t)from * (size_t)p->n_devices + (size_t)to]];
}
/* Seconds of b > 0 bytes, latency not included. */
static inline double weft_route_s(const weft_platform *p, const weft_route *r, double bytes)
{
    double seconds = bytes / r->bytes_per_s;

    return r->curves == 0 ? seconds : fmax(seconds, weft_link_curves_s(p->curve, r->curves, bytes));
}
/* The links of a route in the order of travel, n_hops of them: 2 * link + (1 if from b to a). */
void weft_platform_hops(const weft_platform *p, int from, int to, int *hop);

/* Presets, as texts that are part of the library. */
typedef struct weft_preset {
    const char *name, *summary;
    const char *text;
    size_t size;
} weft_preset;

/* Platforms; templates of accelerators; scripts of networks (model/script.h). Sorted by name. */
int weft_preset_count(void);
const weft_preset *weft_preset_at(int i);
int weft_template_preset_count(void);
const weft_preset *weft_template_preset_at(int i);
int weft_network_preset_count(void);
const weft_preset *weft_network_preset_at(int i);
int weft_set_preset_count(void); /* published measurements (validate/measured.h) */
const weft_preset *weft_set_preset_at(int i);
/* A built-in platform or template, or NULL; and the message about such a name. */
const weft_preset *weft_preset_find(const char *name, bool is_template);
weft_status weft_preset_unknown(const char *source, bool is_template);
/* The text of a preset or of a file, as the user names it; *file must be closed after use. */
WEFT_CHECKED weft_status weft_preset_open(const char *source, bool is_template, weft_file *file,
                                          weft_preset *out);

/* The table of parameters. */
typedef enum weft_unit {
    WEFT_UNIT_NONE, /* a plain number */
    WEFT_UNIT_BYTES,
    WEFT_UNIT_BYTES_PER_S,
    WEFT_UNIT_SECONDS,
    WEFT_UNIT_HERTZ,
    WEFT_UNIT_FLOPS, /* operations a second */
    WEFT_UNIT_WATTS,
    WEFT_UNIT_JOULES,
    WEFT_UNIT_MM2,
} weft_unit;

/* "12GB/s" -> 1.2e10. Text without a unit is refused unless is_plain_allowed. Messages name the
 * text and an example. */
WEFT_CHECKED weft_status weft_unit_parse(const char *text, weft_unit unit, bool is_plain_allowed,
                                         double *out);
/* 1.2e10 -> "12 GB/s". Returns `to`. */
const char *weft_unit_print(double value, weft_unit unit, char to[48]);

typedef struct weft_param {
    const char *key; /* as in platform files */
    int place;       /* WEFT_P_... */
    weft_unit unit;
    bool is_plain; /* may stand without unit */
    bool is_required;
    double fallback, lowest, highest;
    const char *help;
} weft_param;

struct weft_work_key;
struct weft_layer;

/* What a model says of one operator; cost.c adds overhead, bandwidth and energy. */
typedef struct weft_core_cost {
    double core_s;       /* seconds of the cores; INFINITY: cannot do it */
    double memory_bytes; /* traffic between memory and chip */
} weft_core_cost;

/* A device model. Members may be NULL: a profile costs nothing by itself, cycles and area are not known,
 * nothing is missing. */
typedef struct weft_device_row {
    const char *name; /* in platform files */
    const weft_param *param;
    int n_params;
    weft_core_cost (*core_cost)(const weft_design *d, const struct weft_work_key *k);
    double (*peak_flops)(const weft_design *d);                         /* at best */
    double (*cycles)(const weft_design *d, const struct weft_layer *l); /* of products */
    double (*area_mm2)(const weft_design *d);
    /* The parameter that this work needs and the device does not have, or -1. */
    int (*missing)(const weft_design *d, const struct weft_work_key *k);
    /* The parameter that a file must give beside those it has, or -1. */
    int (*needed)(const weft_design *d);
} weft_device_row;

#define WEFT_DECLARATION(NAME, name) extern const weft_device_row weft_device_##name;
WEFT_DEVICE_MODELS(WEFT_DECLARATION)

const weft_device_row *weft_device_row_of(weft_device_model m);
const char *weft_device_model_name(weft_device_model m);
const weft_param *weft_device_params(weft_device_model m, int *n);
/* The key of a parameter (WEFT_P_...) of a model; NULL: it has none such. */
const char *weft_param_key(weft_device_model m, int place);

#ifdef __cplusplus
}
#endif
#endif
