//! Creates pods at a steady rate while a test disturbs the webhook or the apiserver.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::cluster::{Namespace, TIMEOUT, eventually};
use crate::pods::pod;

/// Number of concurrent creators: enough that a call is in flight most of the time.
const CREATORS: usize = 3;
/// Pause between two pods of one creator, for a rate that a busy machine sustains.
const PAUSE: Duration = Duration::from_millis(200);

/// Results of the pod creations.
#[derive(Debug, Default)]
pub struct Load {
    /// Names of the created pods.
    pub created: Vec<String>,
    /// Duration of each successful creation.
    pub durations: Vec<Duration>,
    /// Errors of the failed creations.
    pub failed: Vec<String>,
}

/// Creates pods in `namespace` while `action` runs.
pub fn under_load(namespace: &Namespace, action: impl FnOnce()) -> Load {
    let stopped = AtomicBool::new(false);
    thread::scope(|scope| {
        let creators: Vec<_> = (0..CREATORS)
            .map(|number| {
                scope.spawn({
                    let stopped = &stopped;
                    move || create(namespace, number, stopped)
                })
            })
            .collect();
        let stop = StopOnDrop(&stopped);
        action();
        drop(stop);
        creators.into_iter().fold(Load::default(), |mut sum, creator| {
            let Load { created, durations, failed } = creator.join().unwrap();
            sum.created.extend(created);
            sum.durations.extend(durations);
            sum.failed.extend(failed);
            sum
        })
    })
}

/// Waits until more pods have been created.
pub fn wait_for_new_pods(namespace: &Namespace) {
    let before = namespace.pods("").len();
    eventually(TIMEOUT, "more pods are created", || match namespace.pods("").len() {
        now if now >= before + CREATORS => Ok(()),
        now => Err(format!("{now} pods, {before} before")),
    });
}

/// Stops the creators even if the test panics: the scope joins their threads.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn create(namespace: &Namespace, creator: usize, stopped: &AtomicBool) -> Load {
    let mut load = Load::default();
    for number in 0.. {
        if stopped.load(Ordering::Relaxed) {
            break;
        }
        let name = format!("train-{creator}-{number}");
        let start = Instant::now();
        match namespace.create_pod(&pod(&name)) {
            Ok(()) => {
                load.created.push(name);
                load.durations.push(start.elapsed());
            }
            Err(error) => load.failed.push(error.to_string()),
        }
        thread::sleep(PAUSE);
    }
    load
}
