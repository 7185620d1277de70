# shellcheck shell=bash
# shellcheck disable=SC2034 # what one part sets, another reads
# Builds the pinned Go tools: one module and one build.list for each set below tools/.

# The key covers all that decides the bytes: sources, module versions, flags, compiler.
tool_key() {
  (cd "$HERE/tools/$1" && { go env GOVERSION GOARCH; find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum; }) |
    sha256sum | cut -c1-12
}

# A finished set records its key together with the files' times, so that a start need not
# run Go or read the sources to find its binaries.
tool_dir() { printf '%s/bin/%s-%s' "$CACHE" "$1" "$(tool_key "$1")"; }

tool_sets() { (cd "$HERE/tools" && for f in */build.list; do dirname "$f"; done); }

# tools_of SET: "NAME PACKAGE" lines
tools_of() { grep -Ev '^(#|-X|$)' "$HERE/tools/$1/build.list"; }

build_set() {
  local set=$1 dir name package flags started log="$CACHE/build.log" pid ticks built=0 total=0
  command -v go >/dev/null || die "build $set" "Go is not installed" "install Go 1.26 and put it on PATH"
  dir="$(tool_dir "$set")"
  flags="-s -w $(grep '^-X ' "$HERE/tools/$set/build.list" | tr '\n' ' ' || true)"
  mkdir -p "$dir"
  total=$(tools_of "$set" | wc -l)
  while read -r name package; do
    built=$((built + 1))
    [ -x "$dir/$name" ] && continue
    started=$SECONDS ticks=0
    say "building $set $built/$total: $name"
    printf '== %s %s %s\n' "$(date +%FT%T)" "$set" "$name" >>"$log"
    # GOTOOLCHAIN=local: a newer compiler that Go fetches by itself breaks the
    # apiserver's OpenAPI. CGO off: no C compiler needed, and static files for images.
    (cd "$HERE/tools/$set" && CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS=-mod=readonly nice -n 10 \
      go build -trimpath -ldflags "$flags" -o "$dir/.$name.tmp" "$package") >>"$log" 2>&1 </dev/null &
    pid=$!
    while kill -0 "$pid" 2>/dev/null; do
      sleep 1
      ticks=$((ticks + 1))
      [ $((ticks % 30)) -ne 0 ] || note "$name: still building, $((SECONDS - started)) s"
    done
    if ! wait "$pid"; then
      tail -n 20 "$log" | sed 's/^/    /' >&2
      die "build $set" "$name did not build" "read the lines above; the whole log is .cache/build.log"
    fi
    mv "$dir/.$name.tmp" "$dir/$name"
    note "$name: built in $((SECONDS - started)) s"
  done < <(tools_of "$set")
  # Binaries of older pins are never used again.
  find "$CACHE/bin" -maxdepth 1 -regex ".*/$set-[0-9a-f]*" ! -path "$dir" -exec rm -rf {} +
}

# need_sets SET…: builds what is missing and puts all of them on PATH.
need_sets() {
  local set dir name missing
  for set in "$@"; do
    [ -f "$HERE/tools/$set/build.list" ] || die build "there is no tool set named '$set'" "one of: $(tool_sets | tr '\n' ' ')"
    dir="$(tool_dir "$set")"
    missing=
    while read -r name _; do [ -x "$dir/$name" ] || missing=1; done < <(tools_of "$set")
    [ -z "$missing" ] || (lock build 3600 && build_set "$set")
    PATH="$dir:$PATH"
  done
  export PATH
}
