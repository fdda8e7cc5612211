//go:build ignore

// Skips reads the output of `go test -json`, prints what failed and what was
// skipped with the reason, and fails on a skip that no line of the allow file
// expects: a test that silently stops running is a test that is gone.
//
//	go run .ci/skips.go -allow .ci/skips.txt race.json
//
// A line of the allow file is a regular expression matched against
// "PACKAGE TEST: REASON"; empty lines and lines starting with # are comments.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
)

type event struct {
	Action, Package, Test, Output string
}

func main() {
	allow := flag.String("allow", "", "file of expected skips")
	flag.Parse()
	if err := run(*allow, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "skips:", err)
		os.Exit(1)
	}
}

func run(allow, name string) error {
	expected, err := patterns(allow)
	if err != nil {
		return err
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	var (
		output         = map[string][]string{} // test → what it printed
		passed, failed int
		skips          []string
		unexpected     int
	)
	dec := json.NewDecoder(bufio.NewReaderSize(f, 1<<20))
	for {
		var e event
		if err := dec.Decode(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		key := e.Package + " " + e.Test
		switch e.Action {
		case "output", "build-output":
			output[key] = append(output[key], e.Output)
		case "pass":
			if e.Test != "" {
				passed++
			}
			delete(output, key)
		case "fail", "build-fail":
			failed++
			fmt.Printf("FAIL %s\n%s", key, strings.Join(output[key], ""))
		case "skip":
			if e.Test == "" { // a package without tests
				break
			}
			skips = append(skips, key+": "+reason(output[key]))
		}
	}
	slices.Sort(skips)
	for _, s := range skips {
		mark := "skip"
		if !slices.ContainsFunc(expected, func(re *regexp.Regexp) bool { return re.MatchString(s) }) {
			mark = "UNEXPECTED SKIP"
			unexpected++
		}
		fmt.Println(mark, s)
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", passed, failed, len(skips))
	switch {
	case unexpected > 0:
		return fmt.Errorf("%d skips that %s does not expect", unexpected, allow)
	case failed > 0:
		return fmt.Errorf("%d failures", failed)
	case passed == 0:
		return errors.New("no test ran")
	}
	return nil
}

// How a test says it, and a script.
var (
	skipLine   = regexp.MustCompile(`^\s+\S+\.go:\d+: (.*)`)
	scriptLine = regexp.MustCompile(`^\s+> .*\bskip '(.*)'`)
)

// reason returns what the test said when it skipped itself.
func reason(lines []string) string {
	for _, l := range slices.Backward(lines) {
		for _, re := range []*regexp.Regexp{scriptLine, skipLine} {
			if m := re.FindStringSubmatch(l); m != nil {
				return strings.TrimSpace(m[1])
			}
		}
	}
	return "no reason given"
}

func patterns(name string) ([]*regexp.Regexp, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var res []*regexp.Regexp
	for i, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		re, err := regexp.Compile(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, i+1, err)
		}
		res = append(res, re)
	}
	return res, nil
}
