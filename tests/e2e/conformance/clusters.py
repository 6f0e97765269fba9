"""Random small clusters on the real control plane: what kube-scheduler and the ReplicaSet controller do.

    clusters.py HOW_MANY SEED SECONDS >records

Every cluster has 2 to 6 nodes and some pods of three priorities, some with a budget; up to four more
pods are placed by kube-scheduler, one after the other, where nothing is free in the place of others;
then a ReplicaSet is scaled down. A record per placement and per ranking goes to
stdout, one JSON object per line (tests/sim/compare.h); `karp-sim compare` judges them. After SECONDS
no further cluster is begun. Nodes have no kubelet; no cluster lives long enough for that to matter.
"""
import json
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from kube import Kube  # noqa: E402

PODS = "/api/v1/namespaces/default/pods"
SETS = "/apis/apps/v1/namespaces/default/replicasets"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
SERVICES = "/api/v1/namespaces/default/services"
NODES = "/api/v1/nodes"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
MARK = {"conf": "cluster"}
SELECTED = {"labelSelector": "conf=cluster"}


def must(answer, *codes):
    status, body = answer
    if status not in (codes or (200, 201)):
        sys.exit("%d: %s" % (status, body.get("message", "")))
    return body


def wait(seconds, poll):
    end = time.monotonic() + seconds
    while True:
        seen = poll()
        if seen is not None or time.monotonic() > end:
            return seen
        time.sleep(0.01)


def until(what, seconds, poll):
    seen = wait(seconds, poll)
    if seen is None:
        sys.exit("%s: not within %d s" % (what, seconds))
    return seen


def stamp(at):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


class Cluster:
    def __init__(self, kube, rnd, name):
        self.kube, self.rnd, self.name = kube, rnd, name
        self.nodes, self.pods, self.services = [], [], []
        # A cluster whose pods have priorities makes room for some of them.
        self.ranked = self.maybe(0.6)

    # ---- making -------------------------------------------------------------------------------------

    def maybe(self, p):
        return self.rnd.random() < p

    def make_node(self, i):
        r, name = self.rnd, "%s-n%d" % (self.name, i)
        labels = dict(MARK, **{HOST: name, "disk": r.choice(["ssd", "hdd"])})
        if self.maybe(0.9):
            labels[ZONE] = r.choice(["z1", "z2", "z3"])
        taints = []
        if self.maybe(0.3):
            effect = r.choice(["NoSchedule", "PreferNoSchedule", "PreferNoSchedule"])
            taints.append({"key": "k", "value": r.choice(["v", "w"]), "effect": effect})
        capacity = {"cpu": r.choice(["2", "4", "8"]), "memory": r.choice(["4Gi", "8Gi", "16Gi"]), "pods": r.choice(["3", "20"])}
        condition = {"type": "Ready", "status": "True", "lastHeartbeatTime": stamp(time.time()), "lastTransitionTime": stamp(time.time()), "reason": "a", "message": "b"}
        spec = {"taints": taints}
        if self.maybe(0.1):
            spec["unschedulable"] = True
        body = {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": {"capacity": capacity, "allocatable": capacity, "conditions": [condition]}}
        must(self.kube.call("POST", NODES, body))
        if spec.get("unschedulable"):
            taints.append({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
        self.nodes.append(must(self.kube.merge(NODES + "/" + name, {"spec": {"taints": taints}})))

    def term(self, key=None):
        return {"topologyKey": key or self.rnd.choice([ZONE, HOST]), "labelSelector": {"matchLabels": {"app": self.rnd.choice("abc")}}}

    def affinity(self):
        r, out = self.rnd, {}
        if self.maybe(0.25):
            kind = r.choice(["podAffinity", "podAntiAffinity"])
            out[kind] = {"requiredDuringSchedulingIgnoredDuringExecution": [self.term()]}
        if self.maybe(0.3):
            kind = r.choice(["podAffinity", "podAntiAffinity"])
            weighted = {"weight": r.choice([1, 10, 100]), "podAffinityTerm": self.term()}
            out.setdefault(kind, {})["preferredDuringSchedulingIgnoredDuringExecution"] = [weighted]
        if self.maybe(0.25):
            match = {"matchExpressions": [{"key": "disk", "operator": "In", "values": [r.choice(["ssd", "hdd"])]}]}
            if self.maybe(0.4):
                out["nodeAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [match]}}
            else:
                out["nodeAffinity"] = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": r.choice([1, 50]), "preference": match}]}
        return out

    def spread(self, app):
        out = []
        for key in (ZONE, HOST):
            if self.maybe(0.3):
                one = {"topologyKey": key, "maxSkew": self.rnd.choice([1, 2]), "whenUnsatisfiable": self.rnd.choice(["DoNotSchedule", "ScheduleAnyway"]), "labelSelector": {"matchLabels": {"app": app}}}
                if one["whenUnsatisfiable"] == "DoNotSchedule" and self.maybe(0.3):
                    one["minDomains"] = self.rnd.choice([2, 3])
                if self.maybe(0.3):
                    one["nodeTaintsPolicy"] = "Honor"
                if self.maybe(0.2):
                    one["nodeAffinityPolicy"] = "Ignore"
                out.append(one)
        return out

    def pod(self, i, scheduler):
        r, app = self.rnd, self.rnd.choice("abc")
        container = {"name": "c", "image": "x:1"}
        if self.maybe(0.85):
            container["resources"] = {"requests": {"cpu": r.choice(["100m", "500m", "1", "3"]), "memory": r.choice(["128Mi", "1Gi", "3Gi"])}}
        if self.maybe(0.15):
            container["ports"] = [{"containerPort": 80, "hostPort": 8080}]
        spec = {"schedulerName": scheduler, "terminationGracePeriodSeconds": 0, "containers": [container]}
        if self.maybe(0.5):
            spec["affinity"] = self.affinity()
        if self.maybe(0.5):
            spec["topologySpreadConstraints"] = self.spread(app)
        if self.maybe(0.3):
            spec["tolerations"] = [{"key": "k", "operator": "Equal", "value": "v"}]
        if self.maybe(0.1):
            spec["nodeSelector"] = {"disk": "ssd"}
        if self.ranked and self.maybe(0.8):
            spec["priorityClassName"] = r.choice(["conf-low", "conf-mid"] if scheduler == "none" else ["conf-mid", "conf-high", "conf-high"])
        return {"metadata": {"name": "%s-p%d" % (self.name, i), "labels": dict(MARK, app=app)}, "spec": spec}

    def settle(self, i, pod):
        """A pod that has run for a time of its own: no two victims began at once."""
        ready = {"type": "Ready", "status": "True" if self.maybe(0.7) else "False"}
        status = {"phase": "Running", "startTime": stamp(time.time() - 1000 + 10 * i), "conditions": [ready]}
        return must(self.kube.merge(PODS + "/" + pod["metadata"]["name"] + "/status", {"status": status}))

    def budget(self):
        size = self.rnd.choice([{"minAvailable": 1}, {"maxUnavailable": 1}, {"minAvailable": 0}])
        spec = dict(size, selector={"matchLabels": {"app": self.rnd.choice("abc")}})
        must(self.kube.call("POST", BUDGETS, {"metadata": {"name": self.name, "labels": MARK}, "spec": spec}))

    def budgets(self):
        """Once they count what is there."""
        found = self.kube.items(BUDGETS, **SELECTED)
        for b in found:
            app = b["spec"]["selector"]["matchLabels"]["app"]
            ready = [p for p in self.pods if p["metadata"]["labels"]["app"] == app and any(c["type"] == "Ready" and c["status"] == "True" for c in p["status"].get("conditions", []))]
            status = b.get("status", {})
            if status.get("observedGeneration") != 1 or status.get("currentHealthy") != len(ready) or status.get("disruptedPods"):
                return None
        return found

    def build(self):
        for i in range(self.rnd.randint(2, 6)):
            self.make_node(i)
        if self.maybe(0.5):
            body = {"metadata": {"name": self.name, "labels": MARK}, "spec": {"selector": {"app": self.rnd.choice("abc")}, "ports": [{"port": 80}]}}
            self.services.append(must(self.kube.call("POST", SERVICES, body)))
        for i in range(self.rnd.randint(3, 9) if self.ranked else self.rnd.randint(0, 6)):
            body = self.pod(i, "none")
            body["spec"]["nodeName"] = self.rnd.choice(self.nodes)["metadata"]["name"]
            self.pods.append(self.settle(i, must(self.kube.call("POST", PODS, body))))
        if self.ranked and self.maybe(0.4):
            self.budget()
        time.sleep(0.1)  # kube-scheduler's caches

    # ---- watching what happens ----------------------------------------------------------------------

    def scheduled(self, name):
        pod = must(self.kube.call("GET", PODS + "/" + name))
        for c in pod.get("status", {}).get("conditions", []):
            if c["type"] == "PodScheduled":
                return pod, c
        return None

    def bound(self, name):
        pod = must(self.kube.call("GET", PODS + "/" + name))
        return pod if pod["spec"].get("nodeName") else None

    def gone(self):
        there = {p["metadata"]["name"] for p in self.kube.items(PODS, **SELECTED) if "deletionTimestamp" not in p["metadata"]}
        return [p["metadata"]["name"] for p in self.pods if p["metadata"]["name"] not in there]

    def place(self, i):
        budgets = until("budgets of " + self.name, 20, self.budgets)
        asked = must(self.kube.call("POST", PODS, self.pod(100 + i, "default-scheduler")))
        name = asked["metadata"]["name"]
        pod, condition = until("scheduling of " + name, 10, lambda: self.scheduled(name))
        chosen, bound = pod["spec"].get("nodeName", ""), True
        record = {"what": "place", "name": name, "nodes": self.nodes, "pods": self.pods, "services": self.services, "classes": self.classes, "budgets": budgets, "pod": asked}
        if not chosen and pod["status"].get("nominatedNodeName"):
            # Now and then kube-scheduler forgets for minutes who waits for the room that it made. What
            # it chose is known all the same.
            chosen, bound = pod["status"]["nominatedNodeName"], wait(10, lambda: self.bound(name))
            if bound:
                pod, chosen = bound, bound["spec"]["nodeName"]
        # Room may have been made before we looked.
        victims = self.gone()
        if victims:
            record.update(nominated=chosen, victims=victims)
            self.pods = [p for p in self.pods if p["metadata"]["name"] not in victims]
        else:
            record.update(chosen=chosen, message=condition.get("message", ""))
        print(json.dumps(record))
        if chosen and bound:
            self.pods.append(self.settle(100 + i, pod))
            time.sleep(0.05)
        else:
            must(self.kube.call("DELETE", PODS + "/" + name, {"gracePeriodSeconds": 0}))

    def members(self, label):
        return [p for p in self.kube.items(PODS, labelSelector=label) if "deletionTimestamp" not in p["metadata"]]

    def dress(self, pod):
        """Gives a pod of the ReplicaSet a node, a phase, a past."""
        r, path = self.rnd, PODS + "/" + pod["metadata"]["name"]
        if self.maybe(0.9):
            node = r.choice(self.nodes[:3])["metadata"]["name"]
            body = {"metadata": {"name": pod["metadata"]["name"]}, "target": {"kind": "Node", "name": node}}
            must(self.kube.call("POST", path + "/binding", body))
        if self.maybe(0.3):
            cost = r.choice(["-5", "0", "5"])
            must(self.kube.merge(path, {"metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": cost}}}))
        if not self.maybe(0.85):
            return
        # Ages in the middle of a step of the binary logarithm, so that the time of asking does not matter.
        age = 1.5 * 2 ** r.choice([34, 36, 36, 38, 40]) / 1e9
        ready = {"type": "Ready", "status": "True" if self.maybe(0.8) else "False", "lastTransitionTime": stamp(time.time() - age)}
        box = {"name": "c", "image": "x:1", "imageID": "x", "ready": True, "restartCount": r.choice([0, 0, 1, 3]), "state": {"running": {}}}
        must(self.kube.merge(path + "/status", {"status": {"phase": "Running", "conditions": [ready], "containerStatuses": [box]}}))

    def whole(self, label):
        """Pods of the ReplicaSet that have all labels of its template, as its controller counts them."""
        sets = self.kube.items(SETS, labelSelector=label)
        return sets[0].get("status", {}).get("fullyLabeledReplicas", 0) if len(sets) == 1 else None

    def rank(self):
        size, label = self.rnd.randint(2, 6), "rs=" + self.name
        template = {"metadata": {"labels": dict(MARK, rs=self.name, whole="yes")}, "spec": {"schedulerName": "none", "terminationGracePeriodSeconds": 30, "containers": [{"name": "c", "image": "x:1"}]}}
        body = {"metadata": {"name": self.name, "labels": dict(MARK, rs=self.name)}, "spec": {"replicas": size, "selector": {"matchLabels": {"rs": self.name}}, "template": template}}
        owned = self.maybe(0.5)
        path = (DEPLOYMENTS if owned else SETS) + "/" + self.name
        must(self.kube.call("POST", DEPLOYMENTS if owned else SETS, body))
        pods = until("pods of " + self.name, 20, lambda: (lambda m: m if len(m) == size else None)(self.members(label)))
        for pod in pods:
            self.dress(pod)
        # The last of all writes is one that the ReplicaSet's status counts: what that status shows was
        # reckoned from everything written before.
        must(self.kube.merge(PODS + "/" + pods[-1]["metadata"]["name"], {"metadata": {"labels": {"whole": None}}}))
        before = self.members(label)
        until("status of " + self.name, 20, lambda: self.whole(label) == size - 1 or None)
        left = self.rnd.randint(1, size - 1)
        now = stamp(time.time())
        must(self.kube.merge(path, {"spec": {"replicas": left}}))
        after = until("scaling of " + self.name, 20, lambda: (lambda m: m if len(m) == left else None)(self.members(label)))
        kept = {p["metadata"]["name"] for p in after}
        print(json.dumps({"what": "rank", "name": self.name, "now": now, "owned": owned, "pods": before, "gone": [p["metadata"]["name"] for p in before if p["metadata"]["name"] not in kept]}))

    def clear(self):
        for path in (DEPLOYMENTS, SETS):
            self.kube.call("DELETE", path, {"propagationPolicy": "Background"}, query=SELECTED)
        for path in (PODS, NODES):
            self.kube.call("DELETE", path, {"gracePeriodSeconds": 0}, query=SELECTED)
        self.kube.call("DELETE", BUDGETS, query=SELECTED)
        for s in self.services:
            self.kube.call("DELETE", SERVICES + "/" + s["metadata"]["name"])

    def play(self):
        try:
            self.build()
            for i in range(self.rnd.randint(1, 4)):
                self.place(i)
            self.rank()
        finally:
            self.clear()


def make_classes(kube):
    values = {"conf-low": 10, "conf-mid": 100, "conf-high": 1000}
    return [must(kube.call("POST", CLASSES, {"metadata": {"name": name, "labels": MARK}, "value": values[name]})) for name in sorted(values)]


def main(how_many, seed, seconds):
    kube, end = Kube(), time.monotonic() + seconds
    Cluster.classes = make_classes(kube)
    for i in range(how_many):
        if time.monotonic() > end:
            break
        # One stream per cluster: a difference is found again by its number alone.
        Cluster(kube, random.Random(seed * 100000 + i), "c%d" % i).play()
    until("pods to go", 20, lambda: None if kube.items(PODS, **SELECTED) else True)
    kube.call("DELETE", CLASSES, query=SELECTED)


main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
