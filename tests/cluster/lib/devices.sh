# shellcheck shell=bash
# Devices that do not exist, offered to the real kubelet by a device plugin.

# devices start RESOURCE=COUNT… | stop
devices() {
  local action=${1:-} offer
  [ $# = 0 ] || shift
  case "$action" in
    start)
      [ $# -gt 0 ] || die devices "no device is named" "cluster devices start RESOURCE=COUNT…"
      for offer in "$@"; do
        [[ "$offer" =~ ^[a-z0-9./_-]+=[0-9]+$ ]] || die devices "'$offer' is no offer" "RESOURCE=COUNT, as in nvidia.com/gpu=8"
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

# Returns when nothing of them is left to be given away.
devices_stop() {
  local offer
  end_process device-plugin
  [ -r "$RUN/devices" ] || return 0
  while read -r offer; do
    wait_for kubelet 30 "the node has no ${offer%=*} left" node_has "${offer%=*}" 0
  done <"$RUN/devices"
  rm "$RUN/devices"
}

# node_has RESOURCE COUNT: the scheduler may give so many away.
node_has() {
  [ "$(kubectl --kubeconfig "$RUN/kubeconfig" get node "$NODE_NAME" -o "jsonpath={.status.allocatable.${1//./\\.}}")" = "$2" ]
}
