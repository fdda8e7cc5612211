// What the text says of which cgo makes ../cgo.go.
package p

import "unsafe"

type _Ctype_mat struct{ rows _Ctype_int }
type _Ctype_int int32

func _cgoCheckPointer(any, any) {}
func _Cfunc_mat_new(n _Ctype_int) (r1 *_Ctype_mat)
func _Cfunc_mat_add(m *_Ctype_mat, p unsafe.Pointer) (r1 _Ctype_int)
func _Cfunc_mat_free(m *_Ctype_mat)
func _Cfunc_free(p unsafe.Pointer)

type Mat struct{ p *_Ctype_mat }

func (m *Mat) Free() { (_Cfunc_mat_free)(m.p) }

func cgo(data []float32) (sum int) {
	m := Mat{p: (_Cfunc_mat_new)(_Ctype_int(len(data)))}
	for i := range data {
		sum += int(_Cfunc_mat_add(m.p, unsafe.Pointer(&data[i])))
	}
	n := &m
	n.Free()
	return sum
}

func later(m *Mat, data []float32) {
	defer _Cfunc_free(unsafe.Pointer(m.p))
	_Cfunc_free(unsafe.Pointer(&data[0]))
	var n _Ctype_int = _Cfunc_mat_add(m.p, unsafe.Pointer(m.p))
	println(n)
	m.Free()
}
