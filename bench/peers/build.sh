#!/bin/sh
# Builds the peers of bench/compare that are no scripts, at the same time. What cannot be built is missing
# there.
#
#	build.sh OUT [RMM SHIM]
#
# RMM is the folder cpp of RMM's source at release 25.10, the last that the headers of CUDA 13.0 serve. SHIM
# is a folder with two headers that RMM's build makes or downloads: rmm/logger_macros.hpp and
# rapids_logger/logger.hpp. CUDA_HOME, CUDA_INCLUDE and CUDA_LIB say where CUDA is, if it is not where nvcc
# is.
here=$(cd "$(dirname "$0")" && pwd)
out=$1 rmm=$2 shim=$3
[ -n "$out" ] && mkdir -p "$out" || exit 2
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
cuda=${CUDA_HOME:-$(dirname "$(dirname "$(readlink -f "$nvcc")")")}
include=${CUDA_INCLUDE:-"-I$cuda/include -I$cuda/include/cccl"}
lib=$cuda/lib64
[ -d "$lib" ] || lib=$cuda/lib
lib=${CUDA_LIB:-$lib}
cxx="${CXX:-c++} -O3 -DNDEBUG -std=c++17"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

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

python3 "$here/torch_peer.py" build >"$tmp/torch" 2>&1 &
torch=$!
$cxx -o "$out/driver_peer" "$here/driver_peer.cpp" -ldl || echo "driver_peer: not built"
if [ -n "$rmm" ]; then
	build_rmm || echo "rmm_peer: not built"
fi
wait $torch || { tail -5 "$tmp/torch"; echo "torch_peer: not built"; }
