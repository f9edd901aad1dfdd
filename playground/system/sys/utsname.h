/* SPDX-License-Identifier: MIT */
/* utsname.h: a machine without a name. */
#ifndef WEFT_PLAYGROUND_SYS_UTSNAME_H
#define WEFT_PLAYGROUND_SYS_UTSNAME_H

#include "../absent.h"

struct utsname {
    char sysname[8], machine[8];
};

static inline int uname(struct utsname *name)
{
    *name = (struct utsname){"", ""};
    return weft_absent();
}

#endif
