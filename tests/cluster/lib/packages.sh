# shellcheck shell=bash
# shellcheck disable=SC2034 # other files use these variables
# Debian packages for a node and the tests on it; their names are printed before they are installed.

# file:package that provides it
NODE_FILES="/usr/bin/containerd:containerd /usr/sbin/runc:runc /usr/lib/cni/ptp:containernetworking-plugins
/usr/sbin/iptables:iptables /usr/sbin/conntrack:conntrack /bin/busybox:busybox-static /sbin/ip:iproute2 /usr/bin/openssl:openssl
/usr/bin/jq:jq /usr/share/doc/libfaketime:libfaketime"

missing_packages() {
  local pair
  for pair in $NODE_FILES; do [ -e "${pair%%:*}" ] || printf '%s ' "${pair##*:}"; done
  # The package busybox installs a dynamically linked file at the same path; images need the static one.
  if [ -e /bin/busybox ] && [ ! -e /usr/share/doc/busybox-static ]; then printf 'busybox-static '; fi
}

install_packages() {
  local missing log="$CACHE/apt.log"
  missing="$(missing_packages)"
  [ -n "$missing" ] || return 0
  if ! command -v apt-get >/dev/null; then
    die packages "missing: $missing" "install them with this system's package manager, or use: cluster up --control-plane"
  fi
  info "missing Debian packages: $missing"
  info "installing them: apt-get install -y --no-install-recommends $missing"
  # shellcheck disable=SC2086 # a list of names
  if ! DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing >"$log" 2>&1; then
    note "not found in the current package lists; running apt-get update and retrying"
    # shellcheck disable=SC2086
    if ! { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing; } >"$log" 2>&1; then
      tail -n 15 "$log" | sed 's/^/    /' >&2
      die packages "apt-get could not install: $missing" "read the lines above, or use: cluster up --control-plane"
    fi
  fi
}
