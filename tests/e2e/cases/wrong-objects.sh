# shellcheck shell=bash
# Objects that this version cannot read or does not know all of, behind a CRD that lets them through
# (a newer one, or none that checks): said in a condition or the log; the pool concerned stops, the
# others serve.
: >"$LOG_DIR/reinstall"
kubectl patch crd nodepools.karpenter.sh --type json -p '[{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema",
    "value": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}]' >/dev/null
ec2_start
agent_start agent
agent_ready agent
workload
pool future spot '' future
pool bogus barter '' bogus
deployment future 1 1Gi future
kubectl patch nodepool future --type merge -p '{"spec": {"template": {"spec": {"quantumState": "both"}}}}' >/dev/null
# Those that lead to our class must be heard of; what leads nowhere is somebody else's.
ref='"nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}'
for spec in "{\"template\": {\"spec\": {\"requirements\": \"text\", $ref}}}" \
    "{\"template\": {\"metadata\": \"text\", \"spec\": {\"requirements\": [], $ref}}, \"limits\": [1]}" \
    "{\"weight\": \"heavy\", \"limits\": {\"cpu\": \"ten\"}, \"disruption\": {\"consolidateAfter\": \"soon\", \"budgets\": {\"a\": 1}},
      \"template\": {\"spec\": {\"expireAfter\": 7, \"taints\": [3], \"requirements\": [{\"key\": 1}], $ref}}}" \
    '{"template": "text"}' '{}'; do
    n=$((${n:-0} + 1))
    echo "{\"apiVersion\": \"karpenter.sh/v1\", \"kind\": \"NodePool\", \"metadata\": {\"name\": \"broken-$n\"}, \"spec\": $spec}" | apply
done

scale 3
expect 30 "running pods beside broken pools" 3 running
expect 15 "condition UnknownFields" True condition nodepool future UnknownFields
equal "its message" '*quantumState*' "$(condition nodepool future UnknownFields message)"
expect 15 "condition ValidationSucceeded" False condition nodepool bogus ValidationSucceeded
equal "its message" '*capacity-type*' "$(condition nodepool bogus ValidationSucceeded message)"
expect 10 "condition Ready" False condition nodepool bogus Ready
said() { # POOL: in a condition or in the log
    [ "$(condition nodepool "$1" ValidationSucceeded)" = False ] || [ "$(logged agent -F "$1")" != 0 ] && echo said
}
for i in 1 2 3; do expect 10 "a word about broken-$i" said said "broken-$i"; done

# A pool with a field that nobody knows launches nothing, and does when the field is gone.
scale 1 future
stays 5 "claims of the pool with an unknown field" 0 names nodeclaims -l karpenter.sh/nodepool=future
kubectl patch nodepool future --type json -p '[{"op": "remove", "path": "/spec/template/spec/quantumState"}]' >/dev/null
expect 30 "running pods of the repaired pool" 1 running future
[ "$(condition nodepool future UnknownFields)" != True ] || die "UnknownFields is still True"
equal "pairs" ok "$(ec2 pairs)"
agent_stop agent
