package gate

import (
	"log/slog"
	"net"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"
)

// Whoever is many takes no place from a smaller network, even where that one's connection waits longest.
func TestManyGiveWayToFew(t *testing.T) {
	g := New(Options{Logger: slog.New(slog.DiscardHandler)})
	g.total, g.share, g.proxy = 4, 0, true
	admit := admitter(t, g)
	few := admit("127.0.0.1", 0)
	many := []*Conn{admit("127.1.0.1", 0), admit("127.1.0.2", 0), admit("127.1.0.3", 0)}
	many[0].Wait(false)
	many[1].Wait(false)
	if in := admit("127.1.0.4", 0); in == nil || few.gone || !many[2].gone {
		t.Fatalf("the smaller network's connection has gone: %v", few.gone)
	} else {
		in.Wait(false)
	}
	if in := admit("127.1.0.5", time.Hour); in != nil || few.gone {
		t.Errorf("a fourth of the larger network got in: %v; the smaller network's connection has gone: %v", in != nil, few.gone)
	}
	many[1].Wait(true)
	if in := admit("127.2.0.1", 0); in == nil || few.gone || !many[1].gone {
		t.Errorf("a newcomer of a third network took the place of the fewest")
	}
}

// admitter listens on loopback, and its function lets one connection from an address into g, which waits for room so long at most.
func admitter(t *testing.T, g *Gate) func(from string, wait time.Duration) *Conn {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return func(from string, wait time.Duration) *Conn {
		t.Helper()
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		out, err := d.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Skipf("skipped: no connection from %s: %v", from, err)
		}
		t.Cleanup(func() { out.Close() })
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		return g.admit(c.(*net.TCPConn), time.Now().Add(wait))
	}
}

// Of the connections of one address those that wait longest give way, not the oldest.
func TestLongestWaitGivesWay(t *testing.T) {
	g := New(Options{Logger: slog.New(slog.DiscardHandler)})
	g.total, g.share = 100, 3
	admit := admitter(t, g)
	mine := []*Conn{admit("127.0.0.1", 0), admit("127.0.0.1", 0), admit("127.0.0.1", 0)}
	for _, i := range []int{1, 0, 2} {
		mine[i].Wait(false)
		mine[i].Wait(true)
	}
	for n, i := range []int{1, 0} {
		if admit("127.0.0.1", 0); !mine[i].gone || mine[2].gone {
			t.Errorf("newcomer %d: connection %d is still there, or the one that waits shortest has gone", n, i)
		}
	}
}

// Where requests under way are at their bound, the slowest gives way, if it had its chance.
func TestSlowestGivesWay(t *testing.T) {
	g := New(Options{Logger: slog.New(slog.DiscardHandler)})
	g.active, g.share = 3, 0
	now := time.Now()
	r := httptest.NewRequest("GET", "/", nil)
	var entered []*Transfer
	for i := range 3 {
		tr, _, err := g.Enter(r, "")
		if err != nil {
			t.Fatal(err)
		}
		tr.conn = &Conn{tcp: new(net.TCPConn), gate: g}
		tr.bytes.Store(int64(i) * 1000)
		tr.waits.Store(true)
		entered = append(entered, tr)
	}
	if _, _, err := g.Enter(r, ""); err == nil {
		t.Error("new transfers were given up")
	}
	for _, tr := range entered {
		tr.began = now.Add(-time.Minute)
	}
	entered[0].waits.Store(false) // the server works for it
	if _, _, err := g.Enter(r, ""); err != nil {
		t.Error(err)
	}
	if _, there := g.requests[entered[1]]; there || len(g.requests) != 3 {
		t.Errorf("the slowest of those that wait is still there, among %d", len(g.requests))
	}
}

func TestNetwork(t *testing.T) {
	for in, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "fe80::1%eth0": "fe80::/64",
	} {
		if got := Network(netip.MustParseAddr(in)); got != want {
			t.Errorf("Network(%s) = %s, want %s", in, got, want)
		}
	}
}
