package server

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"
)

// How long does a client wait for the index of a namespace of 1,000 skills, and for the
// record of a version? The slowest of a hundred is reported too.
func BenchmarkReads(b *testing.B) {
	s := newSite(b, nil)
	s.namespace("acme", true)
	for i := range 1000 {
		s.publish(s.admin, fmt.Sprintf("acme/%s@1.0.0", spelled(i)))
	}
	for what, path := range map[string]string{
		"index": "/acme/.well-known/agent-skills/index.json", "version": "/api/v1/skills/acme/" + spelled(7) + "/versions/1.0.0", "search": "/api/v1/search?q=does",
	} {
		b.Run(what, func(b *testing.B) {
			var times []time.Duration
			get := func() {
				began := time.Now()
				resp, err := http.Get(s.url + path)
				if err != nil {
					b.Fatal(err)
				}
				_, err = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if err != nil || resp.StatusCode != 200 {
					b.Fatal(resp.Status, err)
				}
				times = append(times, time.Since(began))
			}
			get() // builds the index
			times = nil
			for b.Loop() {
				get()
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "µs/p99")
		})
	}
}

// spelled is a name for a number that no other is easily mistaken for.
func spelled(n int) string {
	syllables := []string{"bako", "delu", "firo", "gamu", "hesi", "jolu", "kery", "lomi", "nuta", "pora"}
	return syllables[n%10] + "-" + syllables[n/10%10] + "-" + syllables[n/100%10] + "-skill"
}
