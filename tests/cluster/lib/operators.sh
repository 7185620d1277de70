# shellcheck shell=bash
# shellcheck disable=SC2034 # other files use these variables
# Real operators, as pods, from the manifests in their own modules: with their own service
# accounts, permissions, Services and webhooks.

kube() { kubectl --kubeconfig "$RUN/kubeconfig" "$@"; }

# Sets the properties of one operator:
#   OP_SPACE namespace, OP_DEPLOY deployment, OP_BINARY, OP_NEEDS other operators,
#   OP_OVERLAY directory for kustomize, OP_SECRET/OP_SERVICE of its webhooks, OP_EDIT sed script
describe_operator() {
  OP_NEEDS='' OP_SECRET='' OP_SERVICE='' OP_EDIT='' OP_OVERLAY='' OP_BINARY=$1 OP_DEPLOY=$1
  case "$1" in
    coredns) OP_SPACE=kube-system ;;
    cert-manager) OP_SPACE=cert-manager ;;
    training-operator)
      OP_SPACE=kubeflow OP_OVERLAY=overlays/standalone OP_SECRET=training-operator-webhook-cert OP_SERVICE=training-operator
      # Its Workers resolve their Master's name in an init container.
      OP_NEEDS=coredns
      OP_EDIT='s|^( *)- /manager$|&\n\1- --pytorch-init-container-image=trainmesh.test/busybox:1|'
      ;;
    mpi-operator) OP_SPACE=mpi-operator OP_OVERLAY=overlays/standalone ;;
    jobset)
      OP_SPACE=jobset-system OP_OVERLAY=default OP_DEPLOY=jobset-controller-manager
      OP_SECRET=jobset-webhook-server-cert OP_SERVICE=jobset-webhook-service
      ;;
    trainer)
      OP_SPACE=kubeflow-system OP_OVERLAY=overlays/manager OP_DEPLOY=kubeflow-trainer-controller-manager OP_NEEDS=jobset
      OP_BINARY=trainer-controller-manager
      OP_SECRET=kubeflow-trainer-webhook-cert OP_SERVICE=kubeflow-trainer-controller-manager
      ;;
    *) die operator "unknown operator '$1'" "one of: coredns cert-manager training-operator mpi-operator jobset trainer" ;;
  esac
}

operator() {
  local name=${1:-} action=${2:-}
  describe_operator "$name"
  case "$action" in
    start) operator_start "$name" ;;
    stop) operator_stop "$name" ;;
    *) die operator "unknown action '$action'" "cluster operator NAME start|stop" ;;
  esac
}

operator_start() {
  local name=$1 other started
  [ ! -e "$RUN/operators/$name.yaml" ] || { info "$name is already started"; return 0; }
  # Both define the CRD mpijobs.kubeflow.org, incompatibly.
  case "$name" in training-operator) other=mpi-operator ;; mpi-operator) other=training-operator ;; *) other=none ;; esac
  [ ! -e "$RUN/operators/$other.yaml" ] || die operator "$name and $other have a CRD of the same name" "cluster operator $other stop"
  for other in $OP_NEEDS; do (operator "$other" start) || exit 1; done
  need_sets images "$name"
  started=$(now_ms)
  operator_image "$name"
  mkdir -p "$RUN/operators"
  operator_manifests "$name" >"$RUN/operators/$name.new" || die operator "the manifests of $name could not be rendered"
  kube create namespace "$OP_SPACE" --dry-run=client -o yaml | kube apply -f - >>"$LOGS/operators.log" 2>&1
  [ -z "$OP_SECRET" ] || operator_secret
  # Server-side apply: some CRDs are too big for the annotation of a client-side apply.
  kube apply --server-side --force-conflicts -f "$RUN/operators/$name.new" >>"$LOGS/operators.log" 2>&1 ||
    { FAILED=operators; show_log operators; die operator "the manifests of $name were not accepted" "read the lines above"; }
  mv "$RUN/operators/$name.new" "$RUN/operators/$name.yaml"
  if ! kube -n "$OP_SPACE" rollout status "deployment/$OP_DEPLOY" --timeout 120s >>"$LOGS/operators.log" 2>&1; then
    kube -n "$OP_SPACE" logs "deployment/$OP_DEPLOY" --tail 15 >&2 || kube -n "$OP_SPACE" describe pods >&2
    die operator "$name did not become ready" "read the lines above; then: cluster operator $name stop"
  fi
  [ -z "$OP_SERVICE" ] || operator_answers
  info "$name is ready after $(seconds $(($(now_ms) - started))) s (namespace $OP_SPACE)"
}

# A pod is Ready a moment before kube-proxy routes to it; a job created in between would be
# rejected because of the webhook's failurePolicy.
operator_answers() {
  local address deadline
  address=$(kube -n "$OP_SPACE" get service "$OP_SERVICE" -o 'jsonpath={.spec.clusterIP}')
  deadline=$(($(now_ms) + 30000))
  until in_net bash -c "exec 3<>/dev/tcp/$address/443" 2>/dev/null; do
    [ "$(now_ms)" -lt "$deadline" ] || die operator "Service $OP_SERVICE does not respond" "see: cluster logs kube-proxy"
    sleep 0.1
  done
}

operator_stop() {
  [ -e "$RUN/operators/$1.yaml" ] || { info "$1 is not started"; return 0; }
  kube delete -f "$RUN/operators/$1.yaml" --ignore-not-found --timeout 90s >>"$LOGS/operators.log" 2>&1 ||
    die operator "$1 could not be removed" "see: cluster logs operators"
  rm -f "$RUN/operators/$1.yaml"
}

# The binary, and files of config/NAME at the paths that the operator expects.
operator_image() {
  local root="$RUN/rootfs-operator" file extra="$HERE/config/$1" key
  file=$(image_file "$1:1")
  key="$(tool_key "$1") $([ ! -d "$extra" ] || tar -C "$extra" --sort=name --mtime=@0 -c . | sha256sum)"
  if [ ! -e "$file" ] || [ "$(cat "$file.key" 2>/dev/null)" != "$key" ]; then
    mkdir -p "$root/tmp"
    chmod 777 "$root/tmp"
    [ ! -d "$extra" ] || cp -r "$extra/." "$root/"
    cp "$(command -v "$OP_BINARY")" "$root/manager"
    make_image "$1:1" "$root" /manager
    rm -rf "$root"
    printf '%s' "$key" >"$file.key"
  fi
  import_image "$1:1"
}

# The certificate of its webhooks, in the Secret in which the operator would store its own:
# its rotation finds a valid one and keeps it.
operator_secret() {
  server "$OP_SERVICE" "$OP_SERVICE.$OP_SPACE.svc" "DNS:$OP_SERVICE.$OP_SPACE.svc,DNS:$OP_SERVICE.$OP_SPACE.svc.cluster.local"
  kube -n "$OP_SPACE" create secret generic "$OP_SECRET" --dry-run=client -o yaml \
    --from-file "ca.crt=$PKI/ca.crt" --from-file "ca.key=$PKI/ca.key" \
    --from-file "tls.crt=$PKI/$OP_SERVICE.crt" --from-file "tls.key=$PKI/$OP_SERVICE.key" |
    kube apply -f - >>"$LOGS/operators.log" 2>&1
}

# The module's manifests, with as few changes as this node needs: local images, fast probes, no
# leader election, no CPU requests.
operator_manifests() {
  local folder file
  if [ "$1" = coredns ]; then
    sed "s|@DNS_IP@|$DNS_IP|" "$HERE/config/coredns.yaml"
    return
  fi
  folder="$(tool_dir "$1")/manifests"
  if [ "$1" = cert-manager ]; then
    for file in "$folder"/*.yaml "$HERE/config/cert-manager.yaml"; do printf -- '---\n' && cat "$file"; done
    return
  fi
  if [ "$1" = trainer ]; then
    # It would fetch JobSet's manifests from the network; JobSet already runs.
    cp -r "$folder" "$RUN/operators/trainer-manifests"
    folder="$RUN/operators/trainer-manifests"
    sed -i '/third-party\/jobset/d' "$folder/$OP_OVERLAY/kustomization.yaml"
  fi
  kubectl kustomize "$folder/$OP_OVERLAY" 2>>"$LOGS/operators.log" |
    awk 'BEGIN { RS = "---\n" } !/(^|\n)kind: Secret\n/ { printf "---\n%s", $0 }' |
    sed -E -e "s|^( *)image: .*|\1image: trainmesh.test/$1:1\n\1imagePullPolicy: Never|" \
      -e 's|^( *)runAsNonRoot: true|&\n\1runAsUser: 65532|' \
      -e 's|initialDelaySeconds: .*|initialDelaySeconds: 0|; s|periodSeconds: .*|periodSeconds: 1|' \
      -e 's|leaderElect: true|leaderElect: false|; s|cpu: 500m|cpu: 10m|' \
      ${OP_EDIT:+-e "$OP_EDIT"}
}
