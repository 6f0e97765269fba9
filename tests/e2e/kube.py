"""A small client of the API server for the end-to-end tests: standard library only.

As a program:
    kube.py wipe                    puts the cluster back to what it was after the installation
    kube.py hold NAMESPACE HOLDER   holds a Lease karpenter-leader-election there until it is killed
KUBECONFIG names a file of cp.sh: one cluster, one token.
"""
import http.client
import json
import os
import re
import ssl
import sys
import time
import urllib.parse

KARPENTER = "/apis/karpenter.sh/v1"
PATHS = {
    "NodePool": KARPENTER + "/nodepools",
    "NodeClaim": KARPENTER + "/nodeclaims",
    "EC2NodeClass": "/apis/karpenter.k8s.aws/v1/ec2nodeclasses",
    "Hold": "/apis/karp.dev/v1alpha1/holds",
    "DisruptionRequest": "/apis/karp.dev/v1alpha1/disruptionrequests",
    "DisruptionGrant": "/apis/karp.dev/v1alpha1/disruptiongrants",
    "Node": "/api/v1/nodes",
}


class Kube:
    """One keep-alive connection. Calls return (status, object)."""

    def __init__(self, kubeconfig=None):
        text = open(kubeconfig or os.environ["KUBECONFIG"]).read()
        self.host, port = re.search(r"https://([0-9.]+):(\d+)", text).groups()
        self.port = int(port)
        self.token = re.search(r"token: ([^}\s]+)", text).group(1)
        self.tls = ssl.create_default_context(cafile=re.search(r"certificate-authority: ([^}\s]+)", text).group(1))
        self.conn = None

    def connect(self, timeout=30):
        return http.client.HTTPSConnection(self.host, self.port, context=self.tls, timeout=timeout)

    def call(self, method, path, body=None, query=None, kind="application/json"):
        if query:
            path += "?" + urllib.parse.urlencode(query)
        headers = {"Authorization": "Bearer " + self.token, "Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = kind
            body = json.dumps(body)
        for attempt in (0, 1):
            try:
                self.conn = self.conn or self.connect()
                self.conn.request(method, path, body, headers)
                answer = self.conn.getresponse()
                return answer.status, json.loads(answer.read() or b"{}")
            except (http.client.HTTPException, OSError):
                self.conn = None
                if attempt:
                    raise

    def items(self, path, **query):
        status, answer = self.call("GET", path, query=query)
        return answer.get("items", []) if status == 200 else []

    def merge(self, path, patch):
        return self.call("PATCH", path, patch, kind="application/merge-patch+json")

    def watch(self, path, timeout, **query):
        """Yields events until `timeout` seconds have passed."""
        end = time.monotonic() + timeout
        query.update(watch="true", timeoutSeconds=str(int(timeout) + 1))
        conn = self.connect(timeout)
        conn.request("GET", path + "?" + urllib.parse.urlencode(query), headers={"Authorization": "Bearer " + self.token})
        answer = conn.getresponse()
        rest = b""  # readline() of a chunked answer may end early where a line spans chunks
        try:
            while time.monotonic() < end:
                data = answer.read1(1 << 20)
                if not data:
                    return
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    yield json.loads(line)
        except TimeoutError:
            return
        finally:
            conn.close()


def drop(kube, path, name):
    """Deletes one object, whatever finalizers it has."""
    kube.merge(path + "/" + name, {"metadata": {"finalizers": None}})
    kube.call("DELETE", path + "/" + name, {"gracePeriodSeconds": 0, "propagationPolicy": "Background"})


def drop_all(kube, path, keep=lambda o: False):
    n = 0
    for item in kube.items(path):
        if not keep(item):
            drop(kube, path, item["metadata"]["name"])
            n += 1
    return n


def wipe(kube, seconds=30):
    for kind in ("deployments", "daemonsets", "statefulsets", "replicasets"):
        drop_all(kube, "/apis/apps/v1/namespaces/default/" + kind)
    drop_all(kube, "/apis/policy/v1/namespaces/default/poddisruptionbudgets")
    paths = ["/apis/apps/v1/namespaces/default/replicasets", "/api/v1/namespaces/default/pods"]
    paths += [PATHS[k] for k in ("Hold", "DisruptionRequest", "DisruptionGrant", "NodePool", "NodeClaim", "EC2NodeClass", "Node")]
    least = None
    while True:
        left = sum(drop_all(kube, p) for p in paths)
        if not left:
            break
        # A thousand objects take their time on a busy machine: it is given while they become fewer.
        if least is None or left < least:
            least, end = left, time.monotonic() + seconds
        if time.monotonic() > end:
            sys.exit("wipe: %d objects do not go" % left)
        time.sleep(0.2)
    for lease in kube.items("/apis/coordination.k8s.io/v1/leases"):
        m = lease["metadata"]
        if m["name"] == "karpenter-leader-election" or m["namespace"] == "kube-node-lease":
            drop(kube, "/apis/coordination.k8s.io/v1/namespaces/%s/leases" % m["namespace"], m["name"])
    drop_all(kube, "/api/v1/namespaces/karp/configmaps", lambda o: not o["metadata"]["name"].startswith("karp-"))
    for ns in ("default", "karp"):
        kube.call("DELETE", "/api/v1/namespaces/%s/events" % ns)


def hold(kube, namespace, holder):
    path = "/apis/coordination.k8s.io/v1/namespaces/%s/leases" % namespace
    body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "karpenter-leader-election"}}
    while True:
        now = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())
        spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": now}
        status, _ = kube.merge(path + "/karpenter-leader-election", {"spec": spec})
        if status == 404:
            spec.update(acquireTime=now, leaseTransitions=0)
            status, _ = kube.call("POST", path, dict(body, spec=spec))
        if status not in (200, 201):
            sys.exit("hold: %d" % status)
        time.sleep(2)


if __name__ == "__main__":
    if sys.argv[1:2] == ["wipe"]:
        wipe(Kube())
    elif sys.argv[1:2] == ["hold"] and len(sys.argv) == 4:
        hold(Kube(), sys.argv[2], sys.argv[3])
    else:
        sys.exit(__doc__)
