# shellcheck shell=bash
# Who may file, decide and grant, under the roles and the admission policies that we ship.
policy() { kubectl "$1" -f "$ROOT/deploy/base/31-approvals.yaml" "${@:2}" >/dev/null; }
trap 'policy delete --ignore-not-found' EXIT
as() { KUBECONFIG=$CP/$1.kubeconfig kubectl "${@:2}" 2>&1 || true; } # USER command...
request() { # NAME [FIELDS]: a request as the agent files it, to stdout
    cat <<Y
apiVersion: karp.dev/v1alpha1
kind: DisruptionRequest
metadata: {name: $1}
spec:
  reason: Underutilized
  nodePools: [default]
  nodesOut: 1
  nodesIn: 0
  candidates: [{nodeClaim: default-m2c8d, uid: u1, node: ip-10-0-1-5, instanceType: m6i.2xlarge, pricePerHour: "0.428"}]
  podCount: 11
  savingsPerHour: "0.428"
  planDigest: $(printf '5be1c0d2%.0s' 1 2 3 4 5 6 7 8)
  expiresAt: "${expires:-2040-01-01T00:00:00Z}"
${2:-}
Y
}
grant() { # NAME GRANTED_BY
    cat <<Y
apiVersion: karp.dev/v1alpha1
kind: DisruptionGrant
metadata: {name: $1}
spec: {pools: [default], reasons: [Underutilized], schedule: "0 22 * * *", duration: 8h, grantedBy: $2}
Y
}
decide() { # USER NAME DECISION BY [MORE]
    as "$1" patch dreq "$2" --type merge -p "{\"spec\": {\"decision\": \"$3\", \"decidedBy\": \"$4\"${5:-}}}"
}
AGENT=system:serviceaccount:karp:karp-agent
APPROVER=approver@example.com
policy apply
# It takes a moment until the API server knows the policies.
try_filed() { request late '  decision: Approved
  decidedBy: admin' | as admin create --dry-run=server -f -; }
expect 20 "refusal of a request that is filed with a decision" '*a request is filed without a decision*' try_filed
try_grant() { grant late somebody | as admin create --dry-run=server -f -; }
expect 20 "refusal of a grant in another's name" '*spec.grantedBy is admin*' try_grant

# Filing.
equal "the agent files" '*created*' "$(request r1 | as agent create -f -)"
equal "and cannot file a decided one" '*a request is filed without a decision*' "$(request r2 "  decision: Approved
  decidedBy: $AGENT" | as agent create -f -)"
equal "an approver cannot file" '*forbidden*' "$(request r2 | as approver create -f -)"
equal "nor an operator" '*forbidden*' "$(request r2 | as operator create -f -)"

# Deciding.
equal "the agent cannot decide" '*forbidden*' "$(decide agent r1 Approved "$AGENT")"
through_status() { # as kubectl cannot: the agent may not read the status by itself
    python3 - "$ROOT/tests/e2e" "$CP/agent.kubeconfig" <<'P'
import sys
sys.path.insert(0, sys.argv[1])
from kube import Kube, PATHS  # noqa: E402
body = {"status": {"phase": "Pending"}, "spec": {"decision": "Approved", "decidedBy": "x"}}
status, o = Kube(sys.argv[2]).merge(PATHS["DisruptionRequest"] + "/r1/status", body)
print(status, o["status"]["phase"], o["spec"].get("decision"))
P
}
equal "nor through the status" "200 Pending None" "$(through_status)"
equal "a viewer cannot" '*forbidden*' "$(decide viewer r1 Approved viewer@example.com)"
equal "nobody in another's name" '*spec.decidedBy is approver@example.com*' "$(decide approver r1 Approved alice@example.com)"
equal "nor without a name" '*decidedBy says who decides*' "$(as approver patch dreq r1 --type merge -p '{"spec": {"decision": "Approved"}}')"
equal "no approver changes the plan" '*the plan cannot be changed*' "$(decide approver r1 Approved "$APPROVER" ', "podCount": 1')"
equal "an approver can" '*patched*' "$(decide approver r1 Approved "$APPROVER" ', "note": "go", "onBehalfOf": "bob"')"
equal "a decision stays" '*a decision is made once*' "$(decide approver r1 Denied "$APPROVER")"
equal "for the cluster's administrator too" '*a decision is made once*' "$(decide admin r1 Denied admin)"
equal "and so does the plan" '*the plan cannot be changed*' "$(as admin patch dreq r1 --type merge -p '{"spec": {"candidates": [{"nodeClaim": "other", "uid": "u2"}]}}')"
equal "an approver does not write the status" '*forbidden*' "$(as approver patch dreq r1 --subresource status --type merge -p '{"status": {"phase": "Denied"}}')"
equal "nor take a request away" '*forbidden*' "$(as approver delete dreq r1)"
# Not even where somebody has given the agent more than we ship.
kubectl create clusterrolebinding e2e-too-much --clusterrole=karp-approver --user="$AGENT" >/dev/null
request r3 | as agent create -f - >/dev/null
expect 10 "the agent with an approver's role" '*who files requests does not decide them*' decide agent r3 Approved "$AGENT"
equal "and it grants nothing" '*who files requests grants nothing*' "$(grant g0 "$AGENT" | as agent create -f -)"
kubectl delete clusterrolebinding e2e-too-much >/dev/null
equal "an operator decides" '*patched*' "$(decide operator r3 Denied operator@example.com)"

# Granting.
equal "the agent grants nothing" '*forbidden*' "$(grant g1 "$AGENT" | as agent create -f -)"
equal "nor does a viewer" '*forbidden*' "$(grant g1 viewer@example.com | as viewer create -f -)"
equal "nobody in another's name" '*spec.grantedBy is approver@example.com*' "$(grant g1 alice | as approver create -f -)"
equal "an approver grants" '*created*' "$(grant g1 "$APPROVER" | as approver create -f -)"
equal "another's grant is not widened" '*spec.grantedBy is admin*' "$(as admin patch dgrant g1 --type merge -p '{"spec": {"pools": ["*"]}}')"
equal "what is not its spec may change" '*labeled*' "$(as admin label dgrant g1 a=b)"
equal "and takes it back" '*deleted*' "$(as approver delete dgrant g1)"

# The plugin, in the names that the API server knows.
karp() { KUBECONFIG=$CP/$1.kubeconfig kubectl karp "${@:2}" 2>&1 </dev/null || true; } # USER command...
claim_of() { # NAME: a NodeClaim, for a plan that still holds
    apply <<Y
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: $1}
spec: {nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}, requirements: []}
Y
    field nodeclaim "$1" .metadata.uid
}
uid=$(claim_of kept)
for name in p1 p2 p3; do request $name | sed "s/default-m2c8d, uid: u1/kept, uid: $uid/" | as agent create -f - >/dev/null; done
request p4 | as agent create -f - >/dev/null
expires=2020-01-01T00:00:00Z request p5 | as agent create -f - >/dev/null
equal "what waits" "ID *p1 *p2 *p3 *p4 *Say yes*" "$(karp viewer approve | xargs)"
equal "a viewer approves nothing" '*forbidden*' "$(karp viewer approve p1 --yes)"
equal "nor the agent" '*forbidden*' "$(karp agent approve p1 --yes)"
equal "nor anybody without a terminal or --yes" '*no terminal*' "$(karp approver approve p1)"
equal "a dry run" '*p1 approved (server dry run)*' "$(karp approver approve p1 --dry-run=server)"
equal "and nothing after it" "" "$(field dreq p1 .spec.decision)"
equal "an approver" '*p1 approved (expires 2040-01-01*' "$(karp approver approve p1 --yes --note go)"
equal "signed" "Approved $APPROVER go" "$(kubectl get dreq p1 -o 'jsonpath={.spec.decision} {.spec.decidedBy} {.spec.note}')"
equal "a second time" '*already approved by approver@example.com*' "$(karp operator approve p1 --yes)"
equal "a node that is gone" '*refused: p4: plan changed since it was filed*' "$(karp approver approve p4 --yes)"
equal "one that ran out" '*refused: p5: it expired*' "$(karp approver approve p5 --yes)"
equal "no" '*p2 denied*' "$(karp operator deny p2 --yes)"
equal "all the rest" '*p4 skipped*p3 approved*' "$(karp approver approve --all --yes)"
equal "what waits then" '*p4*' "$(karp viewer approve --no-headers | xargs)"
equal "a grant" '*disruptiongrant.karp.dev/nightly created*' "$(karp approver grant nightly --pool default --reason Drifted --schedule '0 22 * * *' --duration 8h --time-zone Europe/Berlin --max-nodes-per-hour 4 --for 30d --yes)"
equal "signed" "$APPROVER" "$(field dgrant nightly .spec.grantedBy)"
equal "not by a viewer" '*forbidden*' "$(karp viewer grant other --pool default --reason Drifted --yes)"
equal "nor by the agent" '*forbidden*' "$(karp agent grant other --pool default --reason Drifted --yes)"
equal "its list" '*nightly *default *Drifted*' "$(karp viewer grant)"
equal "taken back" '*nightly deleted*' "$(karp approver grant nightly --delete)"

# Tables.
equal "columns" 'NAME REASON OUT IN PODS SAVINGS DECISION PHASE EXPIRES AGE r1 Underutilized 1 0 11 0.428 Approved Pending 2040-01-01T00:00:00Z *' "$(kubectl get dreq r1 | xargs)"
