package drvtest

import (
	"flag"
	"fmt"
	"sync"
	"testing"
)

// The driver that tests run on.
var choice = flag.String("driver", "auto", "what tests open: real, standin, or auto: real if there is one")

// A Driver is the driver that a test got.
type Driver struct {
	Path    string   // for cudadrv.OpenAt
	StandIn *StandIn // nil on the real driver
}

// Real reports whether it is the machine's.
func (d Driver) Real() bool { return d.StandIn == nil }

// Choose returns the driver that the flag -driver selects. usable says whether the real one works here. Every
// stand-in is a fresh one. The test's log says which it is.
func Choose(tb testing.TB, library string, usable func() error) Driver {
	tb.Helper()
	if *choice != "standin" {
		err := usable()
		if err == nil {
			say(tb, library+" of this machine")
			return Driver{Path: library}
		}
		if *choice == "real" {
			tb.Fatalf("-driver=real: %v", err)
		}
	}
	say(tb, "stand-in")
	return OpenStandIn(tb, Options{})
}

// OpenStandIn returns a fresh stand-in whatever the flag says, for tests that make it fail or look at its
// books. The settings, names and int values in turn, are made before anybody opens it: see [StandIn.Set].
func OpenStandIn(tb testing.TB, o Options, settings ...any) Driver {
	tb.Helper()
	path := Build(tb, o)
	s := Load(tb, path)
	for i := 0; i < len(settings); i += 2 {
		s.Set(tb, settings[i].(string), int64(settings[i+1].(int)))
	}
	return Driver{Path: path, StandIn: s}
}

// said keeps the line from a benchmark's every round.
var said sync.Once

// say logs which driver it is. Results of benchmarks get it as a line of their configuration.
func say(tb testing.TB, driver string) {
	tb.Helper()
	if _, ok := tb.(*testing.B); ok {
		said.Do(func() { fmt.Println("driver: " + driver) })
		return
	}
	tb.Log("driver: " + driver)
}
