/*
 * follow.h - `-w`: a command again and again, shown when what it says has changed.
 *
 * On a terminal each round redraws the alternate screen, which is left again at the end; q and
 * Ctrl-C end it. Elsewhere a round that says something new is appended as a block behind an empty
 * line; ages alone ("3d4h", "12s ago") are nothing new. A round that fails is told on err and tried
 * again, but for the first one, whose failure is the command's. A reader that goes away ends it.
 * Ctrl-C exits the process with 130 at once.
 */
#ifndef KARP_CMD_FOLLOW_H
#define KARP_CMD_FOLLOW_H

#include "cmd/cmd.h"

#define FOLLOW_INTERVAL_MS 5000

/* once writes to c->out. rounds: 0 = until somebody ends it. */
int follow_run(struct cmd *c, int (*once)(struct cmd *c, struct err *reterr), unsigned rounds,
               int interval_ms, struct err *reterr);

/* Whether two answers differ in more than ages. */
bool follow_differs(const char *a, const char *b);

#endif
