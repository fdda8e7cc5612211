package proof_test

const filledMap = `
var gm map[string]*B
var gw *B
var gi any

func keep(any)

func f(names []string) {
	m := map[string]*B{}
	for _, n := range names {
		b := Make()
		%s
	}
	%s
	for _, k := range slices.Sorted(maps.Keys(m)) {
		m[k].Use()
	}
	for _, b := range m { //F
		b.Free() //F
	} //F
	%s
	next()
}
`

// entries are what is done to a map.
var entries = []filling{
	{"plain", "", "", "", ""},
	{"deleted", "", "", `delete(m, "x")`, ""},
	{"clear", "", "", "", "clear(m)"},
	{"lookup", "", "", `if x, ok := m["a"]; ok { x.Use() }`, ""},
	{"all", "", "", "for k, v := range m { println(k); v.Use() }", ""},
	{"two keys", twice, `m[n] = b; m[n+"x"] = b`, "", ""},
	{"moved", twice, "", `m["a"] = m["b"]`, ""},
	{"kept", handed, "", `gw = m["a"]`, ""},
	{"kept map", theirs, "", "gm = m", ""},
	{"kept any", handed, "", `gi = m["a"]`, ""},
	{"kept any map", theirs, "", "gi = m", ""},
	{"kept func", theirs, "", `gi = func() { m["a"].Use() }`, ""},
	{"alias", named, "", "o := m", `o["a"].Use()`},
	{"clone", read, "", "o := maps.Clone(m)", `o["a"].Use()`},
	{"copied", theirs, "", "o := map[string]*B{}; maps.Copy(o, m)", `o["a"].Use()`},
	{"values", read, "", "o := slices.Collect(maps.Values(m))", "o[0].Use()"},
	{"values later", "it is used by a function that is not known", "",
		"o := maps.Values(m)",
		"for x := range o { x.Use() }"},
	{"all later", "it is used by a function that is not known", "",
		"o := maps.All(m)",
		"for _, x := range o { x.Use() }"},
	{"copied by hand", twice, "", "o := map[string]*B{}; for k, v := range m { o[k] = v }", `o["a"].Use()`},
	{"slice by hand", twice, "", "var o []*B; for _, v := range m { o = append(o, v) }", "o[0].Use()"},
	{"lookup after", named, "", "", `m["a"].Use()`},
	{"sorted after", "it is used by Keys", "",
		"",
		"for _, k := range slices.Sorted(maps.Keys(m)) { m[k].Use() }"},
	{"range after", named, "", "", "for _, v := range m { v.Use() }"},
	{"taken, deleted", named, "", `x := m["a"]; delete(m, "a")`, "x.Use()"},
	{"freed before", gone, "", `m["a"].Free()`, ""},
	{"freed after", named, "", "", "for _, v := range m { v.Free() }"},
	{"nil", empty, "", `m["a"] = nil`, ""},
	{"nil var", empty, "", `var z *B; m["a"] = z`, ""},
	{"nil lookup", twice, "", `m["a"] = m["c"]`, ""},
	{"goroutine", runs, "", `go func() { m["a"].Use() }()`, ""},
	{"deferred", named, "", `defer func() { m["a"].Use() }()`, ""},
	{"unknown", theirs, "", "keep(m)", ""},
	{"sortedfunc keeps", theirs, "",
		"_ = slices.SortedFunc(maps.Values(m), func(a, b *B) int { gw = a; return 0 })",
		""},
	{"collect all", theirs, "", "o := maps.Collect(maps.All(m))", `o["a"].Use()`},
	{"keys func", theirs, "", "ks := maps.Values(m); gi = ks", ""},
	{"literal", named, "", "get := func(k string) *B { return m[k] }", `get("a").Use()`},
	{"own iterator", handed, "",
		"it := func(yield func(string) bool) { for k, v := range m { gw = v; yield(k) } }; _ = slices.Sorted(it)",
		""},
	{"own iterator doubles", twice, "",
		`it := func(yield func(string) bool) { m["x"] = m["y"] }; _ = slices.Sorted(it)`,
		""},
	{"foreign", theirs, "", `m["g"] = gw`, ""},
	{"view", used, "", `v := m["a"].View()`, "v.Use()"},
	{"in struct", named, "", "o := struct{ m map[string]*B }{m}", `o.m["a"].Use()`},
	{"in map", named, "", "o := map[int]map[string]*B{0: m}", `o[0]["a"].Use()`},
	{"any assert", named, "", "var o any = m", `o.(map[string]*B)["a"].Use()`},
	{"any elem", named, "", `var o any = m["a"]`, "o.(*B).Use()"},
	{"channel", named, "", `o := make(chan *B, 1); o <- m["a"]`, "(<-o).Use()"},
}

// mapsElse are other programs that fill a map, and are wrong.
var mapsElse = []whole{
	{"in loop", "the loop that frees it may run again", `
func f(names []string) {
	m := map[string]*B{}
	for _, n := range names {
		m[n] = Make()
		for _, b := range m { //F
			b.Free() //F
		} //F
	}
}
`},
	{"keys are handles", read, `
func f(n int) {
	m := map[*B]*B{}
	for range n {
		b := Make()
		m[b] = b
	}
	for _, b := range m { //F
		b.Free() //F
	} //F
	for k := range m {
		k.Use()
	}
}
`},
	{"keys lead there", read, `
type pos struct{ b *B }

func f(n int) {
	m := map[pos]*B{}
	for range n {
		b := Make()
		m[pos{b}] = b
	}
	for _, b := range m { //F
		b.Free() //F
	} //F
	for k := range m {
		k.b.Use()
	}
}
`},
	{"one of the keys is taken", named, `
func f() {
	m := map[*B]int{}
	b := Make()
	m[b] = 1
	m[nil] = 2
	var last *B
	for k := range m {
		if k != nil {
			last = k
		}
	}
	b.Free() //F
	last.Use()
}
`},
	{"keys lead there by any", read, `
func f(n int) {
	m := map[any]*B{}
	for range n {
		b := Make()
		m[b] = b
	}
	for _, b := range m { //F
		b.Free() //F
	} //F
	for k := range m {
		k.(*B).Use()
	}
}
`},
	{"keys become values", twice, `
func f(n int) {
	m := map[*B]*B{}
	for range n {
		m[Make()] = Make()
	}
	for k := range m {
		m[k] = k
	}
	for _, b := range m { //F
		b.Free() //F
	} //F
	for k := range m {
		k.Use()
	}
}
`},
	{"values become keys", read, `
func f(n int) {
	m := map[*B]*B{}
	for range n {
		m[Make()] = Make()
	}
	for _, v := range m {
		m[v] = Make()
	}
	for _, b := range m { //F
		b.Free() //F
	} //F
	for k := range m {
		k.Use()
	}
}
`},
	{"pointer keys", twice, `
type cell struct{ b *B }

func f(n int) {
	m := map[*cell]*B{}
	for range n {
		c := &cell{Make()}
		m[c] = c.b
	}
	for _, b := range m { //F
		b.Free() //F
	} //F
	for k := range m {
		k.b.Use()
	}
}
`},
}
