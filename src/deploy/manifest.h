/* SPDX-License-Identifier: MIT */
/* The manifest of a split network: weft.split/1. */
#ifndef WEFT_DEPLOY_MANIFEST_H
#define WEFT_DEPLOY_MANIFEST_H

#include "deploy.h"

#define WEFT_MANIFEST "manifest.json"

/* files: all that the folder holds beside the manifest. */
weft_doc *weft_manifest_doc(const weft_split_net *s, const char *const *file, int n_files,
                            weft_arena *a);
/* The bytes of a manifest; files are not looked at. */
WEFT_CHECKED weft_status weft_manifest_parse(const char *text, size_t n, const char *folder,
                                             weft_arena *a, weft_split_net *out);
/* The names of those files. */
WEFT_CHECKED weft_status weft_manifest_files(const char *folder, weft_arena *a,
                                             const char *const **file, int *n);

#endif
