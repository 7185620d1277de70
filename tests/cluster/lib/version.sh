# shellcheck shell=bash
# shellcheck disable=SC2034 # other files use these variables
# The version of the control plane, and what depends on it.

# Version of the tool set `kubernetes`, whose kubelet and kube-proxy every node runs.
DEFAULT_VERSION="$(sed -n 's/^-X .*gitMajor=//p' "$HERE/tools/kubernetes/build.list").$(sed -n 's/^-X .*gitMinor=//p' "$HERE/tools/kubernetes/build.list")"

# select_version: sets CONTROL_PLANE, the tool sets that contain it, and the flags of KUBERNETES; empty selects the default version.
select_version() {
  [ "$KUBERNETES" != "$DEFAULT_VERSION" ] || KUBERNETES=
  # PATH has the last set first.
  CONTROL_PLANE=(kubernetes ${KUBERNETES:+"kubernetes-$KUBERNETES"})
  [ -z "$KUBERNETES" ] || [ -d "$HERE/tools/kubernetes-$KUBERNETES" ] ||
    die up "there is no Kubernetes $KUBERNETES" "one of: $(supported_versions | tr '\n' ' ')"
  # Native gang scheduling. The controller-manager removes the finalizer of deleted PodGroups only with the gate.
  GATES=() APIS=()
  case "${KUBERNETES:-$DEFAULT_VERSION}" in
    1.34 | 1.35) ;;
    1.36)
      GATES=('--feature-gates=GenericWorkload=true,GangScheduling=true')
      APIS=(--runtime-config=scheduling.k8s.io/v1alpha2=true)
      ;;
    *)
      GATES=(--feature-gates=GenericWorkload=true)
      APIS=(--runtime-config=scheduling.k8s.io/v1beta1=true)
      ;;
  esac
}

# supported_versions: prints the versions that `up` starts, in order.
supported_versions() {
  { echo "$DEFAULT_VERSION" && find "$HERE/tools" -mindepth 1 -maxdepth 1 -name 'kubernetes-*' -printf '%f\n' | sed 's/^kubernetes-//'; } | sort -V
}

is_older_than_node() { [ -n "$KUBERNETES" ] && [ "$(printf '%s\n' "$KUBERNETES" "$DEFAULT_VERSION" | sort -V | head -1)" = "$KUBERNETES" ]; }

KUBERNETES=
select_version
