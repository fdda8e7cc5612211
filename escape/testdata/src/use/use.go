package use // want package:`package use`

import "mem"

func workspace(n int) error { // want workspace:"proven"
	for i := range n {
		w, err := mem.New[float32](i) // want "unfreed|w is never freed"
		if err != nil {
			return err
		}
		w.Fill(i)
		println(i)
	}
	return nil
}

func branch(n int, likely bool) { // want branch:"proven"
	a, err := mem.New[int](n) // want "a is never freed"
	if err != nil {
		return
	}
	if likely {
		for i := range n {
			println("long", i)
		}
	} else {
		a.Fill(1)
	}
}

func early(n int) error { // want early:"proven"
	a, err := mem.Make(n) // want "a is not freed on the path through use.go:36"
	if err != nil {
		return err
	}
	if n > 10 {
		return nil
	}
	a.Fill(1)
	mem.Done(a)
	return nil
}

func lent(n int) { // want lent:"proven"
	a, err := mem.Make(n) // want "a is never freed"
	if err != nil {
		return
	}
	mem.Each(n, func(i int) { a.Fill(i) })
	println("done")
}

func used(n int) { // want used:"proven"
	a, err := mem.Make(n)
	if err != nil {
		return
	}
	a.Free()
	a.Fill(1) // want "a is used after it is freed at use.go:58"
	a.Free()  // want "a is freed twice: first at use.go:58"
}

// Negative: each line says why there is nothing to report.

func stored(n int) { // want stored:"proven"
	a, _ := mem.Make(n) // kept: mem.Keep stores it
	mem.Keep(a)
}

func returned(n int) (*mem.Buf, error) { // want returned:"proven"
	return mem.Make(n) // the caller owns it
}

func deferred(n int) { // want deferred:"proven"
	a, err := mem.Make(n) // freed at the end, and used until then
	if err != nil {
		return
	}
	defer a.Free()
	a.Fill(1)
}

func told(n int) { // want told:"proven"
	a, _ := mem.Make(n) //lastuse:keep the test wants it
	a.Fill(1)
}
