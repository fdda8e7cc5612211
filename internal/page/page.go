// Package page is the look that the pages have in common which programs serve of themselves: the tracker's
// and memwatch's. It holds files for the browser: a style sheet, tables that sort and filter, a chart of
// bytes over time, the history behind it, and how the address keeps what is chosen. A page is a small module
// of its own that puts these together.
//
// The modules name one another as "./NAME", so that whoever serves them chooses where they lie.
package page

import (
	"embed"
	"io/fs"
)

//go:embed static
var static embed.FS

// Files returns the files, by name. Those of uPlot, the library that draws the chart, lie in a folder of
// their own with its licence.
func Files() fs.FS {
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic(err) // they are embedded
	}
	return files
}
