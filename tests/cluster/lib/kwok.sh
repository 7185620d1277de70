# shellcheck shell=bash
# Thousands of nodes and pods without processes: kwok acts as the kubelet of all nodes with the label type=kwok.

KWOK_PORT=10350

# kwok_command start CONFIG DIR | stop
kwok_command() {
  local action=${1:-}
  case "$action" in
    start)
      [ $# = 3 ] || die kwok "two arguments are needed" "cluster kwok start CONFIG DIR"
      end_process kwok
      server kwok kwok "IP:$NODE_IP"
      spawn kwok "${NET[@]}" env "PATH=$3:$PATH" kwok --kubeconfig "$RUN/kubeconfig" --config "$HERE/config/kwok.yaml" --config "$2" \
        --manage-nodes-with-label-selector type=kwok --node-ip "$NODE_IP" --node-port "$KWOK_PORT" --node-lease-duration-seconds 40 \
        --tls-cert-file "$PKI/kwok.crt" --tls-private-key-file "$PKI/kwok.key"
      wait_for kwok 120 "kwok listens" port_open "$KWOK_PORT"
      ;;
    stop) end_process kwok ;;
    *) die kwok "unknown action '$action'" "start CONFIG DIR, or stop" ;;
  esac
}
