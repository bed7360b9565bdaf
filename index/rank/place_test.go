package rank

import "testing"

// Code by other projects or by programs is recognised by its place.
func TestWritten(t *testing.T) {
	for p, want := range map[string]string{
		"main.go": "", "a/map.go": "", "locker.go": "", "min.js": "", "src/vendoring/a.go": "", "vendor.go": "", "string.go": "", "a/dist.go": "", "vendor": "",
		"a/api.pb.go": "made", "x.min.js": "made", "jquery-3.1.min.js": "made", "site.css.map": "made", "Cargo.lock": "made", "package-lock.json": "made", "go.sum": "made",
		"zz_generated.deepcopy.go": "made", "api_generated.go": "made", "kind_string.go": "made", "a_pb2.py": "made", "app.bundle.js": "made", "dist/a.js": "made",
		"vendor/a/b.go": "foreign", "a/vendor/b.go": "foreign", "node_modules/a/b.js": "foreign", "lib/site-packages/a.py": "foreign",
	} {
		got := ""
		switch {
		case IsMade(p):
			got = "made"
		case IsForeign(p):
			got = "foreign"
		}
		if got != want {
			t.Errorf("%s is %q, not %q", p, got, want)
		}
	}
}
