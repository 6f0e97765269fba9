# shellcheck shell=bash
# Everything that the agent asks for is granted by the manifests that we ship: a node comes, works and
# goes, and the API server answers nothing with 401, 403 or 404 of a resource.
ec2_start
mark=$(audit_mark)
agent_start agent
agent_ready agent
workload
scale 3
expect 20 "running pods" 3 running
scale 0
expect 40 "claims" 0 claims
expect 15 "nodes" 0 nodes
equal "refusals in the audit log" "" "$(audit "$mark" codes | grep -E '^40[13] ' | sort | uniq -c | head -n 5)"
equal "refusals by the agent's count" 0 "$(metric agent client_go_request_total 'code="403"')"
equal "refusals in the log" 0 "$(logged agent -iE 'forbidden|"?403')"
equal "errors of the agent" 0 "$(logged agent '"level":"ERROR"')"
note "$(audit "$mark" calls | wc -l) kinds of calls"
# What it must not be able to do.
as() { kubectl auth can-i --as "$AGENT_USER" --as-group system:serviceaccounts --as-group system:serviceaccounts:karp "$@" 2>/dev/null || true; }
equal "create pods" no "$(as create pods)"
equal "delete namespaces" no "$(as delete namespaces)"
equal "read secrets" no "$(as get secrets -n kube-system)"
equal "write Leases elsewhere" no "$(as update leases -n karp)"
equal "bind roles" no "$(as create clusterrolebindings)"
agent_stop agent
