/*
 * whatif.h - changes to kept objects before a decision: -f, --set, --scale.
 *
 * Order: objects of the files (one of the same name is replaced; no namespace means that of -n or
 * the connection, else "default"), then --set, then the number of pods: workloads that a file or a
 * --set has touched get what they ask for, those of --scale what that says. A --set about an object
 * that is only made by scaling comes last. Whatever names nothing is an error.
 */
#ifndef KARP_CMD_WHATIF_H
#define KARP_CMD_WHATIF_H

#include "session.h"

bool whatif_any(const struct cmd_opts *o);
bool whatif_reads_stdin(const struct cmd_opts *o);
/* Kinds to gather beside session_kinds. */
uint64_t whatif_kinds(const struct cmd_opts *o);
/* Changes s->keep and has the world made anew. */
int whatif_apply(struct session *s, bool with_sets, struct err *reterr);

#endif
