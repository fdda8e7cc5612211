package escape

// Flow: which values may be a buffer, share its memory or hold it, and what
// every use of them does. An object is one buffer at a time: a site, a
// parameter, or a phi into which each predecessor hands a buffer over.
//
// Members of an object are found by following every use of every member. A use
// that is not understood is an escape: there is no other way out of the switch.

import (
	"fmt"
	"go/types"
	"slices"
)

type memberKind uint8

const (
	mWhole  memberKind = iota // the handle itself, or a pointer to the variable that holds it
	mView                     // shares its memory, owns nothing
	mHolder                   // a struct, slice, literal or interface that holds the handle
	mMaybe                    // perhaps the handle: an element of a holder, a phi of several
)

type objectKind uint8

const (
	objSite objectKind = iota
	objParam
	objPhi
)

type eventKind uint8

const (
	evUse    eventKind = iota
	evFree             // the program frees it
	evMove             // ownership leaves: it escapes, is handed on
	evReturn           // returned
	evDefer            // a deferred call will free it
	evRetain           // one more free is owed
	evGive             // handed over to a collection
	evFill             // a collection that owned nothing gets its first element
)

// An object is one buffer at a time.
type object struct {
	id      int
	kind    objectKind
	def     *value
	members map[*value]memberKind
	order   []*value
	open    []*value           // members whose users are still to be visited
	events  map[*value][]event // by instruction
	from    map[*value]*value  // member → the member it came from, for paths
	told    map[*value]bool    // members of a plain type, or with plain parts, that are known addresses
	errRes  *value             // the error of the call that makes it
	okRes   *value             // the boolean of that call which is false where it makes nothing
	armed   bool
	partial bool             // may be owned where the error is not nil
	left    bool             // may be something that is not owned there
	mayNil  bool             // may be nil where the error is nil
	moves   map[*block][]int // owner phis: none here; objects moved on edges into phis
	nOwn    int              // members that come from def; the rest lead to elements
	coll    bool             // a collection: freed element by element
	apart   bool             // and one element is freed by its own name
	puts    []*value         // what puts it into a loose collection, in place
	complex string           // why it is not decided
	sink    *value
	holder  bool // its free is inferred: what it holds may also be freed piece by piece

	places []*place // that it is ever put into under its own name, each once; nil until asked for
	vars   []*types.Var

	group *group
	slot  int // index in group.objs
	buf   *Buffer
}

type flow struct {
	f      *fn
	p      *pkg
	objs   []*object
	byDef  map[*value]*object
	owner  map[*value]bool // phis that own
	live   map[*value]map[*block]bool
	useful map[*value]int8
	groups []*group

	elems  map[*value]bool       // elements of loops that discharge
	marks  map[*value]*discharge // and where these loops end
	stores map[*value][]*value   // collection → what is stored in its elements
	loose  map[*value]bool       // collections that own nothing
	idle   map[*value]bool       // and that nobody looks into

	loosened []looseTree // collections that could own as well

	users  map[*value][]*value  // origin → the phis and collections that it goes into, in order
	in     map[*value][]*object // value → the objects whose webs it was in
	held   map[*value][]*object // origin → the collections that it is stored in
	looked map[*value][]*object // owner → the objects whose webs asked for its object
	dead   bool                 // some of objs own no more
	phisAt map[*block][]*value  // the phis of a block that own, when all is decided

	freeing map[*block]bool // heads of loops that only free elements; nil until asked for

	emptied  map[string][]*value // field → what nil is stored in a field of that name of; nil until asked for
	pointers map[*root][]*value  // what gives a variable the address of a root; nil until asked for
}

func analyze(f *fn) *flow {
	w := &flow{f: f, p: f.p, byDef: map[*value]*object{}, owner: map[*value]bool{}, live: map[*value]map[*block]bool{}, useful: map[*value]int8{},
		elems: map[*value]bool{}, marks: map[*value]*discharge{}, stores: map[*value][]*value{}, loose: map[*value]bool{}, idle: map[*value]bool{}}
	if f.declined != "" {
		return w
	}
	w.discharges()
	w.sites()
	if len(w.objs) == 0 {
		return w
	}
	w.phis()
	for _, o := range w.objs {
		w.check(o)
	}
	w.group()
	return w
}

func (w *flow) add(k objectKind, def *value) *object {
	o := &object{id: len(w.objs), kind: k, def: def, holder: w.p.isHolder(def.typ0())}
	w.objs = append(w.objs, o)
	w.byDef[def] = o
	return o
}

// sites finds the values that come into being here, and the parameters.
func (w *flow) sites() {
	for _, v := range w.f.params {
		if !w.p.plain(v.typ0()) {
			w.add(objParam, v)
		}
	}
	for _, b := range w.f.rpo {
		for _, v := range b.instrs {
			switch v.op {
			case opOut:
				o := w.add(objSite, v)
				o.errRes = v.args[0].call.errRes
				if len(v.args) > 1 { // through a pointer that may be nil, or itself
					c := v.args[0].call
					if i := v.args[1].index; i < len(c.sum.Res) {
						o.mayNil = c.sum.Res[i].MayNil
						if c.sum.Res[i].Flagged {
							o.okRes = c.okRes
						}
					}
				}
			case opCall:
				for i, r := range v.call.results {
					if i < len(v.call.sum.Res) && v.call.sum.Res[i].Owned && len(v.call.sum.Res[i].Fields) == 0 {
						o := w.add(objSite, r)
						o.errRes = v.call.errRes
						o.armed = v.call.sum.Res[i].Armed
						o.partial, o.left = v.call.sum.Res[i].Partial, v.call.sum.Res[i].Left
						o.mayNil = v.call.sum.Res[i].MayNil
						if v.call.sum.Res[i].Flagged {
							o.okRes = v.call.okRes
						}
					}
				}
				if w.arms(v) {
					if d := origin(v.args[0]); w.byDef[d] == nil && (d.op == opPack || d.op == opAddr) {
						o := w.add(objSite, d)
						o.armed = true
					}
				}
			}
		}
	}
}

// arms reports whether v is a call of runtime.SetFinalizer or AddCleanup with
// a function that only releases what it is given.
func (w *flow) arms(v *value) bool {
	if v.fn == nil || v.fn.Pkg() == nil || v.fn.Pkg().Path() != "runtime" || len(v.args) < 2 {
		return false
	}
	if v.fn.Name() != "SetFinalizer" && (v.fn.Name() != "AddCleanup" || !w.p.isResource(v.args[0].typ0())) {
		return false
	}
	switch f := copied(v.args[1]); f.op {
	case opFunc, opBound:
		s := w.p.summaryOf(f.fn)
		return len(s.Args) > 0 && s.Args[0].Freed.K == Always && s.Args[0].Escapes.K == Never
	case opClosure:
		return w.p.litReleases(f.lit)
	}
	return false
}

// weakPointer reports whether v is weak.Make.
func weakPointer(v *value) bool {
	return v.fn != nil && v.fn.Pkg() != nil && v.fn.Pkg().Path() == "weak" && v.fn.Name() == "Make"
}

// disarms reports whether v is runtime.SetFinalizer(x, nil).
func disarms(v *value) bool {
	return v.fn != nil && v.fn.Pkg() != nil && v.fn.Pkg().Path() == "runtime" && v.fn.Name() == "SetFinalizer" &&
		len(v.args) == 2 && v.args[1].op == opNil
}

// origin strips what does not change the object.
func origin(v *value) *value {
	for {
		switch v.op {
		case opCopy:
			v = v.args[0]
			continue
		case opAddr:
			if len(v.args) == 1 && v.place != nil && len(v.place.root.leaves) == 1 && !isPointer(v.args[0].typ0()) {
				v = v.args[0]
				continue
			}
		case opResult:
			c := v.args[0]
			if v.index < len(c.call.sum.Res) {
				if r := c.call.sum.Res[v.index]; r.Must && r.Is != 0 && r.Is&(r.Is-1) == 0 {
					if j, ok := c.only(r.Is); ok {
						v = c.args[j]
						continue
					}
				}
			}
		}
		return v
	}
}

// only returns the one operand of call v that stands for an argument in mask. A
// variadic parameter may be given none or several: each is in the result then,
// and none of them is the result.
func (v *value) only(mask uint64) (operand int, ok bool) {
	for j := range v.args {
		if v.operandIs(j, mask) {
			if ok {
				return 0, false
			}
			operand, ok = j, true
		}
	}
	return operand, ok
}

// operandIs reports whether operand j of call v stands for an argument in mask.
func (v *value) operandIs(j int, mask uint64) bool {
	i := v.call.params[j]
	if i < -1 {
		return false
	}
	if v.call.sum.Recv {
		i++
	}
	return i >= 0 && i < 64 && mask>>i&1 == 1
}

const (
	byGoroutine = "used by another goroutine"
	onChannel   = "sent on a channel"
	toPool      = "put back into a pool"
	byView      = "a view of it is freed"
	byLent      = "freed by a function literal, which may be called once, several times or never"
	byClear     = "dropped by clear"
	byDelete    = "dropped by delete"
)

// path lists the stations from o's site to value v, for people.
func (w *flow) path(o *object, v *value) []Step {
	var steps []Step
	for m := v; m != nil && m != o.def; m = o.from[m] {
		if s := stepText(w.p, m); s != "" && m.pos.IsValid() {
			steps = append(steps, Step{Pos: m.pos, Text: s})
		}
		if len(steps) > 20 {
			break
		}
	}
	slices.Reverse(steps)
	return steps
}

func stepText(p *pkg, m *value) string {
	switch m.op {
	case opPart:
		return m.note.Step()
	case opPack:
		return "put into " + p.typeName(m.typ0())
	case opClosure:
		return "captured by a function literal"
	case opBound:
		return "bound to the method value " + p.funcName(m.fn)
	case opAddr:
		return "its address is taken"
	case opAppend:
		return "appended to a slice"
	case opResult:
		return "the result of " + m.args[0].call.name + " leads to it"
	}
	return ""
}

func (o *object) String() string {
	return fmt.Sprintf("object %d (%s)", o.id, opNames[o.def.op])
}

// expected returns why the site of o makes nothing in a test that passes, "" if
// it is an ordinary site.
func (w *flow) expected(o *object) string {
	if !w.p.inTest(o.def.pos) {
		return ""
	}
	if o.errRes != nil {
		for _, u := range o.errRes.users {
			for u.op == opCopy && len(u.users) > 0 {
				u = u.users[0]
			}
			if u.op == opCall && asserts(u.fn, "Error", "EqualError") {
				return "the test expects the call to fail: " + u.call.name
			}
		}
	}
	if f := w.p.expectsPanic(o.def.pos); f != nil {
		return "the test expects a panic: " + w.p.funcName(f)
	}
	return ""
}
