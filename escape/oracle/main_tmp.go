package main

import (
	"context"
	"fmt"
	"os"
	"time"
	"strconv"
)

func main() {
	t := time.Now()
	lo, _ := strconv.Atoi(os.Args[1])
	hi, _ := strconv.Atoi(os.Args[2])
	ps := programs(1, lo, hi)
	o := &Oracle{Rewriter: tool{"/tmp/oracle-lastuse"}, Options: RunOptions{4, 1}, Temp: "/tmp/oracle", Keep: true}
	os.RemoveAll("/tmp/oracle")
	os.MkdirAll("/tmp/oracle", 0o755)
	os.MkdirAll("/tmp/oracle/fail", 0o755)
	oc, err := o.Run(context.Background(), ps)
	fmt.Println("run", time.Since(t), err)
	n := map[Kind]int{}
	var all, freed, exact, left int
	reasons := map[string]int{}
	for _, x := range oc {
		for _, v := range x.Verdicts {
			if !v.Escapes && v.Seen {
				all++
				if v.Freed {
					freed++
				}
				if v.Exact {
					exact++
				}
				if v.Left {
					left++
				}
				if !v.Freed { reasons[x.Reasons[v.Site]]++ }
			}
		}
		for _, f := range x.Fails {
			n[f.Kind]++
			if f.Kind.Wrong() {
				if n[f.Kind] < 6 { fmt.Println(f) }
				os.WriteFile(fmt.Sprintf("/tmp/oracle/fail/%s-%d.txt", f.Kind, f.ID), []byte(f.String() + "\n" + describe(x) + x.Fixed), 0o644)
			}
		}
	}
	fmt.Println(n, all, freed, exact, left)
	for k, v := range reasons { if v > 0 { fmt.Println(v, head(k, 150)) } }
}
