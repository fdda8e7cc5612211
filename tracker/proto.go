package tracker

// A proto builds a protocol buffer message, as far as profiles need it: fields that
// are zero are left out.
type proto struct{ data []byte }

// varint appends x in base 128, the least significant group first.
func (p *proto) varint(x uint64) {
	for x >= 0x80 {
		p.data = append(p.data, byte(x)|0x80)
		x >>= 7
	}
	p.data = append(p.data, byte(x))
}

// int appends an integer field.
func (p *proto) int(field int, x int64) {
	if x != 0 {
		p.varint(uint64(field) << 3)
		p.varint(uint64(x))
	}
}

// bytes appends a field of bytes: a string or a message.
func (p *proto) bytes(field int, b []byte) {
	p.varint(uint64(field)<<3 | 2)
	p.varint(uint64(len(b)))
	p.data = append(p.data, b...)
}

// ints appends a packed repeated integer field, zeros included.
func (p *proto) ints(field int, xs []int64) {
	var inner proto
	for _, x := range xs {
		inner.varint(uint64(x))
	}
	p.bytes(field, inner.data)
}

// message appends a field that is the message f builds.
func (p *proto) message(field int, f func(*proto)) {
	var inner proto
	f(&inner)
	p.bytes(field, inner.data)
}
