# shellcheck shell=bash
# shellcheck disable=SC2034 # other files use these variables
# The network of a run: one namespace, connected to the host by one pair of links. Everything
# that routes, filters or listens stays inside.

LINK_HOST="tm${ID:0:7}h"
LINK_NODE="tm${ID:0:7}n"

# Sets HOST_IP and NODE_IP: a /30 out of 198.51.100.0/24 (a documentation range that is not
# routed) that no other link of this machine uses.
choose_addresses() {
  local try n used
  used=" $(ip -4 -o addr | awk '{print $4}' | cut -d/ -f1 | tr '\n' ' ')"
  for ((try = 0; try < 64; try++)); do
    n=$((((16#${ID:0:4} + try) % 64) * 4))
    HOST_IP="198.51.100.$((n + 1))" NODE_IP="198.51.100.$((n + 2))"
    case "$used" in *" $HOST_IP "* | *" $NODE_IP "*) ;; *) return 0 ;; esac
  done
  die network "all of 198.51.100.0/24 is in use" "stop clusters of other directories"
}

# (The first namespace on a machine creates the directory /run/netns and mounts it on itself.)
netns_works() {
  is_root && command -v ip >/dev/null || return 1
  [ -d /run/netns ] || echo /run/netns >>"$RUN/made-folders"
  ip netns add "$NAME-probe" 2>/dev/null && ip netns del "$NAME-probe"
}

# Enters only the network namespace. (`ip netns exec` also mounts a fresh /sys, without the
# cgroups that a node needs.)
in_net() { if [ "$MODE" = node ]; then nsenter --net="/run/netns/$NAME" -- "$@"; else "$@"; fi; }

make_network() {
  choose_addresses
  ip netns add "$NAME"
  ip link add "$LINK_HOST" type veth peer name "$LINK_NODE" netns "$NAME"
  ip addr add "$HOST_IP/30" dev "$LINK_HOST"
  ip link set "$LINK_HOST" up
  ip -n "$NAME" link set lo up
  ip -n "$NAME" addr add "$NODE_IP/30" dev "$LINK_NODE"
  ip -n "$NAME" link set "$LINK_NODE" up
  # The node's own processes (such as the apiserver calling a webhook's Service) need a route to
  # a Service address before kube-proxy's rules rewrite it. There is no default route, so that
  # requests to the outside fail immediately.
  ip -n "$NAME" route add "$SERVICE_RANGE" dev "$LINK_NODE" src "$NODE_IP"
  # shellcheck disable=SC2016 # for the inner shell
  in_net bash -ec '
    echo 1 >/proc/sys/net/ipv4/ip_forward
    iptables -A INPUT -i "$1" ! -s "$2" -j DROP
    iptables -A FORWARD -i "$1" -j DROP' - "$LINK_NODE" "$HOST_IP"
}

remove_network() {
  is_root && command -v ip >/dev/null || return 0
  [ ! -e "/sys/class/net/$LINK_HOST" ] || ip link del "$LINK_HOST"
  [ ! -e "/run/netns/$NAME" ] || ip netns del "$NAME"
  [ ! -e "/run/netns/$NAME-probe" ] || ip netns del "$NAME-probe"
  if grep -qsx /run/netns "$RUN/made-folders" && [ -z "$(ls -A /run/netns)" ]; then umount /run/netns 2>/dev/null || true; fi
}

# Without a namespace, use free ports of the host, on loopback only.
free_port() {
  local port try
  for ((try = 0; try < 200; try++)); do
    port=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
    case " ${TAKEN_PORTS:-} " in *" $port "*) continue ;; esac
    if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
      TAKEN_PORTS="${TAKEN_PORTS:-} $port"
      FREE_PORT=$port
      return 0
    fi
  done
  die network "no free port on loopback" "stop some servers"
}
