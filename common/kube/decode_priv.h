/*
 * decode_priv.h - internal to kube: what the decode_*.c files share.
 *
 * A path in a message is built from the leaf up: the leaf says "key: what is wrong", every level
 * above puts its part before it with decode_in. Optional things that are absent or null are fine
 * and give the default; another type than expected is an error.
 */
#ifndef KARP_KUBE_DECODE_PRIV_H
#define KARP_KUBE_DECODE_PRIV_H

#include "admit.h"
#include "common/base/buf.h"
#include "common/base/map.h"
#include "decode.h"

#define DECODE_EXPIRE_DEFAULT_NS (INT64_C(720) * 3600 * 1000000000) /* of the CRDs */

#define DECODE_REQS_MAX 200u /* keys of one set: adding to a set copies it */
#define DECODE_TERMS_MAX 1000u

struct decoder {
    struct symtab *t;
    struct map
        *classes; /* canonical text to struct pod_class, not owned: classes count their users */
    uint64_t serial;
    struct admission *admission;
    struct arena mem; /* of what follows */
    const struct tzone *budget_tz;
    const char *budget_tz_problem;
};

enum decode_meta_flags { META_LABELS = 1, META_POD_ANNOTATIONS = 2 };

/* Puts a path's beginning ("spec.containers[3].") before the message. Always -1. */
int decode_in(struct err *e, const char *fmt, ...) PRINTF(2, 3);

/* A copy in the arena; "" if absent or no string. */
const char *decode_str(struct arena *a, const json_t *o, const char *key);
/* Absent and null give NULL. */
int decode_obj(const json_t *o, const char *key, const json_t **ret, struct err *reterr);
int decode_arr(const json_t *o, const char *key, const json_t **ret, struct err *reterr);
int64_t decode_time(const json_t *o, const char *key); /* 0 if absent or unreadable */
/* A Go duration or, if allowed, "Never"; absent gives d. */
int decode_duration(const json_t *o, const char *key, bool never, int64_t d, int64_t *ret,
                    struct err *reterr);

int decode_meta(struct decoder *d, struct arena *a, const json_t *o, unsigned flags,
                struct meta *ret, struct err *reterr);
/* Strings of an object, sorted by key; keep (may be NULL) says which. */
int decode_kvs(struct arena *a, const json_t *o, const char *key, bool (*keep)(const char *name),
               struct kvs *ret, struct err *reterr);
/* With aliases of old label keys folded into today's. */
int decode_labels(struct decoder *d, struct arena *a, const json_t *o, const char *key,
                  struct labels *ret, struct err *reterr);
void decode_conditions(struct arena *a, const json_t *status, struct conditions *ret);

/* ---- values (decode_value.c) ----------------------------------------------------------------- */

/* Resources under construction: extended ones in order of appearance, names unique. */
struct res_build {
    struct resources r;
    struct res_ext ext[RES_EXT_MAX];
    uint32_t n;
};
int64_t *res_build_slot(struct decoder *d, struct res_build *b, const char *name,
                        struct err *reterr);
struct resources res_build_done(struct arena *a, struct res_build *b);

/* One quantity in the unit of the resource; negative ones are refused. */
int decode_quantity(const char *resource, const json_t *v, int64_t *ret, struct err *reterr);
int decode_resources(struct decoder *d, struct arena *a, const json_t *o, const char *key,
                     struct resources *ret, struct err *reterr);
int decode_taints(struct decoder *d, struct arena *a, const json_t *o, const char *key,
                  struct taints *ret, struct err *reterr);
void decode_tolerations(struct decoder *d, struct arena *a, const json_t *spec,
                        struct tolerations *ret);
/* One {key, operator, values, minValues}. */
int decode_requirement(struct decoder *d, struct arena *a, const json_t *o, struct req *ret,
                       struct err *reterr);
/* A list of them, intersected. */
int decode_requirements(struct decoder *d, struct arena *a, const json_t *o, const char *key,
                        struct reqset *ret, struct err *reterr);
int decode_class_ref_of(struct arena *a, const json_t *o, struct class_ref *ret,
                        struct err *reterr);

/* ---- topology (decode_topology.c) -------------------------------------------------------------
 */

/* Spread constraints and pod affinity of the spec. */
int decode_topology(struct decoder *d, struct arena *a, struct pod_class *c, const json_t *spec,
                    struct err *reterr);
/* One topologySpreadConstraint. */
struct spread decode_spread(struct decoder *d, struct arena *a, const json_t *o);
/* Their part of the class's canonical text; nothing if it has none. */
void decode_topology_key(struct buf *b, const struct symtab *t, const struct pod_class *c);
/* A string with its length before it, so that no two lists of strings have one text. */
void decode_put_str(struct buf *b, const char *s);
/* A LabelSelector; one that is absent or cannot be read selects nothing. */
struct selector decode_selector(struct arena *a, const json_t *o);
/* One nodeSelectorTerm; one that cannot be read, or is empty and so matches nothing, is marked. */
struct affinity_term decode_term(struct decoder *d, struct arena *a, const json_t *term,
                                 int32_t weight);

/* ---- volumes (decode_volume.c) ----------------------------------------------------------------
 */

/* The pod's volumes that stand for PersistentVolumeClaims. */
void decode_pod_volumes(struct pod *p, const json_t *spec);

/* ---- fields (decode_known.c) ----------------------------------------------------------------- */

/* The path ("spec.…", arena) of the first field that is not in the list, or NULL. */
const char *decode_unknown_nodepool(struct arena *a, const json_t *spec);
const char *decode_unknown_nodeclass(struct arena *a, const json_t *spec);

/* If rc is not 0: remembers e, under that prefix, as the object's problem, unless it has one. So a
 * part that cannot be read does not hide the others. */
void decode_note(struct arena *a, const char **problem, const char *prefix, int rc, struct err *e);

/* The object's arena must not have grown beyond DECODE_OBJECT_MAX. */
int decode_check_size(const struct arena *a, struct err *reterr);

#endif
