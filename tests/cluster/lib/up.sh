# shellcheck shell=bash
# shellcheck disable=SC2034 # other files use these variables
# Starting and stopping a cluster as a whole.

CONTROL_COMPONENTS=(etcd kube-apiserver kube-controller-manager kube-scheduler)
NODE_COMPONENTS=(mounts containerd kubelet kube-proxy)

# load_state: loads the settings of the running cluster. Fails if none runs.
load_state() {
  [ -r "$RUN/state" ] || return 1
  # shellcheck source=/dev/null # written by save_state
  . "$RUN/state"
  select_version
  set_prefixes
}

need_cluster() { load_state || die "${1:-cluster}" "no cluster is running" "start one: tests/cluster/cluster up"; }

save_state() {
  printf '%s=%q\n' MODE "$MODE" KUBERNETES "$KUBERNETES" NODE_IP "$NODE_IP" HOST_IP "${HOST_IP:-}" SERVER "$SERVER" \
    ETCD_PORT "$ETCD_PORT" API_PORT "$API_PORT" >"$RUN/state"
}

set_prefixes() {
  NET=() NODE=()
  [ "$MODE" = node ] || return 0
  NET=(nsenter "--net=/run/netns/$NAME" --)
  ! alive mounts || enter_node
}

components() { echo "${CONTROL_COMPONENTS[@]}"; [ "$MODE" != node ] || echo "${NODE_COMPONENTS[@]}"; }

dead_components() { local c; for c in $(components); do alive "$c" || printf '%s ' "$c"; done; }

choose_mode() {
  MODE=control-plane
  if [ "$WANTED" = control-plane ]; then
    info "control plane only, as requested: pods are created but not scheduled"
  elif is_older_than_node; then
    info "control plane only: a kubelet must not be newer than the apiserver"
  elif ! is_root; then
    info "not root: starting only the control plane (no node: pods stay Pending, no exec, no logs)"
    [ -z "$(missing_packages)" ] || note "a node would also need, as root: apt-get install -y --no-install-recommends $(missing_packages)"
  else
    install_packages
    if netns_works; then
      MODE=node
    else
      info "cannot create a network namespace: starting only the control plane, on the host's loopback"
    fi
  fi
  command -v openssl >/dev/null || die packages "openssl is not installed" "apt-get install openssl"
}

up() {
  local started dead requested=$KUBERNETES
  lock cluster
  if load_state; then
    dead=$(dead_components)
    if [ -z "$dead" ]; then
      [ "$requested" = "$KUBERNETES" ] || die up "a cluster with Kubernetes ${KUBERNETES:-$DEFAULT_VERSION} is running" "cluster down; cluster up"
      info "the cluster is already running"
      usage_hint
      return 0
    fi
    info "a cluster was started here, but these components have exited: $dead- restarting"
    down_all
    KUBERNETES=$requested
    select_version
  elif [ -e "$RUN" ]; then
    info "a start was interrupted here: cleaning up first"
    down_all
  fi

  mkdir -p "$RUN" "$LOGS" "$PIDS"
  trap up_failed EXIT
  choose_mode
  need_sets etcd "${CONTROL_PLANE[@]}"
  [ "$MODE" != node ] || need_sets images
  started=$(now_ms)
  NODE_IP=198.51.100.2 # without a network namespace: used only in the kubernetes Service
  choose_ports
  if [ "$MODE" = node ]; then
    make_network
    make_cgroups
    save_kernel_settings
    SERVER="https://$NODE_IP:$API_PORT"
  else
    SERVER="https://127.0.0.1:$API_PORT"
  fi
  set_prefixes
  start_etcd
  if [ "$MODE" = node ]; then
    make_mounts
    enter_node
    start_containerd
  fi
  make_pki
  wait_for etcd 120 "etcd listens" port_open "$ETCD_PORT"
  start_apiserver
  if [ "$MODE" = node ]; then
    make_base_images
    wait_for containerd 120 "containerd responds" containerd_ready
    import_base_images
  fi
  wait_for kube-apiserver 240 "the apiserver is ready" api_ready
  note "apiserver ready after $(seconds $(($(now_ms) - started))) s"
  start_controllers
  if [ "$MODE" = node ]; then
    start_kubelet
    start_proxy
    wait_for kubelet 240 "node $NODE_NAME is Ready" node_ready
  fi
  wait_for kube-controller-manager 240 "the default ServiceAccount exists" default_account
  dead=$(dead_components)
  if [ -n "$dead" ]; then
    FAILED=${dead%% *}
    die up "exited right after the start: $dead" "read the log below"
  fi
  save_state
  trap - EXIT
  info "cluster up after $(seconds $(($(now_ms) - started))) s ($MODE)"
  usage_hint
}

# Runs when up fails or gets a signal: shows the reason, keeps the logs, and cleans up.
up_failed() {
  local status=$?
  trap - EXIT
  exec 2>&"$TERMINAL" # a signal may arrive while output is redirected to /dev/null
  set +e
  [ -z "${FAILED:-}" ] || show_log "$FAILED" 25
  rm -rf "$CACHE/failed-logs"
  cp -r "$LOGS" "$CACHE/failed-logs" && info "the start failed; all logs: tests/cluster/.cache/failed-logs"
  down_all
  exit $((status == 0 ? 1 : status))
}

usage_hint() {
  info "use it:"
  info "  eval \"\$(tests/cluster/cluster env)\"; kubectl get nodes"
  info "  tests/cluster/cluster kubectl get nodes"
  info "  tests/cluster/cluster exec -- CMD…    (inside the cluster's network)"
  info "  tests/cluster/cluster down"
}

down() {
  lock cluster
  if [ ! -e "$RUN" ] && [ ! -e "/run/netns/$NAME" ] && [ ! -d "$(daemon_cgroup)" ]; then
    info "no cluster is running"
    return 0
  fi
  down_all
  info "cluster down"
}

# Needs no state: uses the recorded process IDs and the names of this directory, so that it
# works after a killed start.
down_all() {
  local component
  # Clients first, etcd last: fewer errors in the logs, and nothing is written again.
  for component in $(recorded | grep -vxE 'etcd|kube-apiserver|containerd|mounts') ; do end_process "$component" 1 & done
  wait
  for component in kube-apiserver containerd etcd; do end_process "$component" 1 & done
  wait
  if is_root; then
    end_cgroups
    end_process mounts 0
    remove_network
    restore_kernel_settings
    remove_node
  fi
  rm -rf "$RUN"
}

recorded() { [ ! -d "$PIDS" ] || (cd "$PIDS" && find . -type f -printf '%P\n'); }
