//! The checkpoint interval: published figures, laws, and a simulation of failures.

use std::time::Duration;

use proptest::prelude::*;
use rstest::rstest;
use trainmesh_core::checkpoint::{InvalidModel, Method, Model, curve, intervals, sensitivity};
use trainmesh_testing::rng::SeededRng;

fn minutes(minutes: f64) -> Duration {
    Duration::from_secs_f64(minutes * 60.0)
}

fn model(write: f64, mtbf: f64, restart: f64) -> Model {
    Model::new(minutes(write), minutes(mtbf), minutes(restart)).unwrap()
}

/// Rounds minutes to the digits of `expected`.
fn rounded(seconds: f64, expected: &str) -> String {
    let digits = expected.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    format!("{:.digits$}", seconds / 60.0)
}

// With a write time of 5 and a restart time of 10 minutes. The last column is no published formula: it is sometimes
// attributed to Daly, and docs/checkpoint-interval.md explains why it is not his.
#[rstest]
#[case(1440.0, ["116.69", "116.69", "115.42", "120.00"], "115.00", "110.00")]
#[case(360.0, ["56.714", "56.713", "55.83", "60.00"], "55.00", "50.00")]
#[case(60.0, ["21.281", "21.275", "21.46", "24.49"], "19.49", "14.49")]
#[case(15.0, ["9.167", "9.141", "10.81", "12.25"], "7.25", "2.25")]
fn formulas_yield_the_published_intervals(
    #[case] mtbf: f64,
    #[case] expected: [&str; 4],
    #[case] first_order: &str,
    #[case] misattributed: &str,
) {
    let model = model(5.0, mtbf, 10.0);
    for (method, expected) in Method::ALL.into_iter().zip(expected) {
        assert_eq!(rounded(method.interval(&model).unwrap(), expected), expected, "{method:?}");
    }
    let young = Method::Young1974.interval(&model).unwrap();
    assert_eq!(rounded(young - model.write_time(), first_order), first_order);
    let other = young - model.write_time() - model.restart_time() / 2.0;
    assert_eq!(rounded(other, misattributed), misattributed);
    assert!(
        model.waste(other) > model.waste(young - model.write_time()),
        "it wastes more than without the restart time"
    );
}

#[rstest]
#[case::all(5.0, 1440.0, 10.0, &[])]
#[case::slow_writes(5.0, 9.0, 0.0, &[Method::Daly2003, Method::Young1974])]
#[case::slow_restarts(5.0, 60.0, 60.0, &[Method::Daly2003, Method::Young1974])]
#[case::writes_longer_than_failures_are_apart(5.0, 2.5, 0.0, &[Method::Daly2006, Method::Daly2003, Method::Young1974])]
fn formulas_report_models_outside_of_their_domain(
    #[case] write: f64,
    #[case] mtbf: f64,
    #[case] restart: f64,
    #[case] expected: &[Method],
) {
    let intervals = intervals(&model(write, mtbf, restart));
    let outside: Vec<Method> = intervals.iter().filter(|i| i.out_of_domain.is_some()).map(|i| i.method).collect();
    assert_eq!(outside, expected);
}

#[rstest]
#[case(0, 1, 1, InvalidModel::NoWriteTime)]
#[case(1, 0, 1, InvalidModel::NoMtbf)]
#[case(1, 1, 0, InvalidModel::NoNodes)]
fn models_without_an_interval_are_errors(
    #[case] write: u64,
    #[case] mtbf: u64,
    #[case] nodes: u32,
    #[case] expected: InvalidModel,
) {
    let model = Model::of_nodes(Duration::from_secs(write), Duration::from_secs(mtbf), nodes, Duration::ZERO);
    assert_eq!(model, Err(expected));
}

#[test]
fn nodes_fail_independently() {
    let day = Duration::from_hours(24);
    let of_nodes = Model::of_nodes(minutes(5.0), 264 * day, 128, Duration::ZERO).unwrap();
    let of_job = Model::new(minutes(5.0), 264 * day / 128, Duration::ZERO).unwrap();
    assert!((of_nodes.mtbf() - of_job.mtbf()).abs() < 1e-6);
}

/// Returns the part of the time that is lost, in a simulation of `segments` intervals.
fn simulate(model: &Model, interval: f64, segments: u32, rng: &mut SeededRng) -> f64 {
    let mut until_failure = move || -model.mtbf() * (1.0 - rng.fraction()).ln();
    let segment = interval + model.write_time();
    let (mut elapsed, mut failure) = (0.0, until_failure());
    for _ in 0..segments {
        while failure < segment {
            elapsed += failure;
            failure = until_failure();
            while failure < model.restart_time() {
                elapsed += failure;
                failure = until_failure();
            }
            elapsed += model.restart_time();
            failure -= model.restart_time();
        }
        elapsed += segment;
        failure -= segment;
    }
    1.0 - f64::from(segments) * interval / elapsed
}

#[rstest]
#[case::rare_failures(5.0, 1440.0, 10.0)]
#[case::hourly_failures(5.0, 60.0, 10.0)]
#[case::frequent_failures(5.0, 15.0, 10.0)]
#[case::writes_as_long_as_the_mtbf(5.0, 5.0, 1.0)]
#[case::no_restart_time(1.5, 180.0, 0.0)]
fn simulated_failures_waste_what_the_formula_expects(#[case] write: f64, #[case] mtbf: f64, #[case] restart: f64) {
    let model = model(write, mtbf, restart);
    let mut rng = SeededRng::new(1974);
    let optimum = model.optimal_interval();
    let mut simulated = |factor: f64| {
        let waste = simulate(&model, optimum * factor, 200_000, &mut rng);
        let expected = model.waste(optimum * factor);
        assert!((waste - expected).abs() < 0.004, "{factor}: simulated {waste}, expected {expected}");
        waste
    };
    let at_optimum = simulated(1.0);
    assert!(at_optimum < simulated(0.4) && at_optimum < simulated(2.5), "another interval wastes less");
}

proptest! {
    #[test]
    fn no_interval_wastes_less_than_the_optimum(
        write in 1e-3..1e6_f64, mtbf in 1e-3..1e9_f64, restart in 0.0..1e6_f64, factor in 0.01..100.0_f64,
    ) {
        let model = model(write, mtbf, restart);
        let optimum = model.optimal_interval();
        prop_assert!(optimum > 0.0 && optimum <= model.mtbf());
        let (least, other) = (model.waste(optimum), model.waste(optimum * factor));
        prop_assert!((0.0..=1.0).contains(&least) && least <= other + 1e-12, "{least} {other}");
        for interval in intervals(&model) {
            prop_assert!(interval.waste.is_none_or(|waste| waste >= least - 1e-12), "{interval:?}");
        }
        for outcome in sensitivity(&model) {
            prop_assert!(outcome.waste >= outcome.optimal_waste - 1e-12, "{outcome:?}");
        }
        let points = curve(&model);
        prop_assert!(points.is_sorted_by(|a, b| a.0 < b.0) && points.iter().all(|point| point.1 >= least - 1e-12));
    }
}
