/*
 * simec2_rig.h - what the tests of the simulated cloud share: a cloud with hand-moved time, one
 * port, and a look into its answers.
 */
#ifndef KARP_TESTS_SIMEC2_RIG_H
#define KARP_TESTS_SIMEC2_RIG_H

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/hash.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"
#include "tests/sim/ec2/ec2.h"
#include "unit.h"

#define RIG_WALL_NS (INT64_C(1767603600) * NS_PER_S) /* 2026-01-05T09:00:00Z */

struct rig {
    int64_t now_ns;
    struct clock clock;
    struct timers timers;
    struct simec2_hooks hooks;
    struct simec2 *e;
    struct simec2_port *port;
    /* the last answer */
    bool answered;
    int64_t answered_ns;
    struct err err;
    int status;
    char *body;
    /* what the hooks saw */
    size_t boots, downs, gones;
    json_t *node;       /* of the last boot */
    const char *die_at; /* "ec2:CreateFleet": the asker dies of that answer */
};

static int64_t rig_wall(void *ctx)
{
    return RIG_WALL_NS + ((struct rig *)ctx)->now_ns;
}

static int64_t rig_mono(void *ctx)
{
    return ((struct rig *)ctx)->now_ns;
}

static void rig_boot(void *ctx, const struct simec2_boot *b)
{
    struct rig *r = ctx;
    r->boots++;
    json_decref(r->node);
    r->node = json_deep_copy(b->node);
}

static void rig_down(void *ctx, const struct simec2_instance *x UNUSED)
{
    ((struct rig *)ctx)->downs++;
}

static void rig_gone(void *ctx, const struct simec2_instance *x UNUSED)
{
    ((struct rig *)ctx)->gones++;
}

static bool rig_answered(void *ctx, struct simec2_port *from UNUSED, const char *service,
                         const char *action, uint64_t n UNUSED)
{
    struct rig *r = ctx;
    char name[96];
    snprintf(name, sizeof(name), "%s:%s", service, action);
    return str_eq(r->die_at, name);
}

static inline void rig_init(struct rig *r, const struct simec2_opts *opts)
{
    struct err err = ERR_INIT;
    struct simec2_opts o;
    simec2_opts_default(&o);
    *r = (struct rig){.clock = {rig_wall, rig_mono, r},
                      .hooks = {.ctx = r,
                                .boot = rig_boot,
                                .down = rig_down,
                                .gone = rig_gone,
                                .answered = rig_answered}};
    timers_init(&r->timers);
    r->e = simec2_new(opts ? opts : &o, &r->clock, &r->timers, &r->hooks, &err);
    ck_assert_msg(r->e != NULL, "%s", err.msg);
    r->port = simec2_port_new(r->e);
}

static inline void rig_done(struct rig *r)
{
    simec2_port_free(r->port);
    simec2_free(r->e);
    timers_done(&r->timers);
    json_decref(r->node);
    free(r->body);
}

/* Moves time by dt, running everything that becomes due in its order. */
static inline void rig_pass(struct rig *r, int64_t dt_ns)
{
    int64_t end_ns = r->now_ns + dt_ns;
    while (timers_next_ns(&r->timers) <= end_ns) {
        int64_t next_ns = timers_next_ns(&r->timers);
        r->now_ns = next_ns > r->now_ns ? next_ns : r->now_ns;
        timers_run_one(&r->timers, r->now_ns);
    }
    r->now_ns = end_ns;
}

static inline void rig_on_answer(void *arg, const struct aws_resp *resp)
{
    struct rig *r = arg;
    ck_assert(!r->answered);
    r->answered = true;
    r->answered_ns = r->now_ns;
    r->err = resp->err;
    r->status = resp->status;
    r->body = xstrndup(resp->body, resp->body_n);
}

/* Asks without waiting. */
static inline uint64_t rig_ask(struct rig *r, const char *service, const char *action,
                               const char *body)
{
    const bool rest = str_eq(service, "eks");
    struct aws_req req = {.service = service,
                          .action = action,
                          .method = rest ? "GET" : "POST",
                          .path = rest ? body : "/",
                          .body = rest ? NULL : body,
                          .body_n = rest ? 0 : strlen(body)};
    struct aws_port *p = simec2_port_aws(r->port);
    free(r->body);
    r->body = NULL;
    r->answered = false;
    r->status = 0;
    return p->request(p->ctx, &req, rig_on_answer, r);
}

/* Asks and waits for what comes at once; the answer's body. */
static inline const char *rig_call(struct rig *r, const char *service, const char *action,
                                   const char *body)
{
    rig_ask(r, service, action, body);
    ck_assert(!r->answered);
    rig_pass(r, 0);
    return r->body ? r->body : "";
}

/* Action=…&Version=…& in front of rest. */
static inline const char *rig_ec2(struct rig *r, const char *action, const char *rest)
{
    AUTO_FREE char *body = xasprintf("Action=%s&Version=2016-11-15&%s", action, rest);
    return rig_call(r, "ec2", action, body);
}

static inline void rig_step(struct rig *r, const char *json)
{
    struct err err = ERR_INIT;
    AUTO_JSON json_t *v = jsonx_parse(json, strlen(json), "step", &err);
    ck_assert_msg(v != NULL && simec2_step(r->e, v, &err) == 0, "%s: %s", json, err.msg);
}

/* How often a text occurs. */
static inline size_t rig_times(const char *text, const char *what)
{
    size_t n = 0;
    for (const char *p = text; (p = strstr(p, what)); p += strlen(what)) {
        n++;
    }
    return n;
}

/* The text of the nth <tag> (from 0) in dst; "" if there is none. */
static inline const char *rig_tag(const char *xml, const char *tag, size_t nth, char dst[256])
{
    char open[64];
    snprintf(open, sizeof(open), "<%s>", tag);
    dst[0] = 0;
    const char *p = xml;
    for (size_t i = 0; (p = strstr(p, open)); i++) {
        p += strlen(open);
        if (i == nth) {
            snprintf(dst, 256, "%.*s", (int)strcspn(p, "<"), p);
            break;
        }
    }
    return dst;
}

/* ---- the usual launch ----------------------------------------------------------------------- */

#define RIG_GOOD_CONFIG                                                                            \
    "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster:\n    name: sim\n"      \
    "    apiServerEndpoint: https://api.sim:6443\n"                                                \
    "    certificateAuthority: c2ltdWxhdGVkIGNlcnRpZmljYXRlIGF1dGhvcml0eQ==\n"                     \
    "    cidr: 10.96.0.0/16\n  kubelet:\n    config:\n      maxPods: 58\n"                         \
    "      clusterDNS: [10.96.0.10]\n"                                                             \
    "      registerWithTaints:\n      - {key: karpenter.sh/unregistered, effect: NoExecute}\n"     \
    "    flags:\n    - --node-labels=\"karpenter.sh/nodepool=default,team=a\"\n"

/* A MIME message with that one NodeConfig, in base64. Heap. */
static inline char *rig_user_data(const char *config)
{
    AUTO_FREE char *text = xasprintf("MIME-Version: 1.0\r\n"
                                     "Content-Type: multipart/mixed; boundary=\"//\"\r\n\r\n"
                                     "--//\r\nContent-Type: application/node.eks.aws\r\n\r\n"
                                     "%s\r\n--//--\r\n",
                                     config);
    return base64_encode(text, strlen(text));
}

static inline void rig_escape(struct buf *b, const char *s)
{
    for (; *s; s++) {
        buf_printf(b, "%%%02X", (unsigned char)*s);
    }
}

/* The standard image of an architecture, as SSM tells it. */
static inline void rig_image(struct rig *r, const char *arch, char dst[64])
{
    AUTO_FREE char *body = xasprintf("{\"Name\": \"/aws/service/eks/optimized-ami/1.34/"
                                     "amazon-linux-2023/%s/standard/recommended/image_id\"}",
                                     arch);
    const char *text = rig_call(r, "ssm", "GetParameter", body);
    AUTO_JSON json_t *v = jsonx_parse(text, strlen(text), "answer", NULL);
    snprintf(dst, 64, "%s", jsonx_str_or(v, "Parameter.Value", "none"));
}

/* A launch template NAME with the good user data, or the given one. */
static inline void rig_template(struct rig *r, const char *name, const char *arch,
                                const char *config)
{
    char image[64];
    rig_image(r, arch, image);
    AUTO_FREE char *data = rig_user_data(config ? config : RIG_GOOD_CONFIG);
    AUTO_BUF struct buf b;
    buf_init(&b, 1u << 20);
    buf_printf(&b,
               "LaunchTemplateName=%s&LaunchTemplateData.ImageId=%s&"
               "LaunchTemplateData.NetworkInterface.1.DeviceIndex=0&"
               "LaunchTemplateData.NetworkInterface.1.SecurityGroupId.1=sg-00000000000000001&"
               "LaunchTemplateData.IamInstanceProfile.Name=node&"
               "LaunchTemplateData.TagSpecification.1.ResourceType=network-interface&"
               "TagSpecification.1.ResourceType=launch-template&"
               "TagSpecification.1.Tag.1.Key=eks%%3Aeks-cluster-name&"
               "TagSpecification.1.Tag.1.Value=sim&LaunchTemplateData.UserData=",
               name, image);
    rig_escape(&b, data);
    rig_ec2(r, "CreateLaunchTemplate", b.p);
    ck_assert_msg(r->status == 200, "%s", r->body);
}

/* CreateFleet of template `lt`: pools is "TYPE ZONE,TYPE ZONE,…". more is appended. Heap. */
static inline char *rig_fleet_body(const char *kind, int n, const char *pools, const char *more)
{
    struct buf b;
    buf_init(&b, 1u << 20);
    buf_printf(&b,
               "Action=CreateFleet&Version=2016-11-15&Type=instant&"
               "TargetCapacitySpecification.TotalTargetCapacity=%d&"
               "TargetCapacitySpecification.DefaultTargetCapacityType=%s&"
               "TagSpecification.1.ResourceType=instance&"
               "TagSpecification.1.Tag.1.Key=karpenter.sh%%2Fnodepool&"
               "TagSpecification.1.Tag.1.Value=default&"
               "LaunchTemplateConfigs.1.LaunchTemplateSpecification.LaunchTemplateName=lt1&"
               "LaunchTemplateConfigs.1.LaunchTemplateSpecification.Version=%%24Latest",
               n, kind);
    for (int i = 1; *pools; i++) {
        size_t len = strcspn(pools, ","), type_n = strcspn(pools, " ");
        buf_printf(&b,
                   "&LaunchTemplateConfigs.1.Overrides.%d.InstanceType=%.*s&"
                   "LaunchTemplateConfigs.1.Overrides.%d.AvailabilityZone=%.*s",
                   i, (int)type_n, pools, i, (int)(len - type_n - 1), pools + type_n + 1);
        pools += len + (pools[len] == ',');
    }
    buf_printf(&b, "%s", more);
    char *body = buf_take(&b);
    buf_done(&b);
    return body;
}

/* Asks for a fleet and waits for its answer. */
static inline const char *rig_fleet(struct rig *r, const char *kind, int n, const char *pools,
                                    const char *more)
{
    AUTO_FREE char *body = rig_fleet_body(kind, n, pools, more);
    rig_ask(r, "ec2", "CreateFleet", body);
    rig_pass(r, 2 * NS_PER_S);
    return r->body ? r->body : "";
}

#endif
