package proof_test

// channelPairs show what is known of a channel that nobody else has: it is memory, and who receives gets one
// of what was sent.
var channelPairs = []pair{
	{"what is freed is sent on a channel of others", `
func f(c chan *V) {
	b := Make()
	v := b.View()
	b.Free() //F
	c <- nil
	_ = v
}
`, `
func f(c chan *V) {
	b := Make()
	v := b.View()
	b.Free() //F
	c <- v
}
`, "put where others may use it"},
	{"it was sent on a channel of the function's own", `
func f() {
	b := Make()
	ch := make(chan *B, 1)
	ch <- b
	x := <-ch
	x.Use()
	b.Free() //F
}
`, `
func f() {
	b := Make()
	ch := make(chan *B, 1)
	ch <- b
	b.Free() //F
	x := <-ch
	x.Use()
}
`, "its name is read"},
	{"others have the channel", `
func f() {
	b := Make()
	ch := make(chan *B, 1)
	ch <- b
	println(len(ch))
	b.Free() //F
}
`, `
func f() {
	b := Make()
	ch := make(chan *B, 1)
	keeps(ch)
	ch <- b
	b.Free() //F
}

var got chan *B

func keeps(ch chan *B) { got = ch }
`, "handed to somebody"},
	{"who receives frees it", `
func f() {
	b := Make()
	ch := make(chan *B, 1)
	ch <- b
	(<-ch).Use()
	b.Free() //F
}
`, `
func f() {
	b := Make()
	ch := make(chan *B, 1)
	ch <- b
	(<-ch).Free()
	b.Free() //F
}
`, "may have freed it before"},
	{"a goroutine receives", "", `
func f() {
	b := Make()
	ch := make(chan *B, 1)
	go func() { (<-ch).Use() }()
	ch <- b
	b.Free() //F
}
`, "goroutine"},
	{"a goroutine sends, and goes on", `
func f() {
	var wg sync.WaitGroup
	ch := make(chan int, 1)
	b := Make()
	wg.Go(func() { ch <- b.Sum() })
	wg.Wait()
	b.Free() //F
}
`, `
func f() {
	ch := make(chan *B, 1)
	go func() {
		b := Make()
		ch <- b
		b.Use()
	}()
	x := <-ch
	x.Use()
	if x != nil { //F
		x.Free() //F
	} //F
}
`, ""},
	{"it is closed", "", `
func f() {
	ch := make(chan *B, 1)
	ch <- Make()
	close(ch)
	<-ch
	x := <-ch
	x.Use()
	x.Free() //F
}
`, "may be nil"},
	{"it is returned", "", `
func f() chan *B {
	ch := make(chan *B, 1)
	b := Make()
	ch <- b
	b.Free() //F
	return ch
}
`, "it is returned"},
	{"an older one is in it", `
func f() {
	ch := make(chan *B, 1)
	for range 3 {
		b := Make()
		ch <- b
		(<-ch).Use()
	}
	c := Make()
	c.Use()
	c.Free() //F
}
`, `
func f() {
	ch := make(chan *B, 2)
	for range 3 {
		b := Make()
		ch <- b
		b.Free() //F
		if len(ch) == 2 {
			(<-ch).Use()
		}
	}
}
`, "its name is read"},
	{"it is in a struct that somebody has", "", `
type box struct{ ch chan *B }

var boxes []*box

func f() {
	x := &box{make(chan *B, 1)}
	boxes = append(boxes, x)
	b := Make()
	x.ch <- b
	b.Free() //F
}
`, "handed to somebody"},
	{"a channel of channels", "", `
func f() {
	outer := make(chan chan *B, 1)
	inner := make(chan *B, 1)
	outer <- inner
	b := Make()
	inner <- b
	b.Free() //F
	(<-<-outer).Use()
}
`, "its name is read"},
	{"one of another type in it", "", `
func f() {
	ch := make(chan any, 1)
	b := Make()
	ch <- b
	b.Free() //F
	(<-ch).(*B).Use()
}
`, ""},
}
