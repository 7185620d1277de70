# shellcheck shell=bash
# shellcheck disable=SC2034 # other files use these variables
# Real operators and schedulers, as pods, from the manifests in their own modules: with their own
# service accounts, permissions, Services and webhooks.

kube() { kubectl --kubeconfig "$RUN/kubeconfig" "$@"; }

# Sets the properties of one operator:
#   OP_SPACE namespace, OP_DEPLOY deployments, OP_BINARY programs (several: each replaces the image of
#   its name), OP_NEEDS other operators, OP_OVERLAY directory for kustomize, or files, OP_CHART with
#   OP_VALUES for Helm, OP_DROP names of objects that are left out, OP_SECRET/OP_SERVICE of its
#   webhooks, OP_EDIT sed script
describe_operator() {
  OP_NEEDS='' OP_SECRET='' OP_SERVICE='' OP_EDIT='' OP_OVERLAY='' OP_CHART='' OP_VALUES='' OP_DROP='' OP_BINARY=$1 OP_DEPLOY=$1
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
    volcano)
      OP_SPACE=volcano-system OP_OVERLAY=volcano-development.yaml
      OP_DEPLOY='volcano-admission volcano-controllers volcano-scheduler'
      OP_BINARY='vc-webhook-manager vc-controller-manager vc-scheduler'
      OP_SECRET=volcano-admission-secret OP_SERVICE=volcano-admission-service
      # A Job that makes the Secret.
      OP_DROP='volcano-admission-init.*'
      ;;
    coscheduling)
      OP_SPACE=scheduler-plugins OP_CHART=install/charts/as-a-second-scheduler
      # Not part of the chart. The controller watches both kinds.
      OP_OVERLAY='coscheduling/crd.yaml capacityscheduling/crd.yaml'
      # The other plugins of the chart's default need more CRDs.
      OP_VALUES='--set plugins.enabled={Coscheduling}'
      OP_DEPLOY='scheduler-plugins-controller scheduler-plugins-scheduler' OP_BINARY='controller kube-scheduler'
      ;;
    yunikorn)
      OP_SPACE=yunikorn OP_DEPLOY=yunikorn-scheduler
      OP_OVERLAY='scheduler/yunikorn-rbac.yaml scheduler/yunikorn-configs.yaml scheduler/scheduler.yaml'
      # The manifests name no namespace, and the second container is the web interface.
      OP_EDIT='s|^metadata:$|&\n  namespace: yunikorn|; s|^data:$|&\n  service.placeHolderImage: trainmesh.test/pause:1|; /- name: yunikorn-scheduler-web/,$ d; s|memory: 1Gi|memory: 64Mi|'
      ;;
    koordinator)
      OP_SPACE=koordinator-system OP_DEPLOY=koord-scheduler OP_BINARY=koord-scheduler
      # The scheduler reads two kinds whose CRDs the default installation lacks.
      OP_OVERLAY='default crd/bases/scheduling.koordinator.sh_clusternetworktopologies.yaml
        crd/bases/scheduling.koordinator.sh_scheduleexplanations.yaml'
      # All parts but the scheduler, and the priority classes.
      OP_DROP='koord-(batch|descheduler|free|koordlet|leader-election|manager|mid|prod|slo|webhook|mutating|validating).*'
      OP_EDIT='s|^( *)- /koord-scheduler$|\1- /manager|'
      ;;
    kai)
      # The parts that schedule, which config/kai.yaml runs as one pod. KAI's own operator would create a Deployment for each part,
      # and others.
      OP_SPACE=kai-scheduler OP_DEPLOY=kai OP_BINARY='kai-scheduler podgrouper binder' OP_CHART=kai-scheduler
      OP_OVERLAY='kai-scheduler/crds/scheduling.run.ai_bindrequests.yaml kai-scheduler/crds/scheduling.run.ai_podgroups.yaml
        kai-scheduler/crds/scheduling.run.ai_queues.yaml external-crds/kueue.x-k8s.io_topologies.yaml'
      OP_VALUES='-s templates/rbac/binder.yaml -s templates/rbac/podgrouper.yaml -s templates/rbac/scheduler.yaml
        -s templates/priorityclasses/build.yaml -s templates/priorityclasses/inference.yaml -s templates/priorityclasses/train.yaml'
      ;;
    kuberay)
      OP_SPACE=kuberay OP_OVERLAY=default OP_DEPLOY=kuberay-operator OP_BINARY=kuberay-operator
      # The pods of tests run no Ray, and thus have none of its health checks.
      OP_EDIT='s|namespace: default$|namespace: kuberay|; s|^( *)- /manager$|&\n\1env:\n\1- {name: ENABLE_INIT_CONTAINER_INJECTION, value: "false"}\n\1- {name: ENABLE_PROBES_INJECTION, value: "false"}|'
      ;;
    kueue)
      OP_SPACE=kueue-system OP_OVERLAY=default OP_DEPLOY=kueue-controller-manager
      OP_SECRET=kueue-webhook-server-cert OP_SERVICE=kueue-webhook-service
      # The apiserver of this cluster has no aggregation layer.
      OP_DROP='v1beta[12].visibility.kueue.x-k8s.io'
      ;;
    lws)
      OP_SPACE=lws-system OP_OVERLAY=default OP_DEPLOY=lws-controller-manager
      OP_SECRET=lws-webhook-server-cert OP_SERVICE=lws-webhook-service
      OP_EDIT='s|replicas: 2|replicas: 1|; s|cpu: 1$|cpu: 10m|; s|memory: 1Gi|memory: 64Mi|'
      ;;
    *) die operator "unknown operator '$1'" "one of: coredns cert-manager training-operator mpi-operator jobset trainer lws kuberay kueue volcano coscheduling yunikorn koordinator kai" ;;
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
  local name=$1 other started deployment
  [ ! -e "$RUN/operators/$name.yaml" ] || { info "$name is already started"; return 0; }
  # Both define the CRD mpijobs.kubeflow.org, incompatibly.
  case "$name" in training-operator) other=mpi-operator ;; mpi-operator) other=training-operator ;; *) other=none ;; esac
  [ ! -e "$RUN/operators/$other.yaml" ] || die operator "$name and $other have a CRD of the same name" "cluster operator $other stop"
  for other in $OP_NEEDS; do (operator "$other" start) || exit 1; done
  need_sets images "$name" ${OP_CHART:+chart}
  started=$(now_ms)
  operator_images "$name"
  mkdir -p "$RUN/operators"
  operator_manifests "$name" >"$RUN/operators/$name.new" || die operator "the manifests of $name could not be rendered"
  kube create namespace "$OP_SPACE" --dry-run=client -o yaml | kube apply -f - >>"$LOGS/operators.log" 2>&1
  [ -z "$OP_SECRET" ] || operator_secret
  # Server-side apply: some CRDs are too big for the annotation of a client-side apply.
  kube apply --server-side --force-conflicts -f "$RUN/operators/$name.new" >>"$LOGS/operators.log" 2>&1 ||
    { FAILED=operators; show_log operators; die operator "the manifests of $name were not accepted" "read the lines above"; }
  mv "$RUN/operators/$name.new" "$RUN/operators/$name.yaml"
  for deployment in $OP_DEPLOY; do
    kube -n "$OP_SPACE" rollout status "deployment/$deployment" --timeout 300s >>"$LOGS/operators.log" 2>&1 && continue
    kube -n "$OP_SPACE" logs "deployment/$deployment" --tail 15 >&2 || kube -n "$OP_SPACE" describe pods >&2
    die operator "$name did not become ready" "read the lines above; then: cluster operator $name stop"
  done
  [ -z "$OP_SERVICE" ] || operator_answers
  [ "$name" != volcano ] || volcano_queue
  [ "$name" != kai ] || kai_queues
  info "$name is ready after $(seconds $(($(now_ms) - started))) s (namespace $OP_SPACE)"
}

# Service and path of each webhook.
OF_WEBHOOKS='jsonpath={range .items[*].webhooks[*]}{.clientConfig.service.namespace}/{.clientConfig.service.name} {.clientConfig.service.path}{"\n"}{end}'

# is_trusted ADDRESS: succeeds if the certificate of $OP_SERVICE verifies with the CA of each of its webhooks.
is_trusted() {
  local bundle of="{range .items[*].webhooks[?(@.clientConfig.service.name=='$OP_SERVICE')]}{.clientConfig.caBundle}{'\n'}{end}"
  while read -r bundle; do
    in_net openssl s_client -connect "$1:443" -CAfile <(base64 -d <<<"$bundle") -verify_return_error </dev/null &>/dev/null || return 1
  done < <(kube get validatingwebhookconfigurations,mutatingwebhookconfigurations -o "jsonpath=$of" | sort -u)
}

# A pod is Ready a moment before kube-proxy routes to it, and some servers listen before they serve the paths of all
# webhooks, or replace their certificate first; a job created in between would be rejected because of the webhook's failurePolicy.
operator_answers() {
  local address deadline
  address=$(kube -n "$OP_SPACE" get service "$OP_SERVICE" -o 'jsonpath={.spec.clusterIP}')
  deadline=$(($(now_ms) + 180000))
  until in_net bash -c "exec 3<>/dev/tcp/$address/443" 2>/dev/null; do
    [ "$(now_ms)" -lt "$deadline" ] || die operator "Service $OP_SERVICE does not respond" "see: cluster logs kube-proxy"
    sleep 0.1
  done
  local path proxy="/api/v1/namespaces/$OP_SPACE/services/https:$OP_SERVICE:443/proxy"
  while read -r path; do
    while kube get --raw "$proxy$path" 2>&1 >/dev/null | grep -q 'could not find the requested resource'; do
      [ "$(now_ms)" -lt "$deadline" ] || die operator "$OP_SERVICE has no webhook $path" "see: cluster logs operators"
      sleep 0.5
    done
  done < <(kube get validatingwebhookconfigurations,mutatingwebhookconfigurations -o "$OF_WEBHOOKS" |
    awk -v service="$OP_SPACE/$OP_SERVICE" '$1 == service && $2 != "" { print $2 }')
  until is_trusted "$address"; do
    [ "$(now_ms)" -lt "$deadline" ] || die operator "a webhook of $OP_SERVICE has another CA" "see: cluster logs operators"
    sleep 0.5
  done
}

# Its webhook rejects PodGroups until the scheduler has created the queue.
volcano_queue() {
  local condition
  for condition in create 'jsonpath={.status.state}=Open'; do
    kube wait queues.scheduling.volcano.sh/default --for "$condition" --timeout 240s >>"$LOGS/operators.log" 2>&1 ||
      die operator "Volcano has no open queue named default" "see: cluster kubectl -n volcano-system logs deployment/volcano-scheduler"
  done
}

# The queues of its default installation, now that their kind exists.
kai_queues() {
  helm template kai "$(tool_dir kai)/manifests/$OP_CHART" -s templates/default-queue.yaml 2>>"$LOGS/operators.log" |
    kube apply -f - >>"$LOGS/operators.log" 2>&1 || die operator "KAI's queues were not accepted" "see: cluster logs operators"
}

operator_stop() {
  [ -e "$RUN/operators/$1.yaml" ] || { info "$1 is not started"; return 0; }
  kube delete -f "$RUN/operators/$1.yaml" --ignore-not-found --timeout 240s >>"$LOGS/operators.log" 2>&1 ||
    die operator "$1 could not be removed" "see: cluster logs operators"
  rm -f "$RUN/operators/$1.yaml"
}

# One image with the program, and files of config/NAME at the paths that the operator expects. With
# several programs, one image for each.
operator_images() {
  local program
  case "$OP_BINARY" in
    *' '*) for program in $OP_BINARY; do operator_image "$1" "$1-$program" "$program" "/bin/$program"; done ;;
    *) operator_image "$1" "$1" "$OP_BINARY" /manager ;;
  esac
}

# operator_image SET IMAGE PROGRAM PATH
operator_image() {
  local root="$RUN/rootfs-operator" file extra="$HERE/config/$1" key
  file=$(image_file "$2:1")
  key="$(tool_key "$1") $([ ! -d "$extra" ] || tar -C "$extra" --sort=name --mtime=@0 -c . | sha256sum)"
  if [ ! -e "$file" ] || [ "$(cat "$file.key" 2>/dev/null)" != "$key" ]; then
    mkdir -p "$root/tmp"
    chmod 777 "$root/tmp"
    [ ! -d "$extra" ] || cp -r "$extra/." "$root/"
    install -D "$(tool_dir "$1")/$3" "$root$4"
    make_image "$2:1" "$root" "$4"
    rm -rf "$root"
    printf '%s' "$key" >"$file.key"
  fi
  import_image "$2:1"
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
# leader election, no CPU requests, no Secrets.
operator_manifests() {
  local name=$1 program edits=(-e "s~^( *(- )?)image: .*~\1image: trainmesh.test/$1:1~")
  case "$OP_BINARY" in
    *' '*)
      edits=()
      for program in $OP_BINARY; do edits+=(-e "s~^( *(- )?)image: [^ ]*/$program(:.*)?\$~\1image: trainmesh.test/$1-$program:1~"); done
      ;;
  esac
  if [ "$name" = coredns ] || [ "$name" = cert-manager ]; then
    operator_source "$name"
    return
  fi
  operator_source "$name" |
    awk -v drop="\n  name: ($OP_DROP)\n" 'BEGIN { RS = "---\n" } !/(^|\n)kind: Secret\n/ && $0 !~ drop { printf "---\n%s", $0 }' |
    sed -E -e '/^ *imagePullPolicy: (Always|IfNotPresent)$/d; /^ *runAsUser: [0-9]+$/d' "${edits[@]}" \
      -e 's|^( *)image: trainmesh.test/.*|&\n\1imagePullPolicy: Never|; s|^( *)- image: trainmesh.test/.*|&\n\1  imagePullPolicy: Never|' \
      -e 's|^( *)runAsNonRoot: true|&\n\1runAsUser: 65532|' \
      -e 's|initialDelaySeconds: .*|initialDelaySeconds: 0|; s|periodSeconds: .*|periodSeconds: 1|' \
      -e 's|leaderElect: true|leaderElect: false|; s|cpu: 500m|cpu: 10m|' \
      ${OP_EDIT:+-e "$OP_EDIT"}
}

# Prints the manifests as they are in the module.
operator_source() {
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
  for file in $OP_OVERLAY; do
    printf -- '---\n'
    if [ -f "$folder/$file" ]; then cat "$folder/$file"; else kubectl kustomize "$folder/$file" 2>>"$LOGS/operators.log"; fi || return 1
  done
  # Some files lack the last newline.
  if [ -f "$HERE/config/$1.yaml" ]; then printf '\n---\n' && cat "$HERE/config/$1.yaml"; fi
  # shellcheck disable=SC2086 # a list of options
  [ -z "$OP_CHART" ] || helm template "$1" "$folder/$OP_CHART" --namespace "$OP_SPACE" --include-crds $OP_VALUES 2>>"$LOGS/operators.log"
}
