package escape

// Sanity: the state of a path, and the way back to where it forked.

// A thing is one buffer that came into being on a path.
type thing struct {
	site     *value
	inserted bool // freed by a planned statement
	freed    bool // freed by the program
	gone     bool // escaped, returned, left to a deferred call
	box      bool // a collection; inside is what it holds
	inside   []int
	sees     []int // things that it looks into while it owns something itself
	goneAt   *value
	deferred bool // a planned deferred call will free it
	bound    bool // in a method value that does more than to look at it
}

// A walk is the state of one path. All changes go through its methods: they note what
// was there before, so that the path can be taken back to a fork, as copying the state
// there would take the time of all that came before for each fork.
type walk struct {
	vals    map[*value][]int // things a value leads to
	places  map[*place][]int
	things  []thing
	known   map[*value]tri // "is not nil", for errors and tested values
	truth   map[*value]tri
	visited map[[2]int]int

	log []change
}

// A change is what one part of the state was before.
type change struct {
	part  part
	v     *value
	place *place
	edge  [2]int
	had   bool // there was something
	ts    []int
	t     tri
	n     int
	thing thing
}

type part uint8

const (
	inVals part = iota
	inPlaces
	inKnown
	inTruth
	inVisited
	newThing
	oldThing
)

func newWalk() *walk {
	return &walk{vals: map[*value][]int{}, places: map[*place][]int{}, known: map[*value]tri{}, truth: map[*value]tri{}, visited: map[[2]int]int{}}
}

// back takes the path back to where its log had n entries.
func (w *walk) back(n int) {
	for i := len(w.log) - 1; i >= n; i-- {
		switch c := &w.log[i]; c.part {
		case inVals:
			restore(w.vals, c.v, c.ts, c.had)
		case inPlaces:
			restore(w.places, c.place, c.ts, c.had)
		case inKnown:
			restore(w.known, c.v, c.t, c.had)
		case inTruth:
			restore(w.truth, c.v, c.t, c.had)
		case inVisited:
			restore(w.visited, c.edge, c.n, c.had)
		case newThing:
			w.things = w.things[:len(w.things)-1]
		case oldThing:
			w.things[c.n] = c.thing
		}
	}
	w.log = w.log[:n]
}

func restore[K comparable, V any](m map[K]V, k K, v V, had bool) {
	if had {
		m[k] = v
	} else {
		delete(m, k)
	}
}

func (w *walk) leadsTo(v *value, ts []int) {
	old, had := w.vals[v]
	w.log = append(w.log, change{part: inVals, v: v, ts: old, had: had})
	w.vals[v] = ts
}

func (w *walk) put(p *place, ts []int) {
	old, had := w.places[p]
	w.log = append(w.log, change{part: inPlaces, place: p, ts: old, had: had})
	w.places[p] = ts
}

func (w *walk) know(v *value, t tri) {
	old, had := w.known[v]
	if old == t {
		return
	}
	w.log = append(w.log, change{part: inKnown, v: v, t: old, had: had})
	w.known[v] = t
}

func (w *walk) hold(v *value, t tri) {
	old, had := w.truth[v]
	if old == t {
		return
	}
	w.log = append(w.log, change{part: inTruth, v: v, t: old, had: had})
	w.truth[v] = t
}

func (w *walk) visit(b *block, i int) {
	edge := [2]int{b.id, i}
	old, had := w.visited[edge]
	w.log = append(w.log, change{part: inVisited, edge: edge, n: old, had: had})
	w.visited[edge] = old + 1
}

// add returns the index of a new thing.
func (w *walk) add(t thing) int {
	w.log = append(w.log, change{part: newThing})
	w.things = append(w.things, t)
	return len(w.things) - 1
}

// change returns thing i, to be changed.
func (w *walk) change(i int) *thing {
	w.log = append(w.log, change{part: oldThing, n: i, thing: w.things[i]})
	return &w.things[i]
}
