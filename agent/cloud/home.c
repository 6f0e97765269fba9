/*
 * home.c - which account and which cluster this is.
 *
 * The account is asked of STS at the start and every few minutes: another answer than the first
 * means that credentials point elsewhere, where every instance of ours seems gone; so it ends the
 * agent. EKS tells endpoint, certificate, service network and version; flags win over it, GET
 * /version stands in for the version where EKS does not know the cluster.
 */
#include "cloud_int.h"
#include "common/aws/services.h"
#include "common/base/alloc.h"
#include "common/base/jsonx.h"
#include "common/base/str.h"

struct home_job {
    struct job j;
    unsigned failures;
    bool changed;
    bool eks_version; /* EKS told the version */
};

/* Replaces the text; true if it is another one. */
static bool replace(char **have, const char *now)
{
    if (str_eq(*have, now)) {
        return false;
    }
    free(*have);
    *have = xstrdup(now);
    return true;
}

/* ---- account -----------------------------------------------------------------------------------
 */

static void ask_account(struct job *j);

static void account_is(struct cloud *c, const struct sts_identity *id)
{
    if (!c->home.account) {
        c->home.account = xstrdup(id->account);
        log_info(c->rt->log, "AWS account", "account", id->account, "as", id->arn, "region",
                 c->rt->opt->region);
        return;
    }
    if (!str_eq(c->home.account, id->account)) {
        struct err err = ERR_INIT;
        err_set(&err, ERR_INVALID, "the AWS account changed from %s to %s", c->home.account,
                id->account);
        runtime_end(c->rt, &err);
    }
}

static void on_account(struct job *j, void *ctx UNUSED, const struct aws_result *res)
{
    struct home_job *h = (struct home_job *)j;
    struct err err = res->err;
    struct sts_identity id;
    if (err.kind == ERR_NONE &&
        sts_parse_get_caller_identity(&j->mem, res->body, res->body_n, &id, &err) == 0) {
        account_is(j->c, &id);
        h->failures = 0;
        job_later(j, HOME_REFRESH_NS, ask_account);
        return;
    }
    log_error(j->c->rt->log, "cannot tell the AWS account", "error", err.msg);
    job_later(j, cloud_backoff(j->c, ++h->failures, HOME_RETRY_MAX_NS), ask_account);
}

static void ask_account(struct job *j)
{
    AUTO_FORM struct form f = {0};
    arena_reset(&j->mem);
    sts_encode_get_caller_identity(&f);
    job_aws_form(j, "sts", &f, true, on_account, NULL);
}

/* ---- cluster -----------------------------------------------------------------------------------
 */

static void ask_cluster(struct job *j);

static void cluster_end(struct home_job *h)
{
    struct cloud *c = h->j.c;
    bool failed = c->home.trouble != NULL;
    if (!c->home.asked || h->changed) {
        c->home.asked = true;
        classes_wake(c);
    }
    h->failures = failed ? h->failures + 1 : 0;
    job_later(&h->j, failed ? cloud_backoff(c, h->failures, HOME_RETRY_MAX_NS) : HOME_REFRESH_NS,
              ask_cluster);
}

static void on_dns(struct job *j, void *ctx UNUSED, const struct kube_resp *resp)
{
    struct home_job *h = (struct home_job *)j;
    struct home *home = &j->c->home;
    const char *ip = resp->err.kind == ERR_NONE ? jsonx_str(resp->body, "spec.clusterIP") : NULL;
    ip = ip && *ip && !str_eq(ip, "None") ? ip : NULL;
    /* What could not be read stays as it was. */
    if (resp->err.kind == ERR_NONE || resp->err.kind == ERR_NOT_FOUND) {
        h->changed |= replace(&home->dns_ip, ip);
    } else if (!home->asked) {
        log_error(j->c->rt->log, "cannot read Service kube-system/kube-dns", "error",
                  resp->err.msg);
    }
    cluster_end(h);
}

static void ask_dns(struct home_job *h)
{
    job_kube_get(&h->j, KIND_SERVICE, "kube-system", "kube-dns", on_dns, NULL);
}

/* "1" and "34+" are 1.34. */
static void on_version(struct job *j, void *ctx UNUSED, const struct kube_resp *resp)
{
    struct home_job *h = (struct home_job *)j;
    const char *major = resp->body ? jsonx_str(resp->body, "major") : NULL;
    const char *minor = resp->body ? jsonx_str(resp->body, "minor") : NULL;
    size_t digits = minor ? strspn(minor, "0123456789") : 0;
    if (resp->err.kind == ERR_NONE && major && digits > 0) {
        char text[32];
        snprintf(text, sizeof(text), "%.8s.%.*s", major, (int)(digits < 8 ? digits : 8), minor);
        h->changed |= replace(&j->c->home.version, text);
    } else {
        log_error(j->c->rt->log, "cannot tell the version of Kubernetes", "error",
                  resp->err.kind == ERR_NONE ? "the answer has none" : resp->err.msg);
    }
    ask_dns(h);
}

static void eks_is(struct home_job *h, const struct eks_cluster *e)
{
    struct home *home = &h->j.c->home;
    const struct agent_options *o = h->j.c->rt->opt;
    const char *cidr = e->service_cidr_v4 ? e->service_cidr_v4 : e->service_cidr_v6;
    bool own_endpoint = o->cluster_endpoint && *o->cluster_endpoint;
    bool own_ca = o->cluster_ca_bundle && *o->cluster_ca_bundle;
    h->changed |= replace(&home->endpoint, own_endpoint ? o->cluster_endpoint : e->endpoint);
    h->changed |= replace(&home->ca_b64, own_ca ? o->cluster_ca_bundle : e->ca_b64);
    h->changed |= replace(&home->cidr, cidr);
    if (e->version && *e->version) {
        h->eks_version = true;
        h->changed |= replace(&home->version, e->version);
    }
}

static void on_eks(struct job *j, void *ctx UNUSED, const struct aws_result *res)
{
    struct home_job *h = (struct home_job *)j;
    struct home *home = &j->c->home;
    const struct agent_options *o = j->c->rt->opt;
    struct err err = res->err;
    struct eks_cluster e;
    if (err.kind == ERR_NONE && eks_parse_cluster(&j->mem, res->body, res->body_n, &e, &err) == 0) {
        h->changed |= replace(&home->trouble, NULL);
        eks_is(h, &e);
    } else {
        h->changed |= replace(&home->trouble, err.msg);
        log_error(j->c->rt->log, "cannot describe the EKS cluster", "cluster", o->cluster_name,
                  "error", err.msg);
        if (o->cluster_endpoint && *o->cluster_endpoint && !home->endpoint) {
            h->changed |= replace(&home->endpoint, o->cluster_endpoint);
        }
        if (o->cluster_ca_bundle && *o->cluster_ca_bundle && !home->ca_b64) {
            h->changed |= replace(&home->ca_b64, o->cluster_ca_bundle);
        }
    }
    if (h->eks_version) {
        ask_dns(h);
    } else {
        job_kube_raw(j, "/version", on_version, NULL);
    }
}

static void ask_cluster(struct job *j)
{
    struct home_job *h = (struct home_job *)j;
    char path[SERVICES_PATH_MAX];
    struct err err = ERR_INIT;
    arena_reset(&j->mem);
    h->changed = false;
    h->eks_version = false;
    if (eks_path_cluster(j->c->rt->opt->cluster_name, path, &err) < 0) {
        const struct aws_result res = {.err = err, .body = ""};
        on_eks(j, NULL, &res);
        return;
    }
    const struct aws_call call = {.service = "eks",
                                  .action = "DescribeCluster",
                                  .method = "GET",
                                  .path = path,
                                  .repeatable = true};
    job_aws(j, &call, on_eks, NULL);
}

/* ---- life --------------------------------------------------------------------------------------
 */

void home_start(struct cloud *c)
{
    struct home_job *account = job_new(c, sizeof(*account), NULL);
    ask_account(&account->j);
    struct home_job *cluster = job_new(c, sizeof(*cluster), NULL);
    ask_cluster(&cluster->j);
}

void home_done(struct cloud *c)
{
    struct home *h = &c->home;
    free(h->account);
    free(h->endpoint);
    free(h->ca_b64);
    free(h->cidr);
    free(h->version);
    free(h->dns_ip);
    free(h->trouble);
}
