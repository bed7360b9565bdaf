// Command bench measures how many artifacts a second two registries take and give, side by
// side on one machine: that of the distribution project and skl's, each a process of its own on an
// empty directory, fsync on. An artifact is a layer, a config and a manifest with content of its own.
//
// A push is five requests (two uploads in two steps, and the manifest), a pull two (the manifest by its tag,
// with an Accept header, and the layer). The servers take turns, and the table has the median of the rounds.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

var (
	clients = flag.Int("clients", 16, "how many push or pull at once")
	seconds = flag.Float64("seconds", 4, "length of one measurement")
	rounds  = flag.Int("rounds", 3, "how often each is measured")
	dir     = flag.String("dir", "", "scratch directory; its file system is what is measured")
	peer    = flag.String("distribution", "", "executable of the distribution project's registry")
	kb      = flag.String("kb", "10,100,1024", "sizes of the layers, in KB")
	ours    = flag.String("skl", "", "the program skl, whose \"registry serve\" is measured")
)

const manifestType = "application/vnd.oci.image.manifest.v1+json"

func main() {
	log.SetFlags(0)
	flag.Parse()
	var sizes []int
	for text := range strings.SplitSeq(*kb, ",") {
		n, err := strconv.Atoi(text)
		check(err)
		sizes = append(sizes, n<<10)
	}
	servers := []*server{startDistribution(*peer, filepath.Join(*dir, "distribution")), startOurs(*ours, filepath.Join(*dir, "skl"))}
	defer func() {
		for _, s := range servers {
			s.stop()
		}
	}()
	time.Sleep(2 * time.Second) // what they do at start is over
	for _, s := range servers {
		s.idle = s.memory("VmRSS")
		s.watch()
	}
	results, work := map[string][]float64{}, map[string][]float64{}
	for round := range *rounds {
		for _, size := range sizes {
			for i := range servers {
				s := servers[(i+round)%len(servers)]
				pushed := measure(s, size, round, true, nil)
				pulled := measure(s, size, round, false, pushed.count)
				for what, r := range map[string]result{"push": pushed, "pull": pulled} {
					results[key(s, size, what)] = append(results[key(s, size, what)], r.rate)
					work[key(s, size, what)] = append(work[key(s, size, what)], r.work)
				}
			}
		}
	}
	load, _ := os.ReadFile("/proc/loadavg")
	fmt.Printf("%d clients, %d CPUs, %s, %d rounds of %gs, artifacts per second\n\n", *clients, runtime.NumCPU(), runtime.Version(), *rounds, *seconds)
	fmt.Println("| content | what | distribution | skl | ratio | processor ms each, distribution | skl |\n|---|---|---|---|---|---|---|")
	for _, size := range sizes {
		for _, what := range []string{"push", "pull"} {
			a, b := median(results[key(servers[0], size, what)]), median(results[key(servers[1], size, what)])
			fmt.Printf("| %d KB | %s | %.0f | %.0f | %.1f | %.2f | %.2f |\n", size>>10, what, a, b, b/a,
				median(work[key(servers[0], size, what)]), median(work[key(servers[1], size, what)]))
		}
	}
	fmt.Println("\n| memory (RSS) | distribution | skl |\n|---|---|---|")
	fmt.Printf("| idle | %.0f MiB | %.0f MiB |\n", servers[0].idle, servers[1].idle)
	fmt.Printf("| at most, under load | %.0f MiB | %.0f MiB |\n\n", servers[0].memory("VmHWM"), servers[1].memory("VmHWM"))
	fmt.Printf("load after the run: %s\n", strings.TrimSpace(string(load)))
}

func key(s *server, size int, what string) string { return fmt.Sprint(s.name, size, what) }

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

type result struct {
	rate  float64 // a second
	work  float64 // processor time of the server for one, in milliseconds: it depends less on what else runs
	count []int64 // by client
}

// measure lets all clients push, or pull what was pushed, for some seconds.
func measure(s *server, size, round int, push bool, pushed []int64) result {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	transport := &http.Transport{MaxIdleConnsPerHost: *clients, DisableCompression: true}
	defer transport.CloseIdleConnections()
	counts, total := make([]int64, *clients), atomic.Int64{}
	var group sync.WaitGroup
	began, worked := time.Now(), s.worked()
	end := began.Add(time.Duration(*seconds * float64(time.Second)))
	for i := range *clients {
		c := &client{ctx: ctx, http: &http.Client{Transport: transport}, url: s.url + "/v2/bench/c" + fmt.Sprint(i),
			tag: fmt.Sprintf("%d.%d", round, size), content: make([]byte, size), buffer: make([]byte, 64<<10)}
		seed := [32]byte{byte(i), byte(round), byte(size >> 10), byte(size >> 18)}
		rand.NewChaCha8(seed).Read(c.content)
		group.Go(func() {
			for n := int64(0); time.Now().Before(end); n++ {
				if push {
					c.push(n)
				} else if pushed[i] > 0 {
					c.pull(rand.Int64N(pushed[i]), size)
				} else {
					return
				}
				counts[i]++
				total.Add(1)
			}
		})
	}
	group.Wait()
	took := time.Since(began).Seconds()
	return result{float64(total.Load()) / took, (s.worked() - worked) * 1000 / float64(max(total.Load(), 1)), counts}
}

type client struct {
	ctx     context.Context
	http    *http.Client
	url     string
	tag     string
	content []byte
	buffer  []byte
}

// push sends the artifact number n, whose content nobody else has.
func (c *client) push(n int64) {
	binary.LittleEndian.PutUint64(c.content, uint64(n)+1)
	config := fmt.Appendf(nil, `{"name":"bench","content":"%x","number":%d}`, c.content[8:24], n)
	layer, configDigest := c.blob(c.content), c.blob(config)
	manifest := fmt.Appendf(nil, `{"schemaVersion":2,"mediaType":%q,"artifactType":"application/vnd.example.bench",`+
		`"config":{"mediaType":"application/vnd.example.config.v1+json","digest":%q,"size":%d},`+
		`"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar","digest":%q,"size":%d}]}`,
		manifestType, configDigest, len(config), layer, len(c.content))
	request := c.request("PUT", fmt.Sprintf("%s/manifests/%s.%d", c.url, c.tag, n), manifest)
	request.Header.Set("Content-Type", manifestType)
	c.do(request, 201)
}

func (c *client) blob(content []byte) string {
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(content))
	answer := c.do(c.request("POST", c.url+"/blobs/uploads/", nil), 202)
	location, err := answer.Location()
	check(err)
	query := location.Query()
	query.Set("digest", digest)
	location.RawQuery = query.Encode()
	request := c.request("PUT", location.String(), content)
	request.Header.Set("Content-Type", "application/octet-stream")
	c.do(request, 201)
	return digest
}

// pull reads the artifact number n. The layer's name is cut out of the manifest, as cheap as it can be:
// the client's work is on the same processors.
func (c *client) pull(n int64, size int) {
	request := c.request("GET", fmt.Sprintf("%s/manifests/%s.%d", c.url, c.tag, n), nil)
	request.Header.Set("Accept", manifestType)
	answer, err := c.http.Do(request)
	check(err)
	manifest, err := io.ReadAll(answer.Body)
	check(err)
	answer.Body.Close()
	at := bytes.LastIndex(manifest, []byte("sha256:"))
	if answer.StatusCode != 200 || at < 0 {
		log.Fatalf("%s: %s: %s", request.URL, answer.Status, manifest)
	}
	digest := string(manifest[at : at+7+64])
	answer, err = c.http.Do(c.request("GET", c.url+"/blobs/"+digest, nil))
	check(err)
	got, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, answer.Body, c.buffer)
	check(err)
	answer.Body.Close()
	if answer.StatusCode != 200 || got != int64(size) {
		log.Fatalf("blob %s: %s and %d bytes", digest, answer.Status, got)
	}
}

func (c *client) request(method, url string, content []byte) *http.Request {
	var body io.Reader
	if content != nil {
		body = bytes.NewReader(content)
	}
	request, err := http.NewRequestWithContext(c.ctx, method, url, body)
	check(err)
	return request
}

func (c *client) do(request *http.Request, want int) *http.Response {
	answer, err := c.http.Do(request)
	check(err)
	said, err := io.ReadAll(answer.Body)
	check(err)
	answer.Body.Close()
	if answer.StatusCode != want {
		log.Fatalf("%s %s: %s: %s", request.Method, request.URL, answer.Status, said)
	}
	return answer
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
