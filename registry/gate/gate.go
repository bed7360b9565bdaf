// Package gate bounds the connections of an HTTP server, and the requests that it has under way, so that nobody keeps others out by
// being slow, or by being many. [Redact] is how such a server writes a path in its log.
package gate

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

	"github.com/skl-project/skl/spec/diag"
)

// Bounds of a gate.
const (
	mostConns    = 4096             // connections at once, where descriptors do not say less
	spareFiles   = 48               // descriptors that are neither connections nor what requests open: database, log, directories
	DefaultShare = 256              // connections of one address, if the configuration says nothing
	provenAfter  = 2 * time.Second  // how old a transfer is before its rate counts
	fastEnough   = 64 << 10         // bytes a second from which a transfer is never given up for another
	roomWait     = time.Second      // for one that can give way: all others are being worked for, so this is a matter of processor time
	tellEvery    = 30 * time.Second // of warnings about the same bound
)

// A Gate bounds the connections of a server, and the requests that they have under way. Use [Gate.Listener], and give State and
// Context to the http.Server. It may be used concurrently.
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
type Gate struct {
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
	waiting  *list.List     // of *Conn, the longest wait first
	crowds   map[string]int // connections by network
	requests map[*Transfer]struct{}
}

// Options of a Gate.
type Options struct {
	Share  int          // connections of one address at most; 0 is 256, less than 0 is no bound
	Proxy  bool         // all connections are a proxy's: the share is of requests, by the address that it names
	Logger *slog.Logger // hears, now and then, that connections give way
}

// New makes a Gate. How many connections there may be follows from the descriptors that this process may have open.
func New(o Options) *Gate {
	g := &Gate{room: make(chan struct{}, 1), total: mostConns, share: o.Share, proxy: o.Proxy, byAddr: make(map[string]int), waiting: list.New(), crowds: make(map[string]int), requests: make(map[*Transfer]struct{})}
	if files := maxFiles(); files > 0 {
		g.total = max(8, min(g.total, (files-spareFiles)*3/4))
	}
	g.active = max(4, g.total/3) // so that there is a descriptor for each one's file
	switch {
	case g.share == 0:
		g.share = DefaultShare
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
		o.Logger.Warn("connections give way", "because", what, "total", g.total, "per_address", g.share)
	}
	return g
}

// Open is how many connections are open.
func (g *Gate) Open() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open
}

// Closed is how many connections and requests had to make room for others, or found none.
func (g *Gate) Closed() int64 { return g.closed.Load() }

// Under is how many requests are under way, of the connection from remote, or of all where that is "".
func (g *Gate) Under(remote string) (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for t := range g.requests {
		if remote == "" || t.conn != nil && t.conn.RemoteAddr().String() == remote {
			n++
		}
	}
	return n
}

// A Conn is a connection of a Gate.
type Conn struct {
	net.Conn
	tcp     *net.TCPConn // the same, with what it can do beyond
	gate    *Gate
	addr    string
	network string
	place   *list.Element // in gate.waiting, nil if it does not wait
	gone    bool
}

// ReadFrom implements [io.ReaderFrom], by sendfile where that can be.
func (c *Conn) ReadFrom(r io.Reader) (int64, error) { return c.tcp.ReadFrom(r) }

// CloseWrite closes one half, so that net/http can wait for the client to hang up.
func (c *Conn) CloseWrite() error { return c.tcp.CloseWrite() }

// Listener is l, whose connections come through g. TLS is put on top of it.
func (g *Gate) Listener(l net.Listener) net.Listener { return gated{l, g} }

type gated struct {
	net.Listener
	gate *Gate
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
func (g *Gate) admit(tcp *net.TCPConn, due time.Time) *Conn {
	c := &Conn{Conn: tcp, tcp: tcp, gate: g}
	if at, err := netip.ParseAddrPort(tcp.RemoteAddr().String()); err == nil {
		c.addr, c.network = Network(at.Addr()), neighbours(at.Addr().Unmap())
	}
	var victim *Conn
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
func (g *Gate) victim(newcomer *Conn, crowded bool) (victim *Conn) {
	most := max(0, g.crowds[newcomer.network]-1)
	for e := g.waiting.Front(); e != nil; e = e.Next() {
		c := e.Value.(*Conn)
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

// Network is the key for an address: itself, or its /64 for IPv6, which one client owns.
func Network(ip netip.Addr) string {
	if ip.Is6() && !ip.Is4In6() {
		if p, err := ip.WithZone("").Prefix(64); err == nil {
			return p.String()
		}
	}
	return ip.Unmap().String()
}

func (g *Gate) turned(crowded bool) {
	g.closed.Add(1)
	if crowded {
		g.warn("one address has its share of connections")
	} else {
		g.warn("all connections are taken")
	}
}

// forget takes c out of the books. The gate is locked.
func (g *Gate) forget(c *Conn) {
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
func (c *Conn) queue() {
	if c.place != nil {
		c.gate.waiting.MoveToBack(c.place)
		return
	}
	c.place = c.gate.waiting.PushBack(c)
	c.gate.mayAdmit()
}

// mayAdmit tells admit that there is room, or somebody who can make it.
func (g *Gate) mayAdmit() {
	select {
	case g.room <- struct{}{}:
	default:
	}
}

// unqueue takes it out. The gate is locked.
func (c *Conn) unqueue() {
	if c.place == nil {
		return
	}
	c.gate.waiting.Remove(c.place)
	c.place = nil
}

func (g *Gate) less(addr string) {
	if g.byAddr[addr]--; g.byAddr[addr] <= 0 {
		delete(g.byAddr, addr)
	}
}

// Close closes the connection and makes room for another.
func (c *Conn) Close() error {
	err := c.tcp.Close()
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	c.gate.forget(c)
	return err
}

// Wait says whether c waits for its client, and gives way to others therefore.
func (c *Conn) Wait(waits bool) {
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

// State follows a connection of an http.Server. One is new, or idle, until the header of a request is complete.
func (g *Gate) State(nc net.Conn, s http.ConnState) {
	c := gatedConn(nc)
	if c == nil {
		return
	}
	switch s {
	case http.StateActive:
		c.Wait(false)
	case http.StateIdle:
		c.Wait(true)
	}
}

type connKey struct{}

// Context keeps a connection for its requests.
func (g *Gate) Context(ctx context.Context, nc net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, gatedConn(nc))
}

// ConnOf is the connection that r came on; nil if it came through no gate.
func ConnOf(r *http.Request) *Conn {
	c, _ := r.Context().Value(connKey{}).(*Conn)
	return c
}

func gatedConn(nc net.Conn) *Conn {
	if t, ok := nc.(*tls.Conn); ok {
		nc = t.NetConn()
	}
	c, _ := nc.(*Conn)
	return c
}

// A Transfer is a request under way. The methods of nil do nothing.
type Transfer struct {
	conn  *Conn // nil in tests
	addr  string
	began time.Time
	bytes atomic.Int64 // read and written so far
	waits atomic.Bool  // for the client: to send, or to take
}

// Waiting notes that the client has to do something now, until the returned func is called.
func (t *Transfer) Waiting() func() {
	if t == nil {
		return func() {}
	}
	t.waits.Store(true)
	return func() { t.waits.Store(false) }
}

// Moved counts bytes.
func (t *Transfer) Moved(n int64) {
	if t != nil {
		t.bytes.Add(n)
	}
}

// rate is how many bytes a second it moved on average.
func (t *Transfer) rate(now time.Time) float64 {
	return float64(t.bytes.Load()) / now.Sub(t.began).Seconds()
}

// Enter counts a request from addr, which is what the proxy names, "" otherwise. The caller calls leave at its end.
// Its error, when there is no room, has the code unavailable.
func (g *Gate) Enter(r *http.Request, addr string) (t *Transfer, leave func(), err error) {
	t = &Transfer{began: time.Now(), addr: addr, conn: ConnOf(r)}
	var victim *Transfer
	g.mu.Lock()
	switch {
	case addr != "" && g.share > 0 && g.byAddr[addr] >= g.share:
		err = busy("%s has %d requests under way, which is its share", addr, g.byAddr[addr])
	case len(g.requests) >= g.active:
		if victim = g.slowest(t.began); victim == nil {
			err = busy("the server has as many requests under way as it can")
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
func (g *Gate) slowest(now time.Time) (worst *Transfer) {
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
func (g *Gate) drop(t *Transfer) {
	if _, ok := g.requests[t]; !ok {
		return
	}
	delete(g.requests, t)
	if t.addr != "" {
		g.less(t.addr)
	}
}
