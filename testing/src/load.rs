//! Pods that are created one after another, while something happens to the webhook or to the apiserver.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::cluster::{Namespace, PATIENCE, eventually};
use crate::pods::pod;

/// Side by side, so that at most moments some call is under way.
const CREATORS: usize = 3;
/// Between two pods of one creator: a rate that a busy machine keeps up with, too.
const PAUSE: Duration = Duration::from_millis(200);

/// What became of the pods.
#[derive(Debug, Default)]
pub struct Load {
    /// Names of the pods that were created.
    pub created: Vec<String>,
    /// How long each creation took.
    pub took: Vec<Duration>,
    /// What was said of those that were not.
    pub failed: Vec<String>,
}

/// Creates pods in `namespace` while `meanwhile` runs.
pub fn under_load(namespace: &Namespace, meanwhile: impl FnOnce()) -> Load {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let creators: Vec<_> = (0..CREATORS)
            .map(|number| {
                scope.spawn({
                    let over = &over;
                    move || create(namespace, number, over)
                })
            })
            .collect();
        let end = End(&over);
        meanwhile();
        drop(end);
        creators.into_iter().fold(Load::default(), |mut sum, creator| {
            let Load { created, took, failed } = creator.join().unwrap();
            sum.created.extend(created);
            sum.took.extend(took);
            sum.failed.extend(failed);
            sum
        })
    })
}

/// Waits until some more pods have been created.
pub fn goes_on(namespace: &Namespace) {
    let before = namespace.pods("").len();
    eventually(PATIENCE, "more pods are created", || match namespace.pods("").len() {
        now if now >= before + CREATORS => Ok(()),
        now => Err(format!("{now} after {before}")),
    });
}

/// Ends the creators, also when the test has failed: they would be waited for.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn create(namespace: &Namespace, creator: usize, over: &AtomicBool) -> Load {
    let mut load = Load::default();
    for number in 0.. {
        if over.load(Ordering::Relaxed) {
            break;
        }
        let name = format!("train-{creator}-{number}");
        let began = Instant::now();
        match namespace.create_pod(&pod(&name)) {
            Ok(()) => {
                load.created.push(name);
                load.took.push(began.elapsed());
            }
            Err(error) => load.failed.push(error.to_string()),
        }
        thread::sleep(PAUSE);
    }
    load
}
