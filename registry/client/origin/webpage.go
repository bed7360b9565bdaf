package origin

import (
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// WebPage is the error, with a code, for an answer that is a page for people where what wants answers programs: a login, a notice
// of a proxy, the address of a browser. It is nil for any other answer. Of is the address that was meant, want what was
// expected there: "git".
func WebPage(resp *http.Response, code, of, want string) *diag.Error {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind != "text/html" && kind != "application/xhtml+xml" {
		return nil
	}
	e := diag.New(diag.Failed, code, "%s answers with a web page and not with %s (status %d, %s)", of, want, resp.StatusCode, kind)
	if at := resp.Request; at != nil && at.URL != nil {
		if where := shown(at.URL); !strings.HasPrefix(where, of) {
			e = diag.New(diag.Failed, code, "%s leads to %s, a web page and not %s (status %d, %s)", of, where, want, resp.StatusCode, kind)
		}
	}
	if u, err := url.Parse(of); err == nil && u.Host != "" {
		e = e.Hint("if it is a login page, the address wants credentials: set %s, add the host to netrc, or configure a credential helper", VariableName(u))
	}
	return e.Hint("open it in a browser: is it the right address, and does a proxy or a portal stand before it?")
}
