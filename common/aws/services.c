/* services.c - SSM, EKS, STS, IAM (services.h) */
#include "services.h"

#include "common/base/jsonx.h"
#include "ec2_wire.h"

/* A copy of the text in the arena; NULL if it is absent or empty. */
static const char *keep(struct arena *a, const json_t *o, const char *path)
{
    const char *s = jsonx_str(o, path);
    return s && *s ? arena_strdup(a, s) : NULL;
}

/* ---- SSM ------------------------------------------------------------------------------------- */

void ssm_encode_get_parameter(struct buf *b, const char *name)
{
    AUTO_JSON json_t *o = json_object();
    jsonx_set_new(o, "Name", json_string(name));
    char *text = jsonx_dump(o);
    buf_puts(b, text);
    free(text);
}

int ssm_parse_get_parameter(struct arena *a, const char *body, size_t n, struct ssm_parameter *ret,
                            struct err *reterr)
{
    AUTO_JSON json_t *o = jsonx_parse(body, n, "GetParameter", reterr);
    if (!o) {
        return -1;
    }
    struct ssm_parameter p = {
        .name = keep(a, o, "Parameter.Name"),
        .value = keep(a, o, "Parameter.Value"),
        .type = keep(a, o, "Parameter.Type"),
        .version = jsonx_int(o, "Parameter.Version", 0),
    };
    if (!p.name || !p.value) {
        return err_set(reterr, ERR_INVALID, "GetParameter: the answer has no parameter");
    }
    *ret = p;
    return 0;
}

/* ---- EKS ------------------------------------------------------------------------------------- */

int eks_path_cluster(const char *name, char dst[SERVICES_PATH_MAX], struct err *reterr)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    size_t n = strspn(name, letters);
    if (n == 0 || n > 100 || name[n] || *name == '-' || *name == '_') {
        return err_set(reterr, ERR_INVALID, "not the name of an EKS cluster: \"%s\"", name);
    }
    snprintf(dst, SERVICES_PATH_MAX, "/clusters/%s", name);
    return 0;
}

int eks_parse_cluster(struct arena *a, const char *body, size_t n, struct eks_cluster *ret,
                      struct err *reterr)
{
    AUTO_JSON json_t *o = jsonx_parse(body, n, "DescribeCluster", reterr);
    if (!o) {
        return -1;
    }
    const json_t *c = jsonx_obj(o, "cluster");
    struct eks_cluster got = {
        .name = keep(a, c, "name"),
        .arn = keep(a, c, "arn"),
        .status = keep(a, c, "status"),
        .version = keep(a, c, "version"),
        .endpoint = keep(a, c, "endpoint"),
        .ca_b64 = keep(a, c, "certificateAuthority.data"),
        .service_cidr_v4 = keep(a, c, "kubernetesNetworkConfig.serviceIpv4Cidr"),
        .service_cidr_v6 = keep(a, c, "kubernetesNetworkConfig.serviceIpv6Cidr"),
        .ip_family = keep(a, c, "kubernetesNetworkConfig.ipFamily"),
    };
    if (!got.name) {
        return err_set(reterr, ERR_INVALID, "DescribeCluster: the answer has no cluster");
    }
    *ret = got;
    return 0;
}

/* ---- STS and IAM ----------------------------------------------------------------------------- */

void sts_encode_get_caller_identity(struct form *f)
{
    form_init(f, "GetCallerIdentity", STS_VERSION);
}

int sts_parse_get_caller_identity(struct arena *a, const char *body, size_t n,
                                  struct sts_identity *ret, struct err *reterr)
{
    const struct xml *root = ec2_root(a, body, n, "GetCallerIdentityResponse", NULL, reterr);
    if (!root) {
        return -1;
    }
    const struct xml *x = xml_at(root, "GetCallerIdentityResult");
    struct sts_identity got = {
        .account = ec2_text(x, "Account"),
        .arn = ec2_text(x, "Arn"),
        .user_id = ec2_text(x, "UserId"),
    };
    if (!got.account) {
        return err_set(reterr, ERR_INVALID, "GetCallerIdentity: the answer has no account");
    }
    *ret = got;
    return 0;
}

void iam_encode_get_instance_profile(struct form *f, const char *name)
{
    form_init(f, "GetInstanceProfile", IAM_VERSION);
    form_str(f, "InstanceProfileName", name);
}

int iam_parse_get_instance_profile(struct arena *a, const char *body, size_t n,
                                   struct iam_instance_profile *ret, struct err *reterr)
{
    const struct xml *root = ec2_root(a, body, n, "GetInstanceProfileResponse", NULL, reterr);
    if (!root) {
        return -1;
    }
    const struct xml *x = xml_at(root, "GetInstanceProfileResult/InstanceProfile");
    struct iam_instance_profile got = {
        .name = ec2_text(x, "InstanceProfileName"),
        .path = ec2_text(x, "Path"),
        .arn = ec2_text(x, "Arn"),
        .id = ec2_text(x, "InstanceProfileId"),
        .role_name = ec2_text(x, "Roles/member/RoleName"),
    };
    if (!got.name) {
        return err_set(reterr, ERR_INVALID, "GetInstanceProfile: the answer has no profile");
    }
    *ret = got;
    return 0;
}
