package probes

import (
	"strings"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
)

// A Source says where a number of a call is.
type Source struct {
	kind   sourceKind
	arg    uint8 // from 0; from 6 on the stack
	offset uint8 // bytes behind a pointer
	bytes  uint8 // 4 or 8, or those of a structure
}

type sourceKind uint8

const (
	nothing  sourceKind = iota
	argument            // the argument itself
	input               // behind the pointer in it, on entry
	output              // behind the pointer in it, on return
	result              // the call's result
)

func arg(i uint8) Source              { return Source{argument, i, 0, 8} }
func arg32(i uint8) Source            { return Source{argument, i, 0, 4} }
func in(i, offset uint8) Source       { return Source{input, i, offset, 8} }
func in32(i, offset uint8) Source     { return Source{input, i, offset, 4} }
func out(i uint8) Source              { return Source{output, i, 0, 8} }
func outAt(i, offset uint8) Source    { return Source{output, i, offset, 8} }
func out32(i uint8) Source            { return Source{output, i, 0, 4} }
func ret() Source                     { return Source{result, 0, 0, 8} }
func structAt(i, off, n uint8) Source { return Source{input, i, off, n} }

// A Shape computes bytes from a structure that describes an array or image.
type Shape uint8

const (
	noShape  Shape = iota
	array          // CUDA_ARRAY_DESCRIPTOR
	array1         // the same with 32-bit sizes
	array3D        // CUDA_ARRAY3D_DESCRIPTOR
	array3D1       // the same with 32-bit sizes
	mipmaps        // CUDA_ARRAY3D_DESCRIPTOR and a number of levels
	hipBits        // hipChannelFormatDesc, then width, height and perhaps depth
	clImage        // cl_image_format and cl_image_desc
	clFlat         // cl_image_format, width, height and perhaps depth
	zeImage        // ze_image_desc_t
)

// A Result says how a call tells that it failed.
type Result uint8

const (
	Status  Result = iota // an int that is 0 on success
	Pointer               // a handle or address that is not 0 on success
	Void                  // it does not fail
)

// A location is a structure that says where memory will be.
type location uint8

const (
	noLocation location = iota
	cuLocation          // {type, id} of CUmemAllocationProp and CUmemPoolProps, in HIP too
)

// A Probe is one function. The zero Source of a field means that the call does not
// say it.
type Probe struct {
	Symbol string
	Op     heap.Op
	Class  heap.Class
	Space  heap.Space
	Owner  heap.Owner
	Result Result

	Addr   Source
	plus   uint8    // added to Addr: contexts that are device numbers begin at 1
	Size   []Source // their product
	Aux    Source
	Ctx    Source
	Device Source
	Stream Source
	Pool   Source
	Code   Source // where Result is Pointer: the error code

	shape    Shape
	shapeOf  []Source // what the shape is computed from
	location location
	where    Source // the location's structure
	list     Source // of several addresses, which Op takes one by one
	signed   bool   // it tells of what was allocated, or with a size below zero of what was freed
	on       Source // its lowest byte is the kind of device; 0 is the host, which is passed over

	id  uint16
	lib *Library
}

// ID is the probe's number, the cookie of its hits. Numbers mean something only
// within one build of memwatch.
func (p *Probe) ID() uint16 { return p.id }

// Library returns the library of the probe.
func (p *Probe) Library() *Library { return p.lib }

// A Library is what a driver's library exports.
type Library struct {
	Name  string   // for people
	Files []string // base names of its file, up to a version: "libcuda.so"
	// Above says that it is an allocator on top of a driver: who has it need not use a device, and what it
	// hands out is part of what the driver is asked for.
	Above  bool
	Probes []Probe
	// OutOfMemory are the error codes that mean it.
	OutOfMemory []int32
}

// Libraries returns all libraries that are known. Callers must not change them.
func Libraries() []*Library { return libraries }

// All returns all probes; the index is the ID. Callers must not change them.
func All() []*Probe { return all }

var (
	libraries = []*Library{&cuda, &hip, &openCL, &levelZero, &torch}
	all       = number16(libraries)
)

// number16 gives every probe its number.
func number16(libs []*Library) (all []*Probe) {
	for _, l := range libs {
		for i := range l.Probes {
			p := &l.Probes[i]
			p.id, p.lib = uint16(len(all)), l
			all = append(all, p)
		}
	}
	return all
}

// LibraryOf returns the library that a file of this name is by its name, or nil.
// Whether it really is one, its exports tell.
func LibraryOf(base string) *Library {
	for _, l := range libraries {
		for _, f := range l.Files {
			if base == f || strings.HasPrefix(base, f+".") {
				return l
			}
		}
	}
	return nil
}

// freeing reports whether op takes memory away on entry, to be undone on failure.
func freeing(op heap.Op) bool {
	switch op {
	case heap.Free, heap.Drop, heap.Release, heap.Unmap:
		return true
	}
	return false
}

// making reports whether a failure of op is a failed allocation.
func making(op heap.Op) bool { return op == heap.Alloc || op == heap.Create }
