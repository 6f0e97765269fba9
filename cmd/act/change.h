/*
 * change.h - the rules of the commands that change something in the cluster.
 *
 *   --dry-run=client   says what would be written, and asks nobody
 *   --dry-run=server   sends it as a dry run: the server checks it, admission and permission too
 *   --yes              does not ask
 * Without them a person at a terminal is asked; where there is none, nothing is done (exit code 3).
 * What was done stands on stdout in kubectl's words ("node/a cordoned (dry run)"), questions and
 * refusals on stderr.
 */
#ifndef KARP_CMD_CHANGE_H
#define KARP_CMD_CHANGE_H

#include "cmd/read/connect.h"

enum change_mode { CHANGE_REAL, CHANGE_CLIENT, CHANGE_SERVER };

enum change_mode change_mode(const struct cmd *c);
/* "", " (dry run)", " (server dry run)" */
const char *change_suffix(const struct cmd *c);

/* True: go on. Else the reason has been said and the exit code is CMD_REFUSED. */
bool change_agreed(struct cmd *c, const char *question);
/* "refused: …", and the exit code. */
void change_refuse(struct cmd *c, const char *fmt, ...) PRINTF(2, 3);

/* Opens the connection so that its writes are of that mode. */
int change_open(struct cmd *c, struct connection *ret, struct err *reterr);
/* Sends nothing with --dry-run=client. */
int change_patch(const struct cmd *c, struct connection *n, enum kube_kind kind, const char *name,
                 const json_t *patch, struct err *reterr);

int change_create(const struct cmd *c, struct connection *n, enum kube_kind kind,
                  const json_t *object, struct err *reterr);
int change_delete(const struct cmd *c, struct connection *n, enum kube_kind kind, const char *name,
                  const char *uid, struct err *reterr);

#endif
