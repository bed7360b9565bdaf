package s3

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/skl-project/skl/registry/blob"
)

// TestRecent compares the order with a list, which is what it stands for.
func TestRecent(t *testing.T) {
	r, list := newRecent(), []blob.Digest(nil) // the newest last
	at := func(i int) blob.Digest {
		return blob.Sum([]string{blob.SHA256, blob.SHA512}[i%2], fmt.Append(nil, i))
	}
	for step := range 20000 {
		d := at(rand.IntN(60))
		i, n := r.find(d), slices.Index(list, d)
		if (i == 0) != (n < 0) || i != 0 && (r.digest(i) != d || r.slots[i].size != int64(len(d.String()))) {
			t.Fatalf("step %d: %s is in slot %d, and at %d of the list", step, d, i, n)
		}
		switch {
		case i == 0:
			r.add(d, int64(len(d.String())))
			list = append(list, d)
		case step%3 == 0:
			r.remove(i)
			list = slices.Delete(list, n, n+1)
		default:
			r.use(i)
			list = append(slices.Delete(list, n, n+1), d)
		}
		var got []blob.Digest
		for i := r.newer(0); i != 0; i = r.newer(i) {
			got = append(got, r.digest(i))
		}
		if !slices.Equal(got, list) || len(list) > 0 && r.digest(r.newest()) != list[len(list)-1] {
			t.Fatalf("step %d: the order is %v, not %v", step, got, list)
		}
	}
	if len(r.slots) > 61 {
		t.Errorf("%d slots for 60 files", len(r.slots))
	}
}

// TestRecentIsSmall holds what a file of the cache costs.
func TestRecentIsSmall(t *testing.T) {
	const files = 100000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r := newRecent()
	for i := range files {
		r.add(blob.Sum(blob.SHA256, fmt.Append(nil, i)), 1)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := float64(after.HeapAlloc-before.HeapAlloc) / files
	t.Logf("%.0f bytes for each", each)
	if each > 150 {
		t.Errorf("a file costs %.0f bytes", each)
	}
	runtime.KeepAlive(r)
}
