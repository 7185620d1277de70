# shellcheck shell=bash
# Stops and starts one component of a running cluster, for tests of the others in the meantime.

kubelet_ready() { port_open 10248 && node_ready; }

# disturb start|stop|restart apiserver|kubelet
disturb() {
  local component start ready what
  case "$2" in
    apiserver) component=kube-apiserver start=start_apiserver ready=api_ready what="the apiserver is ready" ;;
    kubelet) component=kubelet start=start_kubelet ready=kubelet_ready what="node $NODE_NAME is Ready" ;;
    *) die "$1" "unknown component '$2'" "apiserver or kubelet" ;;
  esac
  [ "$2" = apiserver ] || [ "$MODE" = node ] || die "$1" "this cluster has no node" "as root: cluster down; cluster up"
  # The apiserver would wait a minute for watches, which never complete; other requests take less.
  [ "$1" = start ] || end_process "$component" 3
  [ "$1" != stop ] || return 0
  alive "$component" || "$start"
  (wait_for "$component" 240 "$what" "$ready") || { show_log "$component"; exit 1; }
}

# admission FILE|default: sets the apiserver's AdmissionConfiguration.
admission() {
  case "$1" in
    default) rm -f "$RUN/admission.yaml" ;;
    *) cp -- "$1" "$RUN/admission.yaml" || die admission "'$1' cannot be read" "cluster admission FILE|default" ;;
  esac
  disturb restart apiserver
}
