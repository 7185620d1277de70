# shellcheck shell=bash
# shellcheck disable=SC2034 # other files use these variables
# Builds the pinned Go tools: each set below tools/ has a module and a build.list.

# The key covers everything that affects the output: sources, module versions, flags, compiler.
tool_key() {
  (cd "$HERE/tools/$1" && { GOTOOLCHAIN=local go env GOVERSION GOARCH; find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum; }) |
    sha256sum | cut -c1-12
}

tool_dir() { printf '%s/bin/%s-%s' "$CACHE" "$1" "$(tool_key "$1")"; }

tool_sets() { (cd "$HERE/tools" && for f in */build.list; do dirname "$f"; done); }

# tools_of SET: prints "NAME PACKAGE" lines
tools_of() { grep -Ev '^(#|-|$)' "$HERE/tools/$1/build.list"; }

# Copies the manifests in a set's module, because the module cache is read-only and may be
# emptied.
keep_manifests() {
  local set=$1 dir=$2 module folder source
  while read -r _ module folder; do
    source="$(cd "$HERE/tools/$set" && GOTOOLCHAIN=local go list -m -f '{{.Dir}}' "$module")"
    rm -rf "$dir/.manifests"
    cp -r "$source/$folder" "$dir/.manifests"
    chmod -R u+w "$dir/.manifests"
    mv "$dir/.manifests" "$dir/manifests"
  done < <(grep '^-M ' "$HERE/tools/$set/build.list")
}

# complete SET DIR: succeeds if nothing is left to build.
complete() {
  local name
  while read -r name _; do [ -x "$2/$name" ] || return 1; done < <(tools_of "$1")
  ! grep -q '^-M ' "$HERE/tools/$1/build.list" || [ -d "$2/manifests" ]
}

build_set() {
  local set=$1 dir name package flags started log="$CACHE/build.log" pid ticks built=0 total=0
  dir="$(tool_dir "$set")"
  flags="-s -w $(grep '^-X ' "$HERE/tools/$set/build.list" | tr '\n' ' ' || true)"
  mkdir -p "$dir"
  total=$(tools_of "$set" | wc -l)
  while read -r name package; do
    built=$((built + 1))
    [ -x "$dir/$name" ] && continue
    started=$SECONDS ticks=0
    info "building $set $built/$total: $name"
    printf '== %s %s %s\n' "$(date +%FT%T)" "$set" "$name" >>"$log"
    # GOTOOLCHAIN=local: a newer compiler that Go downloads breaks the apiserver's OpenAPI. CGO
    # off: no C compiler is needed, and images get static binaries.
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
      die "build $set" "$name could not be built" "read the lines above; the full log is .cache/build.log"
    fi
    mv "$dir/.$name.tmp" "$dir/$name"
    note "$name: built in $((SECONDS - started)) s"
  done < <(tools_of "$set")
  [ -d "$dir/manifests" ] || keep_manifests "$set" "$dir"
  # Binaries of older pins are not used again.
  find "$CACHE/bin" -maxdepth 1 -regex ".*/$set-[0-9a-f]*" ! -path "$dir" -exec rm -rf {} +
}

# A newer Go breaks the apiserver's OpenAPI; an older one cannot build it.
need_go() {
  local version
  version="$(GOTOOLCHAIN=local go env GOVERSION 2>/dev/null)" || die build "Go is not installed" "install Go 1.26 and put it on PATH"
  case "$version" in go1.26 | go1.26.*) ;; *) die build "this is $version" "put Go 1.26 first on PATH" ;; esac
}

# need_sets SET…: builds what is missing and adds all of them to PATH.
need_sets() {
  local set dir
  need_go
  for set in "$@"; do
    [ -f "$HERE/tools/$set/build.list" ] || die build "there is no tool set named '$set'" "one of: $(tool_sets | tr '\n' ' ')"
    dir="$(tool_dir "$set")"
    complete "$set" "$dir" || (lock build 3600 && build_set "$set")
    PATH="$dir:$PATH"
  done
  export PATH
}
