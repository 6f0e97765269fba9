/* test_sim_ec2_world - the other services, the queue, faults, ports and steps of the cloud. */
#include "simec2_rig.h"

/* ---- JSON services -------------------------------------------------------------------------- */

static const struct service_row {
    const char *service, *action, *body;
    int status;
    const char *path, *value; /* of the JSON answer; value ends with * = prefix */
} service_rows[] = {
    {"ssm", "GetParameter",
     "{\"Name\": \"/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/x86_64/standard/"
     "recommended/image_id\"}",
     200, "Parameter.Value", "ami-*"},
    {"ssm", "GetParameter",
     "{\"Name\": \"/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/arm64/standard/"
     "amazon-eks-node-al2023-arm64-standard-1.34-v20260101/image_id\"}",
     200, "Parameter.Value", "ami-*"},
    {"ssm", "GetParameter",
     "{\"Name\": \"/aws/service/bottlerocket/aws-k8s-1.34/x86_64/latest/image_id\"}", 200,
     "Parameter.Value", "ami-*"},
    {"ssm", "GetParameter",
     "{\"Name\": \"/aws/service/bottlerocket/aws-k8s-1.34-nvidia/arm64/1.50.0/image_id\"}", 200,
     "Parameter.Value", "ami-*"},
    {"ssm", "GetParameter",
     "{\"Name\": \"/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/x86_64/standard/"
     "recommended/image_id\"}",
     400, "__type", "ParameterNotFound"},
    {"ssm", "GetParameter",
     "{\"Name\": \"/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/arm64/neuron/"
     "recommended/image_id\"}",
     400, "__type", "ParameterNotFound"},
    {"ssm", "GetParameter", "{\"Name\": \"/mine\"}", 400, "__type", "ParameterNotFound"},
    {"ssm", "GetParameter", "{}", 400, "__type", "ValidationException"},
    {"ssm", "GetParameter", "[1]", 400, "__type", "SerializationException"},
    {"ssm", "GetParameter", "{", 400, "__type", "SerializationException"},
    {"ssm", "DeleteParameter", "{}", 400, "__type", "InvalidAction"},
    {"eks", "DescribeCluster", "/clusters/sim", 200, "cluster.version", "1.34"},
    {"eks", "DescribeCluster", "/clusters/sim", 200, "cluster.endpoint", "https://api.sim:6443"},
    {"eks", "DescribeCluster", "/clusters/sim", 200, "cluster.certificateAuthority.data", "c2l*"},
    {"eks", "DescribeCluster", "/clusters/sim", 200,
     "cluster.kubernetesNetworkConfig.serviceIpv4Cidr", "10.96.0.0/16"},
    {"eks", "DescribeCluster", "/clusters/other", 404, "__type", "ResourceNotFoundException"},
    {"sqs", "GetQueueUrl", "{\"QueueName\": \"sim\"}", 200, "QueueUrl",
     "https://sqs.us-west-2.amazonaws.com/111122223333/sim"},
    {"sqs", "GetQueueUrl", "{\"QueueName\": \"x\"}", 400, "__type",
     "com.amazonaws.sqs#QueueDoesNotExist"},
    {"sqs", "ReceiveMessage", "{\"QueueUrl\": \"https://h/1/x\"}", 400, "__type",
     "com.amazonaws.sqs#QueueDoesNotExist"},
    {"sqs", "ReceiveMessage", "{\"QueueUrl\": \"https://h/1/sim\", \"MaxNumberOfMessages\": 11}",
     400, "__type", "com.amazonaws.sqs#InvalidParameterValue"},
    {"sqs", "DeleteMessage", "{\"QueueUrl\": \"https://h/1/sim\", \"ReceiptHandle\": \"x\"}", 400,
     "__type", "com.amazonaws.sqs#ReceiptHandleIsInvalid"},
    {"sqs", "DeleteMessageBatch", "{\"QueueUrl\": \"https://h/1/sim\", \"Entries\": []}", 400,
     "__type", "com.amazonaws.sqs#EmptyBatchRequest"},
    {"sqs", "DeleteMessageBatch", "{\"QueueUrl\": \"https://h/1/x\", \"Entries\": [{}]}", 400,
     "__type", "com.amazonaws.sqs#QueueDoesNotExist"},
    {"pricing", "GetProducts", "{\"ServiceCode\": \"AmazonS3\"}", 400, "__type",
     "InvalidParameterException"},
    {"pricing", "GetProducts", "{\"ServiceCode\": \"AmazonEC2\", \"NextToken\": \"x\"}", 400,
     "__type", "InvalidNextTokenException"},
};

START_TEST(json_services)
{
    const struct service_row *row = &service_rows[_i];
    struct rig r;
    rig_init(&r, NULL);
    const char *text = rig_call(&r, row->service, row->action, row->body);
    AUTO_JSON json_t *v = jsonx_parse(text, strlen(text), "answer", NULL);
    const char *got = jsonx_str_or(v, row->path, "(absent)");
    ck_assert_msg(r.status == row->status && str_glob(row->value, got), "%s %s: %d %s", row->action,
                  row->body, r.status, text);
    rig_done(&r);
}
END_TEST

static const struct xml_row {
    const char *service, *action, *body;
    int status;
    const char *has;
} xml_rows[] = {
    {"sts", "GetCallerIdentity", "Action=GetCallerIdentity&Version=2011-06-15", 200,
     "<Account>111122223333</Account>"},
    {"iam", "GetInstanceProfile",
     "Action=GetInstanceProfile&Version=2010-05-08&InstanceProfileName=node", 200,
     "<RoleName>node</RoleName>"},
    {"iam", "GetInstanceProfile",
     "Action=GetInstanceProfile&Version=2010-05-08&InstanceProfileName=sim_1", 404,
     "<Code>NoSuchEntity</Code>"},
    {"iam", "DeleteInstanceProfile",
     "Action=DeleteInstanceProfile&Version=2010-05-08&InstanceProfileName=sim_1", 404,
     "<Code>NoSuchEntity</Code>"},
    {"ec2", "DescribeSubnets",
     "Action=DescribeSubnets&Version=2016-11-15&Filter.1.Name=tag%3Aany&Filter.1.Value.1=thing",
     200, "<availabilityZoneId>usw2-az4</availabilityZoneId>"},
    {"ec2", "DescribeSubnets",
     "Action=DescribeSubnets&Version=2016-11-15&SubnetId.1=subnet-00000000000000002", 200,
     "<availableIpAddressCount>4000</availableIpAddressCount>"},
    {"ec2", "DescribeSecurityGroups",
     "Action=DescribeSecurityGroups&Version=2016-11-15&Filter.1.Name=tag-key&"
     "Filter.1.Value.1=x",
     200, "<groupName>nodes</groupName>"},
    {"ec2", "DescribeSecurityGroups",
     "Action=DescribeSecurityGroups&Version=2016-11-15&Filter.1.Name=group-name&"
     "Filter.1.Value.1=x",
     200, "<securityGroupInfo></securityGroupInfo>"},
    {"ec2", "DescribeInstanceTypes",
     "Action=DescribeInstanceTypes&Version=2016-11-15&InstanceType.1=m5.large", 200,
     "<sizeInMiB>8192</sizeInMiB>"},
    {"ec2", "DescribeInstanceTypeOfferings",
     "Action=DescribeInstanceTypeOfferings&Version=2016-11-15&LocationType=availability-zone&"
     "Filter.1.Name=instance-type&Filter.1.Value.1=m5.large",
     200, "<location>us-west-2b</location>"},
    {"ec2", "DescribeSpotPriceHistory",
     "Action=DescribeSpotPriceHistory&Version=2016-11-15&InstanceType.1=m5.large&"
     "ProductDescription.1=Linux%2FUNIX&StartTime=2026-01-05T09%3A00%3A00Z",
     200, "<spotPrice>0.0384000000</spotPrice>"},
    {"ec2", "DescribeSpotPriceHistory",
     "Action=DescribeSpotPriceHistory&Version=2016-11-15&ProductDescription.1=Windows", 200,
     "<spotPriceHistorySet></spotPriceHistorySet>"},
    {"ec2", "DescribeCapacityReservations",
     "Action=DescribeCapacityReservations&Version=2016-11-15&Filter.1.Name=state&"
     "Filter.1.Value.1=active",
     200, "<capacityReservationSet></capacityReservationSet>"},
    {"ec2", "DescribePlacementGroups", "Action=DescribePlacementGroups&Version=2016-11-15", 200,
     "<placementGroupSet></placementGroupSet>"},
    {"ec2", "DescribeInstanceStatus", "Action=DescribeInstanceStatus&Version=2016-11-15", 200,
     "<instanceStatusSet></instanceStatusSet>"},
};

START_TEST(xml_services)
{
    const struct xml_row *row = &xml_rows[_i];
    struct rig r;
    rig_init(&r, NULL);
    const char *xml = rig_call(&r, row->service, row->action, row->body);
    ck_assert_msg(r.status == row->status && strstr(xml, row->has), "%s: %d %s", row->body,
                  r.status, xml);
    rig_done(&r);
}
END_TEST

static void iam(struct rig *r, const char *action, const char *rest, int status)
{
    AUTO_FREE char *body =
        xasprintf("Action=%s&Version=2010-05-08&InstanceProfileName=sim_1%s", action, rest);
    rig_call(r, "iam", action, body);
    ck_assert_msg(r->status == status, "%s: %d %s", action, r->status, r->body);
}

START_TEST(instance_profiles)
{
    struct rig r;
    rig_init(&r, NULL);
    iam(&r, "CreateInstanceProfile", "&Path=%2Fkarpenter%2Fa%2F", 200);
    iam(&r, "CreateInstanceProfile", "", 409);
    iam(&r, "AddRoleToInstanceProfile", "&RoleName=a%2Fb", 400);
    iam(&r, "AddRoleToInstanceProfile", "&RoleName=node", 200);
    iam(&r, "AddRoleToInstanceProfile", "&RoleName=other", 409);
    iam(&r, "GetInstanceProfile", "", 200);
    ck_assert(strstr(r.body, "instance-profile/karpenter/a/sim_1") != NULL);
    const char *list = "Action=ListInstanceProfiles&Version=2010-05-08&PathPrefix=%2Fkarpenter%2F";
    ck_assert_uint_eq(rig_times(rig_call(&r, "iam", "ListInstanceProfiles", list), "<member>"), 2);
    iam(&r, "DeleteInstanceProfile", "", 400);
    iam(&r, "RemoveRoleFromInstanceProfile", "&RoleName=other", 404);
    iam(&r, "RemoveRoleFromInstanceProfile", "&RoleName=node", 200);
    iam(&r, "DeleteInstanceProfile", "", 200);
    iam(&r, "GetInstanceProfile", "", 404);
    rig_done(&r);
}
END_TEST

/* All pages of the shared on-demand list: every price of the table, once. */
START_TEST(price_list)
{
    struct rig r;
    size_t pages = 0, rows = 0;
    char token[128] = "";
    rig_init(&r, NULL);
    do {
        AUTO_FREE char *next = *token ? xasprintf(", \"NextToken\": \"%s\"", token) : xstrdup("");
        AUTO_FREE char *body = xasprintf(
            "{\"ServiceCode\": \"AmazonEC2\", \"MaxResults\": 100, \"Filters\": [{\"Type\": "
            "\"TERM_MATCH\", \"Field\": \"regionCode\", \"Value\": \"us-west-2\"}, {\"Type\": "
            "\"TERM_MATCH\", \"Field\": \"tenancy\", \"Value\": \"Shared\"}]%s}",
            next);
        const char *text = rig_call(&r, "pricing", "GetProducts", body);
        AUTO_JSON json_t *v = jsonx_parse(text, strlen(text), "answer", NULL);
        json_t *list = jsonx_arr(v, "PriceList");
        ck_assert_uint_le(json_array_size(list), 100);
        for (size_t i = 0; i < json_array_size(list); i++) {
            const char *product = json_string_value(json_array_get(list, i));
            AUTO_JSON json_t *p = jsonx_parse(product, strlen(product), "product", NULL);
            ck_assert(p != NULL);
            ck_assert(!str_contains(jsonx_str(p, "product.attributes.instanceType"), "metal"));
            rows++;
            if (str_eq(jsonx_str(p, "product.attributes.instanceType"), "m5.large")) {
                ck_assert(strstr(product, "\"USD\":\"0.0960000000\"") != NULL);
            }
        }
        snprintf(token, sizeof(token), "%s", jsonx_str_or(v, "NextToken", ""));
        pages++;
    } while (*token && pages < 100);
    ck_assert_uint_gt(rows, 1000);
    ck_assert_uint_ge(pages, rows / 100);
    rig_done(&r);
}
END_TEST

/* ---- queue ---------------------------------------------------------------------------------- */

#define RECEIVE                                                                                    \
    "{\"QueueUrl\": \"https://x/1/sim\", \"MaxNumberOfMessages\": 10, \"VisibilityTimeout\": 20, " \
    "\"WaitTimeSeconds\": 20}"

START_TEST(long_poll)
{
    struct rig r;
    rig_init(&r, NULL);
    rig_ask(&r, "sqs", "ReceiveMessage", RECEIVE);
    rig_pass(&r, 20 * NS_PER_S - 1);
    ck_assert(!r.answered);
    rig_pass(&r, 1);
    ck_assert_str_eq(r.body, "{}");
    rig_ask(&r, "sqs", "ReceiveMessage", RECEIVE);
    rig_pass(&r, 5 * NS_PER_S);
    ck_assert(!r.answered);
    ck_assert(simec2_queue_send(r.e, "hello"));
    ck_assert(!r.answered);
    rig_pass(&r, 0);
    ck_assert(strstr(r.body, "\"Body\":\"hello\"") != NULL);
    ck_assert(strstr(r.body, "\"MD5OfBody\":\"5d41402abc4b2a76b9719d911017c592\"") != NULL);
    ck_assert_uint_eq(simec2_queue_len(r.e), 1);
    /* In flight for 20 s, then there again. */
    rig_ask(&r, "sqs", "ReceiveMessage", RECEIVE);
    rig_pass(&r, 20 * NS_PER_S - 1);
    ck_assert(!r.answered);
    rig_pass(&r, 1);
    AUTO_JSON json_t *v = jsonx_parse(r.body, strlen(r.body), "answer", NULL);
    json_t *m = json_array_get(jsonx_arr(v, "Messages"), 0);
    ck_assert_str_eq(jsonx_str(m, "Attributes.ApproximateReceiveCount"), "2");
    AUTO_FREE char *del =
        xasprintf("{\"QueueUrl\": \"https://x/1/sim\", \"ReceiptHandle\": \"%s\"}",
                  jsonx_str(m, "ReceiptHandle"));
    rig_call(&r, "sqs", "DeleteMessage", del);
    ck_assert_int_eq(r.status, 200);
    ck_assert_uint_eq(simec2_queue_len(r.e), 0);
    rig_done(&r);
}
END_TEST

START_TEST(messages_go_in_batches)
{
    struct rig r;
    rig_init(&r, NULL);
    ck_assert(simec2_queue_send(r.e, "a") && simec2_queue_send(r.e, "b"));
    rig_call(&r, "sqs", "ReceiveMessage",
             "{\"QueueUrl\": \"https://x/1/sim\", \"MaxNumberOfMessages\": 1}");
    AUTO_JSON json_t *v = jsonx_parse(r.body, strlen(r.body), "answer", NULL);
    json_t *m = json_array_get(jsonx_arr(v, "Messages"), 0);
    AUTO_FREE char *del = xasprintf(
        "{\"QueueUrl\": \"https://x/1/sim\", \"Entries\": [{\"Id\": \"0\", \"ReceiptHandle\": "
        "\"%s\"}, {\"Id\": \"1\", \"ReceiptHandle\": \"?\"}]}",
        jsonx_str(m, "ReceiptHandle"));
    rig_call(&r, "sqs", "DeleteMessageBatch", del);
    ck_assert_int_eq(r.status, 200);
    ck_assert(strstr(r.body, "\"Successful\":[{\"Id\":\"0\"}]") != NULL);
    ck_assert(strstr(r.body, "\"Failed\":[{\"Id\":\"1\",\"Code\":\"ReceiptHandleIsInvalid\"") !=
              NULL);
    ck_assert_uint_eq(simec2_queue_len(r.e), 1);
    rig_done(&r);
}
END_TEST

START_TEST(messages_die)
{
    struct rig r;
    rig_init(&r, NULL);
    rig_call(&r, "sqs", "SendMessage",
             "{\"QueueUrl\": \"https://x/1/sim\", \"MessageBody\": \"x\"}");
    ck_assert_int_eq(r.status, 200);
    rig_pass(&r, 5 * NS_PER_MIN - 1);
    ck_assert_uint_eq(simec2_queue_len(r.e), 1);
    rig_pass(&r, 1);
    ck_assert_uint_eq(simec2_queue_len(r.e), 0);
    rig_done(&r);
}
END_TEST

START_TEST(interruption)
{
    struct rig r;
    rig_init(&r, NULL);
    rig_template(&r, "lt1", "x86_64", NULL);
    rig_fleet(&r, "spot", 1, "c5.large us-west-2a", "");
    rig_pass(&r, NS_PER_MIN);
    AUTO_FREE char *step =
        xasprintf("{\"spotInterruption\": [\"%s\"]}", simec2_instance_at(r.e, 0)->id);
    rig_step(&r, step);
    rig_call(&r, "sqs", "ReceiveMessage", RECEIVE);
    ck_assert(strstr(r.body, "Spot Instance Interruption Warning") != NULL);
    rig_pass(&r, 2 * NS_PER_MIN - 1);
    ck_assert_int_eq(simec2_instance_at(r.e, 0)->state, SIMEC2_RUNNING);
    rig_pass(&r, 1);
    ck_assert_int_eq(simec2_instance_at(r.e, 0)->state, SIMEC2_SHUTTING_DOWN);
    ck_assert_uint_eq(r.downs, 1);
    rig_done(&r);
}
END_TEST

/* ---- faults --------------------------------------------------------------------------------- */

static const struct fault_row {
    const char *step;
    int status; /* of the first call, 0 = broken connection */
    enum err_kind kind;
    const char *code;
    size_t launched; /* after that call */
    int second;      /* status of a second, equal call */
} fault_rows[] = {
    {"{\"fail\": {\"action\": \"CreateFleet\", \"code\": \"InternalError\"}}", 500, ERR_NONE,
     "InternalError", 0, 200},
    {"{\"fail\": {\"action\": \"ec2:Create*\", \"code\": \"UnauthorizedOperation\", \"times\": 2}}",
     403, ERR_NONE, "UnauthorizedOperation", 0, 403},
    {"{\"fail\": {\"action\": \"RunInstances\"}}", 200, ERR_NONE, "", 1, 200},
    {"{\"fail\": [{\"action\": \"CreateFleet\", \"code\": \"A\"}, {\"action\": \"CreateFleet\", "
     "\"code\": \"RequestLimitExceeded\"}]}",
     400, ERR_NONE, "A", 0, 503},
    {"{\"throttle\": {\"action\": \"CreateFleet\", \"for\": \"1m\"}}", 503, ERR_NONE,
     "RequestLimitExceeded", 0, 503},
    {"{\"throttle\": {\"for\": \"2s\"}}", 503, ERR_NONE, "RequestLimitExceeded", 0, 200},
    {"{\"fail\": {\"code\": \"ConnectionRefused\"}}", 0, ERR_UNAVAILABLE, "", 0, 200},
    {"{\"fail\": {\"code\": \"LostAnswer\"}}", 0, ERR_UNAVAILABLE, "", 1, 200},
    {"{\"fail\": {\"code\": \"LateAnswer\", \"delay\": \"2m\"}}", 0, ERR_TIMEOUT, "", 1, 200},
};

START_TEST(faults)
{
    const struct fault_row *row = &fault_rows[_i];
    struct rig r;
    char code[256];
    rig_init(&r, NULL);
    rig_template(&r, "lt1", "x86_64", NULL);
    rig_step(&r, row->step);
    rig_fleet(&r, "spot", 1, "c5.large us-west-2a", "&ClientToken=a");
    if (!r.answered) {
        ck_assert_int_eq(row->kind, ERR_TIMEOUT);
        rig_pass(&r, AWS_TIMEOUT_NS - 2 * NS_PER_S);
    }
    ck_assert_msg(r.answered && r.status == row->status && r.err.kind == row->kind, "%s: %d %s",
                  row->step, r.status, r.err.msg);
    ck_assert_str_eq(rig_tag(r.body ? r.body : "", "Code", 0, code), row->code);
    ck_assert_uint_eq(simec2_n_instances(r.e), row->launched);
    rig_fleet(&r, "spot", 1, "c5.large us-west-2a", "&ClientToken=a");
    ck_assert_msg(r.status == row->second, "%s: then %d", row->step, r.status);
    ck_assert_uint_eq(simec2_n_instances(r.e), row->second == 200);
    rig_done(&r);
}
END_TEST

START_TEST(cut_answers)
{
    struct rig r;
    rig_init(&r, NULL);
    rig_step(&r, "{\"cut\": {\"action\": \"DescribeSubnets\"}}");
    size_t cut = strlen(rig_ec2(&r, "DescribeSubnets", ""));
    size_t whole = strlen(rig_ec2(&r, "DescribeSubnets", ""));
    ck_assert_int_eq(r.status, 200);
    ck_assert_uint_eq(cut, whole / 2);
    rig_done(&r);
}
END_TEST

/* ---- ports ---------------------------------------------------------------------------------- */

START_TEST(cancel_and_close)
{
    struct rig r;
    rig_init(&r, NULL);
    rig_template(&r, "lt1", "x86_64", NULL);
    struct aws_port *p = simec2_port_aws(r.port);
    AUTO_FREE char *body = rig_fleet_body("spot", 1, "c5.large us-west-2a", "");
    uint64_t handle = rig_ask(&r, "ec2", "CreateFleet", body);
    p->cancel(p->ctx, handle);
    p->cancel(p->ctx, handle + 1000);
    rig_ask(&r, "ec2", "CreateFleet", body);
    p->close(p->ctx);
    rig_pass(&r, NS_PER_MIN);
    ck_assert(!r.answered);
    ck_assert_uint_eq(simec2_n_instances(r.e), 2); /* on the wire is on the wire */
    rig_ec2(&r, "DescribeSubnets", "");
    ck_assert(r.answered);
    rig_done(&r);
}
END_TEST

START_TEST(asker_dies_of_the_answer)
{
    struct rig r;
    rig_init(&r, NULL);
    rig_template(&r, "lt1", "x86_64", NULL);
    r.die_at = "ec2:CreateFleet";
    rig_fleet(&r, "spot", 1, "c5.large us-west-2a", "");
    rig_pass(&r, NS_PER_MIN);
    ck_assert(!r.answered);
    ck_assert_uint_eq(simec2_n_instances(r.e), 1);
    rig_done(&r);
}
END_TEST

START_TEST(port_outlives_the_cloud)
{
    struct rig r;
    rig_init(&r, NULL);
    rig_ask(&r, "ec2", "DescribeSubnets", "Action=DescribeSubnets&Version=2016-11-15");
    simec2_free(r.e);
    r.e = NULL;
    rig_pass(&r, NS_PER_MIN);
    rig_ask(&r, "ec2", "DescribeSubnets", "Action=DescribeSubnets&Version=2016-11-15");
    rig_pass(&r, NS_PER_MIN);
    ck_assert(!r.answered);
    rig_done(&r);
}
END_TEST

/* ---- steps ---------------------------------------------------------------------------------- */

static const struct step_row {
    const char *json, *why; /* NULL: fine */
} step_rows[] = {
    {"{}", NULL},
    {"[]", "must be a map"},
    {"{\"colour\": 1}", "colour"},
    {"{\"outOfCapacity\": {}}", "must be a list"},
    {"{\"outOfCapacity\": [{\"size\": 1}]}", "size"},
    {"{\"outOfCapacity\": [{\"for\": 5}]}", "for"},
    {"{\"outOfCapacity\": [{\"for\": \"soon\"}]}", "for"},
    {"{\"restock\": 1}", "restock"},
    {"{\"throttle\": {\"for\": \"1m\"}}", NULL},
    {"{\"fail\": {\"times\": -1}}", "times"},
    {"{\"fail\": {\"code\": \"\"}}", "code"},
    {"{\"noBoot\": {\"times\": 1.5}}", "times"},
    {"{\"hide\": {\"for\": \"1d\"}}", NULL},
    {"{\"prices\": {\"onDemand\": {\"m5.large\": 0.1}, \"spot\": {\"m5.*\": 0.01}}}", NULL},
    {"{\"prices\": {\"onDemand\": {\"m5.large\": -1}}}", "m5.large"},
    {"{\"prices\": {\"onDemand\": {\"zz9.large\": 1}}}", "zz9.large"},
    {"{\"prices\": {\"spot\": {\"m5.large\": {\"us-west-2z\": 1}}}}", "us-west-2z"},
    {"{\"pricesTimes\": 0}", "pricesTimes"},
    {"{\"pricesTimes\": 10}", NULL},
    {"{\"images\": {\"release\": \"v20260201\", \"x86_64\": \"ami-new\"}}", NULL},
    {"{\"images\": {\"x86_64\": \"ami-new\"}}", "release"},
    {"{\"tags\": {\"subnet\": {\"a\": \"b\"}, \"sg\": null}}", NULL},
    {"{\"tags\": {\"vpc\": {}}}", "vpc"},
    {"{\"tags\": {\"sg\": {\"a\": 1}}}", "sg"},
    {"{\"terminate\": [\"i-1\"]}", "i-1"},
    {"{\"terminate\": \"i-1\"}", "must be a list"},
    {"{\"status\": {\"target\": [], \"check\": \"disk\"}}", "check"},
    {"{\"foreign\": [{\"type\": \"m5.large\", \"zone\": \"mars\"}]}", "zone"},
    {"{\"restock\": true, \"outOfCapacity\": [{\"x\": 1}]}", "x"},
};

START_TEST(steps)
{
    const struct step_row *row = &step_rows[_i];
    struct rig r;
    struct err err = ERR_INIT;
    rig_init(&r, NULL);
    AUTO_JSON json_t *v = jsonx_parse(row->json, strlen(row->json), "step", NULL);
    int rc = simec2_step(r.e, v, &err);
    ck_assert_msg(rc == (row->why ? -1 : 0), "%s: %s", row->json, err.msg);
    ck_assert_msg(!row->why || strstr(err.msg, row->why), "%s: %s", row->json, err.msg);
    rig_done(&r);
}
END_TEST

START_TEST(tags_and_images)
{
    static const char by_tag[] = "Filter.1.Name=tag%3Ateam&Filter.1.Value.1=a&Owner.1=self";
    struct rig r;
    char first[256], id[256];
    rig_init(&r, NULL);
    ck_assert_uint_eq(rig_times(rig_ec2(&r, "DescribeImages", by_tag), "<imageId>"), 2);
    rig_tag(r.body, "imageId", 0, first);
    rig_step(&r, "{\"images\": {\"release\": \"v20260201\", \"x86_64\": \"ami-new\"}}");
    ck_assert_uint_eq(rig_times(rig_ec2(&r, "DescribeImages", by_tag), "<imageId>"), 2);
    ck_assert_str_eq(rig_tag(r.body, "imageId", 0, id), "ami-new");
    char newest[64];
    rig_image(&r, "x86_64", newest);
    ck_assert_str_eq(newest, "ami-new");
    /* The old one is still there by its name. */
    rig_ec2(&r, "DescribeImages",
            "Filter.1.Name=name&Filter.1.Value.1=amazon-eks-node-al2023-x86_64-standard-*");
    ck_assert_uint_eq(rig_times(r.body, "<imageId>"), 2);
    ck_assert_str_eq(rig_tag(r.body, "imageId", 0, id), first);
    rig_step(&r, "{\"tags\": {\"image\": {\"team\": \"b\"}, \"subnet\": {\"team\": \"b\"}, "
                 "\"subnet-00000000000000001\": {\"team\": \"a\"}}}");
    ck_assert_uint_eq(rig_times(rig_ec2(&r, "DescribeImages", by_tag), "<imageId>"), 0);
    ck_assert_uint_eq(
        rig_times(rig_ec2(&r, "DescribeSubnets", "Filter.1.Name=tag%3Ateam&Filter.1.Value.1=a"),
                  "<subnetId>"),
        1);
    rig_done(&r);
}
END_TEST

START_TEST(configured)
{
    static const char text[] =
        "{\"types\": [\"m5.*\", \"c5a.4xlarge\"], \"boot\": \"10s\", \"ready\": \"8s\", "
        "\"onDemand\": {\"m5.large\": 0.1}, \"spot\": {\"m5.xlarge\": 0.03}, "
        "\"outOfCapacity\": [{\"type\": \"m5.2xlarge\"}]}";
    struct rig r;
    struct err err = ERR_INIT;
    rig_init(&r, NULL);
    AUTO_JSON json_t *v = jsonx_parse(text, strlen(text), "spec", NULL);
    ck_assert_msg(simec2_configure(r.e, v, &err) == 0, "%s", err.msg);
    ck_assert_int_eq(simec2_price(r.e, "m5.large", "us-west-2a", false), INT64_C(100000000000));
    ck_assert_int_eq(simec2_price(r.e, "m5.large", "us-west-2a", true), INT64_C(40000000000));
    ck_assert_int_eq(simec2_price(r.e, "m5.xlarge", "us-west-2b", true), INT64_C(30000000000));
    ck_assert_int_eq(simec2_price(r.e, "c5.large", "us-west-2a", false), -1);
    ck_assert_int_eq(simec2_price(r.e, "m5.large", "us-west-2z", false), -1);
    rig_template(&r, "lt1", "x86_64", NULL);
    const char *xml =
        rig_fleet(&r, "on-demand", 1, "m5.2xlarge us-west-2a,m5.large us-west-2a", "");
    ck_assert_uint_eq(rig_times(xml, "<item>i-"), 1);
    rig_pass(&r, 10 * NS_PER_S);
    ck_assert_uint_eq(r.boots, 1);
    json_object_set_new(v, "colour", json_true());
    ck_assert_int_eq(simec2_configure(r.e, v, &err), -1);
    rig_done(&r);
}
END_TEST

START_TEST(status_and_events)
{
    struct rig r;
    rig_init(&r, NULL);
    rig_template(&r, "lt1", "x86_64", NULL);
    rig_fleet(&r, "spot", 2, "c5.large us-west-2a", "");
    rig_pass(&r, NS_PER_MIN);
    AUTO_FREE char *step =
        xasprintf("{\"status\": {\"target\": [\"%s\"], \"check\": \"system\", \"for\": \"5m\"}, "
                  "\"scheduledEvent\": {\"target\": [\"%s\"], \"code\": \"instance-retirement\"}}",
                  simec2_instance_at(r.e, 0)->id, simec2_instance_at(r.e, 1)->id);
    rig_step(&r, step);
    static const char bad[] = "Filter.1.Name=system-status.status&Filter.1.Value.1=impaired";
    static const char ev[] = "Filter.1.Name=event.code&Filter.1.Value.1=instance-retirement";
    ck_assert_uint_eq(rig_times(rig_ec2(&r, "DescribeInstanceStatus", ""), "<instanceId>"), 2);
    ck_assert_uint_eq(rig_times(rig_ec2(&r, "DescribeInstanceStatus", bad), "<instanceId>"), 1);
    ck_assert_uint_eq(rig_times(rig_ec2(&r, "DescribeInstanceStatus", ev), "<instanceId>"), 1);
    rig_pass(&r, 5 * NS_PER_MIN);
    ck_assert_uint_eq(rig_times(rig_ec2(&r, "DescribeInstanceStatus", bad), "<instanceId>"), 0);
    rig_done(&r);
}
END_TEST

START_TEST(unknown_region)
{
    struct rig r = {0};
    struct err err = ERR_INIT;
    struct simec2_opts o;
    simec2_opts_default(&o);
    o.region = "mars-north-1";
    r.clock = (struct clock){rig_wall, rig_mono, &r};
    timers_init(&r.timers);
    ck_assert(simec2_new(&o, &r.clock, &r.timers, NULL, &err) == NULL);
    ck_assert_int_eq(err.kind, ERR_INVALID);
    timers_done(&r.timers);
}
END_TEST

UNIT_MAIN("sim_ec2_world", UNIT_CASES(json_services, service_rows),
          UNIT_CASES(xml_services, xml_rows), UNIT_TEST(instance_profiles), UNIT_TEST(price_list),
          UNIT_TEST(long_poll), UNIT_TEST(messages_go_in_batches), UNIT_TEST(messages_die),
          UNIT_TEST(interruption), UNIT_CASES(faults, fault_rows), UNIT_TEST(cut_answers),
          UNIT_TEST(cancel_and_close), UNIT_TEST(asker_dies_of_the_answer),
          UNIT_TEST(port_outlives_the_cloud), UNIT_CASES(steps, step_rows),
          UNIT_TEST(tags_and_images), UNIT_TEST(configured), UNIT_TEST(status_and_events),
          UNIT_TEST(unknown_region))
