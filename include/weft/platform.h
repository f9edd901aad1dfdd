/* SPDX-License-Identifier: MIT */
/* Machines: devices and the links between them. */
#ifndef WEFT_PUBLIC_PLATFORM_H
#define WEFT_PUBLIC_PLATFORM_H

#include "weft/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_platform weft_platform;

/* Opens a preset by name (weft_names_open("platforms")) or a file: a '/' or an ending .yaml, .yml or
 * .json. The caller frees *out with weft_platform_close. */
WEFT_CHECKED weft_status weft_platform_load(const char *source, weft_platform **out);
void weft_platform_close(weft_platform *p); /* NULL is allowed */

const char *weft_platform_name(const weft_platform *p);
int weft_platform_n_devices(const weft_platform *p);
const char *weft_platform_device_name(const weft_platform *p, int device); /* "gpu[0]" */
/* Devices of one kind are equal: "gpu" of gpu[0..7]; else the name. */
const char *weft_platform_device_kind(const weft_platform *p, int device);
/* The cost model of what it is configured as: "roofline", "systolic", ... */
const char *weft_platform_device_model(const weft_platform *p, int device);
double weft_platform_device_memory(const weft_platform *p, int device); /* bytes; INFINITY: no
                                                                            limit */
int weft_platform_host(const weft_platform *p);                         /* device; -1: none */
/* A byte's way from one device to another takes latency + 1 / bandwidth; INFINITY and 0 where they
 * are not connected, 0 and INFINITY from a device to itself. */
double weft_platform_latency(const weft_platform *p, int from, int to);   /* seconds */
double weft_platform_bandwidth(const weft_platform *p, int from, int to); /* bytes per second */

#ifdef __cplusplus
}
#endif
#endif
