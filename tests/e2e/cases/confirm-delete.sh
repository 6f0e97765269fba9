# shellcheck shell=bash
# The admission policy that we ship: what would take nodes or whole kinds with it is deleted only when
# that is confirmed; the rest as ever.
policy() { kubectl "$1" -f "$ROOT/deploy/base/30-confirm-delete.yaml" "${@:2}" >/dev/null; }
trap 'policy delete --ignore-not-found; kubectl delete crd pets.karp.dev pets.example.com --ignore-not-found >/dev/null' EXIT
try() { kubectl delete "$@" --wait=false 2>&1 || true; }
nodes_of() { kubectl patch nodepool "$1" --subresource status --type merge -p "{\"status\": {\"nodes\": $2}}" >/dev/null; }
crd() { # GROUP
    apply <<Y
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: pets.$1}
spec:
  group: $1
  scope: Cluster
  names: {kind: Pet, plural: pets}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
Y
}
class
for name in full empty kept; do pool $name; done
nodes_of full 30
nodes_of kept 2
crd karp.dev
crd example.com
policy apply
# It takes a moment until the API server knows the policy.
expect 20 "refusal of a pool with nodes" '*deletes its nodes, 30 at present*karp.dev/confirm-delete=true*' try nodepool full --dry-run=server
equal "a pool with nodes" '*denied request*' "$(try nodepool full)"
equal "and with the wrong word" '*denied request*' "$(kubectl annotate nodepool full karp.dev/confirm-delete=yes >/dev/null && try nodepool full)"
equal "a pool without nodes" '*deleted*' "$(try nodepool empty)"
equal "all pools at once" '*denied request*' "$(kubectl delete --raw /apis/karpenter.sh/v1/nodepools 2>&1 || true)"
equal "a pool with nodes is there" 1 "$(names nodepool full)"
equal "a CRD of ours" '*deletes every object of that kind*' "$(try crd pets.karp.dev)"
equal "NodeClaims" '*denied request*' "$(try crd nodeclaims.karpenter.sh --dry-run=server)"
equal "a pool that leaves its nodes" '*deleted*' "$(try nodepool kept --cascade=orphan)"
equal "a CRD of others" '*deleted*' "$(try crd pets.example.com)"
kubectl annotate --overwrite nodepool/full crd/pets.karp.dev karp.dev/confirm-delete=true >/dev/null
equal "a confirmed pool" '*deleted*' "$(try nodepool full)"
equal "a confirmed CRD" '*deleted*' "$(try crd pets.karp.dev)"
equal "confirmed, it is gone" 0 "$(names nodepool full)"
