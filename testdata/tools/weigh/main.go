// Weigh prints what the program weighs beside what was last recorded: its size, and the processor time and memory of a start.
//
//	weigh [-record] [-runs 21] -packages FILE PROGRAM RECORD
//
// FILE is what "go list -deps" prints of the program, RECORD a file of JSON. Nothing is refused. What grew by more than a tenth, or by
// more than a megabyte, is a warning that names the packages which are linked now and were not then. Processor time is compared with
// that of "go version" in the same minute, since machines differ. With -record, RECORD says from now on what was measured.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// A weight is what one program weighs.
type weight struct {
	Bytes    int64    `json:"bytes"`             // of the file
	Start    float64  `json:"start_ms"`          // processor time of "version", milliseconds, median
	Beside   float64  `json:"beside_go_version"` // how many times that of "go version" this is
	Memory   int64    `json:"memory_kib"`        // peak of "version", median
	Packages []string `json:"packages"`          // that are linked, those of the standard library aside
}

func main() {
	record := flag.Bool("record", false, "write what was measured to RECORD")
	runs := flag.Int("runs", 21, "how many starts are measured")
	packages := flag.String("packages", "", "the `FILE` that lists the packages of the program")
	flag.Parse()
	if flag.NArg() != 2 || *runs < 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(os.Stdout, flag.Arg(0), flag.Arg(1), *packages, *runs, *record); err != nil {
		fmt.Fprintln(os.Stderr, "weigh:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, program, file, packages string, runs int, record bool) error {
	now, err := measure(program, packages, runs)
	if err != nil {
		return err
	}
	var was weight
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &was)
	}
	if err != nil && !record {
		fmt.Fprintf(w, "warning: nothing is compared: what was recorded cannot be read: %v\n", err)
		was = weight{}
	}
	slices.Sort(was.Packages)
	report(w, now, was)
	if !record {
		return nil
	}
	out, err := json.MarshalIndent(now, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(out, '\n'), 0o644)
}

func measure(program, packages string, runs int) (now weight, err error) {
	info, err := os.Stat(program)
	if err != nil {
		return now, err
	}
	now.Bytes = info.Size()
	own := make([]time.Duration, runs)
	other, peaks := make([]time.Duration, runs), make([]int64, runs)
	for i := range runs {
		if own[i], peaks[i], err = start(program, "version"); err != nil {
			return now, err
		}
		if other[i], _, err = start("go", "version"); err != nil {
			return now, err
		}
	}
	slices.Sort(own)
	slices.Sort(other)
	slices.Sort(peaks)
	now.Start, now.Memory = tenths(own[runs/2].Seconds()*1000), peaks[runs/2]
	now.Beside = tenths(own[runs/2].Seconds() / other[runs/2].Seconds())
	f, err := os.Open(packages)
	if err != nil {
		return now, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		// A package of the standard library, or one it has a copy of, begins with a word without a dot.
		if first, _, _ := strings.Cut(lines.Text(), "/"); strings.Contains(first, ".") {
			now.Packages = append(now.Packages, lines.Text())
		}
	}
	if err := lines.Err(); err != nil {
		return now, err
	}
	if len(now.Packages) == 0 {
		return now, fmt.Errorf("%s lists no package", packages)
	}
	slices.Sort(now.Packages)
	return now, nil
}

func tenths(f float64) float64 { return math.Round(f*10) / 10 }

// start runs a program and returns its processor time and its peak of memory in KiB.
func start(program string, args ...string) (time.Duration, int64, error) {
	cmd := exec.Command(program, args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, 0, fmt.Errorf("%s: %w: %s", program, err, out)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), peak(cmd.ProcessState), nil
}

// report prints a line for each figure, and warns of those that grew.
func report(w io.Writer, now, was weight) {
	beside := func(format string, recorded any) string {
		if was.Bytes == 0 {
			return ""
		}
		return fmt.Sprintf("; "+format+" when that was last recorded", recorded)
	}
	fmt.Fprintf(w, "the stripped program has %d bytes%s\n", now.Bytes, beside("%d", was.Bytes))
	fmt.Fprintf(w, "a start takes %.1f ms of processor time, %.1f times what go version takes%s\n", now.Start, now.Beside, beside("%.1f times", was.Beside))
	fmt.Fprintf(w, "a start takes %d KiB of memory%s\n", now.Memory, beside("%d", was.Memory))
	var grown []string
	if was.Bytes > 0 && (now.Bytes > was.Bytes+1_000_000 || now.Bytes > was.Bytes+was.Bytes/10) {
		grown = append(grown, fmt.Sprintf("its size by %.1f kB", float64(now.Bytes-was.Bytes)/1000))
	}
	if was.Beside > 0 && now.Beside > was.Beside*1.1 {
		grown = append(grown, fmt.Sprintf("the processor time of a start by %.0f %%", 100*(now.Beside/was.Beside-1)))
	}
	if was.Memory > 0 && now.Memory > was.Memory+was.Memory/10 {
		grown = append(grown, fmt.Sprintf("the memory of a start by %d KiB", now.Memory-was.Memory))
	}
	if len(grown) == 0 {
		return
	}
	fmt.Fprintf(w, "warning: it has grown: %s\n", strings.Join(grown, ", "))
	news := slices.DeleteFunc(slices.Clone(now.Packages), func(p string) bool { _, old := slices.BinarySearch(was.Packages, p); return old })
	if len(news) == 0 {
		fmt.Fprintln(w, "    no package is linked now that was not then: it is code of those that were")
	}
	for _, p := range news {
		fmt.Fprintf(w, "    new: %s\n", p)
	}
}
