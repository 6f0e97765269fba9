/* world.c - see world.h */
#include "world.h"

#include "common/base/alloc.h"

#include <stdarg.h>

#define LINE_MAX_BYTES 1024

/* ---- the record --------------------------------------------------------------------------------
 */

static void trace_line(struct sim_world *w, const char *text)
{
    char line[LINE_MAX_BYTES + 32];
    if (w->trace) {
        snprintf(line, sizeof(line), "%lld.%03llds %s",
                 (long long)(vclock_now(&w->clock) / NS_PER_S),
                 (long long)(vclock_now(&w->clock) % NS_PER_S / NS_PER_MS), text);
        w->trace(w->trace_ctx, line);
    }
}

void sim_note(struct sim_world *w, const char *fmt, ...)
{
    char text[LINE_MAX_BYTES];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (w->n_notes < SIM_TIMELINE_MAX) {
        ARRAY_GROW(w->notes, w->n_notes, w->cap_notes);
        w->notes[w->n_notes++] = (struct sim_note){vclock_now(&w->clock), xstrdup(text)};
    }
    trace_line(w, text);
}

void sim_trace(struct sim_world *w, const char *fmt, ...)
{
    char text[LINE_MAX_BYTES];
    va_list ap;
    if (!w->trace) {
        return;
    }
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    trace_line(w, text);
}

/* ---- life ---------------------------------------------------------------------------------------
 */

static void create(struct sim_world *w, enum sim_kind_id kind, json_t *obj)
{
    struct err e = ERR_INIT;
    if (sim_api_create(w->api, "system:apiserver", kind, obj, NULL, &e)) {
        BUG("world at time 0: %s", e.msg);
    }
}

static void create_classes(struct sim_world *w)
{
    create(w, SIM_STORAGECLASS,
           json_pack("{s:{s:s, s:{s:s}}, s:s, s:s, s:s, s:b, s:{s:s}}", "metadata", "name", "gp3",
                     "annotations", "storageclass.kubernetes.io/is-default-class", "true",
                     "provisioner", "ebs.csi.aws.com", "reclaimPolicy", "Delete",
                     "volumeBindingMode", "WaitForFirstConsumer", "allowVolumeExpansion", 1,
                     "parameters", "type", "gp3"));
    create(w, SIM_PRIORITYCLASS,
           json_pack("{s:{s:s}, s:i}", "metadata", "name", "system-cluster-critical", "value",
                     2000000000));
    create(w, SIM_PRIORITYCLASS,
           json_pack("{s:{s:s}, s:i}", "metadata", "name", "system-node-critical", "value",
                     2000001000));
}

struct sim_world *sim_world_new(const struct sim_world_options *o)
{
    struct sim_world *w = NEW(struct sim_world);
    vclock_init(&w->clock, o->start_wall_ns, o->seed);
    w->api = sim_api_new(&w->clock);
    w->kubelet = sim_kubelet_new(w);
    w->sched = sim_sched_new(w);
    w->workloads = sim_workloads_new(w);
    create_classes(w);
    return w;
}

void sim_world_free(struct sim_world *w)
{
    if (!w) {
        return;
    }
    sim_workloads_free(w->workloads);
    sim_sched_free(w->sched);
    sim_kubelet_free(w->kubelet);
    sim_api_free(w->api);
    vclock_done(&w->clock);
    for (size_t i = 0; i < w->n_notes; i++) {
        free(w->notes[i].what);
    }
    free(w->notes);
    free(w);
}
