/* change.c - see change.h. */
#include "change.h"

#include "common/base/str.h"

#include <ctype.h>
#include <stdarg.h>

#define ANSWER_MAX 64

enum change_mode change_mode(const struct cmd *c)
{
    const char *said = c->o->dry_run;
    return str_eq(said, "client")   ? CHANGE_CLIENT
           : str_eq(said, "server") ? CHANGE_SERVER
                                    : CHANGE_REAL;
}

const char *change_suffix(const struct cmd *c)
{
    static const char *const suffix[] = {"", " (dry run)", " (server dry run)"};
    return suffix[change_mode(c)];
}

void change_refuse(struct cmd *c, const char *fmt, ...)
{
    va_list ap;
    (void)fputs("refused: ", c->err);
    va_start(ap, fmt);
    (void)vfprintf(c->err, fmt, ap);
    va_end(ap);
    (void)fputc('\n', c->err);
    c->code = CMD_REFUSED;
}

static bool says_yes(char *answer)
{
    answer[strcspn(answer, "\r\n")] = '\0';
    for (char *p = answer; *p; p++) {
        *p = (char)tolower((unsigned char)*p);
    }
    return str_eq(answer, "y") || str_eq(answer, "yes");
}

bool change_agreed(struct cmd *c, const char *question)
{
    char answer[ANSWER_MAX];
    if (c->o->yes || change_mode(c) != CHANGE_REAL) {
        return true;
    }
    if (!c->in) {
        change_refuse(c, "there is no terminal to ask at; add --yes");
        return false;
    }
    (void)fprintf(c->err, "%s [y/N] ", question);
    (void)fflush(c->err);
    if (fgets(answer, sizeof(answer), c->in) && says_yes(answer)) {
        return true;
    }
    change_refuse(c, "nothing was changed");
    return false;
}

int change_open(struct cmd *c, struct connection *ret, struct err *reterr)
{
    if (connect_open(c, ret, reterr) != 0) {
        return -1;
    }
    ret->client.dry_run = change_mode(c) == CHANGE_SERVER;
    return 0;
}

int change_patch(const struct cmd *c, struct connection *n, enum kube_kind kind, const char *name,
                 const json_t *patch, struct err *reterr)
{
    return change_mode(c) == CHANGE_CLIENT ? 0 : connect_patch(n, kind, name, patch, reterr);
}

int change_create(const struct cmd *c, struct connection *n, enum kube_kind kind,
                  const json_t *object, struct err *reterr)
{
    return change_mode(c) == CHANGE_CLIENT ? 0 : connect_create(n, kind, object, reterr);
}

int change_delete(const struct cmd *c, struct connection *n, enum kube_kind kind, const char *name,
                  const char *uid, struct err *reterr)
{
    return change_mode(c) == CHANGE_CLIENT ? 0 : connect_delete(n, kind, name, uid, reterr);
}
