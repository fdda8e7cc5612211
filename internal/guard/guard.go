// Package guard is what the pages that programs serve of themselves have in common: how a request shows that
// it knows the token.
package guard

import (
	"crypto/subtle"
	"net/http"
	"strings"
)

// Bearer returns the token in a request's Authorization header. The scheme may be in any case.
func Bearer(r *http.Request) (token string, ok bool) {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	return strings.TrimLeft(token, " "), true
}

// Same reports whether two tokens are the same, in a time that does not tell how much of them is.
func Same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
