/*
 * schema.h - the schemas of our CRDs as tables: what the API server fills in, drops and refuses.
 *
 * A table row describes one field; tables nest as the objects do. They are written by hand from
 * deploy/crds and held to it by tests/e2e/crd-cases.yaml, which runs against the simulated and the
 * real server. Refusals are worded as kube-openapi and the CEL validator word them; as there, the
 * rules (x-kubernetes-validations) are asked only if no error of the schema stands in the way.
 */
#ifndef KARP_SIM_SCHEMA_H
#define KARP_SIM_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum sim_type { SIM_OBJECT, SIM_ARRAY, SIM_STRING, SIM_INTEGER, SIM_BOOLEAN, SIM_AMOUNT };

#define SIM_REQUIRED 1u
#define SIM_OPEN 2u /* keeps fields it does not know */
#define SIM_SET 4u  /* no value twice */
#define SIM_MIN 8u  /* .min counts: value, length, items or properties, as the type has it */
#define SIM_MAX 16u
#define SIM_TIME 32u /* format date-time */

struct sim_rule {
    const char *message;
    bool (*holds)(const json_t *self, const json_t *old);
    bool transition; /* asked only where there is an old value */
};

struct sim_schema {
    const char *key; /* NULL ends a table */
    enum sim_type type;
    unsigned flags;
    const struct sim_schema *props; /* of an object */
    const struct sim_schema *items; /* of an array's items, or of an object's other values */
    const char *const *oneof;       /* ends with NULL */
    bool (*match)(const char *s);   /* stands for pattern */
    const char *pattern;
    const char *fallback;         /* default, JSON with ' for " */
    const struct sim_rule *rules; /* ends with message NULL */
    int64_t min, max;
};

/* obj is the field's value and may be changed all the way down. */
void sim_schema_fill(const struct sim_schema *s, json_t *obj);
void sim_schema_prune(const struct sim_schema *s, json_t *obj);
/* Whether pruning would drop something. */
bool sim_schema_has_unknown(const struct sim_schema *s, const json_t *obj);
/* Adds causes. old may be NULL. */
void sim_schema_check(const struct sim_schema *s, const json_t *obj, const json_t *old,
                      const char *path, json_t *causes);
/* The rules, after sim_schema_check of all fields has left no blocking cause. */
void sim_schema_rules(const struct sim_schema *s, const json_t *obj, const json_t *old,
                      const char *path, json_t *causes);
/* True, with the cause that says so added, if rules must not be asked. */
bool sim_schema_blocked(json_t *causes);

/* crd_pool.c, crd_class.c, crd_approval.c, crd_hold.c: rows "spec" and "status" of the kinds;
 * NULL-terminated tables. */
extern const struct sim_schema sim_schema_nodepool[], sim_schema_nodeclaim[],
    sim_schema_ec2nodeclass[], sim_schema_disruptionrequest[], sim_schema_disruptiongrant[],
    sim_schema_hold[];

/* match.c: the patterns. */
bool sim_match_label_value(const char *s);
bool sim_match_label_key(const char *s);
bool sim_match_duration(const char *s);          /* ([0-9]+(s|m|h))+ */
bool sim_match_duration_or_never(const char *s); /* the same, or Never */
bool sim_match_budget_nodes(const char *s);
bool sim_match_budget_schedule(const char *s);
bool sim_match_budget_duration(const char *s);
bool sim_match_quantity(const char *s);
bool sim_match_volume_size(const char *s);
bool sim_match_no_slash(const char *s);
bool sim_match_subnet(const char *s);
bool sim_match_group(const char *s);
bool sim_match_reservation(const char *s);
bool sim_match_placement(const char *s);
bool sim_match_ami(const char *s);
bool sim_match_account(const char *s);

/* Patterns in the words of the CRDs, for messages. */
#define SIM_P_VALUE "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$"
#define SIM_P_KEY                                                                                  \
    "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(\\/))?([A-Za-z0-9][-A-Za-" \
    "z0-9_.]*)?[A-Za-z0-9]$"
#define SIM_P_DURATION "^([0-9]+(s|m|h))+$"
#define SIM_P_DURATION_OR_NEVER "^(([0-9]+(s|m|h))+|Never)$"
#define SIM_P_QUANTITY                                                                             \
    "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\" \
    ".[0-9]*)?)|(\\.[0-9]+))))?$"

#endif
