package p

func use(...any) {}

var global = func() { hook() }
var hook func()

func captures() {
	kept, set := 1, 2
	f := func() int {
		set = 3
		inner := kept
		return func() int { return inner }()
	}
	go use(kept)
	defer f()
	use(func() { *here() = 1 })
	use(func(p *int) { p = nil; use(p) })
}

func here() *int { return nil }

type state struct{ done, failed bool }

func flags(given *state) {
	done := false
	byName, byLiteral, byDeferred, lent := false, false, false, false
	set := func() { byName = true }
	st := &state{}
	handed := &state{}
	defer func() {
		if !done && !byName && !byLiteral && !byDeferred && !lent && !st.done && !handed.done && !given.done {
			use()
		}
		byDeferred = true
	}()
	set()
	func() { byLiteral = true }()
	use(&lent)
	use(handed)
	st.done, st.failed = true, false
	done = true
}

func escaping() {
	byHanded := false
	set := func() { byHanded = true }
	use(set)
	defer func() { use(byHanded) }()
}
