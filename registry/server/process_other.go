//go:build !linux

package server

import "time"

var started = time.Now()

// processFamilies are the metrics of this process, named and described as Prometheus' clients do: those that this system says without more.
func processFamilies() []family {
	out := []family{one("process_start_time_seconds", "gauge", startHelp, float64(started.UnixMilli())/1e3)}
	if used, ok := processorTime(); ok {
		out = append(out, one("process_cpu_seconds_total", "counter", cpuHelp, used.Seconds()))
	}
	return out
}
