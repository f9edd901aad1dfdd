/* SPDX-License-Identifier: MIT */
/* public_platform.c: machines, as weft/platform.h shows them. */
#include "platform.h"
#include "weft/platform.h"

#include <math.h>

weft_status weft_platform_load(const char *source, weft_platform **out)
{
    *out = NULL;
    return weft_platform_open(source, out);
}

void weft_platform_close(weft_platform *p)
{
    if (p != NULL)
        weft_platform_free(p);
}

const char *weft_platform_name(const weft_platform *p)
{
    return p->name;
}

int weft_platform_n_devices(const weft_platform *p)
{
    return p->n_devices;
}

static const weft_device *device_of(const weft_platform *p, int device)
{
    return device >= 0 && device < p->n_devices ? &p->device[device] : NULL;
}

const char *weft_platform_device_name(const weft_platform *p, int device)
{
    const weft_device *d = device_of(p, device);

    return d ? d->name : NULL;
}

const char *weft_platform_device_kind(const weft_platform *p, int device)
{
    const weft_device *d = device_of(p, device);

    return d ? d->kind : NULL;
}

const char *weft_platform_device_model(const weft_platform *p, int device)
{
    const weft_device *d = device_of(p, device);

    return d ? weft_device_model_name(d->design[0].model) : NULL;
}

double weft_platform_device_memory(const weft_platform *p, int device)
{
    const weft_device *d = device_of(p, device);

    return d ? d->memory_bytes : NAN;
}

int weft_platform_host(const weft_platform *p)
{
    return p->host;
}

static const weft_route *route_of(const weft_platform *p, int from, int to)
{
    return device_of(p, from) && device_of(p, to) ? weft_platform_route(p, from, to) : NULL;
}

double weft_platform_latency(const weft_platform *p, int from, int to)
{
    const weft_route *r = route_of(p, from, to);

    return r == NULL ? NAN : r->n_hops < 0 ? INFINITY : r->latency_s;
}

double weft_platform_bandwidth(const weft_platform *p, int from, int to)
{
    const weft_route *r = route_of(p, from, to);

    return r == NULL ? NAN : r->n_hops < 0 ? 0 : r->n_hops == 0 ? INFINITY : r->bytes_per_s;
}
