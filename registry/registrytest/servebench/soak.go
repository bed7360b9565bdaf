package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/skl-project/skl/registry/registrytest/program"
)

const (
	sixth     = 6               // the medians of the second and the last sixth of the time are compared
	every     = 5 * time.Second // servers are looked at
	flat      = 0.10            // by which their memory may grow
	artifacts = 60              // at most, of a client: older ones are deleted, and garbage collection has work
	gcConfig  = "[gc]\nevery = \"1m\"\ngrace = \"30s\"\n"
)

// soak keeps registries under one steady load of everything they do for a time, looks at their memory, and at the end reads all that they
// acknowledged, stops them and checks what they keep. It fails if anything is lost or not as it was, and if memory is not flat.
func soak(sites []*site, lasts time.Duration) {
	if lasts < time.Minute {
		program.Check(fmt.Errorf("-soak %s: that is no time", lasts))
	}
	end := time.Now().Add(lasts)
	var group sync.WaitGroup
	all := make([]*soaked, len(sites))
	for i, s := range sites {
		all[i] = &soaked{site: s, counts: map[string]*atomic.Int64{}}
		all[i].run(&group, end)
	}
	var looks [][]look
	for i := 1; time.Now().Before(end); i++ {
		time.Sleep(every)
		now := lookAt(sites)
		looks = append(looks, now)
		if i%int(time.Minute/every) == 0 {
			log.Printf("%s: %s", time.Duration(i)*every, strings.Join(all[0].said(), ", "))
			for _, l := range now {
				log.Printf("  %s: %.1f MiB, %d files", l.name, l.memory, l.files)
			}
		}
	}
	group.Wait()
	for _, s := range all {
		fmt.Printf("%s, %s: %s\n", s.site.name, lasts, strings.Join(s.said(), ", "))
	}
	grown := growth(looks)
	for _, s := range all {
		s.verify()
		for _, p := range s.site.servers {
			p.end()
		}
		out, err := exec.Command(*ours, "registry", "fsck", "--data", filepath.Join(s.site.servers[0].dir, "data")).CombinedOutput()
		fmt.Printf("%s, all %d releases are as they were acknowledged; fsck: %s\n", s.site.name, len(s.releases), strings.TrimSpace(string(out)))
		program.Check(err)
	}
	program.Check(grown)
}

// A look is what one process needs at a moment.
type look struct {
	name   string
	memory float64 // MiB
	files  int     // that it has open, connections among them
}

func lookAt(sites []*site) (all []look) {
	for _, s := range sites {
		for i, p := range s.servers {
			open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.Command.Process.Pid))
			program.Check(err)
			all = append(all, look{s.nameOf(i), p.Memory("VmRSS"), len(open)})
		}
	}
	return all
}

// growth prints what became of the memory, and is an error if it is not flat.
func growth(looks [][]look) (err error) {
	fmt.Printf("\n| server | memory (RSS), second sixth | last sixth | grown | at most | files at most |\n|---|---|---|---|---|---|\n")
	n := len(looks) / sixth
	for i, first := range looks[0] {
		var sizes []float64
		files := 0
		for _, l := range looks {
			sizes = append(sizes, l[i].memory)
			files = max(files, l[i].files)
		}
		before, after := middle(sizes[n:2*n]), middle(sizes[len(sizes)-n:])
		fmt.Printf("| %s | %.1f MiB | %.1f MiB | %+.1f %% | %.1f MiB | %d |\n", first.name, before, after, 100*(after/before-1), slices.Max(sizes), files)
		if after > before*(1+flat) {
			err = errors.Join(err, fmt.Errorf("the memory of %s grows: %.1f MiB, then %.1f", first.name, before, after))
		}
	}
	fmt.Println()
	return err
}

// soaked is a site with what its clients did.
type soaked struct {
	site     *site
	counts   map[string]*atomic.Int64 // by what was done
	mu       sync.Mutex
	releases []released // guarded by mu
}

// A released skill is what an answer to a publish said.
type released struct {
	Name, Version, Manifest, Zip string
}

func (s *soaked) said() (all []string) {
	for what, n := range s.counts {
		all = append(all, fmt.Sprintf("%d %s", n.Load(), what))
	}
	slices.Sort(all)
	return all
}

// run starts clients, each of which does one thing at its own pace, at servers that take turns.
func (s *soaked) run(group *sync.WaitGroup, end time.Time) {
	transport := &http.Transport{MaxIdleConnsPerHost: 32, DisableCompression: true}
	do := func(what string, pace time.Duration, f func(c *client, n int64)) {
		counted := s.counts[what]
		if counted == nil {
			counted = &atomic.Int64{}
			s.counts[what] = counted
		}
		c := &client{http: &http.Client{Transport: transport}, buffer: make([]byte, 64<<10)}
		group.Go(func() {
			for n := int64(0); time.Now().Before(end); n++ {
				c.base = s.site.url(int(n))
				began := time.Now()
				f(c, n)
				counted.Add(1)
				time.Sleep(pace - time.Since(began))
			}
		})
	}
	for i := range 4 {
		do("published", time.Second, func(c *client, n int64) { s.publish(c, skillName(i), fmt.Sprintf("0.%d.%d", n/100, n%100)) })
		do("downloaded", 200*time.Millisecond, func(c *client, _ int64) { s.download(c, s.pick()) })
		do("searches", time.Second, func(c *client, _ int64) {
			c.do(c.request("GET", c.base+"/api/v1/search?q=tables+of+benchmarks+"+skillName(i), nil), 200)
		})
		do("pushed and pulled", time.Second, s.artifacts(i, 100<<10))
	}
	do("of 1 MB", 5*time.Second, s.artifacts(4, 1<<20))
	do("yanked", 10*time.Second, func(c *client, n int64) {
		if r := s.pick(); r.Name != "" && n%2 == 0 {
			s.act(c, r, "yank")
			s.act(c, r, "unyank")
		}
	})
	do("lists", time.Second, func(c *client, n int64) {
		c.do(c.request("GET", c.base+"/api/v1/skills/bench/"+skillName(int(n%4))+"/versions", nil), 200, 404)
	})
}

func (s *soaked) publish(c *client, name, version string) {
	request := c.request("PUT", c.base+"/api/v1/skills/bench/"+name+"/versions/"+version, bundle(name, version))
	request.Header.Set("Content-Type", "application/zip")
	var r released
	_, said := c.do(request, 201)
	program.Check(json.Unmarshal(said, &r))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.releases = append(s.releases, r)
}

// pick is any release; its name is empty if there is none yet.
func (s *soaked) pick() (r released) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.releases) > 0 {
		r = s.releases[rand.IntN(len(s.releases))]
	}
	return r
}

func (s *soaked) download(c *client, r released) {
	if r.Name == "" {
		return
	}
	c.same("/api/v1/skills/bench/"+r.Name+"/versions/"+r.Version+"/download", r.Zip)
	c.same("/v2/bench/"+r.Name+"/manifests/"+r.Version, r.Manifest)
}

func (s *soaked) act(c *client, r released, action string) {
	request := c.request("POST", c.base+"/api/v1/skills/bench/"+r.Name+"/versions/"+r.Version+"/actions", fmt.Appendf(nil, `{"action":%q,"reason":"soak"}`, action))
	request.Header.Set("Content-Type", "application/json")
	c.do(request, 200)
}

// artifacts pushes one, pulls any of the last, and deletes the oldest.
func (s *soaked) artifacts(i, size int) func(c *client, n int64) {
	content, to := make([]byte, size), artifact(100+i, size, 0)
	rand.NewChaCha8([32]byte{byte(i), 1}).Read(content)
	var digests []string
	return func(c *client, n int64) {
		digests = append(digests, c.push(to, n, content))
		c.base = s.site.url(int(n) + 1)
		c.pull(to, max(0, n-rand.Int64N(artifacts)), size)
		if n >= artifacts {
			c.do(c.request("DELETE", c.base+to.repo+"/manifests/"+digests[n-artifacts], nil), 202)
		}
	}
}

// verify reads every release at a server that it may not have been published to.
func (s *soaked) verify() {
	c := &client{http: &http.Client{}}
	for i, r := range s.releases {
		c.base = s.site.url(i + 1)
		s.download(c, r)
	}
}

// same reads a path and compares it with its digest.
func (c *client) same(path, digest string) {
	request := c.request("GET", c.base+path, nil)
	request.Header.Set("Accept", manifestType+", */*")
	_, content := c.do(request, 200)
	if got := fmt.Sprintf("sha256:%x", sha256.Sum256(content)); got != digest {
		program.Check(fmt.Errorf("%s: %s, not %s", request.URL, got, digest))
	}
}
