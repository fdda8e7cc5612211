package proof_test

import "github.com/lastuse/lastuse/escape/internal/proof"

// Frees of what others may call, or do to it.
var callbacksRules = []ruleTest{
	{proof.Callbacks, "handed to somebody", `
func f() {
	b := Make()
	fmt.Println(keeper{b})
	b.Free() //F
}
`},
	{proof.Callbacks, "handed to somebody", `
type writer struct{ b *B }

func (w *writer) Write(p []byte) (int, error) {
	global = w.b
	return len(p), nil
}

func f() {
	b := Make()
	fmt.Fprint(&writer{b}, "")
	b.Free() //F
}
`},
	{proof.Callbacks, "handed to somebody", `
type held struct{ last []byte }

func (h *held) Write(p []byte) (int, error) {
	h.last = p
	return len(p), nil
}

func f() []byte {
	b := Make()
	h := &held{}
	bytes.NewReader(unsafe.Slice((*byte)(unsafe.Pointer(b)), 1)).WriteTo(h)
	b.Free() //F
	return h.last
}
`},
	{proof.Callbacks, "handed to somebody", `
func f(under io.Writer) {
	b := Make()
	w := bufio.NewWriterSize(under, 16)
	w.Write(unsafe.Slice((*byte)(unsafe.Pointer(b)), 64))
	b.Free() //F
}
`},
	{proof.Callbacks, "handed to somebody", `
type matcher struct{}

func (matcher) Error() string { return "" }

func (matcher) Is(err error) bool {
	last = err
	return false
}

var last error

type held struct{ b *B }

func (held) Error() string { return "" }

func f() bool {
	b := Make()
	is := errors.Is(matcher{}, held{b})
	b.Free() //F
	return is
}
`},
	{proof.Callbacks, "handed to somebody", `
type held struct{ b *B }

func (held) Error() string { return "" }

func f(err error) bool {
	b := Make()
	is := errors.Is(err, held{b})
	b.Free() //F
	return is
}
`},
	{proof.Callbacks, "handed to somebody", `
type held struct{ b *B }

func (held) Error() string { return "" }

type wrapped struct{ err error }

func (w wrapped) Error() string { return "" }
func (w wrapped) Unwrap() error { return w.err }

func f(err error) bool {
	b := Make()
	is := errors.Is(wrapped{err}, held{b})
	b.Free() //F
	return is
}
`},
	{proof.Callbacks, "handed to somebody", `
func show[T any](x T) string { return fmt.Sprint(x) }

func f() string {
	b := Make()
	text := show(keeper{b})
	b.Free() //F
	return text
}
`},
	{proof.Callbacks, "handed to somebody", `
func show[T any](x T) string { return fmt.Sprint([]T{x}) }

func f() string {
	b := Make()
	text := show(keeper{b})
	b.Free() //F
	return text
}
`},
	{proof.Callbacks, "handed to somebody", `
func text[T fmt.Stringer](x T) bool { return x.String() == "" }

func f() bool {
	b := Make()
	empty := text(keeper{b})
	b.Free() //F
	return empty
}
`},
	{proof.Callbacks, "handed to somebody", `
type field struct{ b *B }

func (f field) IsZero() bool {
	global = f.b
	return true
}

type doc struct{ F field }

func f() []byte {
	b := Make()
	text, _ := json.Marshal(doc{field{b}})
	b.Free() //F
	return text
}
`},
	{proof.Callbacks, "not made here", `
type doc struct{ B *B }

func f(text []byte) {
	d := doc{Make()}
	d.B.Use()
	json.Unmarshal(text, &d)
	d.B.Free() //F
}
`},
	{proof.Callbacks, "not made here", `
type N uint32

//lastuse:effect result 0 owned
func MakeN() N

//lastuse:effect recv freed
func (n N) Free()

//lastuse:effect recv borrowed
func (n N) Use()

func f(other uint32) {
	b := MakeN()
	b.Use()
	atomic.StoreUint32((*uint32)(&b), other)
	b.Free() //F
}
`},
	{proof.Callbacks, "handed to somebody", `
type source struct{ b *B }

type failed struct{ b *B }

func (f failed) Error() string { return "" }

func (s source) Read([]byte) (int, error) { return 0, failed{s.b} }

func f() error {
	b := Make()
	_, err := io.ReadAll(source{b})
	b.Free() //F
	return err
}
`},
	{proof.Bodies, "handed to somebody", `
func f() {
	b := Make()
	unknown(b)
	b.Free() //F
}
`},
}
