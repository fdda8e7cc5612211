package cuda

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/internal/cudadrv"
)

// CUDA C becomes a cubin for the device at run time, through NVRTC, which is opened like the driver when it
// is first asked for. No CUDA header is needed unless the source includes one.

// CompileOptions are the choices of [Compile] and [CompileCubin]. The zero CompileOptions is good.
type CompileOptions struct {
	Name    string            // of the source, in messages; "" means "source.cu"
	Headers map[string]string // texts by the names that #include has

	// Options are the compiler's own, such as "--use_fast_math" or "-DN=4". The architecture is given
	// already.
	Options []string

	// Names are expressions such as "scale<float>" that name kernels of templates or namespaces.
	// [Module.Kernel] knows them afterwards as they are written here. Others are declared extern "C".
	Names []string

	// Library is the path of NVRTC's library. "" means what the loader finds, then /usr/local/cuda.
	Library string
}

// libraries are where NVRTC is looked for, newest first. Version 13.0 has been tried.
var libraries = []string{"libnvrtc.so.13", "libnvrtc.so.12", "/usr/local/cuda/lib64/libnvrtc.so", "libnvrtc.so"}

// Compile compiles CUDA C for the device of a pool and loads it, as [LoadModule] does. What has been compiled
// for the device before is not compiled again. The error of a source that does not compile is an [*Error]
// whose Log and text hold what the compiler said, with lines; without NVRTC errors.Is(err, [ErrUnavailable])
// is true. Compiling takes from a few milliseconds to seconds.
//
//lastuse:effect result 0 owned on success, arg src borrowed, arg p borrowed
func Compile(p *alloc.Pool, src string, o CompileOptions) (*Module, error) {
	b, err := device(p.Device())
	if err != nil {
		return nil, fmt.Errorf("cuda: compile: %w", err)
	}
	c := b.info.Limits.Capability
	made, err := b.compiled.get(fmt.Sprintf("sm_%d%d", c[0], c[1]), src, o)
	if err != nil {
		return nil, err
	}
	m, err := LoadModule(p, made.image)
	if err != nil {
		return nil, err
	}
	m.names = made.names
	return m, nil
}

// CompileCubin compiles CUDA C for an architecture, such as "sm_90". It needs no GPU. The result is for
// [LoadModule]; names of templates are in it as the compiler makes them. Errors are as for [Compile].
func CompileCubin(arch, src string, o CompileOptions) ([]byte, error) {
	made, err := compile(arch, src, o)
	if err != nil {
		return nil, err
	}
	return made.image, nil
}

// A cubin is what came of a source.
type cubin struct {
	image []byte
	names map[string]string // in the image, by expression
}

func compile(arch, src string, o CompileOptions) (*cubin, error) {
	where := libraries
	if o.Library != "" {
		where = []string{o.Library}
	}
	rtc, err := cudadrv.OpenCompiler(where...)
	if err != nil {
		return nil, &unavailable{fmt.Errorf("cuda: compile: NVRTC, which comes with the CUDA toolkit, is wanted, "+
			"or its path in CompileOptions.Library: %w", err)}
	}
	s := cudadrv.Source{Text: src, Name: o.Name, Options: append([]string{"--gpu-architecture=" + arch}, o.Options...),
		Names: o.Names}
	if s.Name == "" {
		s.Name = "source.cu"
	}
	for _, name := range slices.Sorted(maps.Keys(o.Headers)) {
		s.HeaderNames = append(s.HeaderNames, name)
		s.Headers = append(s.Headers, o.Headers[name])
	}
	image, lowered, err := rtc.Compile(s)
	if err != nil {
		err = wrap(-1, err)
		var e *Error
		if errors.As(err, &e) && e.Name == "NVRTC_ERROR_INVALID_OPTION" {
			err = fmt.Errorf("%w: this is NVRTC %d.%d: if it is too old for %s, name another in CompileOptions.Library",
				err, rtc.Major, rtc.Minor, arch)
		}
		return nil, err
	}
	if len(image) == 0 {
		return nil, errors.New("cuda: compile: the compiler made nothing: " + arch + " is no real architecture")
	}
	made := &cubin{image: image, names: map[string]string{}}
	for i, name := range o.Names {
		made.names[name] = lowered[i]
	}
	return made, nil
}

// maxCompiled bounds the bytes of cubins that a device remembers.
const maxCompiled = 64 << 20

// compiled is what has been compiled for one device, by content.
type compiled struct {
	mu    sync.Mutex
	all   map[[sha256.Size]byte]*cubin
	bytes int
}

// get returns what comes of a source. Two that ask for the same at once may both compile it.
func (c *compiled) get(arch, src string, o CompileOptions) (*cubin, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %q %q %q", arch, src, o.Name, o.Options, o.Names, o.Library)
	for _, name := range slices.Sorted(maps.Keys(o.Headers)) {
		fmt.Fprintf(h, " %q %q", name, o.Headers[name])
	}
	key := [sha256.Size]byte(h.Sum(nil))
	c.mu.Lock()
	made := c.all[key]
	c.mu.Unlock()
	if made != nil {
		return made, nil
	}
	made, err := compile(arch, src, o)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if other := c.all[key]; other != nil {
		return other, nil
	}
	if c.bytes += len(made.image); c.all == nil || c.bytes > maxCompiled {
		c.all, c.bytes = map[[sha256.Size]byte]*cubin{}, len(made.image)
	}
	c.all[key] = made
	return made, nil
}
