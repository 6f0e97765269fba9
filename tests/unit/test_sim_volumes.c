/* Claims, volumes and attachments of the simulated world; see tests/sim/kube/ctl/volumes.h. */
#include "simrig.h"
#include "tests/sim/kube/ctl/volumes.h"

#define ZONE "topology.kubernetes.io/zone"
#define IN_ZONE(z)                                                                                 \
    "'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'" ZONE          \
    "','operator':'In','values':['" z "']}]}]}}"

static void make_claim(struct sim_world *w, const char *name, const char *more)
{
    AUTO_FREE char *text = xasprintf(
        "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'%s'},'spec':{%s%s"
        "'resources':{'requests':{'storage':'10Gi'}}}}",
        name, more, strstr(more, "accessModes") ? "" : "'accessModes':['ReadWriteOnce'],");
    rig_apply(w, text);
}

static void make_volume(struct sim_world *w, const char *name, const char *more)
{
    AUTO_FREE char *text = xasprintf(
        "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'%s'},'spec':{'capacity':{"
        "'storage':'10Gi'},'accessModes':['ReadWriteOnce'],'csi':{'driver':'ebs.csi.aws.com',"
        "'volumeHandle':'vol-%s'},'persistentVolumeReclaimPolicy':'Retain',%s}}",
        name, name, more);
    rig_apply(w, text);
}

static void make_pod(struct sim_world *w, const char *name, const char *claim, const char *more)
{
    AUTO_FREE char *text = xasprintf(
        "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'%s'},'spec':{%s'volumes':[{'name':'v',"
        "'persistentVolumeClaim':{'claimName':'%s'}}],'containers':[{'name':'c'}]}}",
        name, more, claim);
    rig_apply(w, text);
}

static const json_t *pod(const struct sim_world *w, const char *name)
{
    return sim_api_get(w->api, SIM_POD, "default", name);
}

static const json_t *claim(const struct sim_world *w, const char *name)
{
    return sim_api_get(w->api, SIM_PVC, "default", name);
}

static void drop_pod(struct sim_world *w, const char *name)
{
    ck_assert(sim_api_delete(w->api, "test", SIM_POD, "default", name, NULL, -1, NULL, NULL) == 0);
}

/* Nodes a and b in z1, c in z2. */
static struct sim_world *make_world(void)
{
    struct sim_world *w = rig_world(1);
    rig_node(w, "a", RIG_BIG, "{'" ZONE "':'z1','n':'a'}", NULL);
    rig_node(w, "b", RIG_BIG, "{'" ZONE "':'z1','n':'b'}", NULL);
    rig_node(w, "c", RIG_BIG, "{'" ZONE "':'z2','n':'c'}", NULL);
    rig_run(w, 10 * NS_PER_S);
    return w;
}

/* ---- where a pod with a claim may go ------------------------------------------------------------
 */

struct row {
    const char *what;
    const char *claim;  /* its spec, NULL = there is none */
    const char *volume; /* spec of a volume "v1", NULL = there is none */
    const char *spec;   /* of the pod */
    const char *nodes;  /* "" = nowhere */
    const char *part;   /* of the message */
};

static const struct row rows[] = {
    {"made where the pod goes", "", NULL, "'nodeSelector':{'n':'c'},", "c", NULL},
    {"no such claim", NULL, NULL, "", "",
     "0/3 nodes are available: persistentvolumeclaim \"data\" not found."},
    {"bound to a volume of a zone", "'volumeName':'v1','storageClassName':'',",
     "'storageClassName':''," IN_ZONE("z2"), "", "c", NULL},
    {"a zone the pod may not go to", "'volumeName':'v1','storageClassName':'',",
     "'storageClassName':''," IN_ZONE("z2"), "'nodeSelector':{'n':'a'},", "",
     "1 node(s) didn't match PersistentVolume's node affinity"},
    {"a volume that does not exist", "'volumeName':'gone','storageClassName':'',", NULL, "", "",
     "3 node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"},
    {"a free volume is taken", "'storageClassName':'gp3',",
     "'storageClassName':'gp3'," IN_ZONE("z2"), "'nodeSelector':{'n':'c'},", "c", NULL},
    {"no class, no volume", "'storageClassName':'',", NULL, "", "",
     "pod has unbound immediate PersistentVolumeClaims"},
    {"a class that may not provision there", "'storageClassName':'z2-only',", NULL,
     "'nodeSelector':{'n':'a'},", "", "1 node(s) didn't find available persistent volumes to bind"},
    {"a class that may provision there", "'storageClassName':'z2-only',", NULL, "", "c", NULL},
    {"provisioned at once, and then the pod follows", "'storageClassName':'at-once',", NULL, "",
     "abc", NULL},
};

static void make_classes(struct sim_world *w)
{
    rig_apply(w,
              "{'apiVersion':'storage.k8s.io/v1','kind':'StorageClass','metadata':{'name':"
              "'z2-only'},'provisioner':'ebs.csi.aws.com','volumeBindingMode':"
              "'WaitForFirstConsumer','allowedTopologies':[{'matchLabelExpressions':[{'key':'" ZONE
              "','values':['z2']}]}]}");
    rig_apply(w, "{'apiVersion':'storage.k8s.io/v1','kind':'StorageClass','metadata':{'name':"
                 "'at-once'},'provisioner':'ebs.csi.aws.com','volumeBindingMode':'Immediate'}");
}

START_TEST(goes_where_its_volume_can_be)
{
    const struct row *row = &rows[_i];
    struct sim_world *w = make_world();
    make_classes(w);
    if (row->volume) {
        make_volume(w, "v1", row->volume);
    }
    if (row->claim) {
        make_claim(w, "data", row->claim);
    }
    make_pod(w, "p", "data", row->spec);
    rig_run(w, 20 * NS_PER_S);
    const char *node = sim_pod_node(pod(w, "p"));
    const char *message = jsonx_str_or(sim_cond(pod(w, "p"), "PodScheduled"), "message", "");
    ck_assert_msg(row->nodes[0] ? node[0] && strstr(row->nodes, node) : !node[0],
                  "%s: on \"%s\": %s", row->what, node, message);
    ck_assert_msg(!row->part || strstr(message, row->part), "%s: %s", row->what, message);
    if (row->nodes[0]) {
        ck_assert_str_eq(jsonx_str_or(pod(w, "p"), "status.phase", ""), "Running");
        ck_assert_str_eq(jsonx_str_or(claim(w, "data"), "status.phase", ""), "Bound");
        const json_t *pv = sim_api_get(w->api, SIM_PV, NULL,
                                       jsonx_str_or(claim(w, "data"), "spec.volumeName", ""));
        ck_assert_str_eq(jsonx_str_or(pv, "status.phase", ""), "Bound");
        ck_assert_str_eq(jsonx_str_or(pv, "spec.claimRef.name", ""), "data");
        ck_assert_uint_eq(sim_api_count(w->api, SIM_PV), 1);
        ck_assert_uint_eq(sim_api_count(w->api, SIM_VOLUMEATTACHMENT), 1);
    }
    sim_world_free(w);
}
END_TEST

/* ---- a volume's life ----------------------------------------------------------------------------
 */

/* Made in the zone of the node, attached, detached a while after the pod, gone with its claim. */
START_TEST(comes_and_goes)
{
    struct sim_world *w = make_world();
    make_claim(w, "data", "");
    rig_run(w, 10 * NS_PER_S);
    ck_assert_str_eq(jsonx_str_or(claim(w, "data"), "spec.storageClassName", ""), "gp3");
    ck_assert_uint_eq(sim_api_count(w->api, SIM_PV), 0);
    make_pod(w, "p", "data", "'nodeSelector':{'n':'c'},");
    rig_run(w, SIM_PROVISION_NS + NS_PER_S);
    const json_t *pv = sim_api_at(w->api, SIM_PV, 0);
    const json_t *terms = jsonx_at(pv, "spec.nodeAffinity.required.nodeSelectorTerms");
    const json_t *expr =
        json_array_get(json_object_get(json_array_get(terms, 0), "matchExpressions"), 0);
    ck_assert_str_eq(json_string_value(json_array_get(json_object_get(expr, "values"), 0)), "z2");
    /* The node is known, the containers wait for the attachment. */
    ck_assert_str_eq(sim_pod_node(pod(w, "p")), "c");
    ck_assert_str_eq(jsonx_str_or(pod(w, "p"), "status.phase", ""), "Pending");
    rig_run(w, SIM_ATTACH_NS + SIM_POD_START_NS + NS_PER_S);
    ck_assert_str_eq(jsonx_str_or(pod(w, "p"), "status.phase", ""), "Running");
    const json_t *va = sim_api_at(w->api, SIM_VOLUMEATTACHMENT, 0);
    ck_assert_str_eq(jsonx_str_or(va, "spec.nodeName", ""), "c");
    ck_assert(jsonx_bool(va, "status.attached", false));
    /* A claim in use stays. */
    ck_assert(sim_api_delete(w->api, "test", SIM_PVC, "default", "data", NULL, -1, NULL, NULL) ==
              0);
    rig_run(w, 10 * NS_PER_S);
    ck_assert(claim(w, "data") != NULL);
    drop_pod(w, "p");
    rig_run(w, NS_PER_S);
    ck_assert(!pod(w, "p"));
    ck_assert(!claim(w, "data"));
    ck_assert_uint_eq(sim_api_count(w->api, SIM_VOLUMEATTACHMENT), 1);
    rig_run(w, SIM_DETACH_NS + SIM_RECLAIM_NS + NS_PER_S);
    ck_assert_uint_eq(sim_api_count(w->api, SIM_VOLUMEATTACHMENT), 0);
    ck_assert_uint_eq(sim_api_count(w->api, SIM_PV), 0);
    sim_world_free(w);
}
END_TEST

/* An etcd restore takes back that it was attached, later the order to detach it: the attacher says
 * again what is so, and the volume that is wanted stays. */
START_TEST(a_restore_takes_back_what_was_attached)
{
    struct sim_world *w = make_world();
    make_claim(w, "data", "");
    make_pod(w, "p", "data", "'nodeSelector':{'n':'c'},");
    rig_run(w, SIM_PROVISION_NS + NS_PER_S);
    ck_assert_uint_eq(sim_api_count(w->api, SIM_VOLUMEATTACHMENT), 1);
    rig_run(w, SIM_ATTACH_NS + SIM_POD_START_NS + NS_PER_S);
    ck_assert_str_eq(jsonx_str_or(pod(w, "p"), "status.phase", ""), "Running");
    ck_assert_uint_gt(sim_api_restore(w->api, SIM_ATTACH_NS + SIM_POD_START_NS + NS_PER_S), 0);
    ck_assert(!jsonx_bool(sim_api_at(w->api, SIM_VOLUMEATTACHMENT, 0), "status.attached", false));
    rig_run(w, SIM_ATTACH_NS + SIM_POD_START_NS + NS_PER_S);
    ck_assert_str_eq(jsonx_str_or(pod(w, "p"), "status.phase", ""), "Running");
    drop_pod(w, "p");
    rig_run(w, NS_PER_S);
    ck_assert(jsonx_str(sim_api_at(w->api, SIM_VOLUMEATTACHMENT, 0), "metadata.deletionTimestamp"));
    ck_assert_uint_gt(sim_api_restore(w->api, 2 * NS_PER_S), 0);
    rig_run(w, 2 * SIM_DETACH_NS);
    ck_assert_str_eq(jsonx_str_or(pod(w, "p"), "status.phase", ""), "Running");
    ck_assert(jsonx_bool(sim_api_at(w->api, SIM_VOLUMEATTACHMENT, 0), "status.attached", false));
    sim_world_free(w);
}
END_TEST

/* A volume for one node only: the pod that moves waits until it is detached. */
START_TEST(moves_with_its_pod)
{
    struct sim_world *w = make_world();
    make_claim(w, "data", "");
    make_pod(w, "p", "data", "'nodeSelector':{'n':'a'},");
    rig_run(w, 10 * NS_PER_S);
    drop_pod(w, "p");
    rig_run(w, NS_PER_S);
    make_pod(w, "q", "data", "");
    rig_patch(w, SIM_NODE, "a", "{'spec':{'unschedulable':true}}");
    make_pod(w, "r", "data", "'nodeSelector':{'n':'c'},");
    rig_run(w, 2 * NS_PER_S);
    ck_assert(!str_eq(jsonx_str(pod(w, "q"), "status.phase"), "Running") ||
              str_eq(sim_pod_node(pod(w, "q")), "a"));
    rig_run(w, 15 * NS_PER_S);
    ck_assert_str_eq(jsonx_str_or(pod(w, "q"), "status.phase", ""), "Running");
    ck_assert_str_eq(sim_pod_node(pod(w, "r")), "");
    ck_assert_uint_eq(sim_api_count(w->api, SIM_VOLUMEATTACHMENT), 1);
    sim_world_free(w);
}
END_TEST

/* What a machine that is off could not unmount stays attached for six minutes. */
START_TEST(a_dead_node_keeps_its_volumes)
{
    struct sim_world *w = make_world();
    make_claim(w, "data", "");
    make_pod(w, "p", "data", "'nodeSelector':{'n':'a'},");
    rig_run(w, 10 * NS_PER_S);
    sim_node_stop(w, "aws:///us-west-2a/i-a");
    ck_assert(sim_api_delete(w->api, "test", SIM_POD, "default", "p", NULL, 0, NULL, NULL) == 0);
    rig_run(w, 5 * NS_PER_MIN);
    ck_assert_uint_eq(sim_api_count(w->api, SIM_VOLUMEATTACHMENT), 1);
    rig_run(w, 2 * NS_PER_MIN);
    ck_assert_uint_eq(sim_api_count(w->api, SIM_VOLUMEATTACHMENT), 0);
    sim_world_free(w);
}
END_TEST

START_TEST(held_volumes_stay)
{
    struct sim_world *w = make_world();
    make_claim(w, "data", "");
    make_pod(w, "p", "data", "'nodeSelector':{'n':'a'},");
    rig_run(w, 10 * NS_PER_S);
    sim_workloads_hold_volumes(w->workloads, "a", true);
    drop_pod(w, "p");
    rig_run(w, 20 * NS_PER_MIN);
    ck_assert_uint_eq(sim_api_count(w->api, SIM_VOLUMEATTACHMENT), 1);
    ck_assert(jsonx_str(sim_api_at(w->api, SIM_VOLUMEATTACHMENT, 0),
                        "metadata.deletionTimestamp") != NULL);
    sim_workloads_hold_volumes(w->workloads, "a", false);
    rig_run(w, SIM_DETACH_NS + NS_PER_S);
    ck_assert_uint_eq(sim_api_count(w->api, SIM_VOLUMEATTACHMENT), 0);
    sim_world_free(w);
}
END_TEST

/* Nobody provisions for a node that is gone: the pod looks for another one. */
START_TEST(node_gone_before_the_volume)
{
    struct sim_world *w = make_world();
    rig_patch(w, SIM_NODE, "a", "{'spec':{'unschedulable':true}}");
    rig_patch(w, SIM_NODE, "b", "{'spec':{'unschedulable':true}}");
    make_claim(w, "data", "");
    make_pod(w, "p", "data", "");
    rig_run(w, NS_PER_S);
    ck_assert_str_eq(json_string_value(json_object_get(
                         jsonx_at(claim(w, "data"), "metadata.annotations"), SIM_SELECTED_NODE)),
                     "c");
    sim_node_gone(w, "aws:///us-west-2a/i-c");
    sim_api_delete(w->api, "test", SIM_NODE, NULL, "c", NULL, -1, NULL, NULL);
    rig_patch(w, SIM_NODE, "b", "{'spec':{'unschedulable':null}}");
    rig_run(w, 30 * NS_PER_S);
    ck_assert_str_eq(sim_pod_node(pod(w, "p")), "b");
    ck_assert_str_eq(jsonx_str_or(pod(w, "p"), "status.phase", ""), "Running");
    sim_world_free(w);
}
END_TEST

/* ---- limits -------------------------------------------------------------------------------------
 */

START_TEST(no_more_volumes_than_a_node_takes)
{
    struct sim_world *w = rig_world(1);
    rig_node(w, "a", RIG_BIG, "{'" ZONE "':'z1'}", NULL);
    rig_run(w, 500 * NS_PER_MS);
    rig_patch(w, SIM_NODE, "a", "{'metadata':{'annotations':{'sim.karp.dev/volumes':'2'}}}");
    rig_run(w, 10 * NS_PER_S);
    const json_t *driver =
        json_array_get(jsonx_at(sim_api_get(w->api, SIM_CSINODE, NULL, "a"), "spec.drivers"), 0);
    ck_assert_int_eq(jsonx_int(driver, "allocatable.count", 0), 2);
    static const char *const names[] = {"p0", "p1", "p2"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        make_claim(w, names[i], "");
        make_pod(w, names[i], names[i], "");
        rig_run(w, 10 * NS_PER_S);
    }
    ck_assert_str_eq(sim_pod_node(pod(w, "p1")), "a");
    ck_assert_str_eq(sim_pod_node(pod(w, "p2")), "");
    ck_assert(strstr(jsonx_str_or(sim_cond(pod(w, "p2"), "PodScheduled"), "message", ""),
                     "1 node(s) exceed max volume count"));
    /* A second pod with a volume that is there already fits. */
    make_pod(w, "again", "p0", "");
    rig_run(w, 10 * NS_PER_S);
    ck_assert_str_eq(sim_pod_node(pod(w, "again")), "a");
    drop_pod(w, "p1");
    rig_run(w, 20 * NS_PER_S);
    ck_assert_str_eq(sim_pod_node(pod(w, "p2")), "a");
    /* The CSINode goes with its Node. */
    sim_node_gone(w, "aws:///us-west-2a/i-a");
    sim_api_delete(w->api, "test", SIM_NODE, NULL, "a", NULL, -1, NULL, NULL);
    rig_run(w, 10 * NS_PER_S);
    ck_assert(!sim_api_get(w->api, SIM_CSINODE, NULL, "a"));
    sim_world_free(w);
}
END_TEST

START_TEST(one_pod_only)
{
    struct sim_world *w = make_world();
    make_claim(w, "data", "'accessModes':['ReadWriteOncePod'],");
    make_pod(w, "p", "data", "");
    rig_run(w, 10 * NS_PER_S);
    make_pod(w, "q", "data", "");
    rig_run(w, 5 * NS_PER_S);
    ck_assert_str_eq(sim_pod_node(pod(w, "q")), "");
    ck_assert(strstr(jsonx_str_or(sim_cond(pod(w, "q"), "PodScheduled"), "message", ""),
                     "ReadWriteOncePod"));
    drop_pod(w, "p");
    rig_run(w, 20 * NS_PER_S);
    ck_assert_str_eq(jsonx_str_or(pod(w, "q"), "status.phase", ""), "Running");
    sim_world_free(w);
}
END_TEST

START_TEST(ephemeral_volumes_live_with_their_pod)
{
    struct sim_world *w = make_world();
    rig_apply(w, "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p'},'spec':{'volumes':[{"
                 "'name':'tmp','ephemeral':{'volumeClaimTemplate':{'spec':{'accessModes':["
                 "'ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}}}}}}],'containers':[{"
                 "'name':'c'}]}}");
    rig_run(w, 20 * NS_PER_S);
    ck_assert_str_eq(jsonx_str_or(pod(w, "p"), "status.phase", ""), "Running");
    ck_assert_str_eq(jsonx_str_or(sim_controller(claim(w, "p-tmp")), "kind", ""), "Pod");
    drop_pod(w, "p");
    rig_run(w, 30 * NS_PER_S);
    ck_assert(!claim(w, "p-tmp"));
    ck_assert_uint_eq(sim_api_count(w->api, SIM_PV), 0);
    sim_world_free(w);
}
END_TEST

UNIT_MAIN("sim_volumes", UNIT_CASES(goes_where_its_volume_can_be, rows), UNIT_TEST(comes_and_goes),
          UNIT_TEST(a_restore_takes_back_what_was_attached), UNIT_TEST(moves_with_its_pod),
          UNIT_TEST(a_dead_node_keeps_its_volumes), UNIT_TEST(held_volumes_stay),
          UNIT_TEST(node_gone_before_the_volume), UNIT_TEST(no_more_volumes_than_a_node_takes),
          UNIT_TEST(one_pod_only), UNIT_TEST(ephemeral_volumes_live_with_their_pod))
