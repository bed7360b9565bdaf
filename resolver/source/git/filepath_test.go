package git

import "testing"

// A file URL names a path as its system writes paths.
func TestPathOfFileURL(t *testing.T) {
	for _, tt := range []struct{ url, unix, windows string }{
		{"file:///srv/repo.git", "/srv/repo.git", `\srv\repo.git`},
		{"file:///C:/work/a%20b", "/C:/work/a b", `C:\work\a b`},
		{`file:///C:\work\repo`, `/C:\work\repo`, `C:\work\repo`},
		{"file://C:/work/repo", "/work/repo", `C:\work\repo`},
		{"file://localhost/C:/work", "/C:/work", `C:\work`},
		{"file://server/share/repo", "/share/repo", `\\server\share\repo`},
		{"file:////server/share/repo", "//server/share/repo", `\\server\share\repo`},
		{"file:///C:", "/C:", `C:`},
	} {
		for windows, want := range map[bool]string{false: tt.unix, true: tt.windows} {
			if got, err := pathOf(tt.url, windows); err != nil || got != want {
				t.Errorf("%s, Windows %v: %q, %v; want %q", tt.url, windows, got, err, want)
			}
		}
	}
	if _, err := pathOf("file://%zz", true); err == nil {
		t.Error("a URL that is none was taken")
	}
}
