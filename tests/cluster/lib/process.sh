# shellcheck shell=bash
# shellcheck disable=SC2034 # other files use these variables
# Starting, finding and stopping processes. A process is identified by its ID and start time,
# because IDs are reused.

PIDS="$RUN/pids"

# The 22nd field of stat, counted from the state, because the name may contain blanks.
start_time() { local s f; s=$(cat "/proc/$1/stat" 2>/dev/null) && read -ra f <<<"${s##*) }" && printf "%s" "${f[19]}"; }

# A zombie has exited; it only waits for its parent.
is_zombie() { local s; s=$(cat "/proc/$1/stat" 2>/dev/null) || return 0; s=${s##*) }; [ "${s%% *}" = Z ]; }

# Prints the ID of a recorded process that still runs.
pid_of() {
  local pid started
  [ -r "$PIDS/$1" ] && read -r pid started <"$PIDS/$1" && [ -n "${started:-}" ] || return 1
  [ "$(start_time "$pid")" = "$started" ] && ! is_zombie "$pid" && printf '%s' "$pid"
}

alive() { pid_of "$1" >/dev/null; }

# spawn COMPONENT CMD…: starts a background process, records it, and writes its output to a log. With
# a node, the process joins the run's cgroup, so that its descendants can be found there.
spawn() {
  local component=$1 pid
  shift
  mkdir -p "$PIDS" "$LOGS"
  (
    [ -z "${LOCK_FD:-}" ] || exec {LOCK_FD}>&-
    exec {TERMINAL}>&- # otherwise `cluster up | less` would wait for the daemons
    [ ! -w "$(daemon_cgroup)/cgroup.procs" ] || echo "$BASHPID" >"$(daemon_cgroup)/cgroup.procs"
    # Trade memory for CPU time: the tests share few cores with the cluster.
    GOGC=300 exec setsid "$@"
  ) >>"$LOGS/$component.log" 2>&1 </dev/null &
  pid=$!
  printf '%s %s\n' "$pid" "$(start_time "$pid")" >"$PIDS/$component"
  disown "$pid" 2>/dev/null || true
}

# end_process COMPONENT [SECONDS]: TERM, then KILL.
end_process() {
  local pid deadline
  pid=$(pid_of "$1") || { rm -f "$PIDS/$1"; return 0; }
  kill -TERM "$pid" 2>/dev/null || true
  deadline=$(($(now_ms) + ${2:-3} * 1000))
  while alive "$1"; do
    if [ "$(now_ms)" -gt "$deadline" ]; then kill -KILL "$pid" 2>/dev/null || true; fi
    sleep 0.05
  done
  rm -f "$PIDS/$1"
}

# --- cgroups --------------------------------------------------------------------------
# All processes of a node are in one cgroup named after the run directory, in every hierarchy.

cgroup_mounts() { awk '$3 == "cgroup" || $3 == "cgroup2" { print $2 }' /proc/mounts; }

# One hierarchy is enough to find processes: pids with version 1, otherwise the only one.
cgroup_tracker() { if [ -d /sys/fs/cgroup/pids ]; then echo /sys/fs/cgroup/pids; else echo /sys/fs/cgroup; fi; }

daemon_cgroup() { printf '%s/%s/daemons' "$(cgroup_tracker)" "$NAME"; }

make_cgroups() {
  local mount
  if [ ! -d /sys/fs/cgroup/pids ]; then
    # Version 2: the kubelet needs these controllers in its root cgroup.
    echo '+cpu +cpuset +memory +pids' >/sys/fs/cgroup/cgroup.subtree_control ||
      die cgroups "the controllers cpu, cpuset, memory and pids cannot be enabled" "use: cluster up --control-plane"
  fi
  for mount in $(cgroup_mounts); do
    mkdir -p "$mount/$NAME" 2>/dev/null || continue
    # A new cpuset cgroup of version 1 has no CPUs, and accepts no process.
    if [ -f "$mount/$NAME/cpuset.cpus" ] && [ -f "$mount/cgroup.clone_children" ]; then
      cat "$mount/cpuset.cpus" >"$mount/$NAME/cpuset.cpus"
      cat "$mount/cpuset.mems" >"$mount/$NAME/cpuset.mems"
    fi
  done
  mkdir -p "$(daemon_cgroup)" || die cgroups "cannot create a cgroup" "use: cluster up --control-plane"
}

cgroup_pids() {
  local tracker
  tracker="$(cgroup_tracker)/$NAME"
  [ ! -d "$tracker" ] || find "$tracker" -name cgroup.procs -exec cat {} + 2>/dev/null || true
}

# Kills every process in the run's cgroups: containers, shims, and daemons that were started
# but not yet recorded when an error occurred.
end_cgroups() {
  local deadline pids mount
  deadline=$(($(now_ms) + 60000))
  while pids=$(cgroup_pids) && [ -n "$pids" ]; do
    # shellcheck disable=SC2086 # a list of ids
    kill -KILL $pids 2>/dev/null || true
    [ "$(now_ms)" -lt "$deadline" ] || { info "cluster: down: processes that do not exit: $pids"; return 1; }
    sleep 0.1
  done
  for mount in $(cgroup_mounts); do
    [ -d "$mount/$NAME" ] || continue
    # A cgroup can be removed only a moment after its last process has exited.
    until find "$mount/$NAME" -depth -type d -exec rmdir {} + 2>/dev/null && [ ! -d "$mount/$NAME" ]; do
      [ "$(now_ms)" -lt "$deadline" ] || { info "cluster: down: cannot remove the cgroup $mount/$NAME"; return 1; }
      sleep 0.1
    done
  done
}
