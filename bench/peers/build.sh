#!/bin/sh
# Builds the peers of bench/report that are no Go, at the same time. What cannot be built is said, and is
# missing there.
#
#	build.sh OUT [RMM SHIM]
#
# RMM is the folder cpp of RMM's source at release 25.10, the last that the headers of CUDA 13.0 serve. SHIM
# is a folder with two headers that RMM's build makes or downloads: rmm/logger_macros.hpp and
# rapids_logger/logger.hpp. CUDA_HOME, CUDA_INCLUDE and CUDA_LIB say where CUDA is, if it is not where nvcc
# is. RMM_SRC and RMM_SHIM in the environment stand for the two arguments.
here=$(cd "$(dirname "$0")" && pwd)
out=$1 rmm=${2:-$RMM_SRC} shim=${3:-$RMM_SHIM}
[ -n "$out" ] && mkdir -p "$out/probe" || exit 2
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
cuda=${CUDA_HOME:-$(dirname "$(dirname "$(readlink -f "$nvcc")")")}
include=${CUDA_INCLUDE:-"-I$cuda/include -I$cuda/include/cccl"}
lib=$cuda/lib64
[ -d "$lib" ] || lib=$cuda/lib
lib=${CUDA_LIB:-$lib}
cxx="${CXX:-c++} -O3 -DNDEBUG -std=c++17"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# build NAME COMMAND...: what is there already stays, so that what one machine cannot build another brings.
build() {
	name=$1
	shift
	[ -e "$out/$name" ] || "$@" >"$tmp/log" 2>&1 || echo "$name: not built: $(grep -m1 . "$tmp/log")"
}

build_rmm() {
	pids=
	for f in "$here/rmm_peer.cpp" "$rmm/src/aligned.cpp" "$rmm/src/cuda_device.cpp" \
		"$rmm/src/cuda_stream_view.cpp" "$rmm/src/error.cpp" "$rmm/src/logger.cpp"; do
		$cxx -DLIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE -I"$rmm/include" -I"$shim" $include \
			-c "$f" -o "$tmp/$(basename "$f" .cpp).o" &
		pids="$pids $!"
	done
	failed=
	for p in $pids; do wait "$p" || failed=1; done
	[ -z "$failed" ] || return 1
	$cxx -o "$out/rmm_peer" "$tmp"/*.o -L"$lib" -Wl,-rpath,"$lib" -l:libcudart.so.13 -ldl
}

[ -e "$out/lastuse_torch_peer.so" ] || python3 "$here/torch_peer.py" build "$out" >"$tmp/torch" 2>&1 &
torch=$!
build driver_peer $cxx -o "$out/driver_peer" "$here/driver_peer.cpp" -ldl
build host_peer $cxx -o "$out/host_peer" "$here/host_peer.cpp" -ldl
[ -z "$rmm" ] || build rmm_peer build_rmm
# What memwatch watches: a program, and a driver of it that does next to nothing, under two names.
build probe/probe_target ${CC:-cc} -O2 -fno-omit-frame-pointer -o "$out/probe/probe_target" "$here/probe_target.c" -ldl
for name in libcuda.so.1 unwatched.so; do
	build probe/$name ${CC:-cc} -O2 -fno-builtin -fno-omit-frame-pointer -shared -fPIC -Wl,-soname,$name \
		-o "$out/probe/$name" "$here/probe_driver.c"
done
wait $torch || echo "torch_peer: not built: $(tail -1 "$tmp/torch")"
