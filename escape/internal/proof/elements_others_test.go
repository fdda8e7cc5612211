package proof_test

// pointedElse are lists of others.
var pointedElse = []whole{
	{"one of which a number is set", "", `var ts []*T
for i := range n {
	t := MustT()
	t.n = i
	ts = append(ts, t)
}
FREE(ts)`},
	{"numbers of memory that owns nothing", "", `var ts []*T
k := []int{3, n}
for range n {
	ts = append(ts, withNumber(k))
}
FREE(ts)
print(k[0])`},
	{"a list beside it that is added to", "", `var ts []*T
g := &bag{}
for range n {
	ts = append(ts, MustT())
	g.add(Make())
}
FREE(ts)
print(len(g.bs))`},
	{"structs that share what owns nothing", "", `type item struct {
	b *B
	k *int
}
var ts []item
k := 3
for range n {
	ts = append(ts, item{Make(), &k})
}
for _, x := range ts { //F
	x.b.Free() //F
} //F
print(k)`},
	{"the first one, through a callee, each time", sameMemory, `var ts []*T
var first *T
for range n {
	t := MustT()
	if first == nil {
		first = t
	}
	u, _ := same(first)
	ts = append(ts, u)
}
FREE(ts)`},
	{"the elements of a literal, twice", sameMemory, `var ts []*T
l := []*T{MustT()}
ts = append(ts, l...)
ts = append(ts, l...)
FREE(ts)`},
	{"places that stay empty, of a type that has nothing to free then", "it may be nil", `ts := make([]*mild, n)
for i := range n {
	if i > 2 {
		ts[i] = newMild()
	}
}
FREE(ts)`},
	{"no empty places, of that type", "", `var ts []*mild
for range n {
	ts = append(ts, newMild())
}
FREE(ts)`},
	{"what one leads to gets what that of another owns", sameMemory, `var ts []*outer
for range n {
	ts = append(ts, newOuter())
}
u, v := ts[0].in, ts[1].in
u.b = v.b
FREE(ts)`},
}
