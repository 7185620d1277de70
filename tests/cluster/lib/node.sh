# shellcheck shell=bash
# shellcheck disable=SC2034 # other files use these variables
# The node: containerd, kubelet and kube-proxy, in their own mount namespace.

NODE_NAME=node-1
POD_RANGE=10.244.0.0/24

# Standard directories that components use and that cannot be configured: in the node's mount
# namespace, directories of the run are mounted over them. The mounts disappear with the last
# process of the namespace.
NODE_FOLDERS=(/run/containerd /var/lib/containerd /var/lib/kubelet /var/lib/cni /var/log/containers /var/log/pods)

# The kubelet sets these for the whole machine; the last cluster that stops restores the old values.
KERNEL_SETTINGS_SAVED=/run/trainmesh-kernel-settings
KERNEL_SETTINGS=(vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops
  kernel/keys/root_maxkeys kernel/keys/root_maxbytes)

# Succeeds if another cluster runs on this machine, once the network of this one is removed.
others_run() { compgen -G '/run/netns/trainmesh-*' >/dev/null; }

save_kernel_settings() {
  local key
  [ ! -e "$KERNEL_SETTINGS_SAVED" ] || return 0
  for key in "${KERNEL_SETTINGS[@]}"; do
    [ ! -r "/proc/sys/$key" ] || printf '%s %s\n' "$key" "$(cat "/proc/sys/$key")"
  done >"$KERNEL_SETTINGS_SAVED"
}

restore_kernel_settings() {
  local key value
  if [ ! -r "$KERNEL_SETTINGS_SAVED" ] || others_run; then return 0; fi
  while read -r key value; do
    [ "$(cat "/proc/sys/$key")" = "$value" ] || echo "$value" >"/proc/sys/$key" || true
  done <"$KERNEL_SETTINGS_SAVED"
  rm "$KERNEL_SETTINGS_SAVED"
}

# render TEMPLATE TARGET
render() {
  sed -e "s|@RUN@|$RUN|g; s|@PKI@|$PKI|g; s|@NAME@|$NAME|g; s|@NODE_NAME@|$NODE_NAME|g; s|@NODE_IP@|$NODE_IP|g" \
    -e "s|@POD_RANGE@|$POD_RANGE|g; s|@DNS_IP@|$DNS_IP|g; s|@SNAPSHOTTER@|${SNAPSHOTTER:-native}|g" "$HERE/config/$1" >"$2"
}

make_mounts() {
  local folder own
  : >"$RUN/mounts"
  for folder in "${NODE_FOLDERS[@]}"; do
    own="$RUN/node${folder}"
    mkdir -p "$own"
    if [ ! -d "$folder" ]; then
      echo "$folder" >>"$RUN/made-folders"
      mkdir -p "$folder"
    fi
    printf '%s %s\n' "$own" "$folder" >>"$RUN/mounts"
  done
  # Private first, so that the host does not see the mounts; shared afterwards, because the kubelet
  # propagates mounts to containers.
  # shellcheck disable=SC2016 # for the inner shell
  spawn mounts unshare --mount --propagation private bash -ec '
    while read -r own folder; do mount --bind "$own" "$folder"; done <"$1/mounts"
    mount --make-rshared /
    touch "$1/mounted"
    exec sleep infinity' - "$RUN"
  wait_for mounts 60 "the node's folders are mounted" test -e "$RUN/mounted"
}

# in_node CMD…: runs a command in the mount and network namespaces of the node.
in_node() { "${NODE[@]}" "$@"; }

enter_node() {
  local pid
  pid=$(pid_of mounts) || die node "the process that holds the node's mounts is gone" "run: cluster down; cluster up"
  NODE=(nsenter "--mount=/proc/$pid/ns/mnt" "--net=/run/netns/$NAME" --)
}

# The snapshotter native copies each image for each container, which is slow with big images;
# overlayfs is not available on every file system.
choose_snapshotter() {
  local probe="$RUN/probe"
  SNAPSHOTTER=native
  mkdir -p "$probe"/{lower,upper,work,merged}
  if mount -t overlay overlay -o "lowerdir=$probe/lower,upperdir=$probe/upper,workdir=$probe/work" "$probe/merged" 2>/dev/null; then
    umount "$probe/merged"
    SNAPSHOTTER=overlayfs
  fi
  rm -rf "$probe"
}

start_containerd() {
  choose_snapshotter
  mkdir -p "$RUN/cni"
  render cni.conflist "$RUN/cni/10-test.conflist"
  render containerd.toml "$RUN/containerd.toml"
  spawn containerd "${NODE[@]}" containerd --config "$RUN/containerd.toml"
}

containerd_ready() { in_node ctr version; }

start_kubelet() {
  render kubelet.yaml "$RUN/kubelet.yaml"
  spawn kubelet "${NODE[@]}" "$(command -v kubelet)" --config "$RUN/kubelet.yaml" --kubeconfig "$PKI/node.conf" \
    --hostname-override "$NODE_NAME" --node-ip "$NODE_IP" --root-dir /var/lib/kubelet
}

start_proxy() {
  render kube-proxy.yaml "$RUN/kube-proxy.yaml"
  spawn kube-proxy "${NODE[@]}" "$(command -v kube-proxy)" --config "$RUN/kube-proxy.yaml"
}

node_ready() {
  local state
  state=$(kubectl --kubeconfig "$RUN/kubeconfig" get node "$NODE_NAME" \
    -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status} {.spec.taints}') && [ "$state" = "True " ]
}

# Removes everything outside of .run, after the processes have exited.
remove_node() {
  local target folder
  awk -v run="$RUN/" 'index($2, run) == 1 { print $2 }' /proc/mounts | sort -r | while read -r target; do
    umount "$target" 2>/dev/null || umount -l "$target"
  done
  [ -r "$RUN/made-folders" ] || return 0
  # Removing a directory would also remove it from the mount namespace of another cluster;
  # while there is one, empty directories stay.
  ! others_run || return 0
  tac "$RUN/made-folders" | while read -r folder; do rmdir "$folder" 2>/dev/null || true; done
}
