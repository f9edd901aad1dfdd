/* SPDX-License-Identifier: MIT */
/* Pricing: the cheapest mapping when every second of a resource has a price. */
#ifndef WEFT_PRICE_H
#define WEFT_PRICE_H

#include "mapping.h"

/* Prices >= 0 of all resources of the mapping (only its lists are used). True: *value is the least
 * priced load of any mapping of the domain, memory aside, and `device` [n_tasks] has it. False: too
 * many states; nothing is written. */
bool weft_priced_mapping_exact(const weft_mapping *map, const double *price, weft_arena *scratch,
                               int *device, double *value);

#endif
