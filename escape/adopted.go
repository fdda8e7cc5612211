package escape

// Memory that a buffer adopts: it has another name, and a function of the program gives it
// back when the buffer is freed.

// adopted makes views of o what goes with it when it is freed: if the call that makes o
// keeps a function, that is the memory which the call was given by its address, and what
// the function captures of buffers and addresses.
func (w *flow) adopted(o *object, call *value) {
	keeps := false
	for j, a := range call.args {
		if i := call.call.params[j]; i < -1 || !isFunc(a.typ0()) || call.call.sum.arg(i).Escapes.K == Never {
			continue
		}
		keeps = true
		if f := copied(a); f.op == opClosure || f.op == opBound {
			for _, x := range f.args {
				if x = x.find(); rawType(x.typ0()) || w.p.isResource(x.typ0()) {
					w.member(o, x, mView, o.def)
				}
			}
		}
	}
	if !keeps {
		return
	}
	for j, a := range call.args {
		if call.call.params[j] < 0 || !rawType(a.typ0()) {
			continue
		}
		for a = a.find(); ; a = a.args[0].find() {
			w.member(o, a, mView, o.def)
			if a.op != opCopy && a.op != opPure && a.op != opPart || len(a.args) != 1 || w.p.plain(a.args[0].typ0()) {
				break
			}
		}
	}
}
