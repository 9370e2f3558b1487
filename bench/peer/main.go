// Command oracle replays scenario lines (see README.md) through Kueue's own
// scheduler packages and prints what it decided, one JSON line a scenario.
//
//	oracle < scenarios.jsonl > expected.jsonl
//	oracle -time            adds the wall time spent inside scheduling cycles
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"reflect"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"
	_ "unsafe"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	testingclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	config "sigs.k8s.io/kueue/apis/config/v1beta2"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	qcache "sigs.k8s.io/kueue/pkg/cache/queue"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	queueindexer "sigs.k8s.io/kueue/pkg/controller/core/indexer"
	"sigs.k8s.io/kueue/pkg/controller/tas/indexer"
	"sigs.k8s.io/kueue/pkg/features"
	"sigs.k8s.io/kueue/pkg/scheduler"
	preemptexpectations "sigs.k8s.io/kueue/pkg/scheduler/preemption/expectations"
	"sigs.k8s.io/kueue/pkg/util/routine"
	utiltas "sigs.k8s.io/kueue/pkg/util/tas"
	utiltesting "sigs.k8s.io/kueue/pkg/util/testing"
	utilwait "sigs.k8s.io/kueue/pkg/util/wait"
	"sigs.k8s.io/kueue/pkg/workload"
)

//go:linkname schedule sigs.k8s.io/kueue/pkg/scheduler.(*Scheduler).schedule
func schedule(s *scheduler.Scheduler, ctx context.Context) utilwait.SpeedSignal

//go:linkname setAdmissionRoutineWrapper sigs.k8s.io/kueue/pkg/scheduler.(*Scheduler).setAdmissionRoutineWrapper
func setAdmissionRoutineWrapper(s *scheduler.Scheduler, w routine.Wrapper)

type scenario struct {
	Name    string            `json:"name"`
	Config  scenarioConfig    `json:"config"`
	Objects []json.RawMessage `json:"objects"`
	Steps   []step            `json:"steps"`
}

type scenarioConfig struct {
	FairSharing          *config.FairSharing          `json:"fairSharing,omitempty"`
	AdmissionFairSharing *config.AdmissionFairSharing `json:"admissionFairSharing,omitempty"`
	Resources            *config.Resources            `json:"resources,omitempty"`
	FeatureGates         map[string]bool              `json:"featureGates,omitempty"`
	RequeuingTimestamp   string                       `json:"requeuingTimestamp,omitempty"`
	SlowEvictions        bool                         `json:"slowEvictions,omitempty"` // evicted workloads hold their quota until a step's "stopped"
}

type step struct {
	At        int64             `json:"at"`
	Create    []json.RawMessage `json:"create,omitempty"`
	Update    []json.RawMessage `json:"update,omitempty"`
	Delete    []string          `json:"delete,omitempty"`  // Kind/namespace/name or Kind/name
	Finish    []string          `json:"finish,omitempty"`  // namespace/name of Workloads
	Failed    []string          `json:"failed,omitempty"`  // Nodes that stop being ready, and are named in the status of the workloads on them
	Stopped   int               `json:"stopped,omitempty"` // with slowEvictions: so many evicted workloads, by name, stop now; -1: all
	MaxCycles int               `json:"maxCycles,omitempty"`
}

type domain struct {
	Values []string `json:"values"`
	Count  int32    `json:"count"`
}

type podSetOut struct {
	Name     string            `json:"name"`
	Count    int32             `json:"count"`
	Flavors  map[string]string `json:"flavors"`
	Usage    map[string]string `json:"usage"`
	Levels   []string          `json:"levels,omitempty"`
	Topology []domain          `json:"topology,omitempty"`
	Delayed  bool              `json:"delayedTopology,omitempty"`
}

type admitOut struct {
	Workload     string      `json:"workload"`
	ClusterQueue string      `json:"clusterQueue"`
	PodSets      []podSetOut `json:"podSets"`
	Admitted     bool        `json:"admitted"`
}

type preemptOut struct {
	Workload string `json:"workload"`
	Reason   string `json:"reason"`
}

type cycleOut struct {
	Admitted  []admitOut   `json:"admitted,omitempty"`
	Preempted []preemptOut `json:"preempted,omitempty"`
	Moved     []admitOut   `json:"moved,omitempty"`    // admitted before, with another topology assignment now
	Replaced  []string     `json:"replaced,omitempty"` // slices finished in favour of a newer slice
	Evicted   []preemptOut `json:"evicted,omitempty"`  // evictions other than preemption
}

type stepOut struct {
	Cycles       []cycleOut                  `json:"cycles"`
	Active       map[string][]string         `json:"active,omitempty"`
	Inadmissible map[string][]string         `json:"inadmissible,omitempty"`
	Usage        map[string]map[string]int64 `json:"usage,omitempty"`
	Share        map[string]any              `json:"weightedShare,omitempty"`
	Messages     map[string]string           `json:"messages,omitempty"`
	Truncated    bool                        `json:"truncated,omitempty"`
}

type result struct {
	Name    string    `json:"name"`
	Error   string    `json:"error,omitempty"`
	Steps   []stepOut `json:"steps,omitempty"`
	CycleNs int64     `json:"cycleNs,omitempty"`
	Cycles  int       `json:"cycles,omitempty"`
}

var (
	scheme  = runtime.NewScheme()
	decoder runtime.Decoder
	epoch   = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
)

type world struct {
	ctx     context.Context
	log     logr.Logger
	cl      client.Client
	cache   *schdcache.Cache
	queues  *qcache.Manager
	clock   *testingclock.FakeClock
	sched   *scheduler.Scheduler
	wg      *sync.WaitGroup
	known   map[string]*kueue.Workload // last seen state of each Workload
	drain   func()
	cqs     map[string]*kueue.ClusterQueue
	byTopo  map[string]*kueue.Topology
	fair    bool
	slow    bool
	ending  map[string]bool // evicted, still holding quota
	cycles  int
	spent   time.Duration
	mu      sync.Mutex
	touched map[client.ObjectKey]bool // Workloads whose status the scheduler wrote in this cycle
	writes  []func() error            // those writes, carried out after the cycle so that its time is its own
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func decode(raw json.RawMessage) client.Object {
	obj, _, err := decoder.Decode(raw, nil, nil)
	check(err)
	return obj.(client.Object)
}

func newWorld(sc *scenario) *world {
	w := &world{known: map[string]*kueue.Workload{}, cqs: map[string]*kueue.ClusterQueue{}, byTopo: map[string]*kueue.Topology{}, wg: &sync.WaitGroup{}, touched: map[client.ObjectKey]bool{}, ending: map[string]bool{}, slow: sc.Config.SlowEvictions}
	w.log = logr.Discard()
	w.ctx = ctrl.LoggerInto(context.Background(), w.log)
	w.clock = testingclock.NewFakeClock(epoch)
	b := fake.NewClientBuilder().WithScheme(scheme).
		WithIndex(&kueue.LocalQueue{}, queueindexer.QueueClusterQueueKey, queueindexer.IndexQueueClusterQueue).
		WithIndex(&kueue.Workload{}, queueindexer.WorkloadQueueKey, queueindexer.IndexWorkloadQueue).
		WithIndex(&kueue.Workload{}, queueindexer.WorkloadClusterQueueKey, queueindexer.IndexWorkloadClusterQueue).
		WithIndex(&kueue.Workload{}, queueindexer.OwnerReferenceUID, queueindexer.IndexOwnerUID).
		WithIndex(&corev1.LimitRange{}, limitRangeKey, limitRangeIndex).
		WithStatusSubresource(&kueue.Workload{}, &kueue.ClusterQueue{}, &kueue.LocalQueue{}, &corev1.Node{}, &corev1.Pod{}).
		WithInterceptorFuncs(interceptor.Funcs{SubResourcePatch: func(ctx context.Context, cl client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			key := client.ObjectKeyFromObject(obj)
			kept := obj.DeepCopyObject().(client.Object)
			write := func() error {
				return utiltesting.TreatSSAAsStrategicMerge(w.ctx, cl, sub, kept, patch, opts...)
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			if _, ok := obj.(*kueue.Workload); ok {
				w.touched[key] = true
			}
			w.writes = append(w.writes, write)
			return nil
		}})
	_ = indexer.SetupIndexes(w.ctx, utiltesting.AsIndexer(b))
	w.cl = b.Build()
	w.fair = sc.Config.FairSharing != nil
	cacheOpts := []schdcache.Option{schdcache.WithFairSharing(w.fair)}
	queueOpts := []qcache.Option{qcache.WithClock(w.clock)}
	expectations := preemptexpectations.New()
	queueOpts = append(queueOpts, qcache.WithPreemptionExpectations(expectations))
	schedOpts := []scheduler.Option{scheduler.WithFairSharing(sc.Config.FairSharing), scheduler.WithClock(nil, w.clock), scheduler.WithPreemptionExpectations(expectations)}
	if afs := sc.Config.AdmissionFairSharing; afs != nil {
		cacheOpts = append(cacheOpts, schdcache.WithAdmissionFairSharing(afs))
		queueOpts = append(queueOpts, qcache.WithAdmissionFairSharing(afs))
		schedOpts = append(schedOpts, scheduler.WithAdmissionFairSharing(afs))
	}
	if r := sc.Config.Resources; r != nil {
		cacheOpts = append(cacheOpts, schdcache.WithExcludedResourcePrefixes(r.ExcludeResourcePrefixes), schdcache.WithResourceTransformations(r.Transformations))
		queueOpts = append(queueOpts, qcache.WithExcludedResourcePrefixes(r.ExcludeResourcePrefixes), qcache.WithResourceTransformations(r.Transformations))
	}
	if sc.Config.RequeuingTimestamp == "Creation" {
		queueOpts = append(queueOpts, qcache.WithPodsReadyRequeuingTimestamp(config.CreationTimestamp))
		schedOpts = append(schedOpts, scheduler.WithPodsReadyRequeuingTimestamp(config.CreationTimestamp))
	}
	w.cache = schdcache.New(w.cl, cacheOpts...)
	queues, requeuer := qcache.NewManagerForUnitTestsWithRequeuer(w.cl, w.cache, queueOpts...)
	w.queues = queues
	w.drain = func() { requeuer.ProcessRequeues(w.ctx) }
	w.sched = scheduler.New(w.queues, w.cache, w.cl, &utiltesting.EventRecorder{}, schedOpts...)
	setAdmissionRoutineWrapper(w.sched, routine.NewWrapper(func() { w.wg.Add(1) }, func() { w.wg.Done() }))
	return w
}

// notifyAll moves parked workloads of every ClusterQueue back, as Kueue's controllers do on a change of quota or capacity.
func (w *world) notifyAll() { notifyRetry(w.queues, w.cqs) }

func (w *world) create(obj client.Object) {
	switch o := obj.(type) {
	case *kueue.Workload:
		status := o.Status.DeepCopy()
		check(w.cl.Create(w.ctx, o))
		o.Status = *status
		check(w.cl.Status().Update(w.ctx, o))
		w.observe(o)
		return
	case *corev1.Node:
		status := o.Status.DeepCopy()
		check(w.cl.Create(w.ctx, o))
		o.Status = *status
		check(w.cl.Status().Update(w.ctx, o))
		w.cache.TASCache().SyncNode(o)
		w.notifyAll()
		return
	case *corev1.Pod:
		status := o.Status.DeepCopy()
		check(w.cl.Create(w.ctx, o))
		o.Status = *status
		check(w.cl.Status().Update(w.ctx, o))
		w.cache.TASCache().Update(o, w.log)
		return
	}
	check(w.cl.Create(w.ctx, obj))
	switch o := obj.(type) {
	case *kueue.ResourceFlavor:
		w.cache.AddOrUpdateResourceFlavor(w.log, o)
		w.notifyAll()
	case *kueue.Topology:
		w.cache.AddOrUpdateTopology(w.log, o)
		w.notifyAll()
	case *kueue.AdmissionCheck:
		w.cache.AddOrUpdateAdmissionCheck(w.log, o)
	case *kueue.Cohort:
		check(w.cache.AddOrUpdateCohort(o))
		w.queues.AddOrUpdateCohort(w.ctx, o)
		w.notifyAll()
	case *kueue.ClusterQueue:
		w.cqs[o.Name] = o
		check(w.cache.AddClusterQueue(w.ctx, o))
		check(w.queues.AddClusterQueue(w.ctx, o))
		w.notifyAll()
	case *kueue.LocalQueue:
		check(w.cache.AddLocalQueue(o))
		check(w.queues.AddLocalQueue(w.ctx, o))
	}
}

func (w *world) update(obj client.Object) {
	switch o := obj.(type) {
	case *kueue.ClusterQueue:
		cur := &kueue.ClusterQueue{}
		check(w.cl.Get(w.ctx, client.ObjectKeyFromObject(o), cur))
		cur.Spec = o.Spec
		cur.Generation++
		check(w.cl.Update(w.ctx, cur))
		w.cqs[cur.Name] = cur
		check(w.cache.UpdateClusterQueue(w.log, cur))
		check(updateClusterQueue(w.queues, w.ctx, cur))
		w.notifyAll()
	case *kueue.Cohort:
		cur := &kueue.Cohort{}
		check(w.cl.Get(w.ctx, client.ObjectKeyFromObject(o), cur))
		cur.Spec = o.Spec
		cur.Generation++
		check(w.cl.Update(w.ctx, cur))
		check(w.cache.AddOrUpdateCohort(cur))
		w.queues.AddOrUpdateCohort(w.ctx, cur)
		w.notifyAll()
	case *kueue.ResourceFlavor:
		cur := &kueue.ResourceFlavor{}
		check(w.cl.Get(w.ctx, client.ObjectKeyFromObject(o), cur))
		cur.Spec = o.Spec
		check(w.cl.Update(w.ctx, cur))
		w.cache.AddOrUpdateResourceFlavor(w.log, cur)
		w.notifyAll()
	case *corev1.Node:
		cur := &corev1.Node{}
		check(w.cl.Get(w.ctx, client.ObjectKeyFromObject(o), cur))
		cur.Labels, cur.Spec, cur.Status = o.Labels, o.Spec, o.Status
		status := cur.Status.DeepCopy()
		check(w.cl.Update(w.ctx, cur))
		cur.Status = *status
		check(w.cl.Status().Update(w.ctx, cur))
		w.cache.TASCache().SyncNode(cur)
		w.notifyAll()
	case *kueue.LocalQueue:
		old := &kueue.LocalQueue{}
		check(w.cl.Get(w.ctx, client.ObjectKeyFromObject(o), old))
		cur := old.DeepCopy()
		cur.Spec = o.Spec
		cur.Generation++
		check(w.cl.Update(w.ctx, cur))
		check(w.cache.UpdateLocalQueue(old, cur))
		held := func(q *kueue.LocalQueue) bool { return q.Spec.StopPolicy != nil && *q.Spec.StopPolicy != kueue.None }
		switch { // a held LocalQueue leaves the queues, as its controller makes it do
		case !held(old) && held(cur):
			w.queues.DeleteLocalQueue(w.log, cur)
		case held(old) && !held(cur):
			check(w.queues.AddLocalQueue(w.ctx, cur))
		case !held(cur):
			check(w.queues.UpdateLocalQueue(w.log, cur))
		}
	case *kueue.Workload:
		cur := &kueue.Workload{}
		check(w.cl.Get(w.ctx, client.ObjectKeyFromObject(o), cur))
		cur.Spec = o.Spec
		check(w.cl.Update(w.ctx, cur))
		w.refresh(cur)
	default:
		panic(fmt.Sprintf("update of %T is not supported", obj))
	}
}

func (w *world) remove(ref string) {
	parts := strings.Split(ref, "/")
	switch parts[0] {
	case "Node":
		n := &corev1.Node{}
		check(w.cl.Get(w.ctx, client.ObjectKey{Name: parts[1]}, n))
		check(w.cl.Delete(w.ctx, n))
		w.cache.TASCache().DeleteNodeByName(n.Name)
		w.notifyAll()
	case "Workload":
		wl := &kueue.Workload{}
		check(w.cl.Get(w.ctx, client.ObjectKey{Namespace: parts[1], Name: parts[2]}, wl))
		check(w.cl.Delete(w.ctx, wl))
		w.drop(wl)
		delete(w.known, parts[1]+"/"+parts[2])
	default:
		panic("delete of " + ref + " is not supported")
	}
}

func (w *world) drop(wl *kueue.Workload) {
	key := workload.Key(wl)
	w.queues.DeleteWorkload(w.log, key)
	w.queues.QueueAssociatedInadmissibleWorkloadsAfter(w.ctx, key, func() { _ = w.cache.DeleteWorkload(w.log, key) })
}

// observe feeds a newly created Workload to the caches.
func (w *world) observe(wl *kueue.Workload) {
	w.known[wl.Namespace+"/"+wl.Name] = wl.DeepCopy()
	adjusted := wl.DeepCopy()
	workload.AdjustResources(w.ctx, w.cl, adjusted)
	switch {
	case apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadFinished):
	case workload.HasQuotaReservation(wl):
		w.cache.AddOrUpdateWorkload(w.log, adjusted)
	default:
		_ = w.queues.AddOrUpdateWorkload(w.log, adjusted)
	}
}

// refresh feeds a changed Workload to the caches, as the workload controller's update handler does.
func (w *world) refresh(wl *kueue.Workload) {
	name := wl.Namespace + "/" + wl.Name
	old := w.known[name]
	w.known[name] = wl.DeepCopy()
	adjusted := wl.DeepCopy()
	workload.AdjustResources(w.ctx, w.cl, adjusted)
	key := workload.Key(wl)
	had, has := old != nil && workload.HasQuotaReservation(old), workload.HasQuotaReservation(wl)
	switch {
	case apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadFinished):
		w.drop(wl)
	case had && !has:
		w.queues.QueueAssociatedInadmissibleWorkloadsAfter(w.ctx, key, func() {
			_ = w.cache.DeleteWorkload(w.log, key)
			_ = w.queues.AddOrUpdateWorkloadWithoutLock(w.log, adjusted)
		})
	case !had && has:
		w.queues.DeleteWorkload(w.log, key)
		w.cache.AddOrUpdateWorkload(w.log, adjusted)
	case has:
		w.queues.QueueAssociatedInadmissibleWorkloadsAfter(w.ctx, key, func() { w.cache.AddOrUpdateWorkload(w.log, adjusted) })
	default:
		_ = w.queues.AddOrUpdateWorkload(w.log, adjusted)
	}
}

func (w *world) finish(name string) {
	ns, n, _ := strings.Cut(name, "/")
	wl := &kueue.Workload{}
	check(w.cl.Get(w.ctx, client.ObjectKey{Namespace: ns, Name: n}, wl))
	apimeta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{Type: kueue.WorkloadFinished, Status: metav1.ConditionTrue, Reason: kueue.WorkloadFinishedReasonSucceeded, Message: "done", LastTransitionTime: metav1.NewTime(w.clock.Now())})
	check(w.cl.Status().Update(w.ctx, wl))
	w.refresh(wl)
}

// secondPass says whether a workload is ready for its second pass.
func (w *world) secondPass() bool {
	return reflect.ValueOf(w.queues).Elem().FieldByName("secondPassQueue").Elem().FieldByName("queued").Len() > 0
}

// fail makes a Node not ready and names it in the status of the workloads that have pods on it.
func (w *world) fail(node string) {
	n := &corev1.Node{}
	check(w.cl.Get(w.ctx, client.ObjectKey{Name: node}, n))
	for i := range n.Status.Conditions {
		if n.Status.Conditions[i].Type == corev1.NodeReady {
			n.Status.Conditions[i].Status = corev1.ConditionFalse
		}
	}
	check(w.cl.Status().Update(w.ctx, n))
	w.cache.TASCache().SyncNode(n)
	w.notifyAll()
	for _, name := range slices.Sorted(maps.Keys(w.known)) {
		wl := w.known[name].DeepCopy()
		if !workload.HasQuotaReservation(wl) || apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadFinished) {
			continue
		}
		on := false
		for _, ps := range wl.Status.Admission.PodSetAssignments {
			if ps.TopologyAssignment != nil && slices.Contains(ps.TopologyAssignment.Levels, corev1.LabelHostname) {
				on = on || slices.Contains(slices.Collect(utiltas.LowestLevelValues(ps.TopologyAssignment)), node)
			}
		}
		if !on {
			continue
		}
		wl.Status.UnhealthyNodes = append(wl.Status.UnhealthyNodes, kueue.UnhealthyNode{Name: node})
		check(w.cl.Status().Update(w.ctx, wl))
		w.known[name] = wl.DeepCopy()
		adjusted := wl.DeepCopy()
		workload.AdjustResources(w.ctx, w.cl, adjusted)
		w.cache.AddOrUpdateWorkload(w.log, adjusted)
		w.queues.QueueSecondPassIfNeeded(w.ctx, adjusted, 0)
	}
}

func (w *world) hasActive() bool {
	if w.secondPass() {
		return true
	}
	for cq := range w.queues.Dump() {
		if w.cache.ClusterQueueActive(cq) {
			return true
		}
	}
	return false
}

func (w *world) fingerprint() string {
	active, parked := w.queues.Dump(), w.queues.DumpInadmissible()
	for _, refs := range active {
		slices.Sort(refs)
	}
	for _, refs := range parked {
		slices.Sort(refs)
	}
	out, _ := json.Marshal([]any{active, parked})
	return string(out)
}

// cycle runs one scheduling cycle, then plays the controllers: it observes admissions, and finishes evictions.
func (w *world) cycle() cycleOut {
	w.drain()
	if !w.hasActive() {
		return cycleOut{}
	}
	start := time.Now()
	schedule(w.sched, w.ctx)
	w.spent += time.Since(start)
	w.wg.Wait()
	w.cycles++
	for _, write := range w.writes {
		check(write())
	}
	w.writes = w.writes[:0]
	out := cycleOut{}
	keys := slices.Collect(maps.Keys(w.touched))
	clear(w.touched)
	slices.SortFunc(keys, func(a, b client.ObjectKey) int { return strings.Compare(a.String(), b.String()) })
	var evicted []*kueue.Workload
	for _, key := range keys {
		wl := &kueue.Workload{}
		check(w.cl.Get(w.ctx, key, wl))
		name := wl.Namespace + "/" + wl.Name
		old := w.known[name]
		cond := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadEvicted)
		switch {
		case apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadFinished):
			if !apimeta.IsStatusConditionTrue(old.Status.Conditions, kueue.WorkloadFinished) {
				out.Replaced = append(out.Replaced, name)
				w.refresh(wl)
			}
		case workload.HasQuotaReservation(wl) && !workload.HasQuotaReservation(old):
			out.Admitted = append(out.Admitted, admission(wl))
			w.refresh(wl)
		case workload.HasQuotaReservation(wl) && cond != nil && cond.Status == metav1.ConditionTrue && !apimeta.IsStatusConditionTrue(old.Status.Conditions, kueue.WorkloadEvicted):
			p := preemptOut{Workload: name, Reason: cond.Reason}
			if c := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadPreempted); c != nil && c.Status == metav1.ConditionTrue && cond.Reason == kueue.WorkloadEvictedByPreemption {
				p.Reason = c.Reason
				out.Preempted = append(out.Preempted, p)
			} else {
				out.Evicted = append(out.Evicted, p)
			}
			evicted = append(evicted, wl)
		case workload.HasQuotaReservation(wl) && !equality.Semantic.DeepEqual(wl.Status.Admission, old.Status.Admission):
			out.Moved = append(out.Moved, admission(wl))
			w.refresh(wl)
		default:
			w.known[name] = wl.DeepCopy()
		}
	}
	w.clock.Step(time.Second)
	for i, wl := range evicted { // a second apart, so that no order hangs on a tie between queues
		apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadEvicted).LastTransitionTime = metav1.NewTime(w.clock.Now())
		if w.slow {
			check(w.cl.Status().Update(w.ctx, wl))
			w.refresh(wl)
			w.ending[wl.Namespace+"/"+wl.Name] = true
		} else {
			w.stop(wl)
		}
		if i < len(evicted)-1 {
			w.clock.Step(time.Second)
		}
	}
	sort.Slice(out.Admitted, func(i, j int) bool { return out.Admitted[i].Workload < out.Admitted[j].Workload })
	sort.Slice(out.Preempted, func(i, j int) bool { return out.Preempted[i].Workload < out.Preempted[j].Workload })
	return out
}

// stop ends an eviction: the workload gives its quota back and queues again.
func (w *world) stop(wl *kueue.Workload) {
	cond := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadEvicted)
	workload.SetRequeuedCondition(wl, cond.Reason, cond.Message, true)
	workload.UnsetQuotaReservationWithCondition(wl, "Pending", cond.Message, w.clock.Now())
	check(w.cl.Status().Update(w.ctx, wl))
	w.refresh(wl)
}

func admission(wl *kueue.Workload) admitOut {
	a := admitOut{Workload: wl.Namespace + "/" + wl.Name, ClusterQueue: string(wl.Status.Admission.ClusterQueue),
		Admitted: apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadAdmitted)}
	for _, ps := range wl.Status.Admission.PodSetAssignments {
		o := podSetOut{Name: string(ps.Name), Flavors: map[string]string{}, Usage: map[string]string{}}
		if ps.Count != nil {
			o.Count = *ps.Count
		}
		for r, f := range ps.Flavors {
			o.Flavors[string(r)] = string(f)
		}
		for r, q := range ps.ResourceUsage {
			o.Usage[string(r)] = q.String()
		}
		o.Delayed = ps.DelayedTopologyRequest != nil && *ps.DelayedTopologyRequest == kueue.DelayedTopologyRequestStatePending
		if ps.TopologyAssignment != nil {
			ta := utiltas.InternalFrom(ps.TopologyAssignment)
			o.Levels = ta.Levels
			for _, d := range ta.Domains {
				o.Topology = append(o.Topology, domain{Values: d.Values, Count: d.Count})
			}
		}
		a.PodSets = append(a.PodSets, o)
	}
	return a
}

func (w *world) state() stepOut {
	out := stepOut{Cycles: []cycleOut{}, Active: map[string][]string{}, Inadmissible: map[string][]string{}, Usage: map[string]map[string]int64{}, Messages: map[string]string{}}
	for cq, refs := range w.queues.Dump() {
		for _, r := range refs {
			out.Active[string(cq)] = append(out.Active[string(cq)], string(r))
		}
		sort.Strings(out.Active[string(cq)])
	}
	for cq, refs := range w.queues.DumpInadmissible() {
		for _, r := range refs {
			out.Inadmissible[string(cq)] = append(out.Inadmissible[string(cq)], string(r))
		}
		sort.Strings(out.Inadmissible[string(cq)])
	}
	for name, cq := range w.cqs {
		stats, err := w.cache.Usage(cq)
		check(err)
		m := map[string]int64{}
		for _, f := range stats.ReservedResources {
			for _, r := range f.Resources {
				v := r.Total.Value()
				if r.Name == corev1.ResourceCPU {
					v = r.Total.MilliValue()
				}
				if v != 0 {
					m[string(f.Name)+"/"+string(r.Name)] = v
				}
			}
		}
		if len(m) > 0 {
			out.Usage[name] = m
		}
		if w.fair {
			if out.Share == nil {
				out.Share = map[string]any{}
			}
			if out.Share[name] = stats.WeightedShare; math.IsInf(stats.WeightedShare, 0) {
				out.Share[name] = "inf"
			}
		}
	}
	for name, wl := range w.known {
		if workload.HasQuotaReservation(wl) || apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadFinished) {
			continue
		}
		if c := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadQuotaReserved); c != nil {
			out.Messages[name] = c.Message
		}
	}
	return out
}

func (w *world) run(st step) stepOut {
	target := epoch.Add(time.Duration(st.At) * time.Second)
	if w.clock.Now().Before(target) {
		w.clock.SetTime(target)
	}
	for _, name := range slices.Sorted(maps.Keys(w.ending)) {
		if st.Stopped == 0 {
			break
		}
		st.Stopped--
		delete(w.ending, name)
		ns, n, _ := strings.Cut(name, "/")
		wl := &kueue.Workload{}
		check(w.cl.Get(w.ctx, client.ObjectKey{Namespace: ns, Name: n}, wl))
		w.stop(wl)
	}
	for _, n := range st.Failed {
		w.fail(n)
	}
	for _, f := range st.Finish {
		delete(w.ending, f)
		w.finish(f)
	}
	for _, d := range st.Delete {
		w.remove(d)
	}
	for _, u := range st.Update {
		w.update(decode(u))
	}
	for _, c := range st.Create {
		w.create(decode(c))
	}
	limit := st.MaxCycles
	if limit == 0 {
		limit = 400
	}
	var cycles []cycleOut
	idle := 0
	if len(st.Failed) > 0 {
		w.clock.Step(2 * time.Second) // the second pass comes due
	}
	for len(cycles) < limit && idle < 3 {
		before := w.fingerprint()
		w.drain()
		if !w.hasActive() {
			break
		}
		c := w.cycle()
		cycles = append(cycles, c)
		if len(c.Admitted)+len(c.Preempted)+len(c.Moved)+len(c.Replaced)+len(c.Evicted) == 0 && w.fingerprint() == before {
			idle++
		} else {
			idle = 0
		}
	}
	truncated := len(cycles) >= limit
	for len(cycles) > 0 {
		last := cycles[len(cycles)-1]
		if len(last.Admitted)+len(last.Preempted)+len(last.Moved)+len(last.Replaced)+len(last.Evicted) > 0 {
			break
		}
		cycles = cycles[:len(cycles)-1]
	}
	out := w.state()
	if cycles != nil {
		out.Cycles = cycles
	}
	out.Truncated = truncated
	return out
}

func replay(line []byte, timed bool) (res result) {
	sc := &scenario{}
	check(json.Unmarshal(line, sc))
	res.Name = sc.Name
	defer func() {
		if r := recover(); r != nil {
			res.Error = fmt.Sprint(r)
			if os.Getenv("ORACLE_TRACE") != "" {
				fmt.Fprintln(os.Stderr, string(debug.Stack()))
			}
		}
	}()
	gates := map[string]bool{}
	for name, on := range sc.Config.FeatureGates {
		for f := range utilfeature.DefaultMutableFeatureGate.GetAll() {
			if string(f) == name {
				gates[name] = utilfeature.DefaultFeatureGate.Enabled(f)
			}
		}
		check(utilfeature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{name: on}))
	}
	defer func() { _ = utilfeature.DefaultMutableFeatureGate.SetFromMap(gates) }()
	w := newWorld(sc)
	for _, raw := range sc.Objects {
		w.create(decode(raw))
	}
	for _, st := range sc.Steps {
		res.Steps = append(res.Steps, w.run(st))
	}
	if timed {
		res.CycleNs, res.Cycles = w.spent.Nanoseconds(), w.cycles
	}
	return res
}

func main() {
	timed := flag.Bool("time", false, "add the time spent inside scheduling cycles")
	profile := flag.String("cpuprofile", "", "write a CPU profile to this file")
	flag.Parse()
	if *profile != "" {
		f, err := os.Create(*profile)
		check(err)
		check(pprof.StartCPUProfile(f))
		defer pprof.StopCPUProfile()
	}
	_ = features.ElasticJobsViaWorkloadSlices
	// Only the kinds that scenarios hold: the in-memory API server walks the whole scheme at each write.
	for gv, kinds := range map[schema.GroupVersion][]runtime.Object{
		corev1.SchemeGroupVersion: {&corev1.Namespace{}, &corev1.NamespaceList{}, &corev1.Node{}, &corev1.NodeList{}, &corev1.Pod{}, &corev1.PodList{}, &corev1.LimitRange{}, &corev1.LimitRangeList{}},
		nodev1.SchemeGroupVersion: {&nodev1.RuntimeClass{}, &nodev1.RuntimeClassList{}},
	} {
		scheme.AddKnownTypes(gv, kinds...)
		metav1.AddToGroupVersion(scheme, gv)
	}
	check(kueue.AddToScheme(scheme))
	decoder = serializer.NewCodecFactory(scheme).UniversalDeserializer()
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 1<<20), 1<<30)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for in.Scan() {
		check(enc.Encode(replay(in.Bytes(), *timed)))
	}
	check(in.Err())
}
