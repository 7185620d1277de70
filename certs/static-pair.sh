#!/usr/bin/env bash
# Issues a serving certificate: generates a CA and a pair, writes the pair to a Secret and the CA to every caBundle.
#
#   certs/static-pair.sh [--namespace trainmesh-system] [--service trainmesh-webhook] [--lifetime 8760h]
#
# Run it again before the certificate expires. The CA of the certificate that is served (from the Secret that the Deployment
# mounts, else from trainmesh-webhook-tls) stays in caBundle until the next run, so that no call fails while the replicas load
# the new certificate. Requires trainmesh, kubectl and jq.
set -euo pipefail

namespace=trainmesh-system service=trainmesh-webhook lifetime=8760h
while [ $# -gt 0 ]; do
  case $1 in
    --namespace) namespace=${2:?$1 needs a value} ;;
    --service) service=${2:?$1 needs a value} ;;
    --lifetime) lifetime=${2:?$1 needs a value} ;;
    -h | --help) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit ;;
    *) echo "error: unknown flag $1" >&2; exit 2 ;;
  esac
  shift 2
done
secret=trainmesh-webhook-static
configuration=0-trainmesh

folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
"${TRAINMESH:-trainmesh}" certs generate --service "$service" --namespace "$namespace" \
  --ca-lifetime "$lifetime" --lifetime "$lifetime" --out "$folder" > /dev/null 2> "$folder/log" || {
  cat "$folder/log" >&2
  exit 1
}

# Keep the CA of the certificate that is served, but no older one.
current=$(kubectl get mutatingwebhookconfiguration "$configuration" -o json)
mounted=$(kubectl -n "$namespace" get deployment trainmesh-webhook --ignore-not-found \
  -o jsonpath='{.spec.template.spec.volumes[?(@.name=="tls")].secret.secretName}')
served=$(kubectl -n "$namespace" get secret "${mounted:-trainmesh-webhook-tls}" --ignore-not-found -o jsonpath='{.data.ca\.crt}')
served=${served:-$(jq -r '.webhooks[0].clientConfig.caBundle // ""' <<< "$current")}
bundle=$({ cat "$folder/ca.crt"; base64 -d <<< "$served"; } | base64 -w 0)
patch=$(jq -c --arg bundle "$bundle" \
  '[.webhooks | keys[] | {op: "add", path: "/webhooks/\(.)/clientConfig/caBundle", value: $bundle}]' <<< "$current")
kubectl patch mutatingwebhookconfiguration "$configuration" --type=json -p "$patch"

# Wait until every apiserver has observed the change.
sleep "${OVERLAP:-10}"
kubectl -n "$namespace" create secret generic "$secret" --type=kubernetes.io/tls --dry-run=client -o json \
  --from-file="$folder/tls.crt" --from-file="$folder/tls.key" --from-file="$folder/ca.crt" |
  kubectl apply --server-side --field-manager=trainmesh-static-pair -f -
