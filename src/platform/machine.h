/* SPDX-License-Identifier: MIT */
/* A platform under construction: what the reader of files and the one-line notation of tests share. Names
 * are checked as they come; messages have no position, which callers put in front. */
#ifndef WEFT_PLATFORM_MACHINE_H
#define WEFT_PLATFORM_MACHINE_H

#include "params.h"

enum {
    WEFT_MOST_DEVICES = 4096,
    WEFT_MOST_SWITCHES = 4096,
    WEFT_MOST_LINKS = 1 << 18,
    WEFT_LONGEST_NAME = 100,
};

/* Places of devices and switches before the number of devices is known: 2 i for device i,
 * 2 i + 1 for switch i. */
typedef WEFT_VEC(int) weft_places;

/* A direction of a link, 2 * link + (1 if from its second end), uses a resource. */
typedef struct weft_use {
    int hop, resource;
} weft_use;

typedef struct weft_machine {
    weft_arena *arena;   /* becomes the platform's */
    weft_arena *scratch; /* the growing arrays and maps */
    weft_map *names;     /* of devices and switches -> place */
    weft_map *lists;     /* names that stand for several -> list */
    weft_map *pairs;     /* linked pairs */
    WEFT_VEC(weft_places) list;
    WEFT_VEC(const char *) word; /* every name, for suggestions */
    WEFT_VEC(weft_device) device;
    WEFT_VEC(const char *) switch_name;
    WEFT_VEC(const char *) switch_old_name; /* as old_name of devices */
    WEFT_VEC(int) switch_group;
    WEFT_VEC(weft_link) link; /* ends are places as above */
    WEFT_VEC(weft_link_curve) curve;
    WEFT_VEC(weft_resource) resource;
    WEFT_VEC(const char *) shared_name; /* of resources and memories, each once */
    WEFT_VEC(weft_use) use;
    const char *name, *source;
    int n_groups; /* copies of groups */
    int host;     /* device, or -1 */
    weft_transfer transfer;
    weft_software software;
    bool hides, has_trees;
    weft_calibrated calibrated;
} weft_machine;

void weft_machine_init(weft_machine *m);
void weft_machine_free(weft_machine *m); /* also after weft_machine_finish */

/* Adds a device and, if its kind is not its name, itself to the list of that name. Name, kind and
 * designs must live in the machine's arena. */
WEFT_CHECKED weft_status weft_machine_device(weft_machine *m, const weft_device *d);
typedef struct weft_switch_names {
    const char *name, *old_name, *kind;
} weft_switch_names;

WEFT_CHECKED weft_status weft_machine_switch(weft_machine *m, const weft_switch_names *s,
                                             int group);
/* Adds the newest device to a list, for a further name it goes by. */
WEFT_CHECKED weft_status weft_machine_alias(weft_machine *m, const char *list);

/* The place of one device or switch; a message suggests the nearest name. */
WEFT_CHECKED weft_status weft_machine_find(weft_machine *m, const char *name, int *place);
/* Appends the places that a name stands for. */
WEFT_CHECKED weft_status weft_machine_find_all(weft_machine *m, const char *name, weft_places *out);
bool weft_machine_has_name(const weft_machine *m, const char *name);
const char *weft_machine_name(const weft_machine *m, int place);
bool weft_machine_has_link(const weft_machine *m, int a, int b);
WEFT_CHECKED weft_status weft_machine_link(weft_machine *m, const weft_link *l);

/* The number of a curve, from 1: equal ones have the same. Points in the machine's arena. */
WEFT_CHECKED weft_status weft_machine_curve(weft_machine *m, const weft_link_curve *c, int *number);
/* The link of two places that are joined, -1: none; it is 2 * link + (1 if its first end is b). */
int weft_machine_hop(const weft_machine *m, int a, int b);
/* A resource of the given name; hops are added with weft_machine_use, each once. */
int weft_machine_resource(weft_machine *m, const char *name, double bytes_per_s);
void weft_machine_use(weft_machine *m, int hop, int resource);

/* Freezes the machine, finds the routes. The caller owns *out. */
WEFT_CHECKED weft_status weft_machine_finish(weft_machine *m, weft_platform **out);

/* Fills the routes from devices, switches, links and host. */
void weft_platform_find_routes(weft_platform *p);

/* The name ends as that of a file. */
bool weft_preset_has_ending(const char *source);
/* Puts the counts of "NAME:key=value,.." into the document of NAME. */
WEFT_CHECKED weft_status weft_platform_set_counts(const weft_doc *root, const char *source,
                                                  weft_arena *a);

/* A design with the defaults of its model. */
weft_design weft_design_default(weft_device_model model);
/* True if the parameter counts something: it must be a whole number. */
bool weft_param_is_whole(const weft_param *p);
/* Refuses a value outside the range of its parameter. */
WEFT_CHECKED weft_status weft_param_check(const weft_param *p, double value);

#endif
