#!/usr/bin/env bash
# pack.sh OUT: puts the oracle into OUT/oracle.tar.xz with what it needs of Go, for a
# machine that has many processors but no Go and no network:
#
#	tar xJf oracle.tar.xz && oracle/run.sh -n 100000 -seed 7
#
# The toolchain inside is the one that runs this script, without cgo, and with only those
# packages of the standard library that the programs use. It takes 20 MB.
set -euo pipefail
out=$(realpath -m "${1:?usage: pack.sh OUT}")
cd "$(dirname "$0")/../.."
export CGO_ENABLED=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$(go env GOROOT)
to=$work/oracle/go
tools=pkg/tool/$(go env GOOS)_$(go env GOARCH)
mkdir -p "$to/bin" "$to/$tools" "$out"

go build -trimpath -ldflags=-s -o "$work/oracle/lastuse" ./cmd/lastuse
go build -trimpath -ldflags=-s -o "$work/oracle/oracle" ./escape/oracle
git rev-parse --short HEAD >"$work/oracle/commit"
cp "$root/bin/go" "$to/bin/"
for t in asm buildid compile link vet; do
  if [ -f "$root/$tools/$t" ]; then cp "$root/$tools/$t" "$to/$tools/"; fi
done
cp -r "$root/pkg/include" "$to/pkg/"
cp "$root/VERSION" "$root/go.env" "$to/"
mkdir -p "$to/src/vendor"
cp "$root/src/go.mod" "$root/src/go.sum" "$to/src/"
cp "$root/src/vendor/modules.txt" "$to/src/vendor/"

# The standard library as far as the programs, the runtime they link and the tests of
# neither need it.
go list -deps -f '{{if .Standard}}{{.Dir}}{{end}}' bufio bytes container/list context encoding/binary errors flag fmt io iter maps math math/rand/v2 os reflect \
  runtime runtime/debug slices strconv strings sync sync/atomic testing time unsafe weak |
  sed "s#^$root/##" | sort -u | while read -r dir; do
  mkdir -p "$to/$dir"
  find "$root/$dir" -maxdepth 1 -type f \( -name '*.go' -o -name '*.s' -o -name '*.h' \) ! -name '*_test.go' -exec cp {} "$to/$dir/" \;
done
# Assembly of package runtime includes a header of runtime/cgo.
mkdir -p "$to/src/runtime/cgo"
cp "$root"/src/runtime/cgo/*.h "$to/src/runtime/cgo/"

cat >"$work/oracle/run.sh" <<'RUN'
#!/usr/bin/env bash
# run.sh ARGUMENTS: runs the oracle with them, on all processors. What it compiles once
# stays beside it, for the next run.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap : TERM INT # the oracle ends with its figures
export GOROOT=$here/go PATH=$here/go/bin:/usr/bin:/bin HOME=$work GOCACHE=$here/cache GOPATH=$work/go TMPDIR=$work
export GOPROXY=off GOTOOLCHAIN=local GOFLAGS= CGO_ENABLED=0 GOTELEMETRY=off
"$here/oracle" -lastuse "$here/lastuse" -commit "$(cat "$here/commit")" -j "$(nproc)" "$@"
RUN
chmod +x "$work/oracle/run.sh"
tar -C "$work" -cJf "$out/oracle.tar.xz" oracle
ls -lh "$out/oracle.tar.xz"
