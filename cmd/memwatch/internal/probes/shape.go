package probes

import "github.com/lastuse/lastuse/cmd/memwatch/internal/heap"

// place takes the class and device from a location: its type in the lower half, the
// device in the upper.
func place(e *heap.Event, location uint64) {
	const onDevice, onHost = 1, 2 // 3 and 4 are host memory too, by NUMA node
	switch kind := uint32(location); {
	case kind == onDevice:
		e.Device = int32(location >> 32)
	case kind >= onHost && kind <= 4 && e.Op == heap.PoolCreate:
		e.Class = heap.Pinned
	}
}

// bytesOf computes the bytes of an array or image of a shape. They are a lower bound:
// a device pads rows and tiles. words are what Probe.shapeOf names.
func bytesOf(s Shape, words []uint64) uint64 {
	lo := func(i int) uint64 { return words[i] & (1<<32 - 1) }
	hi := func(i int) uint64 { return words[i] >> 32 }
	volume := func(width, height, depth, texel uint64) uint64 {
		return times(times(width, max(height, 1)), times(max(depth, 1), texel))
	}
	switch s {
	case array:
		return volume(words[0], words[1], 1, cuTexel(lo(2))*hi(2))
	case array1:
		return volume(lo(0), hi(0), 1, cuTexel(lo(1))*hi(1))
	case array3D:
		return volume(words[0], words[1], words[2], cuTexel(lo(3))*hi(3))
	case array3D1:
		return volume(lo(0), hi(0), lo(1), cuTexel(hi(1))*lo(2))
	case mipmaps:
		var sum uint64
		w, h, d := words[0], words[1], words[2]
		for range min(lo(4), 64) {
			level := volume(w, h, d, cuTexel(lo(3))*hi(3))
			if sum+level < sum {
				return ^uint64(0)
			}
			sum += level
			w, h, d = max(w/2, 1), h/2, d/2
		}
		return sum
	case hipBits:
		bits := lo(0) + hi(0) + lo(1) + hi(1)
		depth := uint64(1)
		if len(words) > 4 {
			depth = words[4]
		}
		return volume(words[2], words[3], depth, bits/8)
	case clImage:
		// Images of one dimension say nothing of a height, arrays count their layers.
		height, depth := words[3], words[4]
		switch lo(1) { // CL_MEM_OBJECT_…
		case 0x10F4, 0x10F6: // IMAGE1D, IMAGE1D_BUFFER
			height, depth = 1, 1
		case 0x10F5: // IMAGE1D_ARRAY
			height, depth = words[5], 1
		case 0x10F1: // IMAGE2D
			depth = 1
		case 0x10F3: // IMAGE2D_ARRAY
			depth = words[5]
		}
		return volume(words[2], height, depth, clTexel(lo(0), hi(0)))
	case clFlat:
		depth := uint64(1)
		if len(words) > 3 {
			depth = words[3]
		}
		return volume(words[1], words[2], depth, clTexel(lo(0), hi(0)))
	case zeImage:
		layouts := [...]uint64{1, 2, 4, 2, 4, 4, 8, 8, 16, 4, 4, 2, 2, 2}
		texel := uint64(1)
		if l := lo(0); l < uint64(len(layouts)) {
			texel = layouts[l]
		}
		return times(volume(words[1], lo(2), hi(2), texel), max(lo(3), 1))
	}
	return 0
}

// cuTexel returns the bytes of one channel of a CUarray_format, HIP's too.
func cuTexel(format uint64) uint64 {
	switch format {
	case 0x02, 0x09, 0x10: // 16 bits
		return 2
	case 0x03, 0x0a, 0x20: // 32 bits
		return 4
	}
	return 1
}

// clTexel returns the bytes of one element of an image with a cl_channel_order and
// a cl_channel_type.
func clTexel(order, kind uint64) uint64 {
	switch kind { // packed
	case 0x10D4, 0x10D5: // UNORM_SHORT_565, _555
		return 2
	case 0x10D6, 0x10E0: // UNORM_INT_101010, _101010_2
		return 4
	}
	channels := uint64(4)
	switch order {
	case 0x10B0, 0x10B1, 0x10B8, 0x10B9, 0x10BD: // R, A, INTENSITY, LUMINANCE, DEPTH
		channels = 1
	case 0x10B2, 0x10B3, 0x10BA, 0x10BE: // RG, RA, Rx, DEPTH_STENCIL
		channels = 2
	case 0x10B4, 0x10BB: // RGB, RGx
		channels = 3
	}
	switch kind {
	case 0x10D1, 0x10D3, 0x10D8, 0x10DB, 0x10DD: // 16 bits
		return 2 * channels
	case 0x10D9, 0x10DC, 0x10DE: // 32 bits
		return 4 * channels
	}
	return channels
}
