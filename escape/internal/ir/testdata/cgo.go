// What cgo makes of a call is a literal that is called at once; names and types in it are those cgo gave.
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
		sum += int(func() _Ctype_int {
			_cgo0 := /*line :24:20*/ m.p
			_cgo1 := /*line :24:25*/ unsafe.Pointer(&data[i])
			_cgoCheckPointer(_cgo1, nil)
			return _Cfunc_mat_add(_cgo0, _cgo1)
		}())
	}
	n := &m
	n.Free()
	return sum
}

func later(m *Mat, data []float32) {
	defer func() func() {
		_cgo0 := /*line :1:1*/ unsafe.Pointer(m.p)
		return func() { _cgoCheckPointer(_cgo0, nil); _Cfunc_free(_cgo0) }
	}()()
	func() {
		_cgoBase0 := &data[0]
		_cgo0 := unsafe.Pointer(_cgoBase0)
		_cgoCheckPointer(_cgoBase0, 0 == 0)
		_Cfunc_free(_cgo0)
	}()
	var n _Ctype_int = func() _Ctype_int {
		var _cgo0 *_Ctype_mat = m.p
		_cgo1 := unsafe.Pointer(m.p)
		_cgoCheckPointer(_cgo1, nil)
		return _Cfunc_mat_add(_cgo0, _cgo1)
	}()
	println(n)
	m.Free()
}
