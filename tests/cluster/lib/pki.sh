# shellcheck shell=bash
# shellcheck disable=SC2034 # other files use these variables
# Certificates and kubeconfigs: created for each run, so that no secret outlives it.

make_ca() {
  mkdir -p "$PKI"
  chmod 700 "$PKI"
  cat >"$PKI/openssl.cnf" <<'CONF'
[req]
distinguished_name = dn
[dn]
[ca]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign, digitalSignature
subjectKeyIdentifier = hash
[client]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = clientAuth
[server]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = $ENV::SAN
CONF
  openssl_req ca ca '/CN=trainmesh-test-ca'
  openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:prime256v1 -out "$PKI/sa.key" 2>>"$LOGS/openssl.log"
  openssl pkey -in "$PKI/sa.key" -pubout -out "$PKI/sa.pub"
}

# openssl_req NAME SECTION SUBJECT [MORE…]
openssl_req() {
  local name=$1 section=$2 subject=$3
  shift 3
  SAN="${SAN:-DNS:unused}" openssl req -x509 -config "$PKI/openssl.cnf" -extensions "$section" -days 365 -nodes \
    -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -subj "$subject" "$@" \
    -keyout "$PKI/$name.key" -out "$PKI/$name.crt" 2>>"$LOGS/openssl.log" ||
    die certificates "openssl could not create '$name'" "see $LOGS/openssl.log"
}

# client NAME USER [GROUP]
client() { openssl_req "$1" client "${3:+/O=$3}/CN=$2" -CA "$PKI/ca.crt" -CAkey "$PKI/ca.key"; }

# server NAME SUBJECT SAN
server() { SAN="$3" openssl_req "$1" server "/CN=$2" -CA "$PKI/ca.crt" -CAkey "$PKI/ca.key"; }

# kubeconfig FILE CERTIFICATE: the certificates are embedded, so that the file can be copied.
kubeconfig() {
  cat >"$1" <<CONF
apiVersion: v1
kind: Config
current-context: trainmesh
clusters:
- name: trainmesh
  cluster: {server: "$SERVER", certificate-authority-data: $(base64 -w0 <"$PKI/ca.crt")}
contexts:
- name: trainmesh
  context: {cluster: trainmesh, user: $2}
users:
- name: $2
  user: {client-certificate-data: $(base64 -w0 <"$PKI/$2.crt"), client-key-data: $(base64 -w0 <"$PKI/$2.key")}
CONF
  chmod 600 "$1"
}

make_pki() {
  make_ca
  server apiserver kube-apiserver "IP:127.0.0.1,IP:$NODE_IP,IP:$SERVICE_IP,DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local"
  client admin trainmesh-admin system:masters
  client controller-manager system:kube-controller-manager
  client scheduler system:kube-scheduler
  kubeconfig "$RUN/kubeconfig" admin
  kubeconfig "$PKI/controller-manager.conf" controller-manager
  kubeconfig "$PKI/scheduler.conf" scheduler
  [ "$MODE" = node ] || return 0
  server kubelet "$NODE_NAME" "DNS:$NODE_NAME,IP:$NODE_IP"
  client kubelet-client trainmesh-apiserver system:masters
  client node "system:node:$NODE_NAME" system:nodes
  client proxy system:kube-proxy
  kubeconfig "$PKI/node.conf" node
  kubeconfig "$PKI/proxy.conf" proxy
}
