/* said.c - see said.h. */
#include "said.h"

#include "common/base/str.h"
#include "report.h"
#include "screen.h"

#define INDENT 18u

void said_add(struct said_list *l, const char *source, const char *reason, const char *message,
              int64_t time_ns)
{
    for (size_t i = 0; i < l->n; i++) {
        if (str_eq(l->v[i].source, source) && str_eq(l->v[i].message, message)) {
            return;
        }
    }
    if (l->n < SAID_MAX) {
        l->v[l->n++] = (struct said){source, reason, message, time_ns};
    }
}

void said_events(struct said_list *l, const struct world *w, enum kube_kind about, const char *ns,
                 const char *name)
{
    for (size_t i = 0; i < world_n(w, KIND_EVENT); i++) {
        const struct world_event *e = world_at(w, KIND_EVENT, i);
        if (e->about == about && str_eq(e->ns, ns) && str_eq(e->name, name) &&
            str_starts(e->source, "karp")) {
            said_add(l, e->source, e->reason, e->message, e->time_ns);
        }
    }
}

json_t *said_json(const struct said_list *l)
{
    json_t *list = json_array();
    for (size_t i = 0; i < l->n; i++) {
        json_t *o = json_object();
        report_text(o, "source", l->v[i].source);
        report_text(o, "reason", l->v[i].reason);
        report_time(o, "time", l->v[i].time_ns);
        report_text(o, "message", l->v[i].message);
        (void)json_array_append_new(list, o);
    }
    return list;
}

void said_screen(struct session *s, const struct said_list *l, struct buf *out)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct said *one = &l->v[i];
        const char *when =
            one->time_ns
                ? arena_printf(&s->a, ", %s ago", screen_age(&s->a, s->w.now_ns - one->time_ns))
                : "";
        buf_puts(out, i == 0 ? "\nCONTROLLER SAYS   " : "                  ");
        screen_wrap(
            &s->c->term, &s->a, INDENT,
            arena_printf(&s->a, "(%s, %s%s) %s", one->source, one->reason, when, one->message),
            out);
        buf_putc(out, '\n');
    }
}
