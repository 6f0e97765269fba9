# shellcheck shell=bash
# Everything that the agent asks for is granted by the manifests that we ship, and no more than it
# needs. (B4 asserts the same for the way down.)
ec2_start
mark=$(audit_mark)
# With default spread constraints, which alone have it ask for Services.
agent_start agent '--scheduler-config={podTopologySpread: {defaultConstraints: [{maxSkew: 5, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}]}}'
agent_ready agent
workload
scale 3
expect 20 "running pods" 3 running
expect 10 "the claim" True condition nodeclaim "$(first nodeclaim)" Initialized
no_refusals "$mark"
equal "refusals by the agent's count" 0 "$(metric agent client_go_request_total 'code="403"')"
equal "refusals in the log" 0 "$(logged agent -i forbidden)"
equal "errors in the log" 0 "$(logged agent '"level":"ERROR"')"
note "$(audit "$mark" calls | wc -l) kinds of calls"
# What it must not be able to do.
may() { kubectl auth can-i --as "$AGENT_USER" --as-group system:serviceaccounts --as-group system:serviceaccounts:karp "$@" 2>/dev/null || true; }
equal "create pods" no "$(may create pods)"
equal "delete namespaces" no "$(may delete namespaces)"
equal "read secrets" no "$(may get secrets -n kube-system)"
equal "write other Leases" no "$(may update leases -n karp)"
equal "bind roles" no "$(may create clusterrolebindings)"
equal "create nodes" no "$(may create nodes)"
agent_stop agent
