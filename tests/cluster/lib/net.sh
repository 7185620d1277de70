# shellcheck shell=bash
# shellcheck disable=SC2034 # what one part sets, another reads
# The network of a run: one namespace, tied to the host by one pair of links. Everything
# that routes, filters or listens stays in there.

LINK_HOST="tm${ID:0:7}h"
LINK_NODE="tm${ID:0:7}n"

# Sets HOST_IP and NODE_IP: a /30 out of 198.51.100.0/24 (a range for documentation, routed
# nowhere) that no other link of this machine uses.
choose_addresses() {
  local try n used
  used=" $(ip -4 -o addr | awk '{print $4}' | cut -d/ -f1 | tr '\n' ' ')"
  for ((try = 0; try < 64; try++)); do
    n=$((((16#${ID:0:4} + try) % 64) * 4))
    HOST_IP="198.51.100.$((n + 1))" NODE_IP="198.51.100.$((n + 2))"
    case "$used" in *" $HOST_IP "* | *" $NODE_IP "*) ;; *) return 0 ;; esac
  done
  die network "all of 198.51.100.0/24 is in use" "take down clusters of other folders"
}

# (The first namespace of a machine makes the folder /run/netns and mounts it on itself.)
netns_works() {
  is_root && command -v ip >/dev/null || return 1
  [ -d /run/netns ] || echo /run/netns >>"$RUN/made-folders"
  ip netns add "$NAME-probe" 2>/dev/null && ip netns del "$NAME-probe"
}

# Only the network is entered. (`ip netns exec` also mounts a fresh /sys, without the
# control groups that a node needs.)
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
  # The node's own processes (the apiserver calling a webhook's Service) need some route to
  # a Service address before kube-proxy's rules rewrite it. There is no default route: a
  # pod that calls the world is told at once that it cannot.
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

# Without a namespace the ports are the host's: take free ones, on loopback only.
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
  die network "no free port on loopback" "end some servers"
}
