# shellcheck shell=bash
# shellcheck disable=SC2034 # what one part sets, another reads
# Paths, messages and waiting. Sourced by ../cluster first.

RUN="$HERE/.run${TRAINMESH_CLUSTER:+-$TRAINMESH_CLUSTER}"
CACHE="$HERE/.cache"
LOGS="$RUN/logs"
PKI="$RUN/pki"

# A short name for the run's folder: two clusters on one machine must not meet.
ID="$(printf '%s' "$RUN" | sha256sum | cut -c1-8)"
NAME="trainmesh-$ID"

exec {TERMINAL}>&2

say() { printf '%s\n' "$*" >&2; }
note() { printf '  %s\n' "$*" >&2; }

# die STEP MESSAGE [CURE]
die() {
  printf 'cluster: %s: %s\n' "$1" "$2" >&2
  [ -z "${3:-}" ] || printf '  cure: %s\n' "$3" >&2
  exit 1
}

is_root() { [ "$(id -u)" = 0 ]; }

now_ms() { local t=${EPOCHREALTIME/[.,]/}; printf '%s' $((t / 1000)); }

# seconds MS: 12345 -> 12.3
seconds() { printf '%d.%d' $(($1 / 1000)) $(($1 % 1000 / 100)); }

# Shows the end of a component's log, so that an error can be read where it is printed.
show_log() {
  [ -s "$LOGS/$1.log" ] || { note "(the log of $1 is empty)"; return 0; }
  note "last lines of $1.log:"
  tail -n "${2:-15}" "$LOGS/$1.log" | cut -c1-400 | sed 's/^/    /' >&2
}

# wait_for COMPONENT SECONDS WHAT CMD…: polls CMD each 100 ms. Fails at once when the
# component has died: its log says why, and the deadline would say nothing.
wait_for() {
  local component=$1 deadline what=$3
  deadline=$(($(now_ms) + $2 * 1000))
  shift 3
  until "$@" >/dev/null 2>&1; do
    if ! alive "$component"; then
      FAILED=$component
      die "$component" "ended while waiting for: $what" "read the log below; then try again"
    fi
    if [ "$(now_ms)" -gt "$deadline" ]; then
      FAILED=$component
      die "$component" "not reached in time: $what" "read the log below; a busy machine may only need a second try"
    fi
    sleep 0.1
  done
}

# One up, down or build at a time. The lock lives beside .run, because down removes .run.
lock() {
  mkdir -p "$CACHE"
  exec {LOCK_FD}>"$CACHE/$1.lock"
  flock -n "$LOCK_FD" && return
  say "waiting for another '$1' in this folder to end"
  flock -w "${2:-900}" "$LOCK_FD" || die "$1" "another one still holds the lock" "wait for it to end"
}
