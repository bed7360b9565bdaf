package registrytest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/meta"
)

// release makes one of "namespace/name@version".
func release(ref string, state meta.State) meta.Release {
	repo, version, _ := strings.Cut(ref, "@")
	namespace, name, _ := strings.Cut(repo, "/")
	return meta.Release{Namespace: namespace, Name: name, Version: version, State: state,
		Manifest: digest("manifest-" + ref), Zip: digest("zip-" + ref), Published: day, Updated: day, LogIndex: -1}
}

func create(t testing.TB, s meta.Store, rs ...meta.Release) {
	t.Helper()
	update(t, s, func(tx *meta.Tx) error {
		for _, r := range rs {
			if err := tx.CreateRelease(t.Context(), r); err != nil {
				return fmt.Errorf("%s@%s: %w", r.Repo(), r.Version, err)
			}
		}
		return nil
	})
}

func getSkill(t testing.TB, s meta.Store, namespace, name string) meta.Skill {
	t.Helper()
	return ask(t, s, func(tx *meta.Tx) (meta.Skill, error) { return tx.Skill(t.Context(), namespace, name) })
}

func testReleases(t *testing.T, s meta.Store) {
	full := meta.Release{
		Namespace: "acme", Name: "pdf", Version: "1.4.0", Manifest: digest("m"), Artifact: digest("a"), Tree: "h1:x", Zip: digest("z"), ZipSize: 5,
		SkillMD: "s", Files: []meta.File{{Path: "SKILL.md", Size: 3, SHA256: "00"}, {Path: "bin/x", Executable: true}}, Bytes: 3,
		Description: "reads “pdf”", License: "MIT", Keywords: []string{"pdf", "forms"}, Frontmatter: []byte(`{"name":"pdf"}`),
		State: meta.Quarantined, Reason: "waits", Publisher: "ann", Signer: []byte(`{"key":1}`), Signed: true,
		Published: day, Updated: day, LogIndex: -1, SourceURL: "https://example.com/s", MirroredURL: "https://example.com/m",
	}
	withText := full
	withText.Text = strings.Repeat("long ", 10_000)
	plain := release("acme/pdf@2.0.0-rc.1", meta.Draft)
	plain.Manifest = full.Manifest // released twice
	create(t, s, withText, plain)
	get := func() meta.Release {
		return ask(t, s, func(tx *meta.Tx) (meta.Release, error) { return tx.Release(t.Context(), "acme", "pdf", "1.4.0") })
	}
	same(t, get(), full)
	refused(t, s, meta.ErrExists, func(tx *meta.Tx) error {
		return tx.CreateRelease(t.Context(), release("acme/pdf@1.4.0", meta.Approved))
	})
	refused(t, s, meta.ErrNotFound, func(tx *meta.Tx) error { _, err := tx.Release(t.Context(), "acme", "pdf", "3.0.0"); return err })
	refused(t, s, meta.ErrNotFound, func(tx *meta.Tx) error {
		return tx.UpdateRelease(t.Context(), release("acme/pdf@3.0.0", meta.Approved))
	})
	same(t, ask(t, s, func(tx *meta.Tx) (meta.Release, error) {
		return tx.ReleaseByManifest(t.Context(), "acme/pdf", full.Manifest)
	}), plain)
	refused(t, s, meta.ErrNotFound, func(tx *meta.Tx) error {
		_, err := tx.ReleaseByManifest(t.Context(), "acme/xls", full.Manifest)
		return err
	})

	head := full
	head.Files, head.Frontmatter = nil, nil
	same(t, ask(t, s, func(tx *meta.Tx) ([]meta.Release, error) { return tx.Releases(t.Context(), "acme", "pdf") }), []meta.Release{plain, head})

	// Of an update only some fields count.
	change := full
	change.State, change.Reason, change.Signer, change.Signed, change.LogIndex, change.Updated = meta.Approved, "", nil, false, 7, day.Add(time.Hour)
	want := change
	change.Description, change.Manifest, change.Downloads, change.Published = "other", "other", 99, day.Add(time.Hour)
	update(t, s, func(tx *meta.Tx) error { return tx.UpdateRelease(t.Context(), change) })
	same(t, get(), want)

	create(t, s, release("acme/alpha@1.0.0", meta.Blocked), release("zoo/beta@1.0.0", meta.Approved))
	for name, want := range map[string]bool{"alpha": true, "pdf": true, "pd": false} {
		same(t, ask(t, s, func(tx *meta.Tx) (bool, error) { return tx.HasName(t.Context(), "acme", name) }), want)
	}

	update(t, s, func(tx *meta.Tx) error { return tx.DeleteRelease(t.Context(), "acme", "pdf", plain.Version) })
	refused(t, s, meta.ErrNotFound, func(tx *meta.Tx) error { return tx.DeleteRelease(t.Context(), "acme", "pdf", plain.Version) })
	same(t, ask(t, s, func(tx *meta.Tx) (meta.Release, error) {
		return tx.ReleaseByManifest(t.Context(), "acme/pdf", full.Manifest)
	}).Version, "1.4.0")

	// Names that are listed, and what waits, in the order in which it began to.
	var names []string
	update(t, s, func(tx *meta.Tx) error {
		names = nil
		return tx.ListedNames(t.Context(), func(namespace, name string) { names = append(names, namespace+"/"+name) })
	})
	same(t, names, []string{"zoo/beta", "acme/pdf"})
	for i, name := range []string{"acme/late@1.0.0", "zoo/early@1.0.0", "acme/early@1.0.0"} {
		r := release(name, []meta.State{meta.Draft, meta.Quarantined, meta.Quarantined}[i])
		r.Updated = []time.Time{day.Add(3 * time.Hour), day.Add(time.Hour), day.Add(time.Hour)}[i]
		create(t, s, r)
	}
	for _, tt := range []struct {
		namespace, after string
		since            time.Time
		limit            int
		want             []string
	}{
		{"", "", time.Time{}, 0, []string{"acme/early", "zoo/early", "acme/late"}},
		{"", "", time.Time{}, 1, []string{"acme/early"}},
		{"", "acme/early@1.0.0", day.Add(time.Hour), 0, []string{"zoo/early", "acme/late"}},
		{"acme", "", time.Time{}, 0, []string{"acme/early", "acme/late"}},
		{"other", "", time.Time{}, 0, nil},
	} {
		var got []string
		for _, r := range ask(t, s, func(tx *meta.Tx) ([]meta.Release, error) {
			return tx.Waiting(t.Context(), tt.namespace, tt.since, tt.after, tt.limit)
		}) {
			got = append(got, r.Repo())
		}
		same(t, got, tt.want)
	}
}

func testLatest(t *testing.T, s meta.Store) {
	ascending := []string{"0.9.0", "1.0.0-0", "1.0.0-2", "1.0.0-10", "1.0.0-99999999999999999999999999999999", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-alpha-x",
		"1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.0.1", "1.2.0", "1.10.0", "2.0.0", "10.0.0", "11.0.0-rc.1"}
	for i := range ascending { // in some other order
		create(t, s, release("acme/a@"+ascending[(i*7)%len(ascending)], meta.Approved))
	}
	var got []string
	for _, r := range ask(t, s, func(tx *meta.Tx) ([]meta.Release, error) { return tx.Releases(t.Context(), "acme", "a") }) {
		got = append(got, r.Version)
	}
	slices.Reverse(got)
	same(t, got, ascending)
	sk := getSkill(t, s, "acme", "a")
	same(t, sk.Latest, "10.0.0")
	same(t, sk.Versions, len(ascending))
	create(t, s, release("acme/b@1.0.0-rc.1", meta.Approved), release("acme/b@1.0.0-rc.2", meta.Approved), release("acme/b@1.0.0", meta.Yanked))
	same(t, getSkill(t, s, "acme", "b").Latest, "1.0.0-rc.2")
}

func testSkills(t *testing.T, s meta.Store) {
	one, two := release("acme/pdf@1.0.0", meta.Approved), release("acme/pdf@2.0.0", meta.Quarantined)
	one.Description, one.License, one.Keywords = "first words", "MIT", []string{"k"}
	two.Description, two.License, two.Updated, two.Signed = "second words", "Apache-2.0", day.Add(time.Hour), true
	none := func() {
		t.Helper()
		refused(t, s, meta.ErrNotFound, func(tx *meta.Tx) error { _, err := tx.Skill(t.Context(), "acme", "pdf"); return err })
	}
	found := func(text string) int {
		return ask(t, s, func(tx *meta.Tx) (meta.Matches, error) { return tx.Search(t.Context(), meta.Search{Text: text}) }).Total
	}
	set := func(r meta.Release, state meta.State) {
		t.Helper()
		r.State = state
		update(t, s, func(tx *meta.Tx) error { return tx.UpdateRelease(t.Context(), r) })
	}
	create(t, s, two)
	none()
	create(t, s, one)
	first := meta.Skill{Namespace: "acme", Name: "pdf", Latest: "1.0.0", Description: "first words", License: "MIT", Keywords: []string{"k"}, State: meta.Approved, Versions: 1, Updated: day}
	same(t, getSkill(t, s, "acme", "pdf"), first)
	same(t, []int{found("first"), found("second"), found("words")}, []int{1, 0, 1})
	set(two, meta.Approved)
	same(t, getSkill(t, s, "acme", "pdf"), meta.Skill{Namespace: "acme", Name: "pdf", Latest: "2.0.0", Description: "second words", License: "Apache-2.0", Signed: true, State: meta.Approved, Versions: 2, Updated: day.Add(time.Hour)})
	same(t, []int{found("first"), found("second"), found("words")}, []int{0, 1, 1})
	set(two, meta.Deprecated)
	same(t, getSkill(t, s, "acme", "pdf").State, meta.Deprecated)
	set(two, meta.Yanked)
	same(t, getSkill(t, s, "acme", "pdf"), first)
	same(t, []int{found("first"), found("second"), found("words")}, []int{1, 0, 1})
	set(one, meta.Blocked)
	none()
	same(t, []int{found("first"), found("second"), found("")}, []int{0, 0, 0})
	set(one, meta.Approved)
	same(t, getSkill(t, s, "acme", "pdf"), first)
	update(t, s, func(tx *meta.Tx) error { return tx.DeleteRelease(t.Context(), "acme", "pdf", "1.0.0") })
	none()

	create(t, s, release("acme/b@1.0.0", meta.Approved), release("acme/a@1.0.0", meta.Approved), release("acme-two/c@1.0.0", meta.Approved), release("zoo/a@1.0.0", meta.Approved))
	list := func(namespace, after string, limit int) (names []string) {
		for _, sk := range ask(t, s, func(tx *meta.Tx) ([]meta.Skill, error) { return tx.Skills(t.Context(), namespace, after, limit) }) {
			names = append(names, sk.Namespace+"/"+sk.Name)
		}
		return names
	}
	same(t, list("", "", 10), []string{"acme/a", "acme/b", "acme-two/c", "zoo/a"})
	same(t, list("", "acme/a", 2), []string{"acme/b", "acme-two/c"})
	same(t, list("acme", "", 10), []string{"acme/a", "acme/b"})
	same(t, list("acme", "acme/a", 10), []string{"acme/b"})
	same(t, list("zoo", "acme/b", 10), []string{"zoo/a"})
	same(t, list("acme", "zoo/a", 10), nil)
}

func testUnique(t *testing.T, s meta.Store) {
	do(t, s, func(tx *meta.Tx) []error {
		return []error{tx.CreateNamespace(t.Context(), meta.Namespace{Name: "acme", Public: true}), tx.CreateNamespace(t.Context(), meta.Namespace{Name: "zoo", Public: true}), tx.CreateNamespace(t.Context(), meta.Namespace{Name: "secret"})}
	})
	for _, ref := range []string{"acme/both", "zoo/both", "acme/one", "secret/one", "secret/hidden", "zoo/two"} {
		create(t, s, release(ref+"@1.0.0", meta.Approved))
	}
	create(t, s, release("acme/two@1.0.0", meta.Yanked))
	names := func(after string, limit int) (all []string) {
		for _, sk := range ask(t, s, func(tx *meta.Tx) ([]meta.Skill, error) { return tx.UniqueSkills(t.Context(), after, limit) }) {
			all = append(all, sk.Namespace+"/"+sk.Name)
		}
		return all
	}
	same(t, names("", 10), []string{"acme/one", "zoo/two"})
	same(t, names("one", 10), []string{"zoo/two"})
	same(t, names("", 1), []string{"acme/one"})
}

func testDownloads(t *testing.T, s meta.Store) {
	create(t, s, release("acme/a@1.0.0", meta.Approved), release("acme/a@2.0.0-rc.1+build", meta.Approved))
	do(t, s, func(tx *meta.Tx) []error {
		return []error{
			tx.CountDownloads(t.Context(), map[string]int64{"acme/a@1.0.0": 2, "acme/a@2.0.0-rc.1+build": 1, "acme/none@1.0.0": 5, "nonsense": 1}, day),
			tx.CountDownloads(t.Context(), map[string]int64{"acme/a@1.0.0": 10}, day.Add(24*time.Hour)),
			tx.CountDownloads(t.Context(), map[string]int64{"acme/a@1.0.0": 1}, day),
		}
	})
	since := func(d time.Time) map[string]int64 {
		return ask(t, s, func(tx *meta.Tx) (map[string]int64, error) { return tx.Downloads(t.Context(), "acme", "a", d) })
	}
	same(t, since(day.Add(-24*time.Hour)), map[string]int64{"2026-05-01": 4, "2026-05-02": 10})
	same(t, since(day.Add(24*time.Hour)), map[string]int64{"2026-05-02": 10})
	same(t, getSkill(t, s, "acme", "a").Downloads, 14)
	same(t, ask(t, s, func(tx *meta.Tx) (meta.Release, error) { return tx.Release(t.Context(), "acme", "a", "1.0.0") }).Downloads, 13)
	create(t, s, release("acme/a@3.0.0", meta.Approved))
	same(t, getSkill(t, s, "acme", "a").Downloads, 14)
}

// find returns what a search finds, as "namespace/name".
func find(t testing.TB, s meta.Store, q meta.Search) ([]string, meta.Matches) {
	t.Helper()
	m := ask(t, s, func(tx *meta.Tx) (meta.Matches, error) { return tx.Search(t.Context(), q) })
	if len(m.Scores) != len(m.Skills) {
		t.Fatalf("%d scores for %d skills", len(m.Scores), len(m.Skills))
	}
	var names []string
	for i, sk := range m.Skills {
		names = append(names, sk.Namespace+"/"+sk.Name)
		if i > 0 && q.Sort == "" && m.Scores[i] > m.Scores[i-1] {
			t.Errorf("scores %v do not fall", m.Scores)
		}
	}
	return names, m
}

func testSearch(t *testing.T, s meta.Store) {
	for _, c := range []struct {
		ref, description, license, text string
		keywords                        []string
		signed                          bool
	}{
		{"acme/pdf-forms@1.0.0", "fills in documents", "MIT", "Some words.", nil, true},
		{"acme/pdf@1.0.0", "reads documents", "MIT", "Other words.", []string{"extract"}, false},
		{"acme/office@1.0.0", "spreadsheets, slides and letters", "Apache-2.0", "Also exports to PDF files.", nil, false},
		{"zoo/scans@1.0.0", "turns paper into text", "MIT", "Recognition.", []string{"pdf", "ocr"}, false},
		{"zoo/invoices@1.0.0", "writes an invoice as pdf", "", "Nothing more about Ångström.", nil, true},
		{"zoo/music@1.0.0", "plays a tune", "", "Melody.", nil, false},
	} {
		r := release(c.ref, meta.Approved)
		r.Description, r.License, r.Text, r.Keywords, r.Signed = c.description, c.license, c.text, c.keywords, c.signed
		create(t, s, r)
	}
	create(t, s, release("acme/pdf-secret@1.0.0", meta.Quarantined), release("acme/pdf-yanked@1.0.0", meta.Yanked))

	for _, test := range []struct {
		text string
		want string
	}{
		{"pdf", "acme/pdf acme/pdf-forms zoo/scans zoo/invoices acme/office"},
		{"PDF", "acme/pdf acme/pdf-forms zoo/scans zoo/invoices acme/office"},
		{"pd", "acme/pdf acme/pdf-forms zoo/scans zoo/invoices acme/office"},
		{"pdf forms", "acme/pdf-forms"},
		{"pdf-forms", "acme/pdf-forms"},
		{"forms pdf", "acme/pdf-forms"},
		{"acme/pdf", "acme/pdf acme/pdf-forms acme/office"},
		{"docu read", "acme/pdf"},
		{"angstrom", "zoo/invoices"},
		{"ångstr", "zoo/invoices"},
		{"recog", "zoo/scans"},
		{"ument", ""},
		{"secret", ""},
		{"yanked", ""},
		{"zoo", "zoo/invoices zoo/music zoo/scans"},
	} {
		got, m := find(t, s, meta.Search{Text: test.text})
		if test.text == "zoo" {
			slices.Sort(got) // they are equally good
		}
		if strings.Join(got, " ") != test.want || m.Total != len(got) {
			t.Errorf("%q finds %v of %d, want %s", test.text, got, m.Total, test.want)
		}
	}

	_, m := find(t, s, meta.Search{Text: "pdf"})
	same(t, m.Facets, map[string]map[string]int{
		"namespace": {"acme": 3, "zoo": 2}, "license": {"MIT": 3, "Apache-2.0": 1}, "signed": {"true": 2, "false": 3}})
	no := false
	for _, test := range []struct {
		name string
		q    meta.Search
		want string
	}{
		{"namespace", meta.Search{Text: "pdf", Namespace: "zoo"}, "zoo/scans zoo/invoices"},
		{"license", meta.Search{Text: "pdf", License: "MIT"}, "acme/pdf acme/pdf-forms zoo/scans"},
		{"signed", meta.Search{Text: "pdf", Signed: &no, License: "MIT"}, "acme/pdf zoo/scans"},
		{"all, by name", meta.Search{}, "zoo/invoices zoo/music acme/office acme/pdf acme/pdf-forms zoo/scans"},
		{"facets without text", meta.Search{Signed: &no, License: "MIT"}, "acme/pdf zoo/scans"},
		{"namespace without text", meta.Search{Namespace: "zoo"}, "zoo/invoices zoo/music zoo/scans"},
		{"unknown license", meta.Search{Text: "pdf", License: "none"}, ""},
		{"unknown namespace", meta.Search{Namespace: "none"}, ""},
	} {
		got, m := find(t, s, test.q)
		if strings.Join(got, " ") != test.want || m.Total != len(got) {
			t.Errorf("%s: found %v of %d, want %s", test.name, got, m.Total, test.want)
		}
	}
}

func testSearchNamespaces(t *testing.T, s meta.Store) {
	for i := range 10 {
		r := release(fmt.Sprintf("ns%d/pdf@1.0.0", i%3), meta.Approved)
		r.Name, r.License = fmt.Sprint("pdf-", i), fmt.Sprint("L", i%3)
		create(t, s, r)
	}
	for _, text := range []string{"pdf", ""} {
		got, m := find(t, s, meta.Search{Text: text, Namespaces: []string{"ns1", "unknown"}, Sort: "name"})
		same(t, got, []string{"ns1/pdf-1", "ns1/pdf-4", "ns1/pdf-7"})
		same(t, m.Total, 3)
		same(t, m.Facets, map[string]map[string]int{"namespace": {"ns1": 3}, "license": {"L1": 3}, "signed": {"false": 3}})
		for _, q := range []meta.Search{{Namespaces: []string{}}, {Namespaces: []string{"unknown"}}, {Namespaces: []string{"ns1"}, Namespace: "ns2"}, {Namespaces: []string{"ns1"}, License: "L2"}} {
			q.Text = text
			got, m := find(t, s, q)
			if got != nil || m.Total != 0 || len(m.Facets["namespace"])+len(m.Facets["license"])+len(m.Facets["signed"]) != 0 {
				t.Errorf("%+v finds %v, %+v", q, got, m)
			}
		}
	}
}

func testSearchText(t *testing.T, s meta.Store) {
	r := release("acme/not-near@1.0.0", meta.Approved)
	r.Description = "and or near quoted *"
	create(t, s, r)
	for text, want := range map[string]int{ // of two words, one is found if nothing has both
		`"`: 0, `""`: 0, `*`: 0, `-`: 0, `""*`: 0, `' OR 1=1 --`: 0, "NOT": 1, "AND": 1, "OR NOT": 1, "near NEAR": 1, "NEAR(a b)": 1, "name : not": 0, "name:not": 0,
		"{name} not": 0, "^not": 1, `not" OR "x`: 1, `"quoted`: 1, "not + near": 1, "\x00not": 1, "not\xff": 1, "\xff\xfe": 0, "   ": 1, "": 1, "(": 0, "near)": 1, "🙂": 0, "🙂 not": 1,
		strings.Repeat("not ", 5000): 1, strings.Repeat("a", 100_000): 0, "%": 0, "_": 0, "not%": 1, "search": 0, "rank": 0,
	} {
		if _, m := find(t, s, meta.Search{Text: text}); m.Total != want {
			t.Errorf("%.40q finds %d, want %d", text, m.Total, want)
		}
	}
	if err := s.View(t.Context(), func(tx *meta.Tx) error {
		_, err := tx.Search(t.Context(), meta.Search{Text: "not", Sort: "name; DROP TABLE skills", Offset: -5, Limit: -5, License: "'", Namespace: `"`})
		return err
	}); err != nil {
		t.Error(err)
	}
}

func testSearchPages(t *testing.T, s meta.Store) {
	const n = 45
	for i := range n {
		r := release(fmt.Sprintf("acme/s%02d@1.0.0", i), meta.Approved)
		r.Description, r.Updated, r.Downloads = "thing", day.Add(time.Duration(i*37%n)*time.Hour), int64(i*11%n)
		create(t, s, r)
	}
	for _, text := range []string{"", "thing"} {
		for _, sort := range []string{"", "relevance", "name", "updated", "downloads"} {
			var all []meta.Skill
			for offset := 0; ; offset += 10 {
				_, m := find(t, s, meta.Search{Text: text, Sort: sort, Offset: offset, Limit: 10})
				same(t, m.Total, n)
				if len(m.Skills) == 0 {
					break
				}
				all = append(all, m.Skills...)
			}
			ordered := slices.IsSortedFunc(all, func(a, b meta.Skill) int {
				switch {
				case sort == "updated":
					return b.Updated.Compare(a.Updated)
				case sort == "downloads":
					return int(b.Downloads - a.Downloads)
				case sort == "name", text == "":
					return strings.Compare(a.Name, b.Name)
				}
				return 0
			})
			slices.SortFunc(all, func(a, b meta.Skill) int { return strings.Compare(a.Name, b.Name) })
			all = slices.CompactFunc(all, func(a, b meta.Skill) bool { return a.Name == b.Name })
			if len(all) != n || !ordered {
				t.Errorf("text %q sort %q: %d skills, in order: %v", text, sort, len(all), ordered)
			}
		}
	}
	for limit, want := range map[int]int{0: 20, 7: 7, 1000: n} {
		if got, _ := find(t, s, meta.Search{Limit: limit}); len(got) != want {
			t.Errorf("limit %d gives %d", limit, len(got))
		}
	}
	if got, _ := find(t, s, meta.Search{Offset: 1 << 40}); got != nil {
		t.Errorf("found %v behind the end", got)
	}
}
