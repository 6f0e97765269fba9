/*
 * console.c - the last words of an instance on its serial console.
 *
 * For people, in conditions: the last lines that say something, without escape sequences and
 * control characters, joined by " | " and cut at CLOUD_CONSOLE_MAX. Whoever may not ask (the
 * permission is optional) has no answer.
 */
#include "cloud_int.h"
#include "common/base/str.h"

#define LINES 3
#define ESC '\033'

struct console {
    struct job j;
    const char *tag;
    cloud_console_fn done;
    void *arg;
};

/* A line without "\033[0;32m" and the like and what is no printable ASCII; NULL if nothing is left.
 */
static const char *clean(struct arena *a, const char *line, size_t n)
{
    char *out = arena_strndup(a, line, n);
    size_t k = 0;
    bool blank = true;
    for (size_t i = 0; i < n && line[i]; i++) {
        if (line[i] == ESC && i + 1 < n && line[i + 1] == '[') {
            i += 2;
            while (i < n && !(line[i] >= '@' && line[i] <= '~')) {
                i++;
            }
        } else if (line[i] >= ' ' && line[i] <= '~' && !(blank && line[i] == ' ')) {
            out[k++] = line[i];
            blank = line[i] == ' ';
        }
    }
    out[k - (k > 0 && out[k - 1] == ' ')] = '\0';
    return k > 0 ? out : NULL;
}

const char *cloud_console_tail(struct arena *a, const char *text)
{
    const char *lines[LINES] = {NULL};
    size_t n = 0;
    for (const char *p = text; *p; p += *p != '\0') {
        size_t len = strcspn(p, "\r\n");
        const char *line = clean(a, p, len);
        if (line) {
            lines[n++ % LINES] = line;
        }
        p += len;
    }
    const char *ret = "";
    for (size_t i = n > LINES ? n - LINES : 0; i < n; i++) {
        ret = arena_printf(a, "%s%s%.*s", ret, *ret ? " | " : "", CLOUD_CONSOLE_MAX / LINES - 3,
                           lines[i % LINES]);
    }
    return ret;
}

static void on_console(struct job *j, void *ctx UNUSED, const struct aws_result *res)
{
    struct console *k = (struct console *)j;
    struct err err = res->err;
    const char *text = "";
    if (err.kind == ERR_NONE &&
        ec2_parse_console(&j->mem, res->body, res->body_n, &text, &err) == 0 && *text) {
        k->done(k->arg, k->tag, cloud_console_tail(&j->mem, text));
    } else if (err.kind != ERR_NONE) {
        log_debug(j->c->rt->log, "no console output", "NodeClaim", k->tag, "error", err.msg);
    }
    job_end(j);
}

void cloud_console(struct cloud *c, const char *instance_id, const char *tag, cloud_console_fn done,
                   void *arg)
{
    AUTO_FORM struct form f = {0};
    struct console *k = job_new(c, sizeof(*k), NULL);
    k->tag = arena_strdup(&k->j.mem, tag);
    k->done = done;
    k->arg = arg;
    ec2_encode_console(&f, instance_id);
    job_aws_form(&k->j, "ec2", &f, true, on_console, NULL);
}
