package main

import (
	_ "embed"
	"fmt"
	"io"
	"strings"
)

//go:embed main.go
var source string

// usage is the package comment: one text for the manual and for -h.
var usage = manual(source)

// manual returns the package comment at the head of a Go file.
func manual(src string) string {
	var b strings.Builder
	for line := range strings.Lines(src) {
		text, ok := strings.CutPrefix(line, "//")
		if !ok {
			break
		}
		b.WriteString(strings.TrimPrefix(text, " "))
	}
	return b.String()
}

// help prints the manual, or what it says of one command, and returns the status.
func help(w, wErr io.Writer, command string) int {
	text := usage
	if command != "" {
		var ok bool
		if text, ok = manuals[command]; !ok {
			fmt.Fprintf(wErr, "memwatch: no command %q\n", clean(command))
			return exitUsage
		}
		text = strings.TrimPrefix(text, "\n") + "\n'memwatch help' lists the flags that all commands share.\n"
	}
	if _, err := io.WriteString(w, text); err != nil {
		return exitError
	}
	return exitOK
}

// manuals says of each command what it does and which flags are its own.
var manuals = map[string]string{
	"help": `
Usage: memwatch help [COMMAND]

Prints the manual, or what it says of one command.
`,
	"sites": `
Usage: memwatch sites [-p PID] [-older DURATION] [-top N] [-o FORMAT]

Prints call sites by the bytes that they hold, as the tables of programs that use
lastuse tell them. With -driver, or for a process that has no table and uses a driver,
what is allocated while memwatch watches.

	memwatch sites -p 4711 -o folded | flamegraph.pl > heap.svg
	memwatch sites -p 4711 -o pprof > heap.pb.gz && go tool pprof -http : heap.pb.gz
`,
	"leaks": `
Usage: memwatch leaks [-p PID] [-older DURATION] [-fail-over SIZE]

Prints call sites that still hold memory. With -fail-over the exit status is 3 if that is
more than SIZE, with -older only what is at least so old counts. Where the driver's calls are
watched, only suspects are printed, each with the reason: never freed, growing, or kept
far longer than that site used to.

	memwatch leaks -p 4711 -older 5m -fail-over 64MiB
`,
	"top": `
Usage: memwatch top [-p PID]

The terminal interface on every process that uses a GPU, or on those of -p. It is what
memwatch alone shows at a terminal. Not at a terminal it prints what it saw in the delay and
ends, or with -n after so many prints. Without rights it shows the tables of your own programs,
and in a line what rights would add; 'memwatch demo' shows all of it.
`,
	"run": `
Usage: memwatch run [FLAGS] -- PROGRAM [ARGUMENTS]

Starts a program, watches it from its first call of a driver, reads its table, and prints at
its end what it held then. The program is stopped before its first instruction until the
probes are there. Under sudo it runs as the user who called sudo, without any rights. Where
probes are not to be had only the table is read.

	memwatch run -fail-over 0 -- ./app        status 3 if it ends with memory live
	memwatch run -o json -- ./app             the figures for another program

The status is 1 if the program fails, and with -fail-over 4 if the limit was kept by what was
seen and not all was seen. A driver's library is looked for where the loader finds it
(LD_LIBRARY_PATH, RUNPATH, what the program needs, the loader's cache); one that is loaded by its
path is named with -lib.
`,
	"record": `
Usage: memwatch record FILE [-p PID] [-for DURATION] [-limit SIZE]

Keeps every event in a file that replay, and serve -replay, show later. The file is new,
readable by its owner alone, and no link is followed. It ends with Ctrl-C, with the
processes of -p, after -for, or at -limit (1 GiB unless said). If memwatch is killed the file is good up
to a second before.
`,
	"replay": `
Usage: memwatch replay FILE [-speed N] [-o FORMAT]

Shows a recording: at a terminal as it happened, N times as fast; otherwise its end, in any
format. A file that is cut off or damaged is shown up to there, with the offset, and a limit that is
kept by what was read is not known to be kept (status 4). One that is still being written is shown up to
now, and at a terminal then as it comes.
`,
	"diff": `
Usage: memwatch diff BEFORE AFTER [-fail-over SIZE] [-o FORMAT]

Prints what grew between two recordings, or two snapshots (the key s of the terminal interface, or
-o json -top 0), or one of each: by process, and by call site what grew most first. Of a recording its end
counts, or with a time behind its name how it was so long after its first event. A process that is in both
is compared with itself, others by their names: two runs of a program are compared. With -fail-over the status
is 3 if the processes that grew did so by more than SIZE, and 4 if that is not known. Of a process that has
ended counts what it held at its end.

	memwatch diff session@10s session@60s
	memwatch diff yesterday.json today.json -fail-over 1MiB
`,
	"serve": `
Usage: memwatch serve [-p PID] [-listen ADDRESS] [-host NAME] [-token-file FILE] [-history FILE] [-replay FILE]

A page for the browser, with charts and a flame graph of live bytes, and metrics for
Prometheus at /metrics. The address printed holds a random token, without which nothing is
answered; -token-file names one that programs may know, who send it as a bearer token. It is reached
from elsewhere with -listen 0.0.0.0:8765, by its address, or by the names that -host allows.
What processes had live is remembered for six hours; with -history in a file as well, for the
next one who serves.
`,
	"check": `
Usage: memwatch check [-lib FILE]

Tells what is needed to watch a driver's calls, what is missing, and what to do about it:
the kernel, its types, rights, whether probes really run, and the libraries with the price
of a probe in each. The status is 1 if something is missing.
`,
	"version": `
Usage: memwatch version

Prints the version of memwatch, and of the Go that it was built with.
`,
	"demo": `
Usage: memwatch demo [-speed N] [-o FORMAT]

The terminal interface on a recorded session, which takes no rights. Not at a terminal, or
with -once or -o, its end is printed.
`,
}
