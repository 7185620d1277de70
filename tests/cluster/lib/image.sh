# shellcheck shell=bash
# shellcheck disable=SC2034 # other files use these variables
# Container images from local files. Names get the domain trainmesh.test, so that no client
# completes them to a public registry.

IMAGES="$CACHE/images"

image_name() { case "${1%%/*}" in *.*) printf '%s' "$1" ;; *) printf 'trainmesh.test/%s' "$1" ;; esac; }

# image_file NAME:TAG: prints the path of its archive.
image_file() { printf '%s/%s.tar' "$IMAGES" "$(image_name "$1" | tr '/:' '__')"; }

# import_image NAME:TAG [FILE]
import_image() {
  in_node ctr --namespace k8s.io images import "${2:-$(image_file "$1")}" >>"$LOGS/images.log" 2>&1 ||
    die image "containerd could not import '$1'" "see $LOGS/images.log and: cluster logs containerd"
}

# make_image NAME:TAG DIR [ENTRYPOINT…]
make_image() {
  local name file
  name=$(image_name "$1")
  file=$(image_file "$1")
  [ -d "$2" ] || die image "'$2' is not a directory" "pass the directory that becomes the image's root"
  mkdir -p "$IMAGES"
  shift
  ociimage "$file" "$name" "$@"
}

# make_program_image NAME:TAG PROGRAM: makes an image of a dynamically linked program and its libraries, at their own paths.
make_program_image() {
  local root="$RUN/rootfs-program" library name
  name=$(basename "$2")
  rm -rf "$root"
  install -D -m 755 -s "$2" "$root/$name"
  for library in $(ldd "$2" | grep -oE '/[^ ]+'); do
    install -D -m 755 "$library" "$root$library"
  done
  make_image "$1" "$root" "/$name"
  rm -rf "$root"
}

# The two images that every pod needs. They are small and recreated for each cluster.
make_base_images() {
  local root="$RUN/rootfs" applet
  mkdir -p "$root"/{pause,busybox/bin,busybox/tmp,busybox/etc}
  cp "$(command -v pause)" "$root/pause/pause"
  make_image pause:1 "$root/pause" /pause
  cp /bin/busybox "$root/busybox/bin/busybox"
  for applet in $(/bin/busybox --list); do
    [ "$applet" = busybox ] || ln -sf busybox "$root/busybox/bin/$applet"
  done
  chmod 777 "$root/busybox/tmp"
  echo 'root:x:0:0:root:/:/bin/sh' >"$root/busybox/etc/passwd"
  make_image busybox:1 "$root/busybox" /bin/sh
  rm -rf "$root"
}

import_base_images() { import_image pause:1; import_image busybox:1; }
