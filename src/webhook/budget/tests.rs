//! Who gets memory, and who loses it.

use super::*;

fn soon() -> tokio::time::Instant {
    tokio::time::Instant::now() + Duration::from_secs(20)
}

/// Bodies that hold all of the share that bodies of `length` bytes have.
async fn fill(budget: &Budget, length: usize) -> Vec<Reservation> {
    let mut bodies = Vec::new();
    for _ in 0.. {
        let mut body = budget.begin(Some(length));
        if body.share.free.available_permits() < length {
            break;
        }
        body.grow(length, soon()).await.unwrap();
        bodies.push(body);
    }
    bodies
}

#[tokio::test]
async fn the_oldest_incomplete_body_is_dropped() {
    let budget = Budget::new();
    let mut bodies = fill(&budget, LARGE).await;
    assert_eq!(bodies.len(), SMALL_SHARE / LARGE);
    bodies[0].complete();
    let evicted = bodies.remove(1);
    let mut another = budget.begin(Some(LARGE));
    let evicting = async {
        evicted.evicted().await;
        drop(evicted);
    };
    let (grown, ()) = tokio::join!(another.grow(LARGE, soon()), evicting);
    assert_eq!(grown, Ok(()), "the first is complete, the second makes room");
    for body in &bodies {
        assert!(tokio::time::timeout(Duration::ZERO, body.evicted()).await.is_err(), "the others stay");
    }
}

#[tokio::test]
async fn complete_bodies_are_waited_for_and_never_dropped() {
    let budget = Budget::new();
    let bodies = fill(&budget, LARGE).await;
    bodies.iter().for_each(Reservation::complete);
    let mut another = budget.begin(Some(LARGE));
    let now = tokio::time::Instant::now();
    assert_eq!(another.grow(LARGE, now).await, Err(NoRoom::InTime));
    for body in &bodies {
        assert!(tokio::time::timeout(Duration::ZERO, body.evicted()).await.is_err());
    }
    drop(bodies);
    assert_eq!(another.grow(LARGE, soon()).await, Ok(()));
}

#[tokio::test]
async fn large_bodies_take_nothing_from_small_ones() {
    let budget = Budget::new();
    let _large = fill(&budget, LARGE + 1).await;
    let mut small = budget.begin(Some(LARGE));
    assert_eq!(small.grow(LARGE, tokio::time::Instant::now()).await, Ok(()));
    assert_eq!(fill(&budget, LARGE).await.len(), SMALL_SHARE / LARGE - 1);
}

#[tokio::test]
async fn a_large_body_is_safe_for_a_while() {
    let budget = Budget::new();
    let length = LARGE_SHARE / 2;
    let bodies = fill(&budget, length).await;
    bodies[0].share.lock().evict(length, Duration::from_hours(1), u64::MAX);
    assert!(tokio::time::timeout(Duration::ZERO, bodies[0].evicted()).await.is_err(), "it is young");
    let mut another = budget.begin(None);
    let mut bodies = bodies.into_iter();
    let oldest = bodies.next().unwrap();
    let evicting = async {
        oldest.evicted().await;
        drop(oldest);
    };
    let (grown, ()) = tokio::join!(another.grow(length, soon()), evicting);
    assert_eq!(grown, Ok(()), "then it makes room");
}
