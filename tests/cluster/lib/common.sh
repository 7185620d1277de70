# shellcheck shell=bash
# shellcheck disable=SC2034 # other files use these variables
# Paths, messages and polling. Sourced by ../cluster first.

RUN="$HERE/.run${TRAINMESH_CLUSTER:+-$TRAINMESH_CLUSTER}"
CACHE="$HERE/.cache"
LOGS="$RUN/logs"
PKI="$RUN/pki"

# A short name for the run directory, so that clusters on one machine do not collide.
ID="$(printf '%s' "$RUN" | sha256sum | cut -c1-8)"
NAME="trainmesh-$ID"

exec {TERMINAL}>&2

info() { printf '%s\n' "$*" >&2; }
note() { printf '  %s\n' "$*" >&2; }

# die STEP MESSAGE [FIX]
die() {
  printf 'cluster: %s: %s\n' "$1" "$2" >&2
  [ -z "${3:-}" ] || printf '  fix: %s\n' "$3" >&2
  exit 1
}

is_root() { [ "$(id -u)" = 0 ]; }

now_ms() { local t=${EPOCHREALTIME/[.,]/}; printf '%s' $((t / 1000)); }

# seconds MS: 12345 -> 12.3
seconds() { printf '%d.%d' $(($1 / 1000)) $(($1 % 1000 / 100)); }

# Shows the end of a component's log along with an error.
show_log() {
  [ -s "$LOGS/$1.log" ] || { note "(the log of $1 is empty)"; return 0; }
  note "last lines of $1.log:"
  tail -n "${2:-15}" "$LOGS/$1.log" | cut -c1-400 | sed 's/^/    /' >&2
}

# wait_for COMPONENT SECONDS WHAT CMD…: polls CMD every 100 ms. Fails immediately if the
# component exits, because its log contains the reason.
wait_for() {
  local component=$1 deadline what=$3
  deadline=$(($(now_ms) + $2 * 1000))
  shift 3
  until "$@" >/dev/null 2>&1; do
    if ! alive "$component"; then
      FAILED=$component
      die "$component" "exited while waiting for: $what" "read the log below; then retry"
    fi
    if [ "$(now_ms)" -gt "$deadline" ]; then
      FAILED=$component
      die "$component" "timed out waiting for: $what" "read the log below; on a busy machine, retry"
    fi
    sleep 0.1
  done
}

# Serializes up, down and build. The lock is outside of .run, because down removes .run.
lock() {
  mkdir -p "$CACHE"
  exec {LOCK_FD}>"$CACHE/$1.lock"
  flock -n "$LOCK_FD" && return
  info "waiting for another '$1' in this directory to finish"
  flock -w "${2:-900}" "$LOCK_FD" || die "$1" "another process still holds the lock" "wait for it to finish"
}
