/* cmd.c - see cmd.h. */
#include "cmd.h"

#include <stdarg.h>

void cmd_warn(const struct cmd *c, const char *fmt, ...)
{
    va_list ap;
    (void)fputs("warning: ", c->err);
    va_start(ap, fmt);
    (void)vfprintf(c->err, fmt, ap);
    va_end(ap);
    (void)fputc('\n', c->err);
}
