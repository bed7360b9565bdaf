package origin

import (
	"net/http"
	"net/url"

	"github.com/skl-project/skl/spec/diag"
)

// keepAcross are the headers that follow a redirect to another origin. All
// others could be a secret of the first one.
func keepAcross() []string {
	return []string{"Accept", "Accept-Encoding", "Accept-Language", "Git-Protocol", "If-Modified-Since", "If-None-Match", "If-Range", "Range", "User-Agent"}
}

// redirect is the request that resp leads to, nil if it is the answer itself.
// It closes the body of resp if it returns a request or an error.
//
// RFC 9110, 15.4: 303 is followed by GET; so are 301 and 302 after POST, as
// everybody does; 307 and 308 keep the method and the body.
func redirect(req *http.Request, resp *http.Response) (*http.Request, error) {
	location := resp.Header.Get("Location")
	if location == "" {
		return nil, nil
	}
	method, body := req.Method, false
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound:
		if method != http.MethodGet && method != http.MethodHead {
			method = http.MethodGet
		}
	case http.StatusSeeOther:
		if method != http.MethodHead {
			method = http.MethodGet
		}
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		body = true
	default:
		return nil, nil
	}
	refuse := func(to, why string) (*http.Request, error) {
		resp.Body.Close()
		return nil, diag.New(diag.Failed, "redirect_refused", "%s redirects to %s: %s", shown(req.URL), to, why)
	}
	u, err := req.URL.Parse(location)
	if err != nil {
		return refuse("an address", "it is not a URL")
	}
	cross := Of(u) != Of(req.URL)
	switch {
	case u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return refuse("an address", "it is not an http address")
	case u.User != nil:
		return refuse(shown(u), "it holds a user or password")
	case req.URL.Scheme == "https" && u.Scheme == "http":
		return refuse(shown(u), "https is not left for http")
	case cross && method != http.MethodGet && method != http.MethodHead:
		return refuse(shown(u), "a "+method+" request stays with the server it is for")
	}
	return follow(req, resp, u, method, body, cross)
}

func follow(req *http.Request, resp *http.Response, u *url.URL, method string, body, cross bool) (*http.Request, error) {
	next, err := replay(req)
	if err != nil {
		resp.Body.Close()
		return nil, err
	}
	if next == nil && body {
		return nil, nil // the body is gone: the caller gets the redirect
	}
	if next == nil || !body {
		next = req.Clone(req.Context())
		next.Body, next.GetBody, next.ContentLength = nil, nil, 0
		next.Header.Del("Content-Type")
		next.Header.Del("Content-Length")
		next.Header.Del("Content-Encoding")
	}
	drain(resp)
	next.Method, next.URL, next.Host = method, u, ""
	if cross {
		next.Header = http.Header{}
		for _, key := range keepAcross() {
			if values := req.Header.Values(key); values != nil {
				next.Header[key] = values
			}
		}
	}
	return next, nil
}
