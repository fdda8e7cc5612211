package escape

// What can be reached by others: variables that literals capture and pointers
// lead to.

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/lastuse/lastuse/escape/internal/report"
	"github.com/lastuse/lastuse/escape/internal/rewrite"
)

// addresses decides which variables can be reached through a pointer that is
// not followed: one that is stored, chosen by a branch, or kept in a struct.
func (l *lower) addresses() {
	sets := map[*root]int{}
	for _, b := range l.f.blocks {
		for _, v := range b.instrs {
			if v.op == opSet {
				sets[v.place.root]++
			}
		}
	}
	var pointed func(v *value, depth int) *root
	pointed = func(v *value, depth int) *root {
		v = v.find()
		switch {
		case v.op == opAddr && v.place != nil:
			return v.place.root
		case v.op == opCopy && depth < 10:
			return pointed(v.args[0], depth+1)
		}
		return nil
	}
	for _, b := range l.f.blocks {
		for _, v := range b.instrs {
			why := ""
			switch v.op {
			case opPhi:
				why = "a pointer to it is chosen by a branch"
			case opPack, opAppend:
				why = "a pointer to it is stored"
			case opStore, opSend, opGo:
				why = "a pointer to it is handed on"
			case opBound:
				why = "a pointer to it is bound to a method value"
			case opSet:
				if v.place.root.exposed != "" {
					why = "a pointer to it is stored"
				}
			}
			if why == "" || v.fwd != nil {
				continue
			}
			for i, a := range v.args {
				if v.op == opStore && i > 0 {
					continue
				}
				r := pointed(a, 0)
				if r != nil {
					r.aliased = true
				}
				if r != nil && r.exposed == "" && (sets[r] > len(r.leaves) || !l.p.holdsResource(r.typ)) {
					l.exposeds = append(l.exposeds, exposure{r, why, v.pos})
				}
			}
		}
	}
}

// once reports whether v is a variable of function, interface or pointer type that is assigned
// in one place.
func (l *lower) once(v *types.Var) bool {
	switch v.Type().Underlying().(type) {
	case *types.Signature, *types.Interface, *types.Pointer:
		return l.p.vars().Once(v)
	}
	return false
}

// closures decides which literals are only called where they stand spliced; of
// the others, what they capture can be reached by whoever has them.
func (l *lower) closures() {
	leaves := map[*value]bool{}
	for _, b := range l.f.blocks {
		for _, v := range b.instrs {
			if v.fwd != nil {
				continue // a phi that turned out to be none
			}
			for _, a := range v.args {
				if a = a.find(); a.op == opClosure && v.op != opSet && v.op != opCmp && v.op != opDiscard {
					leaves[a] = true
				}
			}
			if v.op == opSet && v.place.root.exposed != "" && v.args[0].find().op == opClosure {
				leaves[v.args[0].find()] = true
			}
		}
	}
	for _, b := range l.f.blocks {
		for i, v := range b.instrs {
			if v.op != opClosure {
				continue
			}
			if !leaves[v] {
				v.args, v.captures = nil, nil
				continue
			}
			l.kept[v.lit] = true
			looks := &looks{l: l, closure: v, index: i}
			for _, r := range v.captures {
				if looks.at(r) {
					continue
				}
				l.exposeds = append(l.exposeds, exposure{r, "captured by a function literal at " + report.At(v.pos) + " that is not only called here", v.pos})
			}
		}
	}
}

// innerGaps takes back the gaps in literals that also run elsewhere: a statement
// there would run more often than the flow form says.
func (l *lower) innerGaps() {
	for _, b := range l.f.blocks {
		for _, v := range b.instrs {
			if v.op != opGap {
				continue
			}
			for _, lit := range v.gap.inner {
				if v.gap.deferred == nil && (l.spliced[lit] != 1 || l.kept[lit]) {
					v.gap.kind = rewrite.None
				}
			}
		}
	}
}

func hasGoto(body *ast.BlockStmt) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.BranchStmt:
			found = found || n.Tok == token.GOTO
		}
		return true
	})
	return found
}
