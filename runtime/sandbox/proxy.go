//go:build unix

package sandbox

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

const (
	dialTimeout  = 20 * time.Second
	maxTunnels   = 64 // connections at a time
	maxHeaders   = 64 << 10
	portsDefault = "80 443"
)

// A proxy is the only way out of a sandbox. It knows CONNECT, and plain requests for http URLs.
//
// A host is allowed by its name, and names are looked up here and not inside. What a name stands for must be a public
// address, so that a name cannot be pointed at this machine or at its neighbours; an address that was itself named
// (127.0.0.1:8080) is taken at its word, and so is localhost.
type proxy struct {
	hosts  []string // host:port; port may be "" for the default ports
	log    func(string, bool)
	server *http.Server
	cancel context.CancelFunc // ends the context of every request
	slots  chan struct{}      // holds a token per request that is served
	client *http.Transport
	lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)
}

func newProxy(hosts []string, log func(string, bool)) *proxy {
	p := &proxy{log: log, slots: make(chan struct{}, maxTunnels), lookup: net.DefaultResolver.LookupNetIP}
	for _, h := range hosts {
		p.hosts = append(p.hosts, strings.ToLower(strings.TrimSpace(h)))
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	p.client = &http.Transport{
		DialContext:            func(ctx context.Context, _, address string) (net.Conn, error) { return p.dial(ctx, address) },
		ResponseHeaderTimeout:  time.Minute,
		MaxResponseHeaderBytes: maxHeaders,
		DisableCompression:     true,
	}
	p.server = &http.Server{Handler: p, BaseContext: func(net.Listener) context.Context { return ctx }, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: maxHeaders}
	return p
}

func (p *proxy) serve(l net.Listener) { p.server.Serve(l) }

// close ends every connection and waits for them.
func (p *proxy) close() {
	p.cancel()
	p.server.Close()
	p.client.CloseIdleConnections()
	for range maxTunnels { // when every token is here, nobody has one
		p.slots <- struct{}{}
	}
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	address, port := r.Host, "443"
	if r.Method != http.MethodConnect {
		if r.URL.Scheme != "http" || r.URL.Host == "" {
			http.Error(w, "this is a proxy", http.StatusBadRequest)
			return
		}
		// Where it goes is what is judged: the Host field may say something else.
		address, port, r.Host = r.URL.Host, "80", r.URL.Host
	}
	host, explicit := splitPort(address)
	if explicit != "" {
		port = explicit
	}
	address = net.JoinHostPort(host, port)
	ok := p.allowed(host, port)
	if p.log != nil {
		p.log(address, ok)
	}
	if !ok {
		http.Error(w, "skl: "+address+" is not among the hosts that this program may reach", http.StatusForbidden)
		return
	}
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	default:
		http.Error(w, "skl: too many connections", http.StatusTooManyRequests)
		return
	}
	if r.Method == http.MethodConnect {
		p.tunnel(w, r, address)
		return
	}
	p.forward(w, r)
}

// tunnel copies bytes both ways until one side ends.
func (p *proxy) tunnel(w http.ResponseWriter, r *http.Request, address string) {
	out, err := p.dial(r.Context(), address)
	if err != nil {
		http.Error(w, "skl: "+err.Error(), http.StatusBadGateway)
		return
	}
	defer out.Close()
	in, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer in.Close()
	defer context.AfterFunc(r.Context(), func() { in.Close(); out.Close() })()
	if _, err := io.WriteString(in, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	done := make(chan struct{})
	go func() {
		io.Copy(out, buffered)
		if half, ok := out.(*net.TCPConn); ok {
			half.CloseWrite()
		}
		close(done)
	}()
	io.Copy(in, out)
	in.Close()
	<-done
}

// forward passes on one plain request. It follows no redirect: the program asks again, and is judged again.
func (p *proxy) forward(w http.ResponseWriter, r *http.Request) {
	out := r.Clone(r.Context())
	out.RequestURI = ""
	for _, name := range append(strings.Split(r.Header.Get("Connection"), ","), "Connection", "Proxy-Connection",
		"Proxy-Authorization", "Proxy-Authenticate", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade") {
		out.Header.Del(strings.TrimSpace(name))
	}
	response, err := p.client.RoundTrip(out)
	if err != nil {
		http.Error(w, "skl: "+err.Error(), http.StatusBadGateway)
		return
	}
	defer response.Body.Close()
	for name, values := range response.Header {
		if name != "Connection" && name != "Keep-Alive" && name != "Transfer-Encoding" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(response.StatusCode)
	io.Copy(w, response.Body)
}

// allowed compares names as they are written. *.example.com stands for every name below example.com.
func (p *proxy) allowed(host, port string) bool {
	for _, entry := range p.hosts {
		name, only := splitPort(entry)
		if only == "" && !strings.Contains(" "+portsDefault+" ", " "+port+" ") || only != "" && only != port {
			continue
		}
		if suffix, ok := strings.CutPrefix(name, "*"); ok {
			if strings.HasPrefix(suffix, ".") && len(host) > len(suffix) && strings.HasSuffix(host, suffix) {
				return true
			}
			continue
		}
		if name == host {
			return true
		}
	}
	return false
}

// splitPort takes the port off, and what does not belong to a name: brackets, a final dot, capitals.
func splitPort(address string) (host, port string) {
	host = address
	if h, p, err := net.SplitHostPort(address); err == nil {
		host, port = h, p
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, ".")), port
}

// proxyEnvironment are the variables by which programs find a proxy. They exist in both cases, and both are read.
func proxyEnvironment(port int) []string {
	var env []string
	address := "=http://127.0.0.1:" + strconv.Itoa(port)
	for _, name := range []string{"http_proxy", "https_proxy", "all_proxy"} {
		env = append(env, name+address, strings.ToUpper(name)+address)
	}
	return append(env, "no_proxy=localhost,127.0.0.1,::1", "NO_PROXY=localhost,127.0.0.1,::1")
}

var errPrivate = errors.New("the name stands for a private address")

// dial connects to the first address that may be reached. The address that was judged is the one that is dialled.
func (p *proxy) dial(ctx context.Context, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addresses, err := p.lookup(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	_, literal := netip.ParseAddr(host)
	named := literal == nil || host == "localhost"
	err = errPrivate
	for _, ip := range addresses {
		if ip = ip.Unmap(); !named && !public(ip) {
			continue
		}
		var d net.Dialer
		var conn net.Conn
		if conn, err = d.DialContext(ctx, "tcp", net.JoinHostPort(ip.String(), port)); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// public reports whether ip belongs to the whole world. Addresses of IPv6 that carry one of IPv4 are judged by it.
func public(ip netip.Addr) bool {
	if !ip.IsValid() || ip.Zone() != "" || ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() ||
		ip.IsMulticast() || ip.IsUnspecified() || ip.IsInterfaceLocalMulticast() {
		return false
	}
	if ip.Is4() {
		b := ip.As4()
		return b[0] != 0 && b[0] < 240 && // this network, reserved
			!(b[0] == 100 && b[1]&0xc0 == 64) && // shared by carriers
			!(b[0] == 192 && b[1] == 0 && b[2] == 0) && // protocol assignments
			!(b[0] == 198 && b[1]&0xfe == 18) // benchmarks
	}
	b := ip.As16()
	var inner [4]byte
	switch {
	case b[0] == 0x20 && b[1] == 0x02: // 6to4
		copy(inner[:], b[2:6])
	case b[0] == 0x00 && b[1] == 0x64 && b[2] == 0xff && b[3] == 0x9b: // NAT64
		copy(inner[:], b[12:])
	case b[0] == 0x20 && b[1] == 0x01 && b[2] == 0 && b[3] == 0: // Teredo
		return false
	default:
		return b[0]&0xe0 == 0x20 // what is assigned to the world
	}
	return public(netip.AddrFrom4(inner))
}
