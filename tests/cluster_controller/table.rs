//! When has the payload ended for good? Every combination of policies, exit codes, containers and kinds of proxy.

mod row;

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use row::{Row, rows};

use trainmesh_testing::cluster::{Cluster, Namespace, list};
use trainmesh_testing::controller::{Asked, Group, PROXY, SERVED, Seen, State, asked_of_all};

/// Pods at a time: more only wait for each other's start.
const WINDOW: usize = 16;
/// The restarts after which a container is known to be restarted for ever.
const RESTARTS: u64 = 2;
/// After the end of a payload nothing more is expected to happen: many times the settle window.
const QUIET: SignedDuration = SignedDuration::from_secs(10);
/// By then every row has shown what it comes to: restarts are 10 s and more apart, and the machine is busy.
const ROW: Duration = Duration::from_mins(5);
/// From the payload's end to the proxy's, which may not even have started then. The figure is a benchmark's affair; this
/// catches what is found by a later look at all pods alone.
const DELAY: SignedDuration = SignedDuration::from_mins(2);

#[test]
fn the_proxy_is_ended_when_no_payload_container_will_run_again_and_only_then() {
    let group = Group::new();
    let controller = group.start();
    controller.led();
    let namespace = Cluster::get().namespace(&SERVED);
    let ends = run(&group, &namespace);
    let asked = asked_of_all(&namespace);
    let wrong: Vec<_> = rows().into_iter().filter_map(|row| check(row, &ends, &asked).err()).collect();
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows().len(), wrong.join("\n"));
    assert_eq!(controller.metric("trainmesh_premature_end_total"), Some(0));
}

/// Runs every pod of the table, and tells how each was seen last; an error is one that came to nothing in time.
fn run(group: &Group, namespace: &Namespace) -> HashMap<String, Result<Seen, Seen>> {
    let mut waiting = rows().into_iter();
    let mut running: BTreeMap<String, (Row, Instant)> = BTreeMap::new();
    let mut ends = HashMap::new();
    loop {
        let next: Vec<Row> = waiting.by_ref().take(WINDOW - running.len()).collect();
        if !next.is_empty() {
            let pods = next.iter().map(|row| row.manifest(group.pod(&row.to_string())).into());
            let _ = namespace.create(&list(pods)).success();
            running.extend(next.into_iter().map(|row| (row.to_string(), (row, Instant::now()))));
        }
        if running.is_empty() {
            return ends;
        }
        let mut over = Vec::new();
        for seen in namespace.pods("").into_iter().map(Seen) {
            let Some((row, since)) = running.get(seen.name()) else { continue };
            let is_over = is_over(*row, &seen);
            if is_over || since.elapsed() > ROW {
                let name = seen.name().to_owned();
                running.remove(&name);
                over.push(name.clone());
                ends.insert(name, if is_over { Ok(seen) } else { Err(seen) });
            }
        }
        if !over.is_empty() {
            let names = over.iter().map(String::as_str);
            let words: Vec<_> = ["delete", "pods", "--wait=false"].into_iter().chain(names).collect();
            let _ = namespace.kubectl(&words, "").success();
        }
    }
}

/// Whether the pod has shown what it will come to, be that right or wrong.
fn is_over(row: Row, seen: &Seen) -> bool {
    let payload = seen.payload();
    // While all containers are started again, init containers first, the phase is Pending for a moment.
    let again = seen.phase() != "Pending" && payload.iter().any(|container| seen.restarts(container) >= RESTARTS);
    let quiet = seen.all_ended(&payload).is_some_and(|end| Timestamp::now().duration_since(end) > QUIET);
    seen.over() || again || (quiet && row.payload_ends() && row.phase() == "Running")
}

fn check(
    row: Row,
    ends: &HashMap<String, Result<Seen, Seen>>,
    asked: &BTreeMap<String, Vec<Asked>>,
) -> Result<(), String> {
    let name = row.to_string();
    let seen = ends[&name].as_ref().map_err(|seen| format!("came to nothing in {ROW:?}: {seen}"))?;
    let asked = asked.get(&name).map_or(&[][..], Vec::as_slice);
    let expect =
        |what: &str, right: bool| if right { Ok(()) } else { Err(format!("{what}: {seen}, asked: {asked:?}")) };

    expect(row.phase(), seen.phase() == row.phase())?;
    expect("asked to end or left alone", asked.is_empty() != row.proxy_is_ended())?;
    if row.payload_ends() {
        let never_again = seen.payload().iter().all(|container| seen.restarts(container) == 0);
        expect("no payload container is restarted", never_again)?;
    } else {
        let again = seen.payload().iter().any(|container| seen.restarts(container) >= RESTARTS);
        expect("a payload container is restarted again and again", again)?;
    }
    if row.proxy_is_ended() {
        let once = matches!(seen.state(PROXY), State::Ended { code: 0, .. }) && seen.restarts(PROXY) == 0;
        expect("the proxy ended once, with code 0", once)?;
        let delay = seen.delay(&seen.payload()).unwrap_or(SignedDuration::MAX);
        expect("the proxy ended soon after the payload", SignedDuration::ZERO <= delay && delay <= DELAY)?;
    } else if !row.payload_ends() && !row.restarts_all() {
        expect("the proxy lives", seen.state(PROXY) == State::Running && seen.restarts(PROXY) == 0)?;
    }
    Ok(())
}
