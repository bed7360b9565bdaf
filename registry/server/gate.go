package server

import (
	"container/list"
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/spec/diag"
)

// Bounds of a gate.
const (
	mostConns   = 4096             // connections at once, where descriptors do not say less
	spareFiles  = 48               // descriptors that are neither connections nor what requests open: database, log, directories
	ownAddress  = 256              // connections of one address, if the configuration says nothing
	provenAfter = 2 * time.Second  // how old a transfer is before its rate counts
	fastEnough  = 64 << 10         // bytes a second from which a transfer is never given up for another
	roomWait    = time.Second      // for one that can give way: all others are being worked for, so this is a matter of processor time
	tellEvery   = 30 * time.Second // of warnings about the same bound
)

// A gate bounds the connections of a server, and the requests that they have under way.
//
// No more connections are open than descriptors allow, when each request may have a file open besides. Where there
// is no room, a connection goes that waits for the rest of a header, for its next request or for the
// body of one that was answered: the oldest of the network that has most connections open, and never one of a smaller
// network than the newcomer's. So a newcomer always gets in, and nobody keeps others out by being slow, or by being many. An address has a share: beyond it the connections of that address alone give way, and
// while all of them have requests under way, new ones are closed at once. Behind a proxy, whose connections are
// those of everybody, the share is of requests, by the address that the proxy names.
//
// Requests under way never take all connections. Beyond their bound the slowest transfer ends that had
// its chance, or else the new request is asked to come again (503).
type gate struct {
	total  int // connections
	active int // requests under way
	share  int // of one address; 0 is no bound
	proxy  bool
	warn   func(what string)
	room   chan struct{} // told when there may be room
	closed atomic.Int64  // connections that had to give way, or did not get in

	mu       sync.Mutex // guards what follows, and the fields of conns
	open     int
	byAddr   map[string]int // connections, or requests behind a proxy
	waiting  *list.List     // of *conn, the longest wait first
	crowds   map[string]int // connections by network
	requests map[*transfer]struct{}
}

// newGate reads its bounds from the configuration and the system.
func newGate(cfg Config, logger *slog.Logger) *gate {
	g := &gate{room: make(chan struct{}, 1), total: mostConns, share: cfg.Limits.Connections, proxy: cfg.TLS.Proxy, byAddr: make(map[string]int), waiting: list.New(), crowds: make(map[string]int), requests: make(map[*transfer]struct{})}
	if files := maxFiles(); files > 0 {
		g.total = max(8, min(g.total, (files-spareFiles)*3/4))
	}
	g.active = max(4, g.total/3) // so that there is a descriptor for each one's file
	switch {
	case g.share == 0:
		g.share = ownAddress
	case g.share < 0:
		g.share = 0
	}
	if g.share > g.total/2 && !g.proxy {
		g.share = g.total / 2
	}
	var told sync.Map
	g.warn = func(what string) {
		now := time.Now()
		if last, ok := told.Load(what); ok && now.Sub(last.(time.Time)) < tellEvery {
			return
		}
		told.Store(what, now)
		logger.Warn("connections give way", "because", what, "total", g.total, "per_address", g.share)
	}
	return g
}

// connections is how many are open.
func (g *gate) connections() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open
}

// A conn is a connection of a gate.
type conn struct {
	net.Conn
	tcp     *net.TCPConn // the same, with what it can do beyond
	gate    *gate
	addr    string
	network string
	place   *list.Element // in gate.waiting, nil if it does not wait
	gone    bool
}

// ReadFrom implements [io.ReaderFrom], by sendfile where that can be.
func (c *conn) ReadFrom(r io.Reader) (int64, error) { return c.tcp.ReadFrom(r) }

// CloseWrite closes one half, so that net/http can wait for the client to hang up.
func (c *conn) CloseWrite() error { return c.tcp.CloseWrite() }

// gated is a listener whose connections come through a gate.
type gated struct {
	net.Listener
	gate *gate
}

func (l gated) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		tcp, ok := c.(*net.TCPConn)
		if !ok {
			return c, nil // of a test that brings connections of its own
		}
		if in := l.gate.admit(tcp, time.Now().Add(roomWait)); in != nil {
			return in, nil
		}
	}
}

// admit lets a connection in, or closes it and returns nil. Where all others are being worked for, it waits until due for one that
// can give way.
func (g *gate) admit(tcp *net.TCPConn, due time.Time) *conn {
	c := &conn{Conn: tcp, tcp: tcp, gate: g}
	if at, err := netip.ParseAddrPort(tcp.RemoteAddr().String()); err == nil {
		c.addr, c.network = auth.Network(at.Addr()), neighbours(at.Addr().Unmap())
	}
	var victim *conn
	g.mu.Lock()
	full := g.open >= g.total
	crowded := !g.proxy && g.share > 0 && g.byAddr[c.addr] >= g.share
	if full || crowded {
		victim = g.victim(c, crowded)
		if victim == nil {
			none := g.waiting.Len() == 0
			g.mu.Unlock()
			if rest := time.Until(due); !crowded && none && rest > 0 { // who comes behind it waits as well, so not for one of the crowd
				select {
				case <-g.room:
				case <-time.After(rest):
				}
				return g.admit(tcp, due)
			}
			g.turned(crowded)
			tcp.Close()
			return nil
		}
		g.forget(victim)
	}
	g.open++
	g.crowds[c.network]++
	if !g.proxy {
		g.byAddr[c.addr]++
	}
	c.queue()
	g.mu.Unlock()
	if victim != nil {
		g.turned(crowded)
		victim.tcp.SetLinger(0) // what it still has to say is of no use
		victim.tcp.Close()
	}
	return c
}

// victim is the connection that gives way to a new one; nil if none can. The gate is locked.
func (g *gate) victim(newcomer *conn, crowded bool) (victim *conn) {
	most := max(0, g.crowds[newcomer.network]-1)
	for e := g.waiting.Front(); e != nil; e = e.Next() {
		c := e.Value.(*conn)
		switch {
		case crowded && c.addr == newcomer.addr:
			return c
		case !crowded && g.crowds[c.network] > most:
			most, victim = g.crowds[c.network], c
		}
	}
	return victim
}

// neighbours is the network that the connections of ip are counted with where they wait.
func neighbours(ip netip.Addr) string {
	bits := 24
	if ip.Is6() {
		bits = 48
	}
	p, err := ip.WithZone("").Prefix(bits)
	if err != nil {
		return ""
	}
	return p.String()
}

func (g *gate) turned(crowded bool) {
	g.closed.Add(1)
	if crowded {
		g.warn("one address has its share of connections")
	} else {
		g.warn("all connections are taken")
	}
}

// forget takes c out of the books. The gate is locked.
func (g *gate) forget(c *conn) {
	if c.gone {
		return
	}
	c.gone = true
	g.open--
	if g.crowds[c.network]--; g.crowds[c.network] <= 0 {
		delete(g.crowds, c.network)
	}
	g.mayAdmit()
	if !g.proxy {
		g.less(c.addr)
	}
	c.unqueue()
}

// queue puts c at the end of those that wait. The gate is locked.
func (c *conn) queue() {
	if c.place != nil {
		c.gate.waiting.MoveToBack(c.place)
		return
	}
	c.place = c.gate.waiting.PushBack(c)
	c.gate.mayAdmit()
}

// mayAdmit tells admit that there is room, or somebody who can make it.
func (g *gate) mayAdmit() {
	select {
	case g.room <- struct{}{}:
	default:
	}
}

// unqueue takes it out. The gate is locked.
func (c *conn) unqueue() {
	if c.place == nil {
		return
	}
	c.gate.waiting.Remove(c.place)
	c.place = nil
}

func (g *gate) less(addr string) {
	if g.byAddr[addr]--; g.byAddr[addr] <= 0 {
		delete(g.byAddr, addr)
	}
}

// Close closes the connection and makes room for another.
func (c *conn) Close() error {
	err := c.tcp.Close()
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	c.gate.forget(c)
	return err
}

// wait says whether c waits for its client, and gives way to others therefore.
func (c *conn) wait(waits bool) {
	g := c.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case c.gone:
	case waits:
		c.queue()
	default:
		c.unqueue()
	}
}

// state follows a connection of an http.Server. One is new, or idle, until the header of a request is complete.
func (g *gate) state(nc net.Conn, s http.ConnState) {
	c := gatedConn(nc)
	if c == nil {
		return
	}
	switch s {
	case http.StateActive:
		c.wait(false)
	case http.StateIdle:
		c.wait(true)
	}
}

type connKey struct{}

// context keeps a connection for its requests.
func (g *gate) context(ctx context.Context, nc net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, gatedConn(nc))
}

// connOf is the connection that r came on; nil if it came through no gate.
func connOf(r *http.Request) *conn {
	c, _ := r.Context().Value(connKey{}).(*conn)
	return c
}

func gatedConn(nc net.Conn) *conn {
	if t, ok := nc.(*tls.Conn); ok {
		nc = t.NetConn()
	}
	c, _ := nc.(*conn)
	return c
}

// A transfer is a request under way.
type transfer struct {
	conn  *conn // nil in tests
	addr  string
	began time.Time
	bytes atomic.Int64 // read and written so far
	waits atomic.Bool  // for the client: to send, or to take
}

// waiting notes that the client has to do something now, until the returned func is called.
func (t *transfer) waiting() func() {
	if t == nil {
		return func() {}
	}
	t.waits.Store(true)
	return func() { t.waits.Store(false) }
}

// moved counts bytes.
func (t *transfer) moved(n int64) {
	if t != nil {
		t.bytes.Add(n)
	}
}

// rate is how many bytes a second it moved on average.
func (t *transfer) rate(now time.Time) float64 {
	return float64(t.bytes.Load()) / now.Sub(t.began).Seconds()
}

// enter counts a request from addr, which is what the proxy names, "" otherwise. The caller calls leave at its end.
// Its error, when there is no room, has the code unavailable.
func (g *gate) enter(r *http.Request, addr string) (t *transfer, leave func(), err error) {
	t = &transfer{began: time.Now(), addr: addr, conn: connOf(r)}
	var victim *transfer
	g.mu.Lock()
	switch {
	case addr != "" && g.share > 0 && g.byAddr[addr] >= g.share:
		err = busy("%s has %d requests under way, which is its share", addr, g.byAddr[addr])
	case len(g.requests) >= g.active:
		if victim = g.slowest(t.began); victim == nil {
			err = busy("the registry has as many requests under way as it can")
		} else {
			g.drop(victim)
		}
	}
	if err == nil {
		g.requests[t] = struct{}{}
		if addr != "" {
			g.byAddr[addr]++
		}
	}
	g.mu.Unlock()
	if err != nil {
		g.closed.Add(1)
		g.warn("too many requests are under way")
		return nil, nil, err
	}
	if victim != nil {
		g.turned(false)
		victim.conn.Close()
	}
	return t, func() {
		g.mu.Lock()
		g.drop(t)
		g.mu.Unlock()
	}, nil
}

func busy(format string, args ...any) error {
	e := diag.New(diag.Failed, "unavailable", format, args...)
	e.Retryable = true
	return e.Hint("try again in a moment")
}

// slowest is the transfer that is given up for another; nil if all are fast, or new. The gate is locked.
func (g *gate) slowest(now time.Time) (worst *transfer) {
	least := float64(fastEnough)
	for t := range g.requests {
		if t.conn == nil || !t.waits.Load() || now.Sub(t.began) < provenAfter {
			continue
		}
		if rate := t.rate(now); rate < least {
			least, worst = rate, t
		}
	}
	return worst
}

// drop takes t out of the books. The gate is locked.
func (g *gate) drop(t *transfer) {
	if _, ok := g.requests[t]; !ok {
		return
	}
	delete(g.requests, t)
	if t.addr != "" {
		g.less(t.addr)
	}
}
