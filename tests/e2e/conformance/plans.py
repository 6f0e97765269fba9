"""Plays plans of `karp-sim differential --write` on the real control plane: does kube-scheduler do it?

    plans.py DIR HOW_MANY SECONDS

For each file of DIR that plans a pod, in the order of seeds: its objects are created, with a node for
each claim; once the pods of DaemonSets are bound, the pods that wait are created in their order and
kube-scheduler places them. After HOW_MANY plans or SECONDS no further one is begun. A line for each
stranded pod goes to stdout, then "N plans, M pods planned, R run (S in the simulated cluster)".

Nodes have no kubelet; no plan takes so long that it matters. Volumes are provisioned here.
"""
import copy
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from kube import Kube, drop, drop_all  # noqa: E402

CORE, STORAGE = "/api/v1", "/apis/storage.k8s.io/v1"
NODES, VOLUMES = CORE + "/nodes", CORE + "/persistentvolumes"
ZONE, CHOSEN = "topology.kubernetes.io/zone", "volume.kubernetes.io/selected-node"
PATHS = {
    "Namespace": CORE + "/namespaces",
    "Node": NODES,
    "Pod": CORE + "/namespaces/%s/pods",
    "PersistentVolume": VOLUMES,
    "PersistentVolumeClaim": CORE + "/namespaces/%s/persistentvolumeclaims",
    "DaemonSet": "/apis/apps/v1/namespaces/%s/daemonsets",
    "StorageClass": STORAGE + "/storageclasses",
    "CSINode": STORAGE + "/csinodes",
    "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses",
}
NAMESPACES = ("default", "kube-system", "other")
STILL = 3  # seconds without a change after which those that wait are stranded


def path_of(o):
    path = PATHS[o["kind"]]
    return path % o["metadata"]["namespace"] if "%s" in path else path


def until(what, seconds, poll):
    end = time.monotonic() + seconds
    while not poll():
        if time.monotonic() > end:
            sys.exit("%s: not within %d s" % (what, seconds))
        time.sleep(0.05)


def clean(o):
    """As one would create it: what the server or a controller gives is left out."""
    o = copy.deepcopy(o)
    for key in ("uid", "creationTimestamp", "annotations", "ownerReferences"):
        o["metadata"].pop(key, None)
    if o["kind"] != "Node":
        o.pop("status", None)
    return o


class Plan:
    def __init__(self, kube, plan):
        self.kube, self.plan, self.made = kube, plan, []

    def create(self, o):
        status, answer = self.kube.call("POST", path_of(o), clean(o))
        if status not in (201, 409):
            sys.exit("plan %d: %s %s: %s" % (self.plan["seed"], o["kind"], o["metadata"]["name"], answer.get("message", "")))
        if status == 201:
            self.made.append((path_of(o), o["metadata"]["name"]))
        if o["kind"] == "Node":  # admission added the not-ready taint
            self.kube.merge(NODES + "/" + o["metadata"]["name"], {"spec": {"taints": o["spec"].get("taints", [])}})

    def pods(self):
        return [p for ns in NAMESPACES for p in self.kube.items(PATHS["Pod"] % ns)]

    def daemons_settled(self):
        """Every DaemonSet was looked at and has its pods, and these are bound."""
        sets = self.kube.items(PATHS["DaemonSet"] % "kube-system")
        for s in sets:
            status = s.get("status", {})
            if status.get("observedGeneration") != s["metadata"]["generation"]:
                return False
            if status.get("desiredNumberScheduled") != status.get("currentNumberScheduled"):
                return False
        return all(p["spec"].get("nodeName") for p in self.kube.items(PATHS["Pod"] % "kube-system"))

    def volumes_settled(self):
        claims = [c for ns in NAMESPACES for c in self.kube.items(PATHS["PersistentVolumeClaim"] % ns)]
        return all(c["status"].get("phase") == "Bound" for c in claims if c["spec"].get("volumeName"))

    def provision(self):
        """What the CSI driver's provisioner does once the scheduler has chosen a node."""
        for ns in NAMESPACES:
            for c in self.kube.items(PATHS["PersistentVolumeClaim"] % ns):
                m, node = c["metadata"], c["metadata"].get("annotations", {}).get(CHOSEN)
                if not node or c["spec"].get("volumeName"):
                    continue
                zone = self.kube.call("GET", NODES + "/" + node)[1]["metadata"]["labels"][ZONE]
                terms = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}]
                ref = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": ns, "name": m["name"], "uid": m["uid"]}
                spec = {"capacity": {"storage": "1Gi"}, "accessModes": c["spec"]["accessModes"], "persistentVolumeReclaimPolicy": "Retain", "storageClassName": c["spec"]["storageClassName"], "claimRef": ref, "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": m["name"]}, "nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}
                self.create({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": m["name"]}, "spec": spec})

    def where(self):
        """Planned pods: their node, "" once the scheduler said that there is none, None before."""
        out = {}
        for p in self.pods():
            key = p["metadata"]["namespace"] + "/" + p["metadata"]["name"]
            if key in self.plan["planned"]:
                said = [c for c in p.get("status", {}).get("conditions", []) if c["type"] == "PodScheduled"]
                out[key] = p["spec"].get("nodeName") or ("" if said else None)
        return out

    def settle(self):
        seen, since = None, time.monotonic()
        while True:
            self.provision()
            now = self.where()
            if now != seen:
                seen, since = now, time.monotonic()
            if all(now.values()) or time.monotonic() - since > (STILL if None not in now.values() else 20):
                return now
            time.sleep(0.05)

    def play(self):
        objects = self.plan["objects"]
        known = [o for o in objects if o["kind"] in PATHS]
        waiting = [o for o in known if o["kind"] == "Pod" and "nodeName" not in o["spec"]]
        rest = [o for o in known if o not in waiting and o["metadata"]["name"] not in ("default", "kube-system")]
        # Pods before their DaemonSet, which adopts them instead of making others.
        for o in sorted(rest, key=lambda o: (o["kind"] == "DaemonSet", o["kind"] == "Pod")) + self.plan["nodes"]:
            self.create(o)
        until("daemons of plan %d" % self.plan["seed"], 40, self.daemons_settled)
        until("volumes of plan %d" % self.plan["seed"], 40, self.volumes_settled)
        for o in waiting:
            self.create(o)
        return self.settle()

    def clear(self):
        for ns in NAMESPACES:
            drop_all(self.kube, PATHS["DaemonSet"] % ns)
        until("end of pods", 40, lambda: not sum(drop_all(self.kube, PATHS["Pod"] % ns) for ns in NAMESPACES))
        for path, name in reversed(self.made):
            if "/pods" not in path and "/daemonsets" not in path and not path.endswith("/namespaces"):
                drop(self.kube, path, name)


def load(path):
    """Nodes and volumes get names that no plan before had: what goes is remembered for a while."""
    with open(path) as f:
        text, mark = f.read(), os.path.basename(path).split(".")[0]
    for prefix in ("claim-", "node-", "new-", "on-its-way"):
        text = text.replace('"' + prefix, '"s%s-%s' % (mark, prefix))
    return json.loads(text)


def main(folder, how_many, seconds):
    kube, end = Kube(), time.monotonic() + seconds
    plans = planned = ran = ran_simulated = 0
    for name in sorted(os.listdir(folder), key=lambda n: int(n.split(".")[0])):
        plan = load(os.path.join(folder, name))
        if plans == how_many or time.monotonic() > end:
            break
        if not plan["planned"]:
            continue
        one = Plan(kube, plan)
        try:
            seen = one.play()
        finally:
            one.clear()
        plans, planned = plans + 1, planned + len(plan["planned"])
        ran += sum(1 for node in seen.values() if node)
        ran_simulated += sum(1 for node in plan["planned"].values() if node)
        for key in sorted(k for k, node in seen.items() if not node):
            print("plan %d: %s is stranded%s" % (plan["seed"], key, "" if plan["planned"][key] else ", in the simulated cluster too"))
    drop(kube, PATHS["Namespace"], "other")
    print("%d plans, %d pods planned, %d run (%d in the simulated cluster)" % (plans, planned, ran, ran_simulated))


main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
