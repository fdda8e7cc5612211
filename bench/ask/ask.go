// Package ask is what passes between bench/report and the allocators that it asks, each in a process of its
// own: lines of text.
//
// A question is a word with values, "pair shape=one sizes=256 ms=20"; an answer begins with ok or error.
// bench/peers/peer.hpp says the same to the peers in C++, and lists the questions that all of them answer.
package ask

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Line is a question or an answer: a word, and values by key.
type Line struct {
	Word   string
	Values map[string]string
}

// Parse reads a line.
func Parse(text string) Line {
	l := Line{Values: map[string]string{}}
	for i, f := range strings.Fields(text) {
		if key, value, ok := strings.Cut(f, "="); ok {
			l.Values[key] = value
		} else if i == 0 {
			l.Word = f
		}
	}
	return l
}

// Number returns a value, or otherwise where the line has none.
func (l Line) Number(key string, otherwise int64) int64 {
	n, err := strconv.ParseInt(l.Values[key], 10, 64)
	if err != nil {
		return otherwise
	}
	return n
}

// List returns the numbers of a value, between which are commas.
func (l Line) List(key string) (all []float64) {
	for s := range strings.SplitSeq(l.Values[key], ",") {
		if x, err := strconv.ParseFloat(s, 64); err == nil {
			all = append(all, x)
		}
	}
	return all
}

// At returns one of the numbers of a value, NaN if there are fewer.
func (l Line) At(key string, i int) float64 {
	if all := l.List(key); i < len(all) {
		return all[i]
	}
	return math.NaN()
}

// Median returns the middle of some numbers, NaN of none.
func Median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// Serve says that the peer with this name is there, and answers questions until there are no more.
func Serve(name string, in io.Reader, out io.Writer, answer func(Line) (string, error)) error {
	fmt.Fprintf(out, "ok %s\n", name)
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if a, err := answer(Parse(lines.Text())); err != nil {
			fmt.Fprintf(out, "error %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
		} else {
			fmt.Fprintf(out, "ok %s\n", a)
		}
	}
	return lines.Err()
}
