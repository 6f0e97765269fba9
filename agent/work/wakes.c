/* wakes.c - see wakes.h. */
#include "wakes.h"

#include "common/base/alloc.h"
#include "common/base/str.h"

struct wake {
    struct queue *q;
    char *key;
};

void wakes_add(struct wakes *w, struct queue *q, const char *key)
{
    for (size_t i = 0; i < w->n; i++) {
        if (w->v[i].q == q && str_eq(w->v[i].key, key)) {
            return;
        }
    }
    if (w->n < WAKES_MAX) {
        ARRAY_GROW(w->v, w->n, w->cap);
        w->v[w->n++] = (struct wake){q, xstrdup(key)};
    }
}

void wakes_run(struct wakes *w)
{
    struct wakes now = *w;
    *w = (struct wakes){.n = 0};
    for (size_t i = 0; i < now.n; i++) {
        queue_add(now.v[i].q, now.v[i].key);
    }
    wakes_done(&now);
}

void wakes_done(struct wakes *w)
{
    for (size_t i = 0; i < w->n; i++) {
        free(w->v[i].key);
    }
    free(w->v);
    *w = (struct wakes){.n = 0};
}
