package faulttest

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A fault is what a network does with what is sent through it.
type fault int32

const (
	none  fault = iota
	hole        // nothing arrives, and nobody is told
	deaf        // what is sent arrives, and no answer comes back
	slow        // everything arrives 5 ms late
	reset       // connections end, and there are no new ones
)

// A network is a way to an address that can be interrupted.
type network struct {
	listener net.Listener
	fault    atomic.Int32

	mu     sync.Mutex // guards what follows
	target string
	conns  map[net.Conn]bool
}

func newNetwork(t testing.TB, target string) *network {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &network{listener: l, target: target, conns: map[net.Conn]bool{}}
	go n.serve()
	t.Cleanup(func() {
		l.Close()
		n.set(reset)
	})
	return n
}

func (n *network) addr() string { return n.listener.Addr().String() }

// to has new connections lead to another address.
func (n *network) to(target string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.target = target
}

func (n *network) is() fault { return fault(n.fault.Load()) }

// set begins a fault, or ends one. What was swallowed meanwhile stays lost, so its connections end.
func (n *network) set(f fault) {
	was := fault(n.fault.Swap(int32(f)))
	if f != reset && (was == none || was == slow || was == f) {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.conns {
		c.Close()
	}
}

func (n *network) serve() {
	for {
		in, err := n.listener.Accept()
		if err != nil {
			return
		}
		if n.is() == reset {
			in.Close()
			continue
		}
		n.mu.Lock()
		target := n.target
		n.mu.Unlock()
		out, err := net.Dial("tcp", target)
		if err != nil {
			in.Close()
			continue
		}
		n.mu.Lock()
		n.conns[in], n.conns[out] = true, true
		n.mu.Unlock()
		go n.pipe(out, in, false)
		go n.pipe(in, out, true)
	}
}

// pipe sends on what comes from src, which is an answer or a question.
func (n *network) pipe(dst, src net.Conn, answers bool) {
	defer func() {
		n.mu.Lock()
		delete(n.conns, src)
		n.mu.Unlock()
		src.Close()
		dst.Close()
	}()
	buf := make([]byte, 32<<10)
	for {
		k, err := src.Read(buf)
		if f := n.is(); f == slow {
			time.Sleep(5 * time.Millisecond)
		} else if f == hole || f == deaf && answers {
			k = 0
		}
		if _, e := dst.Write(buf[:k]); e != nil || err != nil {
			return
		}
	}
}
