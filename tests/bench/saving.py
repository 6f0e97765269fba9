"""Hours until nine tenths of what can be saved are saved, under budgets of 10%. The clusters are those of the inputs
consolidation-KIND-N made of EC2's types: as many nodes of four vCPUs of the same shape, the same pods. What can be saved
at all is what a linear programme says of cpu and memory: no fleet is cheaper.

The first row is karp's, in the simulator. The second is what Karpenter's published rules make of the same cluster, played
here, not Karpenter itself: a look every 10 s, empty nodes first, then the largest set of the nodes that are cheapest to
disrupt (at most 100 and as the budget says) that goes with at most one cheaper new node, else a single node; one command
per look, 15 s of validation, during which nothing else is looked at; booting and leaving take as long as in the simulator.
usage: saving.py KIND NODES"""
import collections, gzip, json, os, re, subprocess, sys, tempfile

KARP_SIM = os.environ.get("KARP_SIM", "build/karp-sim")
KIND, NODES = sys.argv[1], sys.argv[2]
START = 420  # seconds: when everything runs and consolidation may begin
HOURS = 6
FAMILY = {"c": "c5", "s": "m5", "m": "r5"}


def load(path):
    return json.load(gzip.open(path))


def milli(text):
    return int(text[:-1]) if text.endswith("m") else int(text) * 1000


def mib(text):
    return int(text[:-2]) * (1024 if text.endswith("Gi") else 1)


data = load(f"tests/bench/data/consolidation-{KIND}-{NODES}.json.gz")
price = load("common/core/data/prices-us-east-1.json.gz")
shape = data["nodes"][0]["metadata"]["labels"]["node.kubernetes.io/instance-type"]
TYPE = FAMILY[shape[0]] + ".xlarge"
pods = collections.Counter()
for p in data["pods"]:
    r = p["spec"]["containers"][0]["resources"]["requests"]
    pods[(r["cpu"], r["memory"])] += 1


def reserved_cpu(n):
    return 60 + 10 * (n > 1) + 5 * min(2, max(0, n - 2)) + 2.5 * max(0, n - 4)


def types():
    """(milli cpu, MiB, $/h) that pods can have at most."""
    for t in load("common/core/data/instance-types.json.gz"):
        name = t["InstanceType"]
        if name.split(".")[0] in FAMILY.values() and not t["BareMetal"] and name in price:
            n = t["VCpuInfo"]["DefaultVCpus"]
            yield n * 1000 - reserved_cpu(n), t["MemoryInfo"]["SizeInMiB"], price[name]


def least():
    """The cheapest mix of two types, in fractions, that has the pods' cpu and memory."""
    cpu = sum(milli(c) * n for (c, _), n in pods.items())
    mem = sum(mib(m) * n for (_, m), n in pods.items())
    best = min(max(cpu / c, mem / m) * p for c, m, p in types())
    for c1, m1, p1 in types():
        for c2, m2, p2 in types():
            det = c1 * m2 - c2 * m1
            if det:
                x, y = (cpu * m2 - mem * c2) / det, (mem * c1 - cpu * m1) / det
                if x >= 0 and y >= 0:
                    best = min(best, x * p1 + y * p2)
    return best


DEPLOYMENT = """---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %(name)s, namespace: default}
spec:
  replicas: 0
  selector: {matchLabels: {app: %(name)s}}
  template:
    metadata: {labels: {app: %(name)s}}
    spec:
%(more)s      terminationGracePeriodSeconds: 30
      containers:
        - {name: main, image: "registry.k8s.io/pause:3.9", resources: {requests: {cpu: %(cpu)s, memory: %(mem)s}}}
"""
APART = """      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: hold}}}
"""


def scenario():
    """One small pod per node makes the nodes; then the pods come, the small ones go, and all types are allowed."""
    scale = "    - at: %ds\n      scale: {kind: Deployment, namespace: default, name: %s, replicas: %d}\n"
    steps = scale % (5, "hold", len(data["nodes"]))
    for i, n in enumerate(pods.values()):
        steps += scale % (180, f"app{i}", n)
    steps += scale % (START - 60, "hold", 0)
    steps += (
        f"    - at: {START}s\n      patch: {{kind: NodePool, name: default, merge: {{spec: {{disruption: {{budgets: [{{nodes: \"10%\"}}]}},"
        " template: {spec: {requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]},"
        f" {{key: karpenter.k8s.aws/instance-family, operator: In, values: [{', '.join(FAMILY.values())}]}}]}}}}}}}}}}\n"
        f"    - at: {START + HOURS * 3600}s\n      expect: [{{invariants: true, eq: 0}}]\n"
    )
    pool = f"""---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: default}}
spec:
  template:
    spec:
      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}
      requirements:
        - {{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}}
        - {{key: node.kubernetes.io/instance-type, operator: In, values: [{TYPE}]}}
  disruption: {{consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 0s, budgets: [{{nodes: "0"}}]}}
"""
    apps = DEPLOYMENT % {"name": "hold", "cpu": "10m", "mem": "8Mi", "more": APART}
    for i, (cpu, mem) in enumerate(pods):
        apps += DEPLOYMENT % {"name": f"app{i}", "cpu": cpu, "mem": mem, "more": ""}
    head = (
        "apiVersion: karp.dev/v1alpha1\nkind: Scenario\nmetadata: {name: saving}\nspec:\n"
        '  clock: "2026-01-05T09:00:00Z"\n  region: us-west-2\n'
        '  agent: {flags: ["--max-launches-per-minute=1000"]}\n  steps:\n'
    )
    return head + steps + pool + apps


UP = re.compile(r"^([\d.]+)s ec2 launched (i-\w+) (\S+)")
DOWN = re.compile(r"^([\d.]+)s ec2 terminated (i-\w+)")


def play():
    """[(seconds, $/h)] and the run's report."""
    kind, now, series = {}, 0.0, []
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
        f.write(scenario())
        f.flush()
        run = subprocess.Popen([KARP_SIM, "run", f.name, "--trace", "-o", "json"], stdout=subprocess.PIPE, text=True)
        for text in run.stdout:
            if text == "{\n":
                report, _ = json.JSONDecoder().raw_decode(text + run.stdout.read())
                break
            up, down = UP.match(text), DOWN.match(text)
            if up:
                kind[up[2]] = price[up[3]]
                series.append((float(up[1]), sum(kind.values())))
            elif down:
                kind.pop(down[2], None)
                series.append((float(down[1]), sum(kind.values())))
        run.wait()
    return series, report


# ---- Karpenter's published rules ----


def sizes():
    """(milli cpu, MiB, pods, $/h) that pods can have, cheapest first."""
    for t in load("common/core/data/instance-types.json.gz"):
        name = t["InstanceType"]
        if name.split(".")[0] in FAMILY.values() and not t["BareMetal"] and name in price:
            n, net = t["VCpuInfo"]["DefaultVCpus"], t["NetworkInfo"]
            most = net["MaximumNetworkInterfaces"] * (net["Ipv4AddressesPerInterface"] - 1) + 2
            mem = t["MemoryInfo"]["SizeInMiB"] * 0.925 - 11 * most - 355
            yield name, (n * 1000 - reserved_cpu(n), mem, most, price[name])


SIZES = dict(sorted(sizes(), key=lambda x: x[1][3]))


class Node:
    def __init__(self, kind):
        self.cpu, self.mem, self.room, self.usd = SIZES[kind]
        self.pods, self.busy = [], False

    def takes(self, pod):
        return len(self.pods) < self.room and self.cpu >= pod[0] and self.mem >= pod[1]

    def put(self, pod, sign=1):
        self.cpu, self.mem = self.cpu - sign * pod[0], self.mem - sign * pod[1]
        self.pods.append(pod) if sign > 0 else self.pods.remove(pod)


def command(out, nodes):
    """(moves, kind of the new node or None), or None: their pods do not fit, or that would not be cheaper."""
    stay = [n for n in nodes if n not in out and not n.busy]
    moves, left = [], []
    for pod in sorted((p for n in out for p in n.pods), reverse=True):
        to = next((n for n in stay if n.takes(pod)), None)
        if to:
            to.put(pod)
            moves.append((pod, to))
        else:
            left.append(pod)
    for pod, to in moves:
        to.put(pod, -1)
    if not left:
        return moves, None, left
    cpu, mem = sum(p[0] for p in left), sum(p[1] for p in left)
    for kind, (c, m, room, usd) in SIZES.items():
        if usd >= sum(n.usd for n in out):
            return None
        if c >= cpu and m >= mem and room >= len(left):
            return moves, kind, left
    return None


def largest(cands, nodes):
    low, high, best = 2, len(cands), None
    while low <= high:
        mid = (low + high) // 2
        found = command(cands[:mid], nodes)
        best, low, high = ((cands[:mid], found), mid + 1, high) if found else (best, low, mid - 1)
    return best


def choose(nodes, budget):
    cands = sorted((n for n in nodes if not n.busy), key=lambda n: len(n.pods))
    empty = [n for n in cands if not n.pods][:budget]
    if empty:
        return empty, ([], None, [])
    best = largest(cands[: min(budget, 100)], nodes)
    if best:
        return best
    return next((([n], found) for n in cands for found in [command([n], nodes)] if found), None)


def rules():
    nodes, series, at, leaving = [], [], 0.0, []
    by_name = {n["metadata"]["name"]: Node(TYPE) for n in data["nodes"]}
    nodes = list(by_name.values())
    for p in data["pods"]:
        r = p["spec"]["containers"][0]["resources"]["requests"]
        by_name[p["spec"]["nodeName"]].put((milli(r["cpu"]), mib(r["memory"])))
    usd, moved = sum(n.usd for n in nodes), 0
    while at < HOURS * 3600:
        for end, n in [x for x in leaving if x[0] <= at]:
            leaving.remove((end, n))
            nodes.remove(n)
        budget = -(-len(nodes) // 10) - len(leaving)
        found = choose(nodes, budget) if budget > 0 else None
        if found:
            at += 15
            out, (moves, kind, left) = found
            gone = at + 10
            if kind:
                new = Node(kind)
                nodes.append(new)
                moves = moves + [(pod, new) for pod in left]
                series.append((at + 2, new.usd))
                gone += 41
            for n in out:
                n.busy, n.pods = True, []
                leaving.append((gone, n))
                series.append((gone, -n.usd))
            for pod, to in moves:
                to.put(pod)
            moved += len(moves)
        elif not leaving:
            break  # nothing changes any more
        at += 10
    total, ret = usd, []
    for when, change in sorted(series):
        total += change
        ret.append((when + START, total))
    return ret, moved


def row(who, before, series, moves):
    low = least()
    goal, end = before - 0.9 * (before - low), series[-1][1] if series else before
    reached = [at for at, usd in series if at > START and usd <= goal]
    took = f"{(reached[0] - START) / 3600:.2f} h" if reached else f"not in {HOURS} h"
    print(
        f"{KIND}-{NODES:<6} {who:<17} {len(data['nodes']):>5} {TYPE:<10} {before:>8.2f} {low:>8.2f} {end:>8.2f}"
        f" {(before - end) / (before - low):>6.0%} {took:>12} {moves:>7}",
        flush=True,
    )


series, report = play()
if not report["passed"]:
    sys.exit(f"saving: the run failed: {report['failures']} {report['invariantViolations'][:3]}")
row("karp", [usd for at, usd in series if at <= START][-1], series, report["summary"]["evictions"])
series, moved = rules()
row("Karpenter's rules", len(data["nodes"]) * price[TYPE], series, moved)
