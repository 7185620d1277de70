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
      end_process device-plugin
      spawn device-plugin "${NODE[@]}" "$(command -v device-plugin)" /var/lib/kubelet/device-plugins "$@"
      for offer in "$@"; do
        wait_for device-plugin 30 "the node has $offer" node_has "${offer%=*}" "${offer#*=}"
      done
      ;;
    stop) end_process device-plugin ;;
    *) die devices "unknown action '$action'" "start RESOURCE=COUNT…, or stop" ;;
  esac
}

# node_has RESOURCE COUNT: the scheduler may give so many away.
node_has() {
  [ "$(kubectl --kubeconfig "$RUN/kubeconfig" get node "$NODE_NAME" -o "jsonpath={.status.allocatable.${1//./\\.}}")" = "$2" ]
}
