package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/skl-project/skl/registry/registrytest/program"
)

const manifestType = "application/vnd.oci.image.manifest.v1+json"

// A result is what one measurement came to.
type result struct {
	rate   float64 // a second
	work   float64 // processor time of the servers for one, in milliseconds: it depends less on what else runs
	behind float64 // that of the database and the bucket
	count  []int64 // by client
}

// A step is what a client does again and again; n counts from 0. It reports whether there was something to do.
type step func(c *client, n int64) bool

// measure lets clients do steps for some seconds. Each asks a server of its own.
func (s *site) measure(clients int, do func(i int) step) result {
	transport := &http.Transport{MaxIdleConnsPerHost: clients, DisableCompression: true}
	defer transport.CloseIdleConnections()
	counts, total := make([]int64, clients), atomic.Int64{}
	var group sync.WaitGroup
	began := time.Now()
	worked, behind := s.worked()
	end := began.Add(time.Duration(*seconds * float64(time.Second)))
	for i := range clients {
		c := &client{http: &http.Client{Transport: transport}, base: s.url(i), buffer: make([]byte, 64<<10)}
		next := do(i)
		group.Go(func() {
			for n := int64(0); time.Now().Before(end) && next(c, n); n++ {
				counts[i]++
				total.Add(1)
			}
		})
	}
	group.Wait()
	took := time.Since(began).Seconds()
	workedNow, behindNow := s.worked()
	each := 1000 / float64(max(total.Load(), 1))
	return result{float64(total.Load()) / took, (workedNow - worked) * each, (behindNow - behind) * each, counts}
}

// push sends artifacts of a layer of that size, whose content nobody else has.
func (s *site) push(size, round int) result {
	return s.measure(*clients, func(i int) step {
		content := make([]byte, size)
		rand.NewChaCha8([32]byte{byte(i), byte(round), byte(size >> 10), byte(size >> 18)}).Read(content)
		return func(c *client, n int64) bool {
			c.push(artifact(i, size, round), n, content)
			return true
		}
	})
}

// first reads each artifact once, or as many as there is time for, at a server that may not be the one that it was pushed to.
func (s *site) first(size, round int, pushed []int64) result {
	return s.measure(*clients, func(i int) step {
		from := (i + 1) % len(pushed)
		return func(c *client, n int64) bool {
			if n < pushed[from] {
				c.pull(artifact(from, size, round), n, size)
			}
			return n < pushed[from]
		}
	})
}

// pull reads what each client read first.
func (s *site) pull(size, round int, read []int64) result {
	return s.measure(*clients, func(i int) step {
		from := artifact((i+1)%len(read), size, round)
		return func(c *client, _ int64) bool {
			if read[i] > 0 {
				c.pull(from, rand.Int64N(read[i]), size)
			}
			return read[i] > 0
		}
	})
}

// An image says where the artifacts of a client are, but for their number.
type image struct{ repo, tag string }

func artifact(client, size, round int) image {
	return image{"/v2/bench/c" + fmt.Sprint(client), fmt.Sprintf("%d.%d", round, size)}
}

// publish publishes skills of some files, each a version that the log gets.
func (s *site) publish(clients, round int) result {
	return s.measure(clients, func(i int) step {
		return func(c *client, n int64) bool {
			version := fmt.Sprintf("%d.0.%d", round, n)
			request := c.request("PUT", c.base+"/api/v1/skills/bench/"+skillName(i)+"/versions/"+version, bundle(skillName(i), version))
			request.Header.Set("Content-Type", "application/zip")
			c.do(request, 201)
			return true
		}
	})
}

// skillName is of words that are not near those of another.
func skillName(client int) string {
	sum := sha256.Sum256([]byte{byte(client)})
	return fmt.Sprintf("s%x", sum[:6])
}

// bundle is an archive of a skill of about 6 KB.
func bundle(name, version string) []byte {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for path, text := range map[string]string{
		"SKILL.md": "---\nname: " + name + "\ndescription: Fills tables of benchmarks. Use when somebody asks how fast a registry is.\n---\n\n# " + name + "\n\nThis is version " + version + ".\n",
		"notes.md": fmt.Sprintf("# Notes\n\n%x\n", noise(2<<10)), "reference/more.md": fmt.Sprintf("# More\n\n%x\n", noise(1<<10)),
	} {
		f, err := w.CreateHeader(&zip.FileHeader{Name: path, Method: zip.Store})
		program.Check(err)
		_, err = io.WriteString(f, text)
		program.Check(err)
	}
	program.Check(w.Close())
	return out.Bytes()
}

func noise(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return b
}

// ask reads metadata at a rate, as long as one measurement, and returns how long the answers took, from when each was to be asked: a
// server that stops for a moment keeps those that come meanwhile waiting.
func (s *site) ask(rate int, paths func(n int) string) []time.Duration {
	const askers = 32
	transport := &http.Transport{MaxIdleConnsPerHost: askers}
	defer transport.CloseIdleConnections()
	all := make([]time.Duration, int(float64(rate)**seconds))
	began := time.Now()
	var next atomic.Int64
	var group sync.WaitGroup
	for i := range askers {
		c := &client{http: &http.Client{Transport: transport}, base: s.url(i)}
		group.Go(func() {
			for {
				n := int(next.Add(1)) - 1
				if n >= len(all) {
					return
				}
				due := began.Add(time.Duration(n) * time.Second / time.Duration(rate))
				time.Sleep(time.Until(due))
				request := c.request("GET", c.base+paths(n), nil)
				request.Header.Set("Accept", manifestType+", application/json")
				c.do(request, 200)
				all[n] = time.Since(due)
			}
		})
	}
	group.Wait()
	slices.Sort(all)
	return all
}

type client struct {
	http   *http.Client
	base   string
	buffer []byte
}

// push sends the artifact number n, and returns the digest of its manifest.
func (c *client) push(to image, n int64, content []byte) string {
	binary.LittleEndian.PutUint64(content, uint64(n)+1)
	config := fmt.Appendf(nil, `{"name":"bench","content":"%x","number":%d}`, content[8:24], n)
	layer, configDigest := c.blob(to, content), c.blob(to, config)
	manifest := fmt.Appendf(nil, `{"schemaVersion":2,"mediaType":%q,"artifactType":"application/vnd.example.bench",`+
		`"config":{"mediaType":"application/vnd.example.config.v1+json","digest":%q,"size":%d},`+
		`"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar","digest":%q,"size":%d}]}`,
		manifestType, configDigest, len(config), layer, len(content))
	request := c.request("PUT", fmt.Sprintf("%s%s/manifests/%s.%d", c.base, to.repo, to.tag, n), manifest)
	request.Header.Set("Content-Type", manifestType)
	c.do(request, 201)
	return fmt.Sprintf("sha256:%x", sha256.Sum256(manifest))
}

func (c *client) blob(to image, content []byte) string {
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(content))
	answer, _ := c.do(c.request("POST", c.base+to.repo+"/blobs/uploads/", nil), 202)
	location, err := answer.Location()
	program.Check(err)
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
func (c *client) pull(from image, n int64, size int) {
	request := c.request("GET", fmt.Sprintf("%s%s/manifests/%s.%d", c.base, from.repo, from.tag, n), nil)
	request.Header.Set("Accept", manifestType)
	answer, err := c.http.Do(request)
	program.Check(err)
	manifest, err := io.ReadAll(answer.Body)
	program.Check(err)
	answer.Body.Close()
	at := bytes.LastIndex(manifest, []byte("sha256:"))
	if answer.StatusCode != 200 || at < 0 {
		program.Check(fmt.Errorf("%s: %s: %s", request.URL, answer.Status, manifest))
	}
	digest := string(manifest[at : at+7+64])
	answer, err = c.http.Do(c.request("GET", c.base+from.repo+"/blobs/"+digest, nil))
	program.Check(err)
	got, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, answer.Body, c.buffer)
	program.Check(err)
	answer.Body.Close()
	if answer.StatusCode != 200 || got != int64(size) {
		program.Check(fmt.Errorf("blob %s: %s and %d bytes", digest, answer.Status, got))
	}
}

func (c *client) request(method, url string, content []byte) *http.Request {
	var body io.Reader
	if content != nil {
		body = bytes.NewReader(content)
	}
	request, err := http.NewRequest(method, url, body)
	program.Check(err)
	return request
}

// do asks for what has to be answered with one of some statuses.
func (c *client) do(request *http.Request, want ...int) (*http.Response, []byte) {
	answer, err := c.http.Do(request)
	program.Check(err)
	said, err := io.ReadAll(answer.Body)
	program.Check(err)
	answer.Body.Close()
	if !slices.Contains(want, answer.StatusCode) {
		program.Check(fmt.Errorf("%s %s: %s: %s", request.Method, request.URL, answer.Status, said))
	}
	return answer, said
}
