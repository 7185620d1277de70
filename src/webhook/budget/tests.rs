//! Allocation and eviction.

use super::*;

fn deadline() -> tokio::time::Instant {
    tokio::time::Instant::now() + Duration::from_secs(20)
}

/// Fills the budget for bodies of `length` bytes.
async fn fill(budget: &Budget, length: usize) -> Vec<Reservation> {
    let mut bodies = Vec::new();
    for _ in 0.. {
        let mut body = budget.begin(Some(length));
        if body.share.free.available_permits() < length {
            break;
        }
        body.grow(length, deadline()).await.unwrap();
        bodies.push(body);
    }
    bodies
}

#[tokio::test]
async fn the_oldest_incomplete_body_is_evicted() {
    let budget = Budget::new();
    let mut bodies = fill(&budget, LARGE_BODY).await;
    assert_eq!(bodies.len(), SMALL_SHARE / LARGE_BODY);
    bodies[0].complete();
    let evicted = bodies.remove(1);
    let mut another = budget.begin(Some(LARGE_BODY));
    let evicting = async {
        evicted.evicted().await;
        drop(evicted);
    };
    let (grown, ()) = tokio::join!(another.grow(LARGE_BODY, deadline()), evicting);
    assert_eq!(grown, Ok(()), "the first is complete, so the second is evicted");
    for body in &bodies {
        assert!(tokio::time::timeout(Duration::ZERO, body.evicted()).await.is_err(), "the others are kept");
    }
}

#[tokio::test]
async fn complete_bodies_are_never_evicted() {
    let budget = Budget::new();
    let bodies = fill(&budget, LARGE_BODY).await;
    bodies.iter().for_each(Reservation::complete);
    let mut another = budget.begin(Some(LARGE_BODY));
    let now = tokio::time::Instant::now();
    assert_eq!(another.grow(LARGE_BODY, now).await, Err(ReserveError::Timeout));
    for body in &bodies {
        assert!(tokio::time::timeout(Duration::ZERO, body.evicted()).await.is_err());
    }
    drop(bodies);
    assert_eq!(another.grow(LARGE_BODY, deadline()).await, Ok(()));
}

#[tokio::test]
async fn large_bodies_do_not_use_the_budget_of_small_ones() {
    let budget = Budget::new();
    let _large = fill(&budget, LARGE_BODY + 1).await;
    let mut small = budget.begin(Some(LARGE_BODY));
    assert_eq!(small.grow(LARGE_BODY, tokio::time::Instant::now()).await, Ok(()));
    assert_eq!(fill(&budget, LARGE_BODY).await.len(), SMALL_SHARE / LARGE_BODY - 1);
}

#[tokio::test]
async fn a_large_body_is_protected_from_eviction_for_a_time() {
    let budget = Budget::new();
    let length = LARGE_SHARE / 2;
    let bodies = fill(&budget, length).await;
    bodies[0].share.lock().evict(length, Duration::from_hours(1), u64::MAX);
    assert!(tokio::time::timeout(Duration::ZERO, bodies[0].evicted()).await.is_err(), "it is still protected");
    let mut another = budget.begin(None);
    let mut bodies = bodies.into_iter();
    let oldest = bodies.next().unwrap();
    let evicting = async {
        oldest.evicted().await;
        drop(oldest);
    };
    let (grown, ()) = tokio::join!(another.grow(length, deadline()), evicting);
    assert_eq!(grown, Ok(()), "the oldest is evicted");
}
