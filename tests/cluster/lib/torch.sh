# shellcheck shell=bash
# Debian's python3-torch with all packages that it depends on: real ranks, which need no GPU. Its torchrun meets in etcd, whose
# API of version 2 later versions than Debian's do not have.

TORCH_IMAGE=trainmesh.test/torch:1
TORCH_PACKAGES=(python3-torch python3-etcd etcd-server)

# apt_of_empty_system ARGUMENTS…: runs apt-get as on a system without packages. It changes nothing on this one.
apt_of_empty_system() {
  apt-get -o Dir::State::status=/dev/null -o Debug::NoLocking=1 -o APT::Install-Recommends=0 -y "$@"
}

# fetch_torch: extracts the packages once for each set of versions, and sets TORCH to the directory.
fetch_torch() {
  local versions packages package log="$CACHE/torch.log"
  if ! versions=$(apt_of_empty_system --simulate install "${TORCH_PACKAGES[@]}" 2>"$log" | awk '/^Inst/ {print $2, $3}') || [ -z "$versions" ]; then
    note "python3-torch is not in the current package lists; running apt-get update"
    apt-get update >"$log" 2>&1 || { tail -n 5 "$log" >&2; die torch "apt-get update failed" "read the lines above"; }
    versions=$(apt_of_empty_system --simulate install "${TORCH_PACKAGES[@]}" | awk '/^Inst/ {print $2, $3}')
  fi
  TORCH="$CACHE/torch/$(sha256sum <<<"$versions" | cut -c1-12)"
  [ ! -e "$TORCH/complete" ] || return 0
  info "downloading and extracting python3-torch and its $(wc -l <<<"$versions") packages (260 MB)"
  rm -rf "$TORCH"
  packages="$TORCH/packages"
  mkdir -p "$packages/partial" "$TORCH"/root/usr/{bin,sbin,lib,lib64}
  # The packages expect Debian's merged /usr.
  for package in bin sbin lib lib64; do ln -s "usr/$package" "$TORCH/root/$package"; done
  apt_of_empty_system -o Dir::Cache::archives="$packages" --download-only install "${TORCH_PACKAGES[@]}" >"$log" 2>&1 ||
    { tail -n 10 "$log" >&2; die torch "apt-get could not download python3-torch" "read the lines above"; }
  for package in "$packages"/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -x --keep-directory-symlink -C "$TORCH/root" \
      --exclude=./usr/share/doc --exclude=./usr/share/man --exclude=./usr/share/locale
  done
  rm -rf "$packages"
  touch "$TORCH/complete"
}

# The image contains only mount points and links. Pods mount the packages from the node (usr of the printed directory): this
# snapshotter copies an image for each container, which takes a minute for 900 MB.
torch() {
  local root="$RUN/rootfs-torch"
  fetch_torch
  mkdir -p "$root/usr" "$root/etc" "$root/tmp"
  chmod 1777 "$root/tmp"
  ln -sfn usr/bin "$root/bin"
  ln -sfn usr/sbin "$root/sbin"
  ln -sfn usr/lib "$root/lib"
  ln -sfn usr/lib64 "$root/lib64"
  echo 'root:x:0:0:root:/:/bin/sh' >"$root/etc/passwd"
  make_image "$TORCH_IMAGE" "$root" /usr/bin/python3
  rm -rf "$root"
  import_image "$TORCH_IMAGE"
  echo "$TORCH/root"
}
