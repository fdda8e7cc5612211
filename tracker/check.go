package tracker

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/dustin/go-humanize"
)

// TB is what Check needs of a *testing.T or *testing.B.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
}

// Check fails tb if t has live foreign memory, or memory that was freed late because
// nobody called Free, and names the file and line where each was made. Call it when all should have
// been freed, for example in a deferred call. Every site is known at Options.Rate 1, and
// always for what [Tracker.Alloc] was told of; otherwise those that were sampled are.
func Check(tb TB, t *Tracker) {
	tb.Helper()
	if faults := t.faults(); len(faults) > 0 {
		tb.Errorf("tracker: %s", strings.Join(faults, "\n\t"))
	}
}

// Main runs the tests of m, a *testing.M, and then checks t as [Check] does. It returns
// the status to exit with, which is not zero if a test or the check has failed:
//
//	var books = tracker.New(tracker.Options{Rate: 1})
//
//	func TestMain(m *testing.M) { os.Exit(tracker.Main(m, books)) }
func Main(m interface{ Run() int }, t *Tracker) int { return checkAfter(m, t, os.Stderr) }

func checkAfter(m interface{ Run() int }, t *Tracker, w io.Writer) int {
	code := m.Run()
	if faults := t.faults(); len(faults) > 0 {
		fmt.Fprintf(w, "tracker: %s\n", strings.Join(faults, "\n\t"))
		code = max(code, 1)
	}
	return code
}

// faults returns one line for all that is live or was freed late, and one for each site that
// made some of it. It returns nil if there is nothing to say.
func (t *Tracker) faults() []string {
	st := t.Stats()
	if st.LiveObjects == 0 && st.Late == 0 {
		return nil
	}
	lines := []string{fmt.Sprintf("%d buffers live (%s), %d freed late (%s)",
		st.LiveObjects, human(st.Live), st.Late, human(st.LateBytes))}
	var live, late int64
	for _, s := range t.Sites() {
		if s.LiveObjects > 0 {
			lines = append(lines, fmt.Sprintf("%v: %d live (%s), made by %s", s, s.LiveObjects, human(s.LiveBytes), s.function()))
		}
		if s.LateObjects > 0 {
			lines = append(lines, fmt.Sprintf("%v: %d freed late (%s), made by %s", s, s.LateObjects, human(s.LateBytes), s.function()))
		}
		live, late = live+s.LiveObjects, late+s.LateObjects
	}
	if t.Rate() != 1 && (live != st.LiveObjects || late != st.Late) {
		lines = append(lines, "sites are estimates from samples; with Options.Rate 1 each is named")
	}
	return lines
}

// function returns the name of a site's innermost function without its path.
func (s Site) function() string {
	if len(s.Frames) == 0 || s.Frames[0].Function == "" {
		return "an unknown function"
	}
	name := s.Frames[0].Function
	return name[strings.LastIndexByte(name, '/')+1:]
}

// human returns bytes in units of 1024.
func human(bytes int64) string {
	if bytes < 0 {
		return "-" + humanize.IBytes(uint64(-bytes))
	}
	return humanize.IBytes(uint64(bytes))
}
