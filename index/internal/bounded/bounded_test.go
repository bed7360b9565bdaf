package bounded

import "testing"

// The map never takes more than its limit, whatever the sizes, and the last entry is in it.
func TestMap(t *testing.T) {
	const limit = 16 << 20
	m := New[int, int](limit)
	for i := range 200 {
		size := 1 + i*2_000
		room := m.HasRoom(size)
		before := len(m.m)
		m.Keep(i, i, size)
		m.Keep(i, -i, size)
		sum := 0
		for _, e := range m.m {
			sum += e.size
		}
		if sum != m.size || sum > limit {
			t.Fatalf("%d are kept, %d are counted", sum, m.size)
		}
		if v, ok := m.Get(i); !ok || v != -i {
			t.Fatalf("%d has %d, %v", i, v, ok)
		}
		if _, ok := m.Get(1000); ok {
			t.Fatal("what was never kept is there")
		}
		if room != (len(m.m) == before+1) {
			t.Fatalf("there was room: %v, and of %d are %d left", room, before, len(m.m))
		}
	}
	if len(m.m) == 200 {
		t.Error("the test is too small")
	}
	m.Keep(-1, 1, 2*limit)
	if v, ok := m.Get(-1); !ok || v != 1 || len(m.m) != 1 || m.HasRoom(0) {
		t.Errorf("what is larger than the limit is %d, %v, among %d", v, ok, len(m.m))
	}
}
