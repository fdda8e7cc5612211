package proof_test

// namedPairs show which names may be made for what a statement computes, and beside which statements these
// and frees may stand.
var namedPairs = []pair{
	{"a free stands behind a label", `
func f(n int) {
	b := Make()
	b.Use()
	if n > 3 {
		goto out
	}
	next()
out:
	b.Free() //F
	next()
}
`, `
func f(n int) {
	b := Make()
	b.Use()
again:
	b.Free() //F
	if next() > n {
		goto again
	}
}
`, "freed before"},
	{"the results of a call go to a header by names", `
func f() {
	b, failed := Try() //F
	if x, err := b, failed; err == nil { //F
	if x, err := Try(); err == nil { //O
		x.Use()
		b.Free() //F
		next()
	}
}
`, `
func f() {
	b, failed := Try() //F
	c, _ := Try() //F
	if x, err := c, failed; err == nil { //F
	if x, err := Try(); err == nil { //O
		x.Use()
		b.Free() //F
		next()
	}
}
`, "in more than frees"},
	{"the results of a call go to a call by names", `
func f() {
	b := Make()
	x, y := two(b) //F
	b.Free() //F
	add(x, y) //F
	add(two(b)) //O
}

//lastuse:effect args borrowed
func two(b *B) (int, int)
`, `
func f() {
	b := Make()
	x, y := two(b) //F
	b.Free() //F
	add(y, x) //F
	add(two(b)) //O
}

//lastuse:effect args borrowed
func two(b *B) (int, int)
`, "in more than frees"},
	{"a result that was dropped gets a name beside one that is declared", `
func f() error {
	_, err := Try() //O
	b, err := Try() //F
	if b != nil { //F
		b.Free() //F
	} //F
	return err
}
`, `
func f(b *B) error {
	_, err := Try() //O
	b, err := Try() //F
	if b != nil { //F
		b.Free() //F
	} //F
	return err
}
`, "a name that was made is not new"},
	{"a literal sets a field of what a variable leads to, and not the variable", tells("*note", `t.n = 1`),
		tells("*note", `t = nil`), "variable t, which others may change"},
	{"a literal sets a field of what a variable leads to, and not one of the variable", tells("*note", `t.n = 1`),
		tells("note", `t.n = 1`), "variable t, which others may change"},
	{"a name stands in front of a label that only leaves lead to", `
func f() {
	b0 := Make() //F
l:
	for b := Make(); next() > 0; b.Use() { //O
	for b := b0; next() > 0; b.Use() { //F
		for next() > 0 {
			continue l
		}
	}
	b0.Free() //F
}
`, `
func f() {
	b0 := Make() //F
l:
	for b := Make(); next() > 0; b.Use() { //O
	for b := b0; next() > 0; b.Use() { //F
		for next() > 0 {
			goto l
		}
	}
	b0.Free() //F
}
`, "a label that a goto leads to"},
	{"a result that was dropped gets a name beside one that is assigned", `
func f() (err error) {
	_, err = Try() //O
	b, err0 := Try() //F
	err = err0 //F
	if b != nil { //F
		b.Free() //F
	} //F
	return err
}
`, `
func f() (err, was error) {
	_, err = Try() //O
	b, err0 := Try() //F
	was = err0 //F
	if b != nil { //F
		b.Free() //F
	} //F
	return err, was
}
`, "in more than frees"},
	{"what is assigned beside a result that was dropped is all of it", `
func f() (n int, err error) {
	_, n, err = three() //O
	b, n0, err0 := three() //F
	n, err = n0, err0 //F
	if b != nil { //F
		b.Free() //F
	} //F
	return
}

//lastuse:effect result 0 owned on success
func three() (*B, int, error)
`, `
func f() (n int, err error) {
	_, n, err = three() //O
	b, n0, err0 := three() //F
	err = err0 //F
	if b != nil { //F
		b.Free() //F
	} //F
	_ = n0 //F
	return
}

//lastuse:effect result 0 owned on success
func three() (*B, int, error)
`, "in more than frees"},
	{"a name for a result that was dropped hides nothing that is read", `
func f() error {
	for next() > 0 {
		_, err := Try() //O
		b, err := Try() //F
		if b != nil { //F
			b.Free() //F
		} //F
		if err != nil {
			return err
		}
	}
	return nil
}
`, `
func f() error {
	b := Make()
	for next() > 0 {
		_, err := Try() //O
		b, err := Try() //F
		if b != nil { //F
			b.Free() //F
		} //F
		if err != nil {
			b.Use()
			return err
		}
	}
	b.Free()
	return nil
}
`, "takes the place of another"},
	{"results in a statement that drops one", `
//lastuse:effect args borrowed, result 0 owned
func step(n int, b *B) *B

func f() {
	step(1, step(1, Make())) //O
	b := Make() //F
	b0 := step(1, b) //F
	b.Free() //F
	b1 := step(1, b0) //F
	b0.Free() //F
	b1.Free() //F
}
`, `
//lastuse:effect args borrowed, result 0 owned
func step(n int, b *B) *B

func f() {
	step(next(), step(1, Make())) //O
	b := Make() //F
	b0 := step(1, b) //F
	b.Free() //F
	b1 := step(next(), b0) //F
	b0.Free() //F
	b1.Free() //F
}
`, "a call comes before"},
	{"a result that is dropped, of a call of one operand", `
//lastuse:effect args borrowed, result 0 owned
func step(b *B) *B

func f() {
	b, c := Make(), Make()
	step(b) //O
	b0 := step(b) //F
	b0.Free() //F
	c.Use()
	b.Use()
}
`, `
//lastuse:effect args borrowed, result 0 owned
func step(b *B) *B

func f() {
	b, c := Make(), Make()
	step(b) //O
	b0 := step(c) //F
	b0.Free() //F
	c.Use()
	b.Use()
}
`, "in more than frees"},
	{"a free is taken out in front of a statement that looks like one", takesOut(`b.Use()`), takesOut(`b.Free()`),
		"may have freed it before"},
}

// takesOut returns a function of which a free stands earlier.
func takesOut(behind string) string {
	return `
func f() {
	a, b := Make(), Make()
	a.Use()
	a.Free() //F
	next()
	a.Free() //O
	` + behind + `
	next()
	b.Free() //F
}
`
}

// tells is a function in which a name moves in front of a variable that a literal does something to.
func tells(of, does string) string {
	return `
type note struct{ n int }

func tell(t ` + of + `, n int)

func f(t ` + of + `) {
	set := func() { ` + does + ` }
	set()
	tell(t, Make().Sum()) //O
	b := Make() //F
	tell(t, b.Sum()) //F
	b.Free() //F
}
`
}
