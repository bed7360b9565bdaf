package server

import (
	"math"
	"runtime"
	"runtime/debug"
	gometrics "runtime/metrics"
	"time"
)

// Texts of the metrics of processes.
const (
	cpuHelp   = "Total user and system CPU time spent in seconds."
	startHelp = "Start time of the process since unix epoch in seconds."
)

// runtimeTable says which of Go's own metrics the samples about Go are sums of. Names and texts are those of Prometheus' client for Go, so that
// what people made for other programs shows this one too.
var runtimeTable = []struct {
	name, kind, help string
	of               []string
}{
	{"go_gc_gogc_percent", "gauge", "Heap size target percentage configured by the user, otherwise 100. This value is set by the GOGC environment variable, and the runtime/debug.SetGCPercent function. Sourced from /gc/gogc:percent.", []string{"/gc/gogc:percent"}},
	{"go_gc_gomemlimit_bytes", "gauge", "Go runtime memory limit configured by the user, otherwise math.MaxInt64. This value is set by the GOMEMLIMIT environment variable, and the runtime/debug.SetMemoryLimit function. Sourced from /gc/gomemlimit:bytes.", []string{"/gc/gomemlimit:bytes"}},
	{"go_goroutines", "gauge", "Number of goroutines that currently exist.", []string{"/sched/goroutines:goroutines"}},
	{"go_memstats_alloc_bytes", "gauge", "Number of bytes allocated in heap and currently in use. Equals to /memory/classes/heap/objects:bytes.", []string{"/memory/classes/heap/objects:bytes"}},
	{"go_memstats_alloc_bytes_total", "counter", "Total number of bytes allocated in heap until now, even if released already. Equals to /gc/heap/allocs:bytes.", []string{"/gc/heap/allocs:bytes"}},
	{"go_memstats_buck_hash_sys_bytes", "gauge", "Number of bytes used by the profiling bucket hash table. Equals to /memory/classes/profiling/buckets:bytes.", []string{"/memory/classes/profiling/buckets:bytes"}},
	{"go_memstats_frees_total", "counter", "Total number of heap objects frees. Equals to /gc/heap/frees:objects + /gc/heap/tiny/allocs:objects.", []string{"/gc/heap/frees:objects", "/gc/heap/tiny/allocs:objects"}},
	{"go_memstats_gc_sys_bytes", "gauge", "Number of bytes used for garbage collection system metadata. Equals to /memory/classes/metadata/other:bytes.", []string{"/memory/classes/metadata/other:bytes"}},
	{"go_memstats_heap_alloc_bytes", "gauge", "Number of heap bytes allocated and currently in use, same as go_memstats_alloc_bytes. Equals to /memory/classes/heap/objects:bytes.", []string{"/memory/classes/heap/objects:bytes"}},
	{"go_memstats_heap_idle_bytes", "gauge", "Number of heap bytes waiting to be used. Equals to /memory/classes/heap/released:bytes + /memory/classes/heap/free:bytes.", []string{"/memory/classes/heap/released:bytes", "/memory/classes/heap/free:bytes"}},
	{"go_memstats_heap_inuse_bytes", "gauge", "Number of heap bytes that are in use. Equals to /memory/classes/heap/objects:bytes + /memory/classes/heap/unused:bytes", []string{"/memory/classes/heap/objects:bytes", "/memory/classes/heap/unused:bytes"}},
	{"go_memstats_heap_objects", "gauge", "Number of currently allocated objects. Equals to /gc/heap/objects:objects.", []string{"/gc/heap/objects:objects"}},
	{"go_memstats_heap_released_bytes", "gauge", "Number of heap bytes released to OS. Equals to /memory/classes/heap/released:bytes.", []string{"/memory/classes/heap/released:bytes"}},
	{"go_memstats_heap_sys_bytes", "gauge", "Number of heap bytes obtained from system. Equals to /memory/classes/heap/objects:bytes + /memory/classes/heap/unused:bytes + /memory/classes/heap/released:bytes + /memory/classes/heap/free:bytes.", []string{"/memory/classes/heap/objects:bytes", "/memory/classes/heap/unused:bytes", "/memory/classes/heap/released:bytes", "/memory/classes/heap/free:bytes"}},
	{"go_memstats_mallocs_total", "counter", "Total number of heap objects allocated, both live and gc-ed. Semantically a counter version for go_memstats_heap_objects gauge. Equals to /gc/heap/allocs:objects + /gc/heap/tiny/allocs:objects.", []string{"/gc/heap/allocs:objects", "/gc/heap/tiny/allocs:objects"}},
	{"go_memstats_mcache_inuse_bytes", "gauge", "Number of bytes in use by mcache structures. Equals to /memory/classes/metadata/mcache/inuse:bytes.", []string{"/memory/classes/metadata/mcache/inuse:bytes"}},
	{"go_memstats_mcache_sys_bytes", "gauge", "Number of bytes used for mcache structures obtained from system. Equals to /memory/classes/metadata/mcache/inuse:bytes + /memory/classes/metadata/mcache/free:bytes.", []string{"/memory/classes/metadata/mcache/inuse:bytes", "/memory/classes/metadata/mcache/free:bytes"}},
	{"go_memstats_mspan_inuse_bytes", "gauge", "Number of bytes in use by mspan structures. Equals to /memory/classes/metadata/mspan/inuse:bytes.", []string{"/memory/classes/metadata/mspan/inuse:bytes"}},
	{"go_memstats_mspan_sys_bytes", "gauge", "Number of bytes used for mspan structures obtained from system. Equals to /memory/classes/metadata/mspan/inuse:bytes + /memory/classes/metadata/mspan/free:bytes.", []string{"/memory/classes/metadata/mspan/inuse:bytes", "/memory/classes/metadata/mspan/free:bytes"}},
	{"go_memstats_next_gc_bytes", "gauge", "Number of heap bytes when next garbage collection will take place. Equals to /gc/heap/goal:bytes.", []string{"/gc/heap/goal:bytes"}},
	{"go_memstats_other_sys_bytes", "gauge", "Number of bytes used for other system allocations. Equals to /memory/classes/other:bytes.", []string{"/memory/classes/other:bytes"}},
	{"go_memstats_stack_inuse_bytes", "gauge", "Number of bytes obtained from system for stack allocator in non-CGO environments. Equals to /memory/classes/heap/stacks:bytes.", []string{"/memory/classes/heap/stacks:bytes"}},
	{"go_memstats_stack_sys_bytes", "gauge", "Number of bytes obtained from system for stack allocator. Equals to /memory/classes/heap/stacks:bytes + /memory/classes/os-stacks:bytes.", []string{"/memory/classes/heap/stacks:bytes", "/memory/classes/os-stacks:bytes"}},
	{"go_memstats_sys_bytes", "gauge", "Number of bytes obtained from system. Equals to /memory/classes/total:byte.", []string{"/memory/classes/total:bytes"}},
	{"go_sched_gomaxprocs_threads", "gauge", "The current runtime.GOMAXPROCS setting, or the number of operating system threads that can execute user-level Go code simultaneously. Sourced from /sched/gomaxprocs:threads.", []string{"/sched/gomaxprocs:threads"}},
}

// runtimeFamilies are the metrics of the Go runtime.
func runtimeFamilies() []family {
	var reads []gometrics.Sample
	for _, row := range runtimeTable {
		for _, name := range row.of {
			reads = append(reads, gometrics.Sample{Name: name})
		}
	}
	gometrics.Read(reads)
	var out []family
	for _, row := range runtimeTable {
		sum := 0.0
		for range row.of {
			if reads[0].Value.Kind() == gometrics.KindUint64 {
				sum += float64(reads[0].Value.Uint64())
			} else {
				sum = math.NaN() // this Go has none of that name
			}
			reads = reads[1:]
		}
		out = append(out, one(row.name, row.kind, row.help, sum))
	}
	gc := debug.GCStats{PauseQuantiles: make([]time.Duration, 5)}
	debug.ReadGCStats(&gc)
	pauses := family{name: "go_gc_duration_seconds", kind: "summary", help: "A summary of the wall-time pause (stop-the-world) duration in garbage collection cycles."}
	for i, quantile := range []string{"0", "0.25", "0.5", "0.75", "1"} {
		pauses.samples = append(pauses.samples, sample{labels: labels("quantile", quantile), value: gc.PauseQuantiles[i].Seconds()})
	}
	pauses.samples = append(pauses.samples, sample{suffix: "_sum", value: gc.PauseTotal.Seconds()}, sample{suffix: "_count", value: float64(gc.NumGC)})
	last := 0.0
	if !gc.LastGC.IsZero() {
		last = float64(gc.LastGC.UnixNano()) / 1e9
	}
	threads, _ := runtime.ThreadCreateProfile(nil)
	return append(out, pauses,
		one("go_memstats_last_gc_time_seconds", "gauge", "Number of seconds since 1970 of last garbage collection.", last),
		one("go_threads", "gauge", "Number of OS threads created.", float64(threads)),
		family{"go_info", "gauge", "Information about the Go environment.", []sample{{labels: labels("version", runtime.Version()), value: 1}}})
}
