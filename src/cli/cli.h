/* SPDX-License-Identifier: MIT */
/* The program around the commands: its terminal, and signals. */
#ifndef WEFT_CLI_H
#define WEFT_CLI_H

#include "command.h"

/* --- terminals (terminal.c) ------------------------------------------------------------------ */

/* Columns of the terminal that standard output is, 60 to 120, 80 where they are not known; 0: it
 * is none. */
int weft_terminal_width(void);
/* Writes to standard output, on a terminal with colours for what is proved, open or wrong. The text
 * ends with a NUL behind its n bytes, or it is written as it is. False: it could not be written. */
bool weft_terminal_print(const char *text, size_t n);
/* A line on standard error; "weft:" at its begin gets a colour on a terminal. */
void weft_terminal_complain(const char *line);
/* One line of progress on standard error, which replaces the one before; NULL wipes it. Only if it
 * is shown. The text is ASCII. */
bool weft_terminal_shows_progress(void);
void weft_terminal_show(const char *line);

/* --- ends that nobody planned (signals.c) ---------------------------------------------------- */

/* A signal that asks the program to end leaves no temporary files; a file that shrinks and a lack
 * of memory are one line and an exit code. Called once, at first. */
void weft_signals_handle(void);
/* The first Ctrl-C asks for what there is, a second one ends the program at once. False: as at
 * first, it ends the program. */
void weft_interrupt_stops(bool stops);
extern volatile sig_atomic_t weft_is_interrupted;

#endif
