package p

type point struct{ x, y int }

func (p *point) move()    { p.x++ }
func (p point) sum() int  { return p.x + p.y }
func give() (int, error)  { return 1, nil }
func where() *int         { return nil }
func each(do func(i int)) { do(1) }
func use(...any)          {}

func declared(param int) (result int) {
	var zero int
	var given = 1
	short := given
	a, err := give()
	b, err := give()
	short += a
	zero++
	*where() = b
	use(err, param)
	return short + zero
}

func parts() {
	var own point
	own.x = 1
	ptr := &point{}
	ptr.x = 2
	(*ptr).y = 3
	arr := [3]point{}
	arr[1].x = 4
	sl := []point{{}}
	sl[0].x = 5
	m := map[int]int{}
	m[1]++
	_ = own
	use(ptr, arr, sl, m)
}

func addresses() {
	var v, byMethod, byValue point
	p := &v
	q := &p.x
	byMethod.move()
	use(byValue.sum())
	p.move()
	arr := [4]int{}
	tail := arr[1:]
	again := tail[1:]
	use(q, again)
}

func loops(xs []int, ch chan int) {
	for i := 0; i < 3; i++ {
		use(i)
	}
	for i, x := range xs {
		use(i, x)
	}
	var k int
	for k = range xs {
		use(k)
	}
	select {
	case k = <-ch:
	}
	use(len(xs))
}

func elements(i int) {
	pair := [2]*int{nil, nil}
	pair[0], pair[1] = where(), where()
	moving := [2]*int{nil, nil}
	moving[i] = nil
	lent := [2]*int{nil, nil}
	use(&lent[0])
	whole := [2]*int{nil, nil}
	use(whole, pair[0], len(pair))
	var zero [2]*int
	for range zero {
	}
	zero = [2]*int{nil, nil}
}

func kinds(x any) {
	switch y := x.(type) {
	case int:
		use(y)
	}
	f := where
	f()
	call(f)
}

func call[T any](f func() T) { f() }
