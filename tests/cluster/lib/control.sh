# shellcheck shell=bash
# shellcheck disable=SC2034 # other files use these variables
# The control plane: etcd, apiserver, controller-manager, scheduler.

SERVICE_RANGE=10.96.0.0/16
SERVICE_IP=10.96.0.1
DNS_IP=10.96.0.10

choose_ports() {
  ETCD_PORT=2379 PEER_PORT=2380 API_PORT=6443 KCM_PORT=10257 SCHEDULER_PORT=10259
  [ "$MODE" != node ] || return 0
  local var
  for var in ETCD_PORT PEER_PORT API_PORT KCM_PORT SCHEDULER_PORT; do
    free_port
    printf -v "$var" '%s' "$FREE_PORT"
  done
}

start_etcd() {
  mkdir -p "$RUN/data/etcd"
  chmod 700 "$RUN/data/etcd"
  # No fsync: the data is temporary, and a slow disk must not slow the tests.
  spawn etcd "${NET[@]}" etcd --name test --data-dir "$RUN/data/etcd" --unsafe-no-fsync \
    --listen-client-urls "http://127.0.0.1:$ETCD_PORT" --advertise-client-urls "http://127.0.0.1:$ETCD_PORT" \
    --listen-peer-urls "http://127.0.0.1:$PEER_PORT" --initial-advertise-peer-urls "http://127.0.0.1:$PEER_PORT" \
    --initial-cluster "test=http://127.0.0.1:$PEER_PORT" --log-level warn
}

port_open() { in_net bash -c "exec 3<>/dev/tcp/127.0.0.1/$1"; }

start_apiserver() {
  local bind=127.0.0.1 node=() admission=()
  [ ! -e "$RUN/admission.yaml" ] || admission=(--admission-control-config-file "$RUN/admission.yaml")
  if [ "$MODE" = node ]; then
    bind=0.0.0.0 # in a network that only this machine can reach
    node=(--kubelet-client-certificate "$PKI/kubelet-client.crt" --kubelet-client-key "$PKI/kubelet-client.key"
      --kubelet-certificate-authority "$PKI/ca.crt" --kubelet-preferred-address-types=InternalIP)
  fi
  spawn kube-apiserver "${NET[@]}" kube-apiserver --etcd-servers "http://127.0.0.1:$ETCD_PORT" \
    --bind-address "$bind" --secure-port "$API_PORT" --advertise-address "$NODE_IP" \
    --service-cluster-ip-range "$SERVICE_RANGE" --allow-privileged=true --authorization-mode=Node,RBAC \
    --client-ca-file "$PKI/ca.crt" --tls-cert-file "$PKI/apiserver.crt" --tls-private-key-file "$PKI/apiserver.key" \
    --service-account-issuer https://kubernetes.default.svc --service-account-key-file "$PKI/sa.pub" \
    --service-account-signing-key-file "$PKI/sa.key" \
    --audit-log-maxsize 0 --audit-policy-file "$HERE/config/audit-policy.yaml" --audit-log-path "$LOGS/audit.log" \
    "${GATES[@]}" "${APIS[@]}" "${admission[@]}" "${node[@]}"
}

api_ready() { kubectl --kubeconfig "$RUN/kubeconfig" get --raw /readyz; }

start_controllers() {
  spawn kube-controller-manager "${NET[@]}" kube-controller-manager --kubeconfig "$PKI/controller-manager.conf" \
    --bind-address 127.0.0.1 --secure-port "$KCM_PORT" --leader-elect=false --use-service-account-credentials=true \
    --service-account-private-key-file "$PKI/sa.key" --root-ca-file "$PKI/ca.crt" \
    --cluster-signing-cert-file "$PKI/ca.crt" --cluster-signing-key-file "$PKI/ca.key" \
    --flex-volume-plugin-dir "$RUN/data/volumeplugins" "${GATES[@]}" --kube-api-qps 100 --kube-api-burst 200
  spawn kube-scheduler "${NET[@]}" kube-scheduler --kubeconfig "$PKI/scheduler.conf" \
    --bind-address 127.0.0.1 --secure-port "$SCHEDULER_PORT" --leader-elect=false "${GATES[@]}" \
    --kube-api-qps 100 --kube-api-burst 200
}

default_account() { kubectl --kubeconfig "$RUN/kubeconfig" get serviceaccount default; }
