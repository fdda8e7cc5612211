package escape

// Searches along the control flow.

// A turn is what a search makes of an instruction.
type turn uint8

const (
	goOn  turn = iota
	leave      // this path leads nowhere
	found      // the search is over
)

// search looks at each instruction that can be reached from instruction i of b, once,
// and reports whether one of them was found.
func search(b *block, i int, look func(v *value) turn) bool {
	seen := map[*block]bool{}
	type item struct {
		b *block
		i int
	}
	stack := []item{{b, i}}
next:
	for len(stack) > 0 {
		it := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, v := range it.b.instrs[it.i:] {
			switch look(v) {
			case found:
				return true
			case leave:
				continue next
			}
		}
		for _, s := range it.b.succs {
			if !seen[s] {
				seen[s] = true
				stack = append(stack, item{s, 0})
			}
		}
	}
	return false
}
