package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/bench/trace"
)

func TestServe(t *testing.T) {
	// 40 MiB are live at most.
	s := &trace.Steps{Name: "small", Streams: 2, Places: 2, All: []trace.Step{{Place: 0, Size: 20 << 20},
		{Place: 1, Stream: 1, Size: 20 << 20}, {Place: 0, Size: -1}, {Place: 1, Stream: 1, Size: -1}}}
	require.NoError(t, s.Write(t.TempDir()))
	const number = `[0-9]+(\.[0-9]+)?`
	for question, answer := range map[string]string{
		"pair shape=one sizes=256 ms=1":           `ok ns=` + number + ` n=[0-9]+000 allocs=0.0[0-9]*`,
		"pair shape=live8 sizes=256,512 ms=1":     `ok ns=.*`,
		"pair shape=deep sizes=256 ms=1":          `ok ns=.*`,
		"pair shape=alternate sizes=256,512 ms=1": `ok ns=.*`,
		"pair shape=round sizes=256 ms=1":         `error there is no shape "round" of 1 sizes`,
		"first size=1048576":                      `ok ns=[0-9]+ new=[0-9]+ reserved=2097152 taken=2097152`,
		"trace file=" + s.File + " replays=3 ms=1000": `ok cold=` + number + ` ns=(` + number +
			`,?){3} reserved=41943040 taken=41943040 calls=[0-9]+(,0){4}`,
		"trace file=" + s.File + " limit=20971520": "error 1 allocations found no memory",
		"limit file=" + s.File + " free=20971520":  "ok done=0.2500",
		"limit file=" + s.File + " free=41943040":  "ok done=1.0000",
		"trace file=none":                          "error open none: .*",
		"copy dir=in size=1000 fresh=0 ms=0":       `ok ns=[0-9]+,[0-9]+,[0-9]+`,
		"copy dir=out size=1000 fresh=1 ms=0":      `ok ns=[0-9]+,[0-9]+,[0-9]+`,
		"early program=loop batch=1": `ok cpu=(\d+,?){4} cycles=(\d+,?){4} late=\d+,0,0,0 ` +
			`mean=\S+ peak=\d+,262144,262144,262144 wall=(\d+,?){4}`,
		"early program=none": `error early: no form "collector" of program "none"`,
		"sing":               "error it does not answer sing",
	} {
		var w bytes.Buffer
		require.NoError(t, serve("lastuse-host", strings.NewReader(question), &w))
		first, rest, _ := strings.Cut(w.String(), "\n")
		assert.Equal(t, "ok lastuse-host", first)
		assert.Regexp(t, "^"+answer+"\n$", rest, question)
	}
	for _, kind := range []string{"tight", "fast", "nosites", "bare"} {
		var w bytes.Buffer
		name := "lastuse-host-" + kind
		require.NoError(t, serve(name, strings.NewReader("pair shape=one sizes=256 ms=1"), &w))
		require.Regexp(t, "^ok "+name+"\nok ns=", w.String())
	}
	var w bytes.Buffer
	require.Error(t, serve("lastuse-moon", strings.NewReader(""), &w))
	require.Equal(t, "error device \"moon\" is neither cuda nor host\n", w.String())
}
