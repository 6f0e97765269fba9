/*
 * decode.h - API objects (json_t) to the core's model.
 *
 * Only fields that decisions need are read. Each object is one heap block with its own arena; it
 * belongs to the caller and goes with the function of its kind (decode_pod_free needs the decoder,
 * because classes are shared). JSON is only read; nothing of it is kept.
 *
 * What is wrong with the input:
 *  - No metadata.name, or something that the API server would have refused in a kind of its own
 *    (pods, nodes, daemonsets): NULL and ERR_INVALID with path and reason. The caller sets the
 *    object aside and goes on.
 *  - In NodePool, NodeClaim and EC2NodeClass, which people write and other versions define: the
 *    object comes back with `problem` ("spec.limits.cpu: \"4x\" is not a quantity") and is not to
 *    be used for new capacity; what could be read is there.
 *  - A field that is in no version we know: `unknown_field` with its path; what the object asks
 *    for is not fully known then, so that its pool neither launches nor loses nodes of our will.
 * Strings from the input are never trusted to be short; lists have the maxima below.
 */
#ifndef KARP_KUBE_DECODE_H
#define KARP_KUBE_DECODE_H

#include "admit.h"
#include "common/base/err.h"
#include "common/core/model.h"

#include <jansson.h>

#define DECODE_LIST_MAX 10000u       /* elements of any array that is read */
#define DECODE_OBJECT_MAX (4u << 20) /* bytes of one decoded object */
#define DECODE_CLASSES_MAX 1000000u
#define DECODE_CONDITION_TEXT 2048u /* longer condition messages are cut */

struct decoder;
struct dreq;
struct dgrant;

/* symtab is borrowed (labels_symtab_new made it); it grows by the names met. */
struct decoder *decoder_new(struct symtab *symtab);
/* All pods and daemonsets must have been freed. NULL is fine. */
void decoder_free(struct decoder *d);
struct symtab *decoder_symtab(const struct decoder *d);
/* What templates are completed with; the caller keeps it up to date. */
struct admission *decoder_admission(struct decoder *d);
size_t decoder_class_count(const struct decoder *d);

struct pod *decode_pod(struct decoder *d, const json_t *o, struct err *reterr);
void decode_pod_free(struct decoder *d, struct pod *p);

/*
 * The class of a pod spec, for templates and what-if pods; release with decode_class_unref.
 * template_limits: missing requests are filled from limits, as the API server does for real pods.
 */
struct pod_class *decode_class(struct decoder *d, const json_t *pod, bool template_limits,
                               struct err *reterr);
void decode_class_unref(struct decoder *d, struct pod_class *c);

/* The class is that of spec.template as the decoder's admission completes it. */
struct daemonset *decode_daemonset(struct decoder *d, const json_t *o, struct err *reterr);
/* The same object where admission would make something else of it by now; NULL if it would not. */
struct daemonset *decode_daemonset_again(struct decoder *d, const struct daemonset *ds);
void decode_daemonset_free(struct decoder *d, struct daemonset *ds);

struct node *decode_node(struct decoder *d, const json_t *o, struct err *reterr);
void decode_node_free(struct node *n);
struct nodeclaim *decode_nodeclaim(struct decoder *d, const json_t *o, struct err *reterr);
void decode_nodeclaim_free(struct nodeclaim *c);
/* The zone of budgets in pools that name none (UTC before). It stays until decoder_free, which
 * pools must not outlive. -1, ERR_INVALID: not known here, and schedules of those pools allow
 * nothing. */
int decoder_budget_timezone(struct decoder *d, const char *name, struct err *reterr);
/* The zone of a pool that was decoded before that was said. */
void decode_budget_timezone(const struct decoder *d, struct nodepool *p);
struct nodepool *decode_nodepool(struct decoder *d, const json_t *o, struct err *reterr);
void decode_nodepool_free(struct nodepool *p);
struct nodeclass *decode_nodeclass(struct decoder *d, const json_t *o, struct err *reterr);
void decode_nodeclass_free(struct nodeclass *c);

struct pvc *decode_pvc(struct decoder *d, const json_t *o, struct err *reterr);
void decode_pvc_free(struct pvc *v);
struct pv *decode_pv(struct decoder *d, const json_t *o, struct err *reterr);
void decode_pv_free(struct pv *v);
struct storage_class *decode_storage_class(struct decoder *d, const json_t *o, struct err *reterr);
void decode_storage_class_free(struct storage_class *c);
struct csi_node *decode_csi_node(struct decoder *d, const json_t *o, struct err *reterr);
void decode_csi_node_free(struct csi_node *n);
/* Of policy/v1. What cannot be read of its spec is its `problem`. */
struct pdb *decode_pdb(struct decoder *d, const json_t *o, struct err *reterr);
void decode_pdb_free(struct pdb *p);
/* What of it cannot be read is its `problem`, and it holds all the more (core/consent/hold.h). */
struct hold *decode_hold(struct decoder *d, const json_t *o, struct err *reterr);
void decode_hold_free(struct hold *h);
/* What of them cannot be read is their `problem`: nothing is approved by them (core/consent/dreq.h,
 * core/consent/dgrant.h). */
struct dreq *decode_dreq(struct decoder *d, const json_t *o, struct err *reterr);
void decode_dreq_free(struct dreq *r);
struct dgrant *decode_dgrant(struct decoder *d, const json_t *o, struct err *reterr);
void decode_dgrant_free(struct dgrant *g);
struct namespace *decode_namespace(struct decoder *d, const json_t *o, struct err *reterr);
void decode_namespace_free(struct namespace *n);
struct service *decode_service(struct decoder *d, const json_t *o, struct err *reterr);
void decode_service_free(struct service *v);

/*
 * The spread constraints of pods that declare none, from the text of --scheduler-config: YAML or
 * JSON {podTopologySpread: {defaultConstraints: [...]}}, read strictly; "" and NULL give none.
 * Without selectors: whose pods they are about follows from the pod's owner and from Services
 * (core/sched/sched_topo.h).
 */
#define DECODE_DEFAULT_SPREADS_MAX 32u
int decode_scheduler_config(struct decoder *d, struct arena *a, const char *text,
                            const struct spread **ret, uint32_t *ret_n, struct err *reterr);

/*
 * Effective requests of a pod as kube-scheduler counts them: per resource
 * max(sum of containers + restartable init containers, the dearest moment of initialization), pod
 * level resources in place of the sum where given, overhead on top, an in-place resize at the
 * greater of spec and status; pods = 1.
 */
int decode_pod_requests(struct decoder *d, struct arena *a, const json_t *pod, bool template_limits,
                        struct resources *ret, struct err *reterr);

/*
 * hash of karp's own: first 16 hex digits of SHA-256 over RFC 8785 of the hashed part. Lists count
 * as sets, zero values as absent, durations by their length. dst holds DECODE_HASH_TEXT bytes.
 *  - NodePool: spec.template without requirements
 *  - EC2NodeClass: the fields Karpenter hashes (decode_hash.c) and the resolved AMI family
 */
#define DECODE_HASH_TEXT 17
void decode_nodepool_hash(const json_t *spec, char dst[DECODE_HASH_TEXT]);
void decode_nodeclass_hash(const json_t *spec, char dst[DECODE_HASH_TEXT]);

/* spec.amiFamily, else that of an alias, else "Custom". */
const char *decode_ami_family(const json_t *spec);

#endif
