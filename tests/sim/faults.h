/*
 * faults.h - the weather of a run: what goes wrong with nobody having written it into the scenario.
 *
 * All of it comes from the run's one seed. Trouble comes in storms: each step of the scenario (all
 * but `expect`) brings one, which begins within half a minute, lasts some minutes (mild: 1 to 3,
 * harsh: 2 to 8) and then is over: what was stopped goes on, clocks are right again, stock is back.
 * So the world has healed some minutes after the last step. While a storm lasts:
 *
 *   API server   409, 429, 500, 503, 504; refused and lost connections; answers that are late or
 *                never come; watches that break, lag, or find their history gone (410); once in
 *                some runs of `harsh` an etcd restore to minutes ago (when that storm is over, an
 *                operator applies the manifests again and terminates what no claim knows of: the
 *                agent may not, and says so)
 *   agent        dies right after any answered call or at any other instant, comes back seconds
 *                later; stands still for longer than its Lease; its clock jumps, forth or back, up
 *                to 40 days; half of the runs of `harsh` have a standby replica
 *   AWS          throttled, failing, refused, lost, late and cut answers, for all services: a lost
 *                answer of ReceiveMessage or a failed DeleteMessage is a message that comes twice;
 *                outages; permissions lost; stock-outs; instances that die, that describes do not
 *                show yet, that never join
 *   cluster      scheduler or controller-manager stand still
 *
 * Expectations under faults: one with `within: D` has 2 × D + FAULTS_GRACE_NS to come true; `for`
 * is not asked (a fault may end what holds), and one without `within` is not judged at all,
 * `invariants` excepted. A file that is to be played under faults leaves that much time between
 * what it expects and the step that undoes it. A step that finds
 * nothing to act on is noted and passed over. Invariants hold always.
 */
#ifndef KARP_SIM_FAULTS_H
#define KARP_SIM_FAULTS_H

#include "tests/sim/ec2/ec2.h"
#include "tests/sim/kube/api.h"

#define FAULTS_GRACE_NS (INT64_C(25) * 60 * NS_PER_S)
#define FAULTS_RESTORED_NS (10 * NS_PER_S)

struct sim_run;
struct sim_guest;
struct sim_faults;

enum faults_level { FAULTS_NONE, FAULTS_MILD, FAULTS_HARSH };

/* False if there is no such profile. */
bool faults_parse(const char *name, enum faults_level *ret);
const char *faults_name(enum faults_level level);

/* Of a run whose world exists. */
struct sim_faults *faults_new(struct sim_run *r, enum faults_level level);
void faults_free(struct sim_faults *f);

/* How many agents a scenario that wants n gets. */
int faults_replicas(const struct sim_faults *f, int n);
/* A step is about to be carried out. */
void faults_step(struct sim_faults *f);
bool faults_storm(const struct sim_faults *f);
/* When the last storm ended; -1 if there was none yet. */
int64_t faults_calm_since_ns(const struct sim_faults *f);
/* etcd was restored a moment ago: what somebody said before may be gone, and nobody can know yet.
 */
bool faults_just_restored(const struct sim_faults *f);

/* The hooks. The first as sim_api_hooks.fault, the second true if the guest has died of it. */
int faults_kube(struct sim_faults *f, const struct sim_call *c, int64_t *extra_ns);
bool faults_answered(struct sim_faults *f, struct sim_guest *g);
void faults_aws(struct sim_faults *f, const char *service, struct simec2_fault *ret);

#endif
