/* SPDX-License-Identifier: MIT */
/* The folder of a split network: all of a new one or all of the one before. */
#ifndef WEFT_DEPLOY_SPLIT_FOLDER_H
#define WEFT_DEPLOY_SPLIT_FOLDER_H

#include "deploy.h"

typedef struct weft_split_folder {
    const char *path, *stage; /* stage: inside of it, where files are written */
    int lock;
    bool is_new;
    weft_arena *a;
} weft_split_folder;

/* A new folder, an empty one, or one with a split network and nothing else, which stays until the new
 * one is complete. Ends with one of the next two. */
WEFT_CHECKED weft_status weft_split_folder_begin(const char *path, weft_arena *a,
                                                 weft_split_folder *out);
/* These files and the manifest, all of them in `stage`, take the place of what was there. */
WEFT_CHECKED weft_status weft_split_folder_end(const weft_split_folder *f, const char *const *file,
                                               int n);
void weft_split_folder_abandon(const weft_split_folder *f);

/* Folders on the way from `folder` to a file in it. */
WEFT_CHECKED weft_status weft_make_folders(const char *folder, const char *file, weft_arena *a);
/* Leads out of no folder: relative, and no part of it is "..". */
bool weft_is_below(const char *path);

#endif
