package server

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// clockTicks is how many ticks a second has in /proc, on every architecture that Go has.
const clockTicks = 100

// processFamilies are the metrics of this process, named and described as Prometheus' clients do. Those that /proc does not say are left out.
func processFamilies() []family {
	var out []family
	if stat, err := os.ReadFile("/proc/self/stat"); err == nil {
		// After the name of the program, which may hold blanks and brackets, fields go on with the third.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		field := func(n int) float64 {
			if n-3 >= len(fields) {
				return 0
			}
			value, _ := strconv.ParseFloat(fields[n-3], 64)
			return value
		}
		out = append(out, one("process_cpu_seconds_total", "counter", cpuHelp, (field(14)+field(15))/clockTicks),
			one("process_virtual_memory_bytes", "gauge", "Virtual memory size in bytes.", field(23)),
			one("process_resident_memory_bytes", "gauge", "Resident memory size in bytes.", field(24)*float64(os.Getpagesize())))
		if booted := after("/proc/stat", "btime "); booted != 0 {
			out = append(out, one("process_start_time_seconds", "gauge", startHelp, booted+field(22)/clockTicks))
		}
	}
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		out = append(out, one("process_open_fds", "gauge", "Number of open file descriptors.", float64(len(open))))
	}
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil {
		out = append(out, one("process_max_fds", "gauge", "Maximum number of open file descriptors.", float64(limit.Cur)))
	}
	if syscall.Getrlimit(syscall.RLIMIT_AS, &limit) == nil {
		out = append(out, one("process_virtual_memory_max_bytes", "gauge", "Maximum amount of virtual memory available in bytes.", float64(limit.Cur)))
	}
	return append(out, networkFamilies()...)
}

// networkFamilies are from the two lines of /proc/self/net/netstat that begin with IpExt: names, and below them values.
func networkFamilies() []family {
	text, err := os.ReadFile("/proc/self/net/netstat")
	if err != nil {
		return nil
	}
	var names []string
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "IpExt:" {
			continue
		}
		if names == nil {
			names = fields
			continue
		}
		var out []family
		for i, name := range names[:min(len(names), len(fields))] {
			value, _ := strconv.ParseFloat(fields[i], 64)
			switch name {
			case "InOctets":
				out = append(out, one("process_network_receive_bytes_total", "counter", "Number of bytes received by the process over the network.", value))
			case "OutOctets":
				out = append(out, one("process_network_transmit_bytes_total", "counter", "Number of bytes sent by the process over the network.", value))
			}
		}
		return out
	}
	return nil
}

// after is the number behind prefix in a line of a file, 0 if there is none.
func after(file, prefix string) float64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			value, _ := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			return value
		}
	}
	return 0
}
