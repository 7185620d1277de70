//! When the main containers count as terminated: every combination of policies, exit codes, containers and kinds of
//! proxy.

mod row;

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use row::{Row, rows};

use trainmesh_testing::cluster::{Cluster, Namespace, list};
use trainmesh_testing::controller::{
    ContainerRequest, ContainerState, Group, OPTED_IN, ObservedPod, PROXY, container_requests_by_pod,
};

/// Number of concurrent pods; more would only wait for each other's start.
const CONCURRENCY: usize = 16;
/// Number of restarts after which a container counts as restarting forever.
const MIN_RESTARTS: u64 = 2;
/// Time after which no further transition is expected: many times the stabilization window.
const QUIET_PERIOD: SignedDuration = SignedDuration::from_secs(10);
/// Timeout of a row: restarts are 10 s and more apart, and the machine is busy.
const ROW_TIMEOUT: Duration = Duration::from_mins(10);
/// Longest time from the main containers' termination to the proxy's, which may not have started yet. Latency is
/// benchmarked elsewhere; this detects pods that only a resync handles.
const MAX_DELAY: SignedDuration = SignedDuration::from_mins(4);

#[test]
fn the_proxy_is_terminated_only_when_no_main_container_will_run_again() {
    let group = Group::new();
    let controller = group.start();
    controller.wait_for_leadership();
    let namespace = Cluster::get().namespace(&OPTED_IN);
    let observations = run(&group, &namespace);
    let requests = container_requests_by_pod(&namespace);
    let wrong: Vec<_> = rows().into_iter().filter_map(|row| check(row, &observations, &requests).err()).collect();
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows().len(), wrong.join("\n"));
    assert_eq!(controller.metric("trainmesh_premature_end_total"), Some(0));
}

/// Runs every pod of the table and returns its last observation; `Err` is a row that timed out.
fn run(group: &Group, namespace: &Namespace) -> HashMap<String, Result<ObservedPod, ObservedPod>> {
    let mut waiting = rows().into_iter();
    let mut running: BTreeMap<String, (Row, Instant)> = BTreeMap::new();
    let mut observations = HashMap::new();
    loop {
        let next: Vec<Row> = waiting.by_ref().take(CONCURRENCY - running.len()).collect();
        if !next.is_empty() {
            let pods = next.iter().map(|row| row.manifest(group.pod(&row.to_string())).into());
            let _ = namespace.create(&list(pods)).success();
            running.extend(next.into_iter().map(|row| (row.to_string(), (row, Instant::now()))));
        }
        if running.is_empty() {
            return observations;
        }
        let mut finished = Vec::new();
        for pod in namespace.pods("").into_iter().map(ObservedPod) {
            let Some((row, since)) = running.get(pod.name()) else { continue };
            let has_settled = has_settled(*row, &pod);
            if has_settled || since.elapsed() > ROW_TIMEOUT {
                let name = pod.name().to_owned();
                running.remove(&name);
                finished.push(name.clone());
                observations.insert(name, if has_settled { Ok(pod) } else { Err(pod) });
            }
        }
        if !finished.is_empty() {
            let names = finished.iter().map(String::as_str);
            let arguments: Vec<_> = ["delete", "pods", "--wait=false"].into_iter().chain(names).collect();
            let _ = namespace.kubectl(&arguments, "").success();
        }
    }
}

/// Returns true if the pod has reached its final behavior, right or wrong.
fn has_settled(row: Row, pod: &ObservedPod) -> bool {
    let main_containers = pod.main_containers();
    // While all containers restart, init containers first, the phase is Pending for a moment.
    let again =
        pod.phase() != "Pending" && main_containers.iter().any(|container| pod.restarts(container) >= MIN_RESTARTS);
    let quiet =
        pod.all_terminated_at(&main_containers).is_some_and(|end| Timestamp::now().duration_since(end) > QUIET_PERIOD);
    pod.is_finished() || again || (quiet && row.main_containers_terminate() && row.phase() == "Running")
}

fn check(
    row: Row,
    observations: &HashMap<String, Result<ObservedPod, ObservedPod>>,
    requests: &BTreeMap<String, Vec<ContainerRequest>>,
) -> Result<(), String> {
    let name = row.to_string();
    let pod = observations[&name].as_ref().map_err(|pod| format!("timed out after {ROW_TIMEOUT:?}: {pod}"))?;
    let requests = requests.get(&name).map_or(&[][..], Vec::as_slice);
    let expect =
        |what: &str, right: bool| if right { Ok(()) } else { Err(format!("{what}: {pod}, requests: {requests:?}")) };

    expect(row.phase(), pod.phase() == row.phase())?;
    expect("requests if and only if the proxy is terminated", requests.is_empty() != row.proxy_is_terminated())?;
    if row.main_containers_terminate() {
        let never_again = pod.main_containers().iter().all(|container| pod.restarts(container) == 0);
        expect("no main container restarts", never_again)?;
    } else {
        let again = pod.main_containers().iter().any(|container| pod.restarts(container) >= MIN_RESTARTS);
        expect("a main container keeps restarting", again)?;
    }
    if row.proxy_is_terminated() {
        let once = matches!(pod.state(PROXY), ContainerState::Terminated { code: 0, .. }) && pod.restarts(PROXY) == 0;
        expect("the proxy terminated once, with code 0", once)?;
        let delay = pod.proxy_delay(&pod.main_containers()).unwrap_or(SignedDuration::MAX);
        expect(
            "the proxy terminated soon after the main containers",
            SignedDuration::ZERO <= delay && delay <= MAX_DELAY,
        )?;
    } else if !row.main_containers_terminate() && !row.restarts_all() {
        expect("the proxy runs", pod.state(PROXY) == ContainerState::Running && pod.restarts(PROXY) == 0)?;
    }
    Ok(())
}
