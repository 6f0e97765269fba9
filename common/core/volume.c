/* volume.c - see volume.h. */
#include "volume.h"

#include "common/base/str.h"
#include "labels.h"

struct work {
    struct arena *a;
    const struct snapshot *s;
    const struct pod *pod;
    struct volume_need *ret;
    struct reqset *alternatives;
    uint32_t n;
    struct buf *told; /* where each volume must be, for people */
};

static void problem(struct work *w, const char *claim, const char *what)
{
    if (w->ret->problem == REASON_NONE) {
        w->ret->problem = REASON_Volume;
        w->ret->text = arena_printf(w->a, "PersistentVolumeClaim %s %s", claim, what);
    }
}

/* ---- alternatives ---------------------------------------------------------------------------- */

static bool contradicts(const struct reqset *set)
{
    for (uint32_t i = 0; i < set->n; i++) {
        if (req_is_empty(&set->v[i]) && !req_negative(&set->v[i])) {
            return true;
        }
    }
    return false;
}

/* Every alternative so far with every term. */
static void combine(struct work *w, const struct affinity_term *terms, uint32_t n, bool local)
{
    struct reqset *v = ARENA_NEW_N(w->a, struct reqset, VOLUME_MAX_ALTERNATIVES);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < w->n; i++) {
        for (uint32_t t = 0; t < n && kept < VOLUME_MAX_ALTERNATIVES; t++) {
            if (terms[t].invalid) {
                continue;
            }
            struct reqset term =
                local ? reqset_without(w->a, &terms[t].reqs, L_HOSTNAME) : terms[t].reqs;
            struct reqset both = reqset_merge(w->a, w->s->syms, &w->alternatives[i], &term);
            if (!contradicts(&both)) {
                v[kept++] = both;
            }
        }
    }
    w->alternatives = v;
    w->n = kept;
}

static void tell(struct work *w, const char *claim, const struct affinity_term *terms, uint32_t n)
{
    buf_printf(w->told, "%s%s (", w->told->n > 0 ? " and " : "", claim);
    for (uint32_t t = 0; t < n; t++) {
        buf_puts(w->told, t > 0 ? " or " : "");
        for (uint32_t r = 0; r < terms[t].reqs.n; r++) {
            buf_puts(w->told, r > 0 ? ", " : "");
            req_fmt(w->s->syms, &terms[t].reqs.v[r], 5, w->told);
        }
    }
    buf_putc(w->told, ')');
}

static void restrict_to(struct work *w, const char *claim, const struct affinity_term *terms,
                        uint32_t n, bool local)
{
    if (n > 0) {
        tell(w, claim, terms, n);
        combine(w, terms, n, local);
    }
}

static void use(struct work *w, struct volume_use *uses, const struct pvc *c, const char *driver,
                const char *id)
{
    const char *claim = arena_printf(w->a, "%s/%s", c->m.ns, c->m.name);
    if (driver[0] != '\0') {
        uses[w->ret->n_uses++] = (struct volume_use){driver, id ? id : claim, claim};
    }
}

/* ---- one claim ------------------------------------------------------------------------------- */

/* The default class that is newest, as the API server chooses it. */
static const struct storage_class *default_class(const struct snapshot *s)
{
    const struct storage_class *ret = NULL;
    for (uint32_t i = 0; i < s->n_storage_classes; i++) {
        const struct storage_class *c = s->storage_classes[i];
        if (c->is_default && (ret == NULL || c->m.created_ns > ret->m.created_ns)) {
            ret = c;
        }
    }
    return ret;
}

static void bound(struct work *w, const struct pvc *c, struct volume_use *uses)
{
    const struct pv *v = snapshot_pv(w->s, c->volume_name);
    if (v == NULL) {
        problem(w, c->m.name,
                arena_printf(w->a, "is bound to PersistentVolume %s, which does not exist",
                             c->volume_name));
        return;
    }
    if (v->m.deleted_ns != 0) {
        problem(w, c->m.name,
                arena_printf(w->a, "is bound to PersistentVolume %s, which is being deleted",
                             c->volume_name));
        return;
    }
    restrict_to(w, c->m.name, v->terms, v->n_terms, v->local);
    use(w, uses, c, v->driver, v->handle[0] != '\0' ? v->handle : v->m.name);
}

static void unbound(struct work *w, const struct pvc *c, struct volume_use *uses)
{
    const struct storage_class *sc =
        c->storage_class ? snapshot_storage_class(w->s, c->storage_class) : default_class(w->s);
    if (c->storage_class == NULL && sc == NULL) {
        problem(w, c->m.name, "names no StorageClass, and none is the default");
    } else if (c->storage_class != NULL && c->storage_class[0] == '\0') {
        problem(w, c->m.name, "waits for a volume that somebody has to make by hand");
    } else if (sc == NULL) {
        problem(
            w, c->m.name,
            arena_printf(w->a, "names StorageClass %s, which does not exist", c->storage_class));
    } else if (!sc->wait_for_first) {
        problem(w, c->m.name,
                arena_printf(w->a, "is not bound yet, and StorageClass %s binds immediately",
                             sc->m.name));
    } else {
        restrict_to(w, c->m.name, sc->allowed, sc->n_allowed, false);
        use(w, uses, c, sc->provisioner, NULL);
    }
}

static void one_claim(struct work *w, const struct pod_volume *v, struct volume_use *uses)
{
    const struct pvc *c = snapshot_pvc(w->s, w->pod->m.ns, v->claim);
    if (c == NULL) {
        problem(w, v->claim, "does not exist");
    } else if (c->m.deleted_ns != 0) {
        problem(w, v->claim, "is being deleted");
    } else if (c->phase == PVC_LOST) {
        problem(w, v->claim, "has lost its volume");
    } else if (c->volume_name[0] == '\0') {
        unbound(w, c, uses);
    } else if (!c->bind_completed) {
        problem(w, v->claim, "is being bound");
    } else {
        bound(w, c, uses);
    }
}

void volume_need(struct arena *a, const struct snapshot *s, const struct pod *p,
                 struct volume_need *ret)
{
    *ret = (struct volume_need){.problem = REASON_NONE};
    struct volume_use *uses = ARENA_NEW_N(a, struct volume_use, p->n_volumes);
    struct buf told;
    buf_init(&told, 4096);
    struct work w = {.a = a, .s = s, .pod = p, .ret = ret, .n = 1, .told = &told};
    w.alternatives = ARENA_NEW(a, struct reqset);
    for (uint32_t i = 0; i < p->n_volumes; i++) {
        one_claim(&w, &p->volumes[i], uses);
    }
    if (ret->problem == REASON_NONE && w.n == 0) {
        ret->problem = REASON_VolumeZone;
        ret->text = arena_printf(a, "its volumes cannot be had at once: %s", told.p);
    }
    buf_done(&told);
    ret->uses = uses;
    ret->alternatives = w.alternatives;
    ret->n_alternatives = w.n;
}
