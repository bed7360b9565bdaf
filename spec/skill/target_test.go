package skill

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Skills of all dialects at once, spelled in every way that must come back as it was.
var dialectSkills = map[string]string{
	"plain":           "---\nname: x\ndescription: Does x.\n---\nDo it.\n",
	"claude":          "---\nname: x # the name\nmodel: opus   # dear\ndescription: Does x.\nhooks:\n  PreToolUse:\n    - matcher: Bash # all\n      hooks: []\n\n# between\ncontext: fork\nagent: Explore\neffort: 'high'\npaths: [\"src/**\", b]\nshell: bash\nwhen_to_use: |\n  Now.\n\n  Later.\nbackground: no\nlicense: MIT\n---\nDo $ARGUMENTS.\n",
	"windows":         "\ufeff---\r\nname: x\r\nmodel: opus # ü\r\ndescription: Does x.\r\nmetadata:\r\n  a: \"1\"\r\neffort: low\r\n---\r\nDo it.",
	"no last line":    "---\nname: x\neffort: low\ndescription: Does x.\n---",
	"gated":           "---\nname: x\ndescription: Does x.\ndisable-model-invocation: true\nuser-invocable: yes\n---\nDo it.\n",
	"model only":      "---\nname: x\nuser-invocable: false # never\ndescription: Does x.\n---\nDo it.\n",
	"denied":          "---\nname: x\ndescription: Does x.\ndisallowed-tools: Bash, WebFetch\n---\nDo it.\n",
	"openclaw":        "---\nname: x\ndescription: Does x.\nhomepage: https://x.example\ncommand-dispatch: tool\ncommand-tool: y\nmetadata: {\"openclaw\": {\"emoji\": \"x\", \"requires\": {\"bins\": [\"jq\"]}}, 'clawdbot' : {a: 1}}\n---\nRun {baseDir}/x.\n",
	"canopy":          "---\nname: x\ndescription: Does x.\nmetadata:\n    canopy-features: [a, b]   # kept\n    # a comment\n    mine: |\n      1\n      2\n    skl-claude-model: \"not what skl wrote\"\nargument-hint: \"[file]\"\n---\n## Tree\n",
	"empty metadata":  "---\nname: x\nmetadata:\nmodel: opus\ndescription: Does x.\n---\nDo it.\n",
	"null metadata":   "---\nmetadata: {}\nname: x\nmodel: opus\ndescription: Does x.\n---\nDo it.\n",
	"arguments":       "---\nname: x\ndescription: Does x.\narguments: [file, depth]\nargument-hint: \"[file]\"\n---\nRead $file and $1.\n",
	"unknown":         "---\nname: x\nversion: 1.10\ntags: [a, b] # ours\ndescription: Does x.\nmodel: opus\nlibrary: z\ndisplayName: X\nfallback: y\n---\nDo it.\n",
	"colon":           "---\nname: x\nmodel: opus\ndescription: Use: when asked.\n---\nDo it.\n",
	"v1":              "---\nskill_format: corteza.skill/v1\nname: x\ndescription: Does x.\nmodel_invocation: user-only\nside_effects: [external]\ntools:\n  deny: [bash]\nmodel: opus\n---\nDo it.\n",
	"v1 at the end":   "---\nname: x\ndescription: Does x.\nmodel: opus\nskill_format: corteza.skill/v1\nmodel_invocation: user-only\n---\nDo it.\n",
	"v1 and switches": "---\nname: x\ndescription: Does x.\nskill_format: corteza.skill/v1\nmodel_invocation: disabled\ndisable-model-invocation: true\nuser-invocable: false\n---\nDo it.\n",
	"portable":        "---\nname: x\ndescription: Does x.\nmodel: opus\nmetadata:\n  a: b\n  corteza-skill-format: corteza.skill/v1\n  corteza-side-effects: network\n---\nDo it.\n",
}

// Every skill comes back byte for byte from each dialect in each other one, unless a loss says that it does not; so does
// what others keep in metadata and at top level.
func TestDialectsThereAndBack(t *testing.T) {
	for name, src := range dialectSkills {
		if n := checkDialects(t, name, []byte(src)); n < 20 {
			t.Errorf("%s: only %d of 30 conversions there and back", name, n)
		}
	}
}

// Skills that people released go through all 30 pairs of dialects.
func TestDialectsCorpus(t *testing.T) {
	skills, pairs := corpusSkills(t), 0
	for name, src := range skills {
		if _, err := Read(src); err == nil {
			pairs += checkDialects(t, name, src)
		}
	}
	t.Logf("%d skills, %d conversions there and back", len(skills), pairs)
	if len(skills) < 50 || pairs < 30*len(skills)*9/10 {
		t.Errorf("only %d skills, %d conversions there and back", len(skills), pairs)
	}
}

// checkDialects converts src through all ordered pairs, and returns how many could be made.
func checkDialects(t *testing.T, name string, src []byte) (n int) {
	t.Helper()
	for _, from := range Targets() {
		a, err := To(src, nil, from)
		if err != nil {
			continue
		}
		checkKept(t, name+" to "+from, src, a)
		if again, err := To(a.Text, nil, from); err != nil || !bytes.Equal(again.Text, a.Text) && !spelled(again) {
			t.Errorf("%s to %s twice: %v\n%s\n%s", name, from, err, a.Text, again.Text)
		}
		for _, to := range Targets() {
			if from == to {
				continue
			}
			b, err := To(a.Text, nil, to)
			if err != nil {
				t.Errorf("%s, %s to %s: %v\n%s", name, from, to, err, a.Text)
				continue
			}
			back, err := To(b.Text, nil, from)
			if err != nil {
				t.Errorf("%s, %s to %s and back: %v\n%s", name, from, to, err, b.Text)
				continue
			}
			n++
			if !bytes.Equal(back.Text, a.Text) && !spelled(b) && !spelled(back) {
				t.Errorf("%s, %s to %s and back:\n%s\n%s\n%s", name, from, to, a.Text, b.Text, back.Text)
			}
		}
	}
	return n
}

// A line that a conversion to v1 added stays when keys were written that mean something with it alone, and a limit that was edited on it is not lost.
func TestAddedStays(t *testing.T) {
	v1, err := To(minimal(""), nil, "v1")
	if err != nil || !strings.Contains(string(v1.Text), added) {
		t.Fatalf("%v\n%s", err, v1.Text)
	}
	src := bytes.Replace(v1.Text, []byte(added), []byte(added+"\ninteraction: returning"), 1)
	if got, err := To(src, nil, "claude"); err != nil || !bytes.Equal(got.Text, src) {
		t.Errorf("%v\n%s", err, got.Text)
	}
	gated, err := To(minimal(KeyNoModel+": true\n"), nil, "v1")
	if err != nil || !strings.Contains(string(gated.Text), "model_invocation: user-only"+added) {
		t.Fatalf("%v\n%s", err, gated.Text)
	}
	stricter := bytes.Replace(gated.Text, []byte("user-only"), []byte("disabled"), 1)
	got, err := To(stricter, nil, "openclaw")
	if err != nil || !slices.ContainsFunc(got.Losses, func(l Loss) bool { return l.Code == LossWiden }) {
		t.Errorf("a limit is lost without a word: %v %v\n%s", err, got.Losses, got.Text)
	}
}

// A key of a vendor that begins with x- does not keep a skill from coming back as it was.
func TestExtensionsComeBack(t *testing.T) {
	src := minimal(KeyNoModel + ": true\nx-vendor: {a: 1} # ours\n")
	v1, err := To(src, nil, "v1")
	if err != nil || spelled(v1) || !strings.Contains(string(v1.Text), added) {
		t.Fatalf("%v %v\n%s", err, v1.Losses, v1.Text)
	}
	if back, err := To(v1.Text, nil, "claude"); err != nil || !bytes.Equal(back.Text, src) || spelled(back) {
		t.Errorf("%v %v\n%s", err, back.Losses, back.Text)
	}
}

// spelled reports whether a loss says that bytes do not come back.
func spelled(t Translation) bool {
	return slices.ContainsFunc(t.Losses, func(l Loss) bool { return l.Code == LossComment || l.Code == LossEncoding })
}

// checkKept checks that the body and each line of unknown keys and of vendors' metadata are in a conversion as they were.
func checkKept(t *testing.T, name string, src []byte, got Translation) {
	t.Helper()
	r, _ := open(src)
	after, p := open(got.Text)
	if p != nil || !bytes.Equal(src[r.fm.body:], got.Text[after.fm.body:]) {
		t.Errorf("%s: the body is not the same", name)
		return
	}
	lines := func(r *reader) (out []string) {
		for _, f := range r.fm.root {
			if _, v1 := lookupV1(f.Key); f.Key != "metadata" && carriedName(f.Key) == "" && !v1 {
				start, end := r.linesOf(f)
				out = append(out, string(r.fm.src[start:end]))
			}
		}
		meta, _ := find(r.fm.root, "metadata")
		for _, m := range meta.Value.Fields {
			if !strings.HasPrefix(m.Key, portablePrefix) && (!strings.HasPrefix(m.Key, carriedPrefix) || m.Value.Text == "not what skl wrote") {
				out = append(out, m.Key, string(r.fm.src[m.KeySpan.Start:m.Value.End]))
			}
		}
		return out
	}
	if x, y := lines(r), lines(after); !slices.Equal(x, y) {
		t.Errorf("%s: %q\nis now %q", name, x, y)
	}
}

// corpusSkills are the SKILL.md of all versions in the shared data, by where they are.
func corpusSkills(t *testing.T) map[string][]byte {
	out := map[string][]byte{}
	f, err := os.Open(sharedData(t, "canopy-corpus.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	gz, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for tr := tar.NewReader(gz); ; {
		h, err := tr.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(h.Name) != FileName {
			continue
		}
		if out[h.Name], err = io.ReadAll(tr); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	for _, name := range []string{"superpowers", "awesome-copilot", "zoekt"} {
		bundledSkills(t, sharedData(t, name+".bundle"), name, out)
	}
	return out
}

// bundledSkills adds each SKILL.md that a git bundle holds, in all of its versions.
func bundledSkills(t *testing.T, bundle, name string, out map[string][]byte) {
	dir := filepath.Join(t.TempDir(), name+".git")
	git := func(stdin string, args ...string) []byte {
		c := exec.Command("git", args...)
		c.Stdin = strings.NewReader(stdin)
		text, err := c.Output()
		if err != nil {
			t.Fatalf("git %s: %v", args, err)
		}
		return text
	}
	git("", "clone", "-q", "--mirror", bundle, dir)
	var ids, paths []string
	for line := range strings.Lines(string(git("", "-C", dir, "rev-list", "--objects", "--all"))) {
		id, path, _ := strings.Cut(strings.TrimSpace(line), " ")
		if path == FileName || strings.HasSuffix(path, "/"+FileName) {
			ids, paths = append(ids, id), append(paths, path)
		}
	}
	rest := git(strings.Join(ids, "\n"), "-C", dir, "cat-file", "--batch")
	for i, id := range ids {
		head, body, _ := bytes.Cut(rest, []byte("\n"))
		var kind string
		var size int
		if _, err := fmt.Sscanf(string(head), id+" %s %d", &kind, &size); err != nil {
			t.Fatalf("%s: %v", head, err)
		}
		out[name+":"+paths[i]+"@"+id[:8]] = body[:size]
		rest = body[size+1:]
	}
}

// TestLossLines has losses name lines of the skill as it is, wherever its keys move.
func TestLossLines(t *testing.T) {
	const src = "---\nname: s\ndescription: Does a thing. Use when asked.\nmodel: opus\ndisable-model-invocation: true\n---\n\n# S\n\nDo $ARGUMENTS with !`git status`.\n"
	for _, c := range []struct{ src, to, want string }{
		{src, "base", "LOSS-FIELD:4 LOSS-ENFORCE:5 LOSS-FIELD:5 LOSS-ARGS:10 LOSS-LOADCMD:10"},
		{src, "v1", "LOSS-FIELD:4 LOSS-ARGS:10 LOSS-LOADCMD:10"},
		{src, "codex", "LOSS-FIELD:4 LOSS-ARGS:10 LOSS-LOADCMD:10"},
		{convertedTo(t, src, "base"), "codex", "LOSS-FIELD:5 LOSS-ARGS:12 LOSS-LOADCMD:12"},
		{convertedTo(t, src, "codex"), "copilot", "LOSS-FIELD:6 LOSS-ARGS:11 LOSS-LOADCMD:11"},
	} {
		got, err := To([]byte(c.src), nil, c.to)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, l := range got.Losses {
			lines = append(lines, fmt.Sprintf("%s:%d", l.Code, l.Line))
		}
		if text := strings.Join(lines, " "); text != c.want {
			t.Errorf("to %s: %s, not %s, of\n%s", c.to, text, c.want, c.src)
		}
	}
}

func convertedTo(t *testing.T, src, to string) string {
	t.Helper()
	got, err := To([]byte(src), nil, to)
	if err != nil {
		t.Fatal(err)
	}
	return string(got.Text)
}
