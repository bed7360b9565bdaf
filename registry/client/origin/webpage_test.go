package origin

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestWebPage(t *testing.T) {
	const of = "https://git.example/o/r"
	for _, tt := range []struct{ name, kind, at, want string }{
		{"git", "application/x-git-upload-pack-advertisement", of, ""},
		{"a dumb server", "text/plain; charset=utf-8", of, ""},
		{"no type", "", of, ""},
		{"a page", "text/html; charset=utf-8", of + "/info/refs", of + " answers with a web page and not with git (status 200, text/html)"},
		{"of XHTML", "application/xhtml+xml", of, of + " answers with a web page and not with git (status 200, application/xhtml+xml)"},
		{"a login elsewhere", "text/html", "https://login.example/?next=secret", of + " leads to https://login.example/, a web page and not git (status 200, text/html)"},
	} {
		at, err := url.Parse(tt.at)
		if err != nil {
			t.Fatal(err)
		}
		e := WebPage(&http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {tt.kind}}, Request: &http.Request{URL: at}}, "git_protocol", of, "git")
		switch {
		case e == nil && tt.want != "", e != nil && e.Message != tt.want:
			t.Errorf("%s: %v, want %q", tt.name, e, tt.want)
		case e != nil && (e.Code != "git_protocol" || len(e.Hints) != 2 || !strings.Contains(e.Hints[0], "SKL_TOKEN_GIT_EXAMPLE,")):
			t.Errorf("%s: code %s, hints %q", tt.name, e.Code, e.Hints)
		}
	}
}
