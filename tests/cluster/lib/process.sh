# shellcheck shell=bash
# shellcheck disable=SC2034 # what one part sets, another reads
# Starting, finding and ending processes. A process is known by its id and its start
# time: an id alone may have been given to somebody else since.

PIDS="$RUN/pids"

# The 22nd field of stat; counted from the state, for a name may hold blanks.
start_time() { local s f; s=$(cat "/proc/$1/stat" 2>/dev/null) && read -ra f <<<"${s##*) }" && printf "%s" "${f[19]}"; }

# A zombie has ended; it waits only for its parent.
is_zombie() { local s; s=$(cat "/proc/$1/stat" 2>/dev/null) || return 0; s=${s##*) }; [ "${s%% *}" = Z ]; }

# Prints the id of a recorded process that still runs.
pid_of() {
  local pid started
  [ -r "$PIDS/$1" ] && read -r pid started <"$PIDS/$1" && [ -n "${started:-}" ] || return 1
  [ "$(start_time "$pid")" = "$started" ] && ! is_zombie "$pid" && printf '%s' "$pid"
}

alive() { pid_of "$1" >/dev/null; }

# spawn COMPONENT CMD…: in the background, recorded, its output in a log. Where there is a
# node, also in the run's cgroup: what a component starts can be found there later.
spawn() {
  local component=$1 pid
  shift
  mkdir -p "$PIDS" "$LOGS"
  (
    [ -z "${LOCK_FD:-}" ] || exec {LOCK_FD}>&-
    exec {TERMINAL}>&- # else `cluster up | less` would wait for the daemons
    [ ! -w "$(daemon_cgroup)/cgroup.procs" ] || echo "$BASHPID" >"$(daemon_cgroup)/cgroup.procs"
    # Memory for time: the tests share few cores with the cluster.
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

# --- control groups -------------------------------------------------------------------
# All that a node runs lies below one group named after the run's folder, in every hierarchy.

cgroup_mounts() { awk '$3 == "cgroup" || $3 == "cgroup2" { print $2 }' /proc/mounts; }

# Any one hierarchy is enough to find processes: pids with version 1, else the only one.
cgroup_tracker() { if [ -d /sys/fs/cgroup/pids ]; then echo /sys/fs/cgroup/pids; else echo /sys/fs/cgroup; fi; }

daemon_cgroup() { printf '%s/%s/daemons' "$(cgroup_tracker)" "$NAME"; }

make_cgroups() {
  local mount
  if [ ! -d /sys/fs/cgroup/pids ]; then
    # Version 2: the kubelet wants these controllers in its root group.
    echo '+cpu +cpuset +memory +pids' >/sys/fs/cgroup/cgroup.subtree_control ||
      die cgroups "the controllers cpu, cpuset, memory and pids cannot be enabled" "use: cluster up --control-plane"
  fi
  for mount in $(cgroup_mounts); do
    mkdir -p "$mount/$NAME" 2>/dev/null || continue
    # A new cpuset group of version 1 holds no processor, and then no process either.
    if [ -f "$mount/$NAME/cpuset.cpus" ] && [ -f "$mount/cgroup.clone_children" ]; then
      cat "$mount/cpuset.cpus" >"$mount/$NAME/cpuset.cpus"
      cat "$mount/cpuset.mems" >"$mount/$NAME/cpuset.mems"
    fi
  done
  mkdir -p "$(daemon_cgroup)" || die cgroups "no control group can be made here" "use: cluster up --control-plane"
}

cgroup_pids() {
  local tracker
  tracker="$(cgroup_tracker)/$NAME"
  [ ! -d "$tracker" ] || find "$tracker" -name cgroup.procs -exec cat {} + 2>/dev/null || true
}

# Ends every process in the run's groups: containers, shims, and daemons that were started
# but not yet recorded when something went wrong.
end_cgroups() {
  local deadline pids mount
  deadline=$(($(now_ms) + 10000))
  while pids=$(cgroup_pids) && [ -n "$pids" ]; do
    # shellcheck disable=SC2086 # a list of ids
    kill -KILL $pids 2>/dev/null || true
    [ "$(now_ms)" -lt "$deadline" ] || { say "cluster: down: processes that do not end: $pids"; return 1; }
    sleep 0.1
  done
  for mount in $(cgroup_mounts); do
    [ -d "$mount/$NAME" ] || continue
    # A group can be removed a moment after its last process has gone.
    until find "$mount/$NAME" -depth -type d -exec rmdir {} + 2>/dev/null && [ ! -d "$mount/$NAME" ]; do
      [ "$(now_ms)" -lt "$deadline" ] || { say "cluster: down: cannot remove the group $mount/$NAME"; return 1; }
      sleep 0.1
    done
  done
}
