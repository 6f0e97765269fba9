"""Watches the API server and writes down the worst it ever saw, for the end-to-end tests: what the
agent says of itself is not asked.

    witness.py available SELECTOR FILE    the least number of available pods since there were most:
                                          Ready and not being deleted
    witness.py draining POOL FILE         the most NodeClaims of that pool that were on their way out at
                                          once: being deleted or marked for it, and their instance not
                                          ordered to end yet (what budgets count, as Karpenter)
    witness.py least-nodes POOL FILE      the least number of Ready Nodes of the pool that are not on their
                                          way out, since there were most
    witness.py emptied POOL FILE          the most Nodes of that pool at once that are being drained: they
                                          have lost a pod of theirs to an eviction, and their instance
                                          is not ordered to end yet
FILE has "NOW WORST", rewritten at every change. Runs until it is killed; KUBECONFIG names the cluster.
"""
import heapq
import os
import queue
import sys
import threading
import time

from kube import PATHS, Kube

TAINT = "karpenter.sh/disrupted"


class Kind:
    """One kind, listed and then watched without a gap."""

    def __init__(self, kube, path, **query):
        status, answer = kube.call("GET", path, query=query)
        if status != 200:
            sys.exit("witness: %s: %d" % (path, status))
        self.all = {o["metadata"]["name"]: o for o in answer["items"]}
        self.events = kube.watch(path, 3600, resourceVersion=answer["metadata"]["resourceVersion"], **query)

    def apply(self, event):
        if event["type"] == "ERROR":
            sys.exit("witness: %s" % event["object"])
        name = event["object"]["metadata"]["name"]
        if event["type"] == "DELETED":
            self.all.pop(name, None)
        else:
            self.all[name] = event["object"]


def true(o, condition):
    return any(c["type"] == condition and c["status"] == "True" for c in o.get("status", {}).get("conditions", []))


def ready(o):
    return true(o, "Ready")


def draining(claim):
    return (going(claim) or true(claim, "DisruptionReason")) and not true(claim, "InstanceTerminating")


def going(o):
    return "deletionTimestamp" in o["metadata"]


def tainted(node):
    return any(t["key"] == TAINT for t in node["spec"].get("taints", []))


def put(file, now, worst):
    with open(file + ".new", "w") as f:
        f.write("%d %d\n" % (now, worst))
    os.rename(file + ".new", file)


def follow(kind, file, measure, least):
    """least: of what came after the most; else the most."""
    worst = most = None
    while True:
        now = measure(kind.all)
        if most is None or now > most:
            most, worst = now, now
        elif least and now < worst:
            worst = now
        put(file, now, worst)
        event = next(kind.events, None)
        if event is None:
            sys.exit("witness: the watch ended")
        kind.apply(event)


def in_order(kinds):
    """Events of several kinds as (place, event), in the order in which the API server made them: each
    waits for a second, for one that was made before it and came later."""
    came, heap = queue.Queue(), []

    def read(place, kind):
        for event in kind.events:
            came.put((int(event["object"]["metadata"]["resourceVersion"]), place, time.monotonic(), event))
        os._exit(1)  # the watch ended

    for place, kind in enumerate(kinds):
        threading.Thread(target=read, args=(place, kind), daemon=True).start()
    while True:
        try:
            version, place, at, event = came.get(timeout=0.1)
            heapq.heappush(heap, (version, place, at, event))
        except queue.Empty:
            pass
        while heap and time.monotonic() - heap[0][2] > 1:
            yield heap[0][1], heapq.heappop(heap)[3]


def emptied(kube, pool, file):
    claims = Kind(kube, PATHS["NodeClaim"], labelSelector="karpenter.sh/nodepool=" + pool)
    pods = Kind(Kube(), "/api/v1/namespaces/default/pods")
    begun, worst = set(), 0
    put(file, 0, 0)
    for place, event in in_order([claims, pods]):
        (claims, pods)[place].apply(event)
        o = event["object"]
        if place == 1 and (going(o) or event["type"] == "DELETED"):
            begun.add(o["spec"].get("nodeName"))
        now = sum(c.get("status", {}).get("nodeName") in begun and not true(c, "InstanceTerminating")
                  for c in claims.all.values())
        worst = max(worst, now)
        put(file, now, worst)


def main(what, of, file):
    kube = Kube()
    if what == "available":
        pods = Kind(kube, "/api/v1/namespaces/default/pods", labelSelector=of)
        follow(pods, file, lambda all: sum(ready(p) and not going(p) for p in all.values()), True)
    if what == "emptied":
        emptied(kube, of, file)
    label = {"labelSelector": "karpenter.sh/nodepool=" + of}
    if what == "draining":
        claims = Kind(kube, PATHS["NodeClaim"], **label)
        follow(claims, file, lambda all: sum(draining(c) for c in all.values()), False)
    if what == "least-nodes":
        nodes = Kind(kube, PATHS["Node"], **label)
        follow(nodes, file, lambda all: sum(ready(n) and not (going(n) or tainted(n)) for n in all.values()), True)
    sys.exit(__doc__)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
