package harness

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/rogpeppe/go-internal/testscript"

	registry "github.com/skl-project/skl/registry/client"
	"github.com/skl-project/skl/registry/client/keyless/keylesstest"
	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/tlog"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/attest/attesttest"
	"github.com/skl-project/skl/spec/oci"
)

// A Corner is what scripts need around a registry: somebody who signs, and somebody in between.
// Everything it starts ends with the test.
type Corner struct {
	T         testing.TB
	mu        sync.Mutex
	sigstores map[string]*keylesstest.Server // by work directory
	virtual   map[string]*attesttest.VirtualSigstore
	fronts    map[string]*front
}

// Commands are those of scripts, by their names.
type Commands = map[string]func(*testscript.TestScript, bool, []string)

// AddTo adds the commands of c to those of the scripts.
func (c *Corner) AddTo(all Commands) Commands {
	c.sigstores, c.virtual, c.fronts = map[string]*keylesstest.Server{}, map[string]*attesttest.VirtualSigstore{}, map[string]*front{}
	for name, run := range (Commands{"corp": corp, "release": release, "machine": elsewhere, "config": appendConfig, "attach": c.attach, "detach": detach, "cosign": c.cosign, "oms": oms,
		"sigstore": c.sigstore, "front": c.front}) {
		all[name] = run
	}
	return all
}

// corp [URL]: logs in to $REGISTRY_URL, or to the same registry under another address, as the admin; it is
// called corp, is the default registry, and has a public namespace acme.
func corp(ts *testscript.TestScript, neg bool, args []string) {
	base := ts.Getenv("REGISTRY_URL")
	if len(args) > 0 {
		base = args[0]
	}
	skl, err := LookIn(ts.Getenv("PATH"), "skl")
	ts.Check(err)
	for _, step := range [][]string{{"login", base, "--token-stdin", "--name", "corp", "--default"}, {"registry", "namespace", "create", "acme", "--public"}} {
		cmd := command(ts, skl, step...)
		cmd.Stdin = strings.NewReader(ts.Getenv("ADMIN_TOKEN"))
		if out, err := cmd.CombinedOutput(); err != nil {
			ts.Fatalf("skl %s: %v\n%s", strings.Join(step, " "), err, out)
		}
	}
}

// command is a program in the script's directory and environment.
func command(ts *testscript.TestScript, program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(GitEnv(ts.Getenv("HOME")), "PATH="+ts.Getenv("PATH"), "TMPDIR="+ts.Getenv("TMPDIR"))
	return cmd
}

// release NS/NAME@VERSION [FLAGS…]: publishes a small skill of that name, whose text says the version. It is
// the registry's admin who does, whoever the script is logged in as.
func release(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: release NS/NAME@VERSION [FLAGS…]")
	}
	full, version, _ := strings.Cut(args[0], "@")
	_, name, _ := strings.Cut(full, "/")
	dir := filepath.Join(ts.Getenv("WORK"), "released", name)
	ts.Check(os.MkdirAll(dir, 0o755))
	text := fmt.Sprintf("---\nname: %s\ndescription: Does what %s does, as of %s.\nlicense: MIT\n---\n# %s %s\n", name, name, version, name, version)
	ts.Check(os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(text), 0o644))
	setenv(ts, "SKL_TOKEN", ts.Getenv("ADMIN_TOKEN"))
	defer setenv(ts, "SKL_TOKEN", "")
	if status := runSkl(ts, append([]string{"publish", dir, args[0]}, args[1:]...)); status != 0 {
		ts.Fatalf("skl publish exits with %d", status)
	}
}

// machine: what follows happens on another machine: HOME holds nothing but a copy of config.toml and of the
// files beside it, and the project nothing but skl.toml and skl.lock. The old home is $WORK/home.old.
func elsewhere(ts *testscript.TestScript, neg bool, args []string) {
	work := ts.Getenv("WORK")
	home, old := filepath.Join(work, "home"), filepath.Join(work, "home.old")
	ts.Check(os.Rename(home, old))
	ts.Check(os.MkdirAll(filepath.Join(home, ".config"), 0o755))
	ts.Check(os.CopyFS(filepath.Join(home, ".config", "skl"), os.DirFS(filepath.Join(old, ".config", "skl"))))
	for _, dir := range []string{".agents", ".claude"} {
		ts.Check(os.RemoveAll(filepath.Join(work, "project", dir)))
	}
}

// config FILE: appends FILE to the user's config.toml.
func appendConfig(ts *testscript.TestScript, neg bool, args []string) {
	path := filepath.Join(ts.Getenv("HOME"), ".config", "skl", "config.toml")
	text, err := os.ReadFile(path)
	ts.Check(err)
	ts.Check(os.WriteFile(path, []byte(string(text)+"\n"+ts.ReadFile(args[0])), 0o644))
}

// admin is a client of $REGISTRY_URL with the admin's token.
func admin(ts *testscript.TestScript) (*registry.Client, *registry.OCI) {
	token := ts.Getenv("ADMIN_TOKEN")
	web := &origin.Client{Credential: func(context.Context, string) (origin.Credential, error) { return origin.Credential{Secret: token}, nil }}
	rest, err := registry.New(web, ts.Getenv("REGISTRY_URL"))
	ts.Check(err)
	return rest, registry.NewOCI(web)
}

// releaseOf is a release of $REGISTRY_URL.
func releaseOf(ts *testscript.TestScript, text string) (wire.Version, registry.Target) {
	rest, _ := admin(ts)
	full, version, _ := strings.Cut(text, "@")
	namespace, name, _ := strings.Cut(full, "/")
	v, err := rest.Version(context.Background(), namespace, name, version)
	ts.Check(err)
	return v, registry.Target{Host: rest.Host(), Repo: full}
}

// attach NS/NAME@VERSION key=FILE|identity=IDENTITY [issuer=URL] [about=NS/NAME@VERSION] [manifest=NS/NAME@VERSION]
// [predicate=URI] [damaged=yes]: attaches a statement that skl itself would not make: one about another release, or
// another manifest, one that says something else, one that was changed since it was signed.
func (c *Corner) attach(ts *testscript.TestScript, neg bool, args []string) {
	option := map[string]string{"about": args[0], "manifest": args[0], "predicate": attest.SignaturePredicate}
	for _, arg := range args[1:] {
		key, value, _ := strings.Cut(arg, "=")
		option[key] = value
	}
	_, pusher := admin(ts)
	to, target := releaseOf(ts, args[0])
	content, _ := releaseOf(ts, option["manifest"])
	name, version, _ := strings.Cut(option["about"], "@")
	st, err := attest.NewStatement(attest.Subject{Name: name, Version: version, Digest: content.Manifest}, option["predicate"], json.RawMessage("{}"))
	ts.Check(err)
	var bundle []byte
	if file := option["key"]; file != "" {
		key, err := attest.ParsePrivate([]byte(ts.ReadFile(file)), nil)
		ts.Check(err)
		bundle, err = attest.Sign(key, st)
		ts.Check(err)
	} else {
		bundle = c.signer(ts).Sign(st, option["issuer"], option["identity"])
	}
	if option["damaged"] != "" {
		// The signature is the one field that may be wrong and leaves the rest readable.
		at := strings.Index(string(bundle), `"sig":"`) + len(`"sig":"`) + 12
		if bundle[at] != 'A' {
			bundle[at] = 'A'
		} else {
			bundle[at] = 'B'
		}
	}
	root, err := pusher.Resolve(context.Background(), target, to.Manifest)
	ts.Check(err)
	a, err := attest.Attach(bundle, root.Descriptor, time.Now())
	ts.Check(err)
	_, err = pusher.Push(context.Background(), target, registry.ManifestImage(a.Manifest, a.Config, a.Layer))
	ts.Check(err)
}

// cosign HOST/NS/NAME:TAG key=FILE|identity=IDENTITY issuer=URL [about=HOST/NS/NAME:TAG]: signs what the tag names as cosign did before
// version 3, under a tag made of its digest. With about, it is the signature of that other artifact which is put there.
// With strip=yes in place of a signer it is taken away.
func (c *Corner) cosign(ts *testscript.TestScript, neg bool, args []string) {
	option := map[string]string{"about": args[0]}
	for _, arg := range args[1:] {
		key, value, _ := strings.Cut(arg, "=")
		option[key] = value
	}
	call := func(method, url, mediaType string, body []byte) *http.Response {
		q, err := http.NewRequest(method, url, bytes.NewReader(body))
		ts.Check(err)
		q.Header.Set("Content-Type", mediaType)
		q.Header.Set("Accept", "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json")
		resp, err := http.DefaultClient.Do(q)
		ts.Check(err)
		resp.Body.Close()
		if resp.StatusCode/100 != 2 {
			ts.Fatalf("%s %s: %s", method, url, resp.Status)
		}
		return resp
	}
	place := func(text string) (base string, d digest.Digest) {
		host, rest, _ := strings.Cut(text, "/")
		name, tag, _ := strings.Cut(rest, ":")
		base = "http://" + host + "/v2/" + name
		return base, digest.Digest(call("GET", base+"/manifests/"+tag, "", nil).Header.Get("Docker-Content-Digest"))
	}
	base, to := place(args[0])
	at := base + "/manifests/" + strings.Replace(string(to), ":", "-", 1) + ".sig"
	const manifestType, layerType, empty = "application/vnd.oci.image.manifest.v1+json", attest.SimpleSigning, "application/vnd.oci.empty.v1+json"
	push := func(mediaType string, data []byte) map[string]any {
		d := oci.DigestOf(data)
		call("PUT", base+"/blobs/uploads/1?digest="+string(d), "application/octet-stream", data)
		return map[string]any{"mediaType": mediaType, "digest": d, "size": len(data)}
	}
	manifest := map[string]any{"schemaVersion": 2, "mediaType": manifestType, "config": push(empty, []byte("{}")), "layers": []any{}}
	if option["strip"] == "" {
		_, about := place(option["about"])
		payload := fmt.Appendf(nil, `{"critical":{"identity":{"docker-reference":""},"image":{"docker-manifest-digest":"%s"},"type":"cosign container image signature"},"optional":null}`, about)
		layer := push(layerType, payload)
		if file := option["key"]; file != "" {
			key, err := attest.ParsePrivate([]byte(ts.ReadFile(file)), nil)
			ts.Check(err)
			signature, err := key.Sign(payload)
			ts.Check(err)
			layer["annotations"] = map[string]string{"dev.cosignproject.cosign/signature": base64.StdEncoding.EncodeToString(signature)}
		} else {
			c.mu.Lock()
			v := c.virtual[ts.Getenv("WORK")]
			c.mu.Unlock()
			layer["annotations"] = v.Cosign(payload, option["issuer"], option["identity"], time.Now().Add(5*time.Minute))
		}
		manifest["layers"] = []any{layer}
	}
	text, err := json.Marshal(manifest)
	ts.Check(err)
	call("PUT", at, manifestType, text)
}

// oms DIR KEY: signs all files of DIR with the key in the file KEY, as OpenSSF Model Signing does, in DIR/skill.oms.sig.
func oms(ts *testscript.TestScript, neg bool, args []string) {
	dir := ts.MkAbs(args[0])
	all := sha256.New()
	var resources []any
	ts.Check(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == attest.OMSFile {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		sum := sha256.Sum256(text)
		all.Write(sum[:])
		resources = append(resources, map[string]any{"name": filepath.ToSlash(name), "digest": fmt.Sprintf("%x", sum), "algorithm": "sha256"})
		return err
	}))
	predicate, err := json.Marshal(map[string]any{"resources": resources,
		"serialization": map[string]any{"method": "files", "hash_type": "sha256", "allow_symlinks": false, "ignore_paths": []string{".git"}}})
	ts.Check(err)
	st, err := attest.NewStatement(attest.Subject{Name: filepath.Base(dir), Digest: fmt.Sprintf("sha256:%x", all.Sum(nil))}, "https://model_signing/signature/v1.0", predicate)
	ts.Check(err)
	key, err := attest.ParsePrivate([]byte(ts.ReadFile(args[1])), nil)
	ts.Check(err)
	text, err := attest.Sign(key, st)
	ts.Check(err)
	ts.Check(os.WriteFile(filepath.Join(dir, attest.OMSFile), text, 0o644))
}

// detach NS/NAME@VERSION: deletes everything that is attached to the release, as its registry's admin can.
func detach(ts *testscript.TestScript, neg bool, args []string) {
	v, target := releaseOf(ts, args[0])
	call := func(method, path string) []byte {
		q, err := http.NewRequest(method, ts.Getenv("REGISTRY_URL")+"/v2/"+target.Repo+path, nil)
		ts.Check(err)
		q.Header.Set("Authorization", "Bearer "+ts.Getenv("ADMIN_TOKEN"))
		resp, err := http.DefaultClient.Do(q)
		ts.Check(err)
		defer resp.Body.Close()
		var body json.RawMessage
		json.NewDecoder(resp.Body).Decode(&body)
		if resp.StatusCode/100 != 2 {
			ts.Fatalf("%s %s: %s %s", method, path, resp.Status, body)
		}
		return body
	}
	var index struct {
		Manifests []struct{ Digest digest.Digest }
	}
	ts.Check(json.Unmarshal(call("GET", "/referrers/"+v.Manifest+"?artifactType="+url.QueryEscape(oci.SigstoreBundle)), &index))
	for _, m := range index.Manifests {
		call("DELETE", "/manifests/"+m.Digest.String())
	}
}

// sigstore start: runs a certificate authority, a log and a timestamp authority; sets $FULCIO_URL, $REKOR_URL
// and $TSA_URL and writes $WORK/home/.config/skl/trusted_root.json.
// sigstore virtual: the same root for the VirtualSigstore of sigstore's own Go library, with which attach then signs.
// sigstore token FILE ISSUER IDENTITY: writes a token with which that authority takes the bearer for IDENTITY.
// sigstore stop: refuses everything from here on.
func (c *Corner) sigstore(ts *testscript.TestScript, neg bool, args []string) {
	switch {
	case len(args) == 1 && args[0] == "start":
		s := keylesstest.New(c.T, attesttest.New(c.T))
		c.mu.Lock()
		c.sigstores[ts.Getenv("WORK")] = s
		c.mu.Unlock()
		setenv(ts, "FULCIO_URL", s.URL)
		setenv(ts, "REKOR_URL", s.URL)
		setenv(ts, "TSA_URL", s.StampURL)
		ts.Check(os.WriteFile(filepath.Join(ts.Getenv("HOME"), ".config", "skl", "trusted_root.json"), s.Sigstore.TrustedRoot(), 0o644))
	case len(args) == 1 && args[0] == "virtual":
		v := attesttest.Virtual(c.T)
		c.mu.Lock()
		c.virtual[ts.Getenv("WORK")] = v
		c.mu.Unlock()
		ts.Check(os.WriteFile(filepath.Join(ts.Getenv("HOME"), ".config", "skl", "trusted_root.json"), v.TrustedRoot(), 0o644))
	case len(args) == 4 && args[0] == "token":
		token := keylesstest.Token(attesttest.Claims{Issuer: args[2], Identity: args[3]})
		ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(token+"\n"), 0o600))
	case len(args) == 1 && args[0] == "stop":
		c.services(ts).Before = func(w http.ResponseWriter, r *http.Request) { http.Error(w, "closed", http.StatusForbidden) }
	default:
		ts.Fatalf("usage: sigstore start | virtual | stop | token FILE ISSUER IDENTITY")
	}
}

// signer is who signs for identities in this script.
func (c *Corner) signer(ts *testscript.TestScript) interface {
	Sign(st attest.Statement, issuer, identity string) []byte
} {
	c.mu.Lock()
	v := c.virtual[ts.Getenv("WORK")]
	c.mu.Unlock()
	if v != nil {
		return v
	}
	return c.services(ts).Sigstore
}

func (c *Corner) services(ts *testscript.TestScript) *keylesstest.Server {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sigstores[ts.Getenv("WORK")]
	if s == nil {
		ts.Fatalf("there is no sigstore: sigstore start")
	}
	return s
}

// A front stands between skl and a registry, and may lie about its log.
type front struct {
	server *httptest.Server

	mu  sync.Mutex // guards what follows
	to  *url.URL
	age time.Duration // by which checkpoints are older than they are
	key tlog.Key      // that signs them

	redirect string // where everything is redirected to, "" if it is not
	blobs    string // where requests for blobs are redirected to; "" passes them on

	states int // status of the answer in place of the list of releases that were taken back, if not 0; -1 cuts it
}

// front URL: a server at $FRONT_URL that passes everything on to the registry at URL; once more: to another from here on.
// front states STATUS: the list of releases that were taken back is answered with it, -1 cuts the connection, 0 passes it on.
// front redirect URL: every request is redirected to the same path there.
// front age HOURS: the checkpoints of $REGISTRY_DATA's log are shown as signed that long ago.
func (c *Corner) front(ts *testscript.TestScript, neg bool, args []string) {
	c.mu.Lock()
	f := c.fronts[ts.Getenv("WORK")]
	if f == nil {
		f = &front{}
		f.server = httptest.NewServer(f)
		c.fronts[ts.Getenv("WORK")] = f
		ts.Defer(f.server.Close)
		setenv(ts, "FRONT_URL", f.server.URL)
	}
	c.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(args) == 2 && args[0] == "age" {
		hours, err := strconv.Atoi(args[1])
		ts.Check(err)
		f.age = time.Duration(hours) * time.Hour
		f.key, err = tlog.ParseKey(ts.ReadFile(filepath.Join(ts.Getenv("REGISTRY_DATA"), "keys", "log.key")))
		ts.Check(err)
		return
	}
	if len(args) == 2 && args[0] == "redirect" {
		f.redirect = args[1]
		return
	}
	if len(args) == 2 && args[0] == "blobs" {
		f.blobs = args[1]
		return
	}
	if len(args) == 2 && args[0] == "states" {
		status, err := strconv.Atoi(args[1])
		ts.Check(err)
		f.states = status
		return
	}
	to, err := url.Parse(args[0])
	ts.Check(err)
	f.to, f.age, f.states, f.redirect, f.blobs = to, 0, 0, "", ""
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	to, age, key, states, redirect, blobs := f.to, f.age, f.key, f.states, f.redirect, f.blobs
	f.mu.Unlock()
	if blobs != "" && strings.Contains(r.URL.Path, "/blobs/") {
		http.Redirect(w, r, blobs, http.StatusFound)
		return
	}
	if redirect != "" {
		http.Redirect(w, r, redirect+r.URL.RequestURI(), http.StatusTemporaryRedirect)
		return
	}
	if states != 0 && strings.HasSuffix(r.URL.Path, "/log/states") {
		if states < 0 {
			panic(http.ErrAbortHandler)
		}
		http.Error(w, "no such page", states)
		return
	}
	// Read before it goes on: a registry that answers early closes the body, and
	// a transport that still looks for its end gives the connection up.
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	// The host of the request stays, so that the registry speaks of itself by the address it is asked at.
	proxy := httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.Out.URL.Scheme, p.Out.URL.Host = to.Scheme, to.Host }}
	if age == 0 || !strings.HasSuffix(r.URL.Path, "/log/checkpoint") {
		proxy.ServeHTTP(w, r)
		return
	}
	seen := httptest.NewRecorder()
	proxy.ServeHTTP(seen, r)
	checkpoint, err := tlog.OpenCheckpoint(seen.Body.Bytes(), key.Public())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	checkpoint.Time = checkpoint.Time.Add(-age)
	text, err := key.SignCheckpoint(checkpoint)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	w.Write(text)
}
