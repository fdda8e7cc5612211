// Package web serves memwatch's page: live charts, call sites and a flame graph of
// live bytes or of what grew since a baseline, and the same numbers for programs.
//
//	/                          the page
//	/events                    snapshots as server-sent events
//	/snapshot.json             one snapshot
//	/history.json              what processes had live, for hours, in steps; in a file as
//	                           well, if one is given
//	/metrics                   Prometheus
//	/folded                    folded stacks
//	/debug/pprof/device        profile for go tool pprof; ?pid= for one process
//
// # Who may ask
//
// Call stacks and names are nobody else's business, and a browser lets any page that
// its user visits send requests to this one. So every request needs the token: in
// the address once, which sets a cookie, or as a bearer token. The Host must be the
// one that is listened on, against names that are made to resolve to it; Origin and
// Sec-Fetch-Site, where a browser sends them, must be this page. The content security
// policy lets the page load nothing from elsewhere and run no inline script. What a
// process chose, its name for one, reaches the page as text and never as markup.
//
// Connections, streams and request sizes are bounded, and a reader that does not read
// is cut off.
//
// static/uplot is uPlot 1.6.32, unchanged, with its licence.
package web
