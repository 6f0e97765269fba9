package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/awslabs/operatorpkg/status"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	_ "sigs.k8s.io/karpenter/pkg/cloudprovider/fake" // makes the labels of its types well known
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	"sigs.k8s.io/karpenter/pkg/test/v1alpha1"
)

// provider offers the same types to every pool, and launches nothing.
type provider struct {
	types []*cloudprovider.InstanceType
}

var errNoLaunch = fmt.Errorf("nothing is launched here")

func (p *provider) Create(context.Context, *v1.NodeClaim) (*v1.NodeClaim, error) {
	return nil, errNoLaunch
}
func (p *provider) Delete(context.Context, *v1.NodeClaim) error        { return errNoLaunch }
func (p *provider) Get(context.Context, string) (*v1.NodeClaim, error) { return nil, errNoLaunch }
func (p *provider) List(context.Context) ([]*v1.NodeClaim, error)      { return nil, nil }
func (p *provider) RepairPolicies() []cloudprovider.RepairPolicy       { return nil }
func (p *provider) Name() string                                       { return "peer" }
func (p *provider) GetSupportedNodeClasses() []status.Object {
	return []status.Object{&v1alpha1.TestNodeClass{}}
}
func (p *provider) GetInstanceTypes(context.Context, *v1.NodePool) ([]*cloudprovider.InstanceType, error) {
	return p.types, nil
}
func (p *provider) IsDrifted(context.Context, *v1.NodeClaim) (cloudprovider.DriftReason, error) {
	return "", nil
}

// silence is where events go.
type silence struct{}

func (silence) Publish(...events.Event) {}

// background carries Karpenter's default options: one CPU and so one worker.
func background(policy string) context.Context {
	return options.ToContext(context.Background(), &options.Options{
		CPURequests:       1000,
		PreferencePolicy:  options.PreferencePolicy(policy),
		MinValuesPolicy:   options.MinValuesPolicyStrict,
		IgnoreDRARequests: true,
		FeatureGates:      options.DefaultFeatureGates(),
	})
}

// cpu is what all threads of this process have used.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// rss reads a field of /proc/self/status, in bytes.
func rss(field string) int64 {
	text, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(text), "\n") {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			kib, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 10, 64)
			return kib * 1024
		}
	}
	return 0
}

// forgetPeak makes VmHWM start over.
func forgetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }
