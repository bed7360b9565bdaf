package author

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

func sample() fs.FS {
	return fstest.MapFS{
		"SKILL.md":          {Data: []byte("---\nname: s\ndescription: Tests a draft of a skill.\n---\n\n# S\n\nRead the changelog before the release. Ask when a\nversion is missing from it.\n\n## Rules\n\n- Never publish on a Friday without asking.\n")},
		"references/old.md": {Data: []byte("The file of old remarks is kept.\n")},
		"scripts/run.sh":    {Data: []byte("#!/bin/sh\n"), Mode: 0o755},
		"link.md":           {Data: []byte("SKILL.md"), Mode: fs.ModeSymlink | 0o777},
	}
}

func TestDraft(t *testing.T) {
	d := Over("s", sample())
	for _, err := range []error{
		d.Put("assets/new.md", []byte("new\n"), "wanted"),
		d.Put("SKILL.md", []byte("x\n"), ""),
		d.Put("scripts/run.sh", []byte("#!/bin/sh\ntrue\n"), ""),
		d.Remove("references/old.md", "empty"),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	var got []string
	for _, c := range d.Changes() {
		got = append(got, c.Path+" "+string(c.Was)+">"+string(c.Now)+c.Why)
	}
	if want := "SKILL.md"; len(got) != 4 || !strings.HasPrefix(got[0], want) || got[1] != "assets/new.md >new\nwanted" || !strings.HasPrefix(got[2], "references/old.md The file") || got[3] != "scripts/run.sh #!/bin/sh\n>#!/bin/sh\ntrue\n" {
		t.Errorf("%q", got)
	}
	if info, err := fs.Stat(d.FS(), "scripts/run.sh"); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the script has mode %v, %v", info.Mode(), err)
	}
	if _, err := fs.Stat(d.FS(), "references/old.md"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was removed gives %v", err)
	}
	if err := d.Put("SKILL.md", mustRead(t, d.Before(), "SKILL.md"), ""); err != nil || len(d.Changes()) != 3 {
		t.Errorf("a file that is as it was is a change: %v", err)
	}
}

func mustRead(t *testing.T, fsys fs.FS, name string) []byte {
	t.Helper()
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestDraftRefuses(t *testing.T) {
	for name, do := range map[string]func(d *Draft) error{
		"outside":         func(d *Draft) error { return d.Put("../x", nil, "") },
		"absolute":        func(d *Draft) error { return d.Put("/etc/passwd", nil, "") },
		"git":             func(d *Draft) error { return d.Put(".git/config", nil, "") },
		"skl's own":       func(d *Draft) error { return d.Put(".skl/x.json", nil, "") },
		"a reserved name": func(d *Draft) error { return d.Put("con.md", nil, "") },
		"a link":          func(d *Draft) error { return d.Put("link.md", nil, "") },
		"below a file":    func(d *Draft) error { return d.Put("SKILL.md/x", nil, "") },
		"a file as folder": func(d *Draft) error {
			if err := d.Put("a/b", nil, ""); err != nil {
				return nil
			}
			return d.Put("a", nil, "")
		},
		"too large":    func(d *Draft) error { return d.Put("a.md", make([]byte, MaxFile+1), "") },
		"remove none":  func(d *Draft) error { return d.Remove("nowhere.md", "") },
		"remove above": func(d *Draft) error { return d.Remove("../SKILL.md", "") },
		"a folder":     func(d *Draft) error { return d.Put("scripts", nil, "") },
	} {
		d := Over("s", sample())
		before := len(d.Changes())
		if err := do(d); diag.ClassOf(err) != diag.Refused {
			t.Errorf("%s: %v", name, err)
		}
		if n := len(d.Changes()); n > before+1 || n == before+1 && name != "a file as folder" {
			t.Errorf("%s: %d changes", name, n)
		}
	}
}

func TestLost(t *testing.T) {
	d := Over("s", sample())
	text := string(mustRead(t, d.Before(), "SKILL.md"))
	moved := strings.Replace(text, "Ask when a\nversion is missing from it.", "", 1)
	if err := errors.Join(d.Put("SKILL.md", []byte(moved), ""), d.Put("references/more.md", []byte("> ask **when** a version is missing from it\n"), "")); err != nil {
		t.Fatal(err)
	}
	if lost, err := Lost(d); err != nil || len(lost) != 0 {
		t.Errorf("what was moved is lost: %v %v", lost, err)
	}
	gone := strings.Replace(strings.Replace(moved, "Never publish", "Publish", 1), "Read the changelog before", "Read it before", 1)
	if err := errors.Join(d.Put("SKILL.md", []byte(gone), ""), d.Remove("references/old.md", "")); err != nil {
		t.Fatal(err)
	}
	lost, err := Lost(d)
	if err != nil || len(lost) != 3 || lost[0].Code != skill.LossText || lost[1].Code != skill.LossRule || lost[1].Severity != diag.SeverityError || lost[2].From != "references/old.md:1" {
		t.Errorf("%v %v", lost, err)
	}
	if len(lost) > 1 && lost[1].From != "SKILL.md:13" {
		t.Errorf("the rule was at %s", lost[1].From)
	}
	other := TextOf(fstest.MapFS{"references/all.md": {Data: mustRead(t, d.Before(), "SKILL.md")}})
	if lost, err := Lost(d, other, TextOf(fstest.MapFS{})); err != nil || len(lost) != 1 || lost[0].From != "references/old.md:1" {
		t.Errorf("what another skill says is lost: %v %v", lost, err)
	}
}

func TestPlanFile(t *testing.T) {
	d := Over("s", sample())
	if err := errors.Join(d.Put("SKILL.md", []byte("x\n"), "why"), d.Put("assets/a.md", []byte{}, ""), d.Remove("references/old.md", ""), d.PutExecutable("scripts/new.sh", []byte(":\n"), "")); err != nil {
		t.Fatal(err)
	}
	files, err := FilesOf(d)
	if err != nil {
		t.Fatal(err)
	}
	p := &Plan{V: 1, Op: Modify, Skills: []Part{{Skill: ".agents/skills/s", Files: files}}}
	again, err := Parse(p.Encode())
	if err != nil {
		t.Fatal(err)
	}
	to := Over("s", sample())
	if err := again.Skills[0].Apply(to); err != nil {
		t.Fatal(err)
	}
	if got, want := to.Changes(), d.Changes(); len(got) != len(want) || string(got[0].Now) != "x\n" || got[1].Now == nil || got[2].Now != nil || !got[3].Executable || got[1].Executable {
		t.Errorf("%v instead of %v", got, want)
	}
	other := sample().(fstest.MapFS)
	other["references/old.md"] = &fstest.MapFile{Data: []byte("Somebody wrote here.\n")}
	if err := again.Skills[0].Apply(Over("s", other)); !errors.Is(err, diag.Code(CodeChanged)) {
		t.Errorf("a plan of another text: %v", err)
	}
}

func TestPlanRefuses(t *testing.T) {
	good := `{"v":1,"op":"modify","skills":[{"skill":"skills/s","base":"","result":"","files":[{"path":"a.md","change":"new","text":"x"}]}],"losses":[],"lint":{"before":{"errors":0,"warnings":0},"after":{"errors":0,"warnings":0},"errors":[]},"permissions":{"added":[],"removed":[]},"left":[],"questions":[]}`
	if _, err := Parse([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"outside":        {`"skills/s"`, `"../s"`},
		"absolute":       {`"skills/s"`, `"/etc"`},
		"git":            {`"skills/s"`, `".git/hooks"`},
		"own state":      {`"skills/s"`, `".agents/.skl/x"`},
		"path":           {`"a.md"`, `"../a.md"`},
		"path of git":    {`"a.md"`, `".git/config"`},
		"version":        {`"v":1`, `"v":2`},
		"operation":      {`"modify"`, `"delete-all"`},
		"unknown key":    {`"v":1`, `"v":1,"run_first":"x"`},
		"no text":        {`,"text":"x"`, ``},
		"new with was":   {`"change":"new"`, `"change":"new","was":"sha256:00"`},
		"deleted, text":  {`"change":"new"`, `"change":"deleted","was":"sha256:00"`},
		"digest":         {`"base":""`, `"base":"sha1:00"`},
		"twice":          {`"files":[`, `"files":[{"path":"A.md","change":"new","text":"x"},`},
		"nothing":        {`[{"skill":"skills/s","base":"","result":"","files":[{"path":"a.md","change":"new","text":"x"}]}]`, `[]`},
		"something more": {`"questions":[]}`, `"questions":[]} {}`},
		"edited, mode":   {`"change":"new"`, `"change":"edited","was":"sha256:00","executable":true`},
		"a NUL":          {`"text":"x"`, `"text":"\u0000"`},
	} {
		text := strings.Replace(good, change[0], change[1], 1)
		if text == good {
			t.Fatalf("%s changes nothing", name)
		}
		if _, err := Parse([]byte(text)); !errors.Is(err, diag.Code(CodePlan)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"v":1,"op":"modify","skills":[{"skill":"s","files":[{"path":"a.md","change":"new","text":"x"}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse(data)
		if err != nil {
			return
		}
		if again, err := Parse(p.Encode()); err != nil || string(again.Encode()) != string(p.Encode()) {
			t.Errorf("a plan that was read is not read again: %v", err)
		}
		for _, part := range p.Skills {
			d := Over("s", sample())
			if part.Apply(d) != nil {
				continue
			}
			for _, c := range d.Changes() {
				if strings.Contains("/"+c.Path+"/", "/../") || strings.HasPrefix(c.Path, "/") {
					t.Errorf("%q", c.Path)
				}
			}
		}
	})
}

// A script that moves keeps its bytes and its bit, in the draft, in the plan and in the draft that the plan makes.
func TestDraftMoves(t *testing.T) {
	d := Over("s", sample())
	if err := d.Move("scripts/run.sh", "scripts/release/run.sh", "its place"); err != nil {
		t.Fatal(err)
	}
	if err := d.Move("references/old.md", "SKILL.md", ""); !errors.Is(err, diag.Code(CodePath)) {
		t.Errorf("over a file: %v", err)
	}
	files, err := FilesOf(d)
	if err != nil || len(files) != 2 || files[0].From != "scripts/run.sh" || !files[0].Executable || files[1].Change != Deleted {
		t.Fatalf("%+v %v", files, err)
	}
	p := Plan{V: 1, Op: Improve, Skills: []Part{{Skill: "s", Files: files}}}
	read, err := Parse(p.Encode())
	if err != nil {
		t.Fatal(err)
	}
	again := Over("s", sample())
	if err := read.Skills[0].Apply(again); err != nil {
		t.Fatal(err)
	}
	if info, err := fs.Stat(again.FS(), "scripts/release/run.sh"); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the script has mode %v, %v", info, err)
	}
	text := "The file of old remarks is kept.\n"
	files[0] = File{Path: "run.md", Change: NewFile, Text: &text, Executable: true}
	files[1] = File{Path: "references/old.md", Change: Deleted, Was: Sum([]byte(text))}
	again = Over("s", sample())
	if err := (&Part{Files: files}).Apply(again); err != nil {
		t.Fatal(err)
	}
	if now, err := FilesOf(again); err != nil || len(now) != 2 || now[0].From+now[1].From != "" {
		t.Errorf("a file that becomes executable moved: %+v %v", now, err)
	}
	files[0].From, files[0].Executable = "references/old.md", false
	for _, change := range []func(f *File){
		func(f *File) { f.From = "SKILL.md" },
		func(f *File) { text := "other"; f.Text = &text },
		func(f *File) { f.Change, f.Was, f.From, f.Executable = Edited, Sum(nil), "", true },
	} {
		f := files[0]
		change(&f)
		p.Skills[0].Files = []File{f, files[1]}
		if _, err := Parse(p.Encode()); !errors.Is(err, diag.Code(CodePlan)) {
			t.Errorf("a plan with %+v gives %v", f, err)
		}
	}
}
