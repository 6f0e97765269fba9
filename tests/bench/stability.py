"""A fleet whose load swings every five minutes, in the simulator: what it costs and how often pods are moved, with the
options against flapping off and on, placement Compatible and Cheapest. With them on no pod may be moved twice within an
hour by karp's own decision, and no node replaced by one of the same type, zone and capacity type; else exit status 1.
usage: stability.py HOURS SEED"""
import collections, json, math, os, random, re, subprocess, sys, tempfile

KARP_SIM = os.environ.get("KARP_SIM", "build/karp-sim")
HOURS, SEED = int(sys.argv[1]), int(sys.argv[2])
OFF = ("off", "0s", [])
ON = ("on", "1h", ["--min-saving=10%", "--min-node-life=1h"])

# name, cpu, memory, replicas at least and at most, hours of one swing (0 = always the most), noise
APPS = [
    ("steady", "500m", "1Gi", 20, 20, 0, 0),
    ("day", "1", "2Gi", 4, 16, 24, 1),
    ("shift", "750m", "1536Mi", 2, 10, 8, 1),
    ("hpa", "500m", "1Gi", 4, 8, 1, 2),
    ("large", "2", "6Gi", 1, 4, 12, 0),
]

POOL = """---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
        - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
        - {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["4"]}
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
  disruption: {consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: %s, budgets: [{nodes: "10%%"}]}
"""

APP = """---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %s, namespace: default}
spec:
  replicas: 0
  selector: {matchLabels: {app: %s}}
  template:
    metadata: {labels: {app: %s}}
    spec:
      terminationGracePeriodSeconds: 10
      containers:
        - {name: main, image: "registry.k8s.io/pause:3.9", resources: {requests: {cpu: %s, memory: %s}}}
"""


def scenario(after, flags):
    dice = random.Random(SEED)
    steps, last = [], {}
    for five in range(HOURS * 12):
        for name, _, _, least, most, hours, noise in APPS:
            phase = math.sin(2 * math.pi * five / (12 * hours)) if hours else 1
            n = round(least + (most - least) * (phase + 1) / 2) + dice.randint(-noise, noise)
            n = max(0, n)
            if last.get(name) != n:
                last[name] = n
                steps.append(f"    - at: {five * 300 + 5}s\n      scale: {{kind: Deployment, namespace: default, name: {name}, replicas: {n}}}\n")
    steps.append(f"    - at: {HOURS * 3600}s\n      expect: [{{invariants: true, eq: 0}}]\n")
    head = (
        "apiVersion: karp.dev/v1alpha1\nkind: Scenario\nmetadata: {name: stability}\nspec:\n"
        '  clock: "2026-01-05T09:00:00Z"\n  region: us-west-2\n'
        f"  agent: {{flags: [{', '.join(chr(34) + f + chr(34) for f in flags)}]}}\n  steps:\n"
    )
    apps = "".join(APP % (n, n, n, cpu, mem) for n, cpu, mem, *_ in APPS)
    return head + "".join(steps) + POOL % after + apps


EVICT = re.compile(r"^([\d.]+)s karp-agent-0 create pods/eviction default/(\S+) 201")
CREATE = re.compile(r"^([\d.]+)s replicaset-controller create pods default/(\S+) 201")
BEGIN = re.compile(r'"begins to disrupt node\(s\)".*"decision":"(\w+)","Node":"([^"]+)".*"nodes":(\d+),"replacements":(\d+)')
CLAIM = re.compile(r"karp-agent-0 create nodeclaims /(\S+) 201")
LAUNCHED = re.compile(r'"launched nodeclaim","NodeClaim":"([^"]+)".*"instance-type":"([^"]+)","zone":"([^"]+)","capacity-type":"([^"]+)"')
INIT = re.compile(r'"initialized nodeclaim","NodeClaim":"([^"]+)","Node":"([^"]+)"')


def owner(pod):
    return pod.rsplit("-", 1)[0]


class Look:
    """What a trace tells."""

    def __init__(self):
        self.waiting = collections.defaultdict(collections.deque)  # owner -> times of evictions not answered yet
        self.moved = {}  # pod -> when what it stands for was moved
        self.twice = self.equal = 0
        self.kind, self.node, self.open = {}, {}, []
        self.pairs = []

    def line(self, text):
        m = EVICT.match(text)
        if m:
            at, pod = float(m[1]), m[2]
            self.twice += at - self.moved.get(pod, -1e9) < 3600
            self.waiting[owner(pod)].append(at)
            return
        m = CREATE.match(text)
        if m:
            if self.waiting[owner(m[2])]:
                at = self.waiting[owner(m[2])].popleft()
                if float(m[1]) - at < 10:
                    self.moved[m[2]] = at
            return
        m = BEGIN.search(text)
        if m:
            if m[1] == "replace" and m[3] == "1" and m[4] == "1":
                self.open.append(m[2])
            return
        m = CLAIM.search(text)
        if m and self.open:
            self.pairs.append((self.open.pop(0), m[1]))
        m = LAUNCHED.search(text)
        if m:
            self.kind[m[1]] = (m[2], m[3], m[4])
        m = INIT.search(text)
        if m:
            self.node[m[2]] = m[1]

    def end(self):
        self.equal = sum(self.kind.get(self.node.get(out)) == self.kind.get(new, 0) for out, new in self.pairs)


def play(placement, name, after, flags):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
        f.write(scenario(after, flags + [f"--placement={placement}"]))
        f.flush()
        look = Look()
        args = [KARP_SIM, "run", f.name, "--seed", str(SEED), "--trace", "-o", "json"]
        run = subprocess.Popen(args, stdout=subprocess.PIPE, text=True)
        for text in run.stdout:
            if text == "{\n":
                report, _ = json.JSONDecoder().raw_decode(text + run.stdout.read())
                break
            look.line(text)
        run.wait()
        look.end()
    if not report["passed"]:
        print(f"stability: {placement} {name}: {report['failures']} {report['invariantViolations'][:3]}")
        return False
    sums = report["summary"]
    print(
        f"{placement:<10} {name:<7} {sums['dollars']:>8.2f} {sums['evictions']:>6} {look.twice:>14} {sums['nodesLaunched']:>9}"
        f" {sums['nodesRemoved']:>8} {look.equal:>9}",
        flush=True,
    )
    return name == "off" or (look.twice == 0 and look.equal == 0)


print(f"{HOURS} hours, the load swings every five minutes (seed {SEED}); on: --min-saving=10% --min-node-life=1h, consolidateAfter 1h; off: consolidateAfter 0s")
print("PLACEMENT  OPTIONS        $  MOVES  TWICE AN HOUR  LAUNCHED  REMOVED  BY EQUAL")
good = all([play(p, *o) for p in ("Compatible", "Cheapest") for o in (OFF, ON)])
print("stability: as expected" if good else "stability: pods are moved to and fro with the options on")
sys.exit(not good)
