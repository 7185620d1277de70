# shellcheck shell=bash
# Devices that do not exist, advertised to the real kubelet by a device plugin.

# devices start RESOURCE=COUNT… | stop
devices() {
  local action=${1:-} offer
  [ $# = 0 ] || shift
  case "$action" in
    start)
      [ $# -gt 0 ] || die devices "no device given" "cluster devices start RESOURCE=COUNT…"
      for offer in "$@"; do
        [[ "$offer" =~ ^[a-z0-9./_-]+=[0-9]+$ ]] || die devices "'$offer' is not RESOURCE=COUNT" "use, for example, nvidia.com/gpu=8"
      done
      devices_stop
      spawn device-plugin "${NODE[@]}" "$(command -v device-plugin)" /var/lib/kubelet/device-plugins "$@"
      printf '%s\n' "$@" >"$RUN/devices"
      for offer in "$@"; do
        wait_for device-plugin 30 "the node has $offer" node_has "${offer%=*}" "${offer#*=}"
      done
      ;;
    stop) devices_stop ;;
    *) die devices "unknown action '$action'" "start RESOURCE=COUNT…, or stop" ;;
  esac
}

# Returns when none of the devices is allocatable any more.
devices_stop() {
  local offer
  end_process device-plugin
  [ -r "$RUN/devices" ] || return 0
  while read -r offer; do
    wait_for kubelet 180 "the node has no ${offer%=*} left" node_has "${offer%=*}" 0
  done <"$RUN/devices"
  rm "$RUN/devices"
}

# node_has RESOURCE COUNT: succeeds if this many are allocatable.
node_has() {
  [ "$(kubectl --kubeconfig "$RUN/kubeconfig" get node "$NODE_NAME" -o "jsonpath={.status.allocatable.${1//./\\.}}")" = "$2" ]
}
