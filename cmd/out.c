/* out.c - see out.h. */
#include "out.h"

#include "common/base/jsonpath.h"
#include "common/base/str.h"
#include "common/base/yamlx.h"

#include <errno.h>

#define JSON_FLAGS (JSON_INDENT(4) | JSON_ENCODE_ANY)

static const struct {
    const char *name;
    enum out_format format;
} formats[] = {
    {"json", OUT_JSON}, {"jsonpath", OUT_JSONPATH}, {"name", OUT_NAME},
    {"wide", OUT_WIDE}, {"yaml", OUT_YAML},
};

static int refuse(const char *text, unsigned allowed, struct err *reterr)
{
    char list[96] = "";
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
        if (allowed & formats[i].format) {
            n +=
                (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", n ? "," : "", formats[i].name);
        }
    }
    return err_set(reterr, ERR_INVALID,
                   "unable to match a printer suitable for the output format \"%s\", "
                   "allowed formats are: %s",
                   text, list);
}

int out_parse(const char *text, unsigned allowed, struct out_spec *ret, struct err *reterr)
{
    *ret = (struct out_spec){OUT_TABLE, NULL};
    if (!text || !*text) {
        return 0;
    }
    const char *equals = strchr(text, '=');
    size_t n = equals ? (size_t)(equals - text) : strlen(text);
    for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
        bool path = formats[i].format == OUT_JSONPATH;
        if (strlen(formats[i].name) != n || memcmp(formats[i].name, text, n) != 0 ||
            !(allowed & formats[i].format) || (equals && !path)) {
            continue;
        }
        if (path && (!equals || !equals[1])) {
            return err_set(reterr, ERR_INVALID,
                           "template format specified but no template given: say "
                           "-o jsonpath='{.kind}'");
        }
        ret->format = formats[i].format;
        ret->template = path ? equals + 1 : NULL;
        return 0;
    }
    return refuse(text, allowed, reterr);
}

static int put_json(const json_t *report, struct buf *out)
{
    char *text = json_dumps(report, JSON_FLAGS);
    if (!text) {
        BUG("a report that cannot be printed");
    }
    (void)buf_puts(out, text);
    (void)buf_putc(out, '\n');
    free(text);
    return 0;
}

int out_report(const struct out_spec *spec, const json_t *report, struct buf *out,
               struct err *reterr)
{
    int rc = 0;
    if (spec->format == OUT_YAML) {
        rc = yamlx_emit(report, out, reterr);
    } else if (spec->format == OUT_JSONPATH) {
        rc = jsonpath_render(report, spec->template, out, reterr);
        rc = rc ? err_wrap(reterr, "-o jsonpath") : 0;
    } else {
        rc = put_json(report, out);
    }
    if (rc == 0 && out->over) {
        return err_set(reterr, ERR_LIMIT, "the output is larger than %u MiB", OUT_MAX >> 20);
    }
    return rc;
}

int out_flush(FILE *f, const struct buf *b, struct err *reterr)
{
    errno = 0;
    if (fwrite(b->p, 1, b->n, f) == b->n && fflush(f) == 0) {
        return 0;
    }
    int os = errno;
    if (os == EPIPE) {
        return 0;
    }
    (void)err_set(reterr, ERR_UNAVAILABLE, "cannot write the output: %s", strerror(os));
    if (reterr) {
        reterr->os = os;
    }
    return -1;
}
