/* SPDX-License-Identifier: MIT */
/* Errors and the version.
 *
 * Functions that can fail return a weft_status; what they make goes to a place that the caller
 * gives, and is NULL or unchanged after an error. Nothing exits, prints, or leaves by longjmp. */
#ifndef WEFT_STATUS_H
#define WEFT_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define WEFT_CHECKED __attribute__((warn_unused_result))
#else
#define WEFT_CHECKED
#endif

/* The answer to wrong input; its message is one line, for the user. */
typedef enum weft_status {
    WEFT_OK,
    WEFT_E_INPUT,    /* the input is wrong: the message names file, element, value, expectation */
    WEFT_E_SYSTEM,   /* the system refused: a file that cannot be written, for example */
    WEFT_E_INTERNAL, /* weft itself, or a registered solver, is wrong: a plan that breaks a rule */
} weft_status;

/* The message of the last call of this thread that failed: one line without control characters,
 * never NULL. It belongs to the library and is valid until the next call that fails. */
const char *weft_message(void);

/* The version of the library, "0.2.0". */
const char *weft_version(void);

#ifdef __cplusplus
}
#endif
#endif
