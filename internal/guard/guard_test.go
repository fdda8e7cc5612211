package guard

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBearer(t *testing.T) {
	for header, want := range map[string]string{
		"Bearer x": "x", "bearer x": "x", "BEARER  x y": "x y", "Bearer": "", "Bearerx": "", "Basic x": "", "": "", " x": "",
	} {
		token, ok := bearer(&http.Request{Header: http.Header{"Authorization": {header}}})
		require.Equal(t, want, token, header)
		require.Equal(t, want != "", ok, header)
	}
	require.NotEqual(t, Token(), Token())
	require.Len(t, Token(), 32)
}

// TestBrowser opens an address with a token: the cookie stays, the token goes, the rest of the address stays.
func TestBrowser(t *testing.T) {
	g := New(Options{Name: "some", Page: "/page"}, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80})
	h := g.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("inside")) }))
	ask := func(target string, change func(*http.Request)) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", "http://127.0.0.1:80"+target, nil)
		r.Header.Set("Accept", "text/html")
		change(r)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	from := func(site string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", site) }
	}
	opened := ask("/page?x=%22%3E&token="+g.Token(), from("cross-site"))
	require.Equal(t, 200, opened.Code)
	require.NotContains(t, opened.Body.String(), g.Token())
	require.Contains(t, opened.Body.String(), `url=/page?x=%22%3E"`)
	cookie := opened.Result().Cookies()[0]
	require.Equal(t, "some-80", cookie.Name)
	require.True(t, cookie.HttpOnly)
	require.Equal(t, http.SameSiteStrictMode, cookie.SameSite)

	for name, c := range map[string]struct {
		target string
		change func(*http.Request)
		want   int
	}{
		"the cookie":                  {"/page", func(r *http.Request) { r.AddCookie(cookie) }, 200},
		"the cookie from elsewhere":   {"/page", func(r *http.Request) { r.AddCookie(cookie); from("cross-site")(r) }, 403},
		"another cookie":              {"/page", func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "some-80", Value: "x"}) }, 401},
		"a token in another path":     {"/data?token=" + g.Token(), from("none"), 200},
		"and from elsewhere":          {"/data?token=" + g.Token(), from("same-site"), 403},
		"a wrong token with a cookie": {"/page?token=x", func(r *http.Request) { r.AddCookie(cookie) }, 401},
	} {
		require.Equal(t, c.want, ask(c.target, c.change).Code, name)
	}
}
