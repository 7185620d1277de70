//! Names and values of NCCL variables: FP003 to FP005, FP009 to FP011, FP044, FP060.

use std::collections::BTreeMap;

use super::context::{CheckContext, ContainerFacts};
use super::rdma;
use super::sink::FindingSink;
use crate::config::profile::Transport;
use crate::fabric::nccl::{
    self, DeviceList, MAX_SOCKETS, ValueKind, is_c_integer, is_unknown_variable, misspelled_variable, parse_c_integer,
    variable,
};
use crate::finding::Severity;
use crate::hint::{nearest, one_of};

/// Number of adapters above which a name with one digit can be the prefix of another: `mlx5_1` and `mlx5_10`.
const TWO_DIGIT_ADAPTERS: u64 = 10;
/// Variables for which the adapter or NCCL rejects a number out of range.
const BOUNDED_NUMBERS: [&str; 2] = ["NCCL_IB_RETRY_CNT", "NCCL_IB_QPS_PER_CONNECTION"];
/// Variables that take one of a few words. NCCL ignores others (2.30.7, `src/misc/socket.cc`, `src/debug.cc`).
const KEYWORDS: [&str; 2] = ["NCCL_DEBUG", "NCCL_SOCKET_FAMILY"];
/// How to fix such a word.
const FIX_FOR_KEYWORDS: &str = "correct the value, or remove the variable";
/// Maximum number of different names of a pod that are compared with all of NCCL's: more unknown names belong to a plugin.
const MAX_UNKNOWN: usize = 32;
/// Exponent of the time that an adapter waits for an acknowledgment.
const TIMEOUT: &str = "NCCL_IB_TIMEOUT";
/// Prefixes of adapter names: kernel names of the drivers, and the persistent names of rdma-core
/// (`kernel-boot/rdma_rename.c`): `ibp…`, `ibs…`, `rocep…`, `roces…`, `rdmap…`.
const ADAPTER_NAMES: [&str; 19] = [
    "bnxt_re", "cxgb4_", "efa_", "erdma", "hfi1_", "hns_", "ib", "ionic_", "iwp", "irdma", "mana_", "mlx4_", "mlx5_",
    "opap", "qedr", "rdma", "roce", "rxe", "siw",
];
/// Prefixes that all adapters of a driver share. Such an entry is meant to match all of them.
const DRIVERS: [&str; 3] = ["mlx4", "mlx5", "hfi1"];

/// FP003: the container requests an adapter, but its settings select TCP.
pub(super) fn tcp_despite_rdma(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    for container in &context.containers {
        let Some(adapter) = context.target_adapters(container).next() else { continue };
        let settings = &container.settings;
        let name = container.display_name();
        if settings.value("NCCL_NET").is_some_and(|net| net.eq_ignore_ascii_case("Socket")) {
            let message = format!("{name}: NCCL_NET=Socket: NCCL does not use {adapter}");
            findings.push(settings.field("NCCL_NET"), message);
        } else if context.target_adapters(container).all(|adapter| context.is_efa(adapter)) {
            for variable in Transport::DECISIVE {
                let Some(value) = settings.value(variable) else { continue };
                if let Some(problem) = Transport::Efa.contradiction(variable, value) {
                    let message = format!("{name}: {variable}={value} {problem}: NCCL does not use EFA");
                    findings.push(settings.field(variable), message);
                }
            }
        }
        // The variable disables only the transport within NCCL; plugins such as that for EFA ignore it.
        let is_internal = context.target_adapters(container).any(|adapter| !context.is_efa(adapter));
        if is_internal && settings.number("NCCL_IB_DISABLE").is_some_and(|number| number != 0) {
            let message = format!("{name}: NCCL_IB_DISABLE is set: NCCL does not use {adapter}");
            findings.push(settings.field("NCCL_IB_DISABLE"), message);
        }
    }
}

/// FP004: a number or switch whose value is not a number, of which NCCL reads the digits at the start, or 0.
pub(super) fn not_a_number(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    for container in &context.containers {
        for setting in container.settings.iter() {
            let name = setting.name;
            let Some(value) = setting.value.filter(|value| !value.is_empty()) else { continue };
            if is_number(name) && !is_c_integer(value) {
                let read = parse_c_integer(value).map_or_else(|| "the default".to_owned(), |number| number.to_string());
                let message =
                    format!("{}: {name}={value} is not a number: NCCL reads {read}", container.display_name());
                findings.push(container.settings.field(name), message);
            }
        }
    }
}

/// Returns true if NCCL reads `name` as a number: one of its variables, or a switch of a plugin or a later release.
fn is_number(name: &str) -> bool {
    match variable(name) {
        Some(variable) => variable.kind.range().is_some(),
        None => name.starts_with(nccl::PREFIX) && (name.ends_with("_ENABLE") || name.ends_with("_DISABLE")),
    }
}

/// FP005: a number that NCCL or the adapter rejects.
pub(super) fn out_of_range(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    for container in &context.containers {
        let settings = &container.settings;
        for name in BOUNDED_NUMBERS {
            let Some(range) = variable(name).and_then(|variable| variable.kind.range()) else { continue };
            // FP004 reports a text that is not a number.
            let is_number = settings.value(name).is_some_and(is_c_integer);
            if let Some(value) = settings.number(name).filter(|value| is_number && !range.contains(value)) {
                let (min, max) = (range.start(), range.end());
                let message = format!("{}: {name} is {value}, expected {min} to {max}", container.display_name());
                findings.push(settings.field(name), message);
            }
        }
        // NCCL's documentation: 0 and everything from 32 on never time out.
        if let Some(value) = settings.number(TIMEOUT).filter(|value| !(1..=31).contains(value)) {
            let message =
                format!("{}: {TIMEOUT} is {value}: a lost connection hangs forever", container.display_name());
            findings.push_as(Severity::Warning, settings.field(TIMEOUT), message);
        }
        let [threads, sockets_per_thread] =
            ["NCCL_SOCKET_NTHREADS", "NCCL_NSOCKS_PERTHREAD"].map(|name| settings.number(name));
        // If unset, each is at least 1.
        let sockets = threads.unwrap_or(1).saturating_mul(sockets_per_thread.unwrap_or(1));
        if sockets > MAX_SOCKETS {
            let name = if sockets_per_thread.is_some() { "NCCL_NSOCKS_PERTHREAD" } else { "NCCL_SOCKET_NTHREADS" };
            let message = format!(
                "{}: {sockets} sockets (threads x sockets per thread) exceed the limit of {MAX_SOCKETS}",
                container.display_name()
            );
            // NCCL reduces the number, and logs a warning.
            findings.push_as(Severity::Warning, settings.field(name), message);
        }
    }
}

/// FP009: an adapter name that is also the prefix of other names.
pub(super) fn ambiguous_adapter(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    for container in &context.containers {
        let Some(list) = container.settings.value("NCCL_IB_HCA") else { continue };
        let list = DeviceList::parse(list);
        // The pod shows the number of adapters only if they are virtual functions, not if they are shared.
        let functions = || container.adapters.iter().filter(|(name, _)| rdma::is_virtual_function(name));
        let has_few =
            functions().next().is_some() && functions().map(|(_, count)| count).sum::<u64>() < TWO_DIGIT_ADAPTERS;
        if list.exact || has_few {
            continue;
        }
        let listed = list.names().filter(|entry| !entry.contains(is_other_separator));
        let mut devices = listed.map(|entry| entry.split(':').next().unwrap_or_default());
        if let Some(device) = devices.find(|device| ends_in_one_digit(device) && !DRIVERS.contains(device)) {
            let message =
                format!("{}: NCCL_IB_HCA {device} also matches {device}0 to {device}9", container.display_name());
            findings.push(container.settings.field("NCCL_IB_HCA"), message);
        }
    }
}

/// Returns true for a character that users write in place of a comma between adapters, and that no name contains.
fn is_other_separator(character: char) -> bool {
    character.is_whitespace() || matches!(character, ';' | '|')
}

/// Returns true if `device` ends in exactly one digit from 1 to 3. NCCL uses at most 32 adapters, so only these can be
/// the start of a number with two digits.
fn ends_in_one_digit(device: &str) -> bool {
    let mut end = device.chars().rev();
    end.next().is_some_and(|last| ('1'..='3').contains(&last)) && !end.next().is_some_and(|last| last.is_ascii_digit())
}

/// FP044: no adapter has such a name.
pub(super) fn unknown_adapter(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    for container in &context.containers {
        let settings = &container.settings;
        // A job without adapters may name one that does not exist to select TCP.
        let selects_tcp = context.input.job.is_some()
            && context.is_launcher(container)
            && context.target_adapters(container).next().is_none();
        let is_unused = selects_tcp || settings.number("NCCL_IB_DISABLE").is_some_and(|number| number != 0);
        let Some(list) = settings.value("NCCL_IB_HCA").filter(|_| !is_unused) else { continue };
        let matches_name = |entry: &str| {
            if entry.contains(is_other_separator) {
                return false;
            }
            let device = entry.split(':').next().unwrap_or_default();
            ADAPTER_NAMES.iter().any(|name| device.starts_with(name) || name.starts_with(device))
        };
        if let Some(entry) = DeviceList::parse(list).names().find(|entry| !matches_name(entry)) {
            let problem = if entry.contains(is_other_separator) {
                format!("{entry:?} is not the name of an adapter: separate names by commas")
            } else {
                format!("{entry} is not the name of an adapter")
            };
            let message = format!("{}: NCCL_IB_HCA {problem}", container.display_name());
            findings.push(container.settings.field("NCCL_IB_HCA"), message);
        }
    }
}

/// FP010: a fixed GID index, although the right one may differ from pod to pod.
pub(super) fn gid_index(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    for container in &context.containers {
        let index = container.settings.number("NCCL_IB_GID_INDEX").filter(|index| *index >= 0);
        let by_job = context.input.job.is_some_and(|job| job.facts.shares_gid_table);
        let is_shared = by_job || rdma::shares_gid_table(context.input.pod);
        // A launcher passes the value on to pods for which the profile sets the same one.
        let is_expected = || !is_shared && is_of_profile(context, container, "NCCL_IB_GID_INDEX");
        if let Some(index) = index.filter(|_| !is_expected()) {
            let message = format!("{}: NCCL_IB_GID_INDEX={index} overrides NCCL's detection", container.display_name());
            let severity = if is_shared { Severity::Warning } else { Severity::Info };
            findings.push_as(severity, container.settings.field("NCCL_IB_GID_INDEX"), message);
        }
    }
}

/// Returns true if the selected profile sets variable `name` to the value that `container` sets.
fn is_of_profile(context: &CheckContext<'_>, container: &ContainerFacts<'_>, name: &str) -> bool {
    let settings = context.input.profile.into_iter().flat_map(|profile| &profile.env);
    let mut values = settings.filter(|setting| !setting.opt_in && setting.name.as_str() == name);
    values.any(|setting| container.settings.value(name) == Some(setting.value.as_str()))
}

/// FP011: a word that NCCL ignores, or the legacy form of a distance level.
pub(super) fn unknown_level(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    for container in &context.containers {
        for name in KEYWORDS {
            let kind = variable(name).map_or(ValueKind::AnyText, |variable| variable.kind);
            let (ValueKind::Keyword(known) | ValueKind::KeywordIgnoreCase(known)) = kind else { continue };
            let value = container.settings.value(name).filter(|value| !value.is_empty() && !value.contains('$'));
            if let Some(value) = value.filter(|value| kind.check(value).is_err()) {
                let fix = nearest(value, known)
                    .map_or_else(|| format!("expected {}", one_of(known)), |near| format!("did you mean {near}?"));
                let message =
                    format!("{}: {name}={value} is unknown: NCCL ignores it: {fix}", container.display_name());
                findings.push_with_fix(Severity::Warning, container.settings.field(name), message, FIX_FOR_KEYWORDS);
            }
        }
        for name in ["NCCL_NET_GDR_LEVEL", "NCCL_P2P_LEVEL"] {
            let Some(value) = container.settings.value(name).filter(|value| !ValueKind::LEVELS.contains(value)) else {
                continue;
            };
            // NCCL takes everything that starts with a digit for a number.
            let (severity, problem) = if value.starts_with(|first: char| first.is_ascii_digit()) {
                (Severity::Info, "is a legacy number".to_owned())
            } else {
                let near = nearest(value, ValueKind::LEVELS).map(|near| format!(": did you mean {near}?"));
                (Severity::Warning, format!("is unknown: NCCL ignores it{}", near.unwrap_or_default()))
            };
            let message = format!("{}: {name}={value} {problem}", container.display_name());
            findings.push_as(severity, container.settings.field(name), message);
        }
    }
}

/// FP060: a variable that NCCL does not have, with a name similar to one that it has.
pub(super) fn misspelled_name(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let settings =
        context.containers.iter().flat_map(|container| container.settings.iter().map(move |set| (container, set)));
    let is_unknown = |name: &str| is_unknown_variable(name) || nccl::has_misspelled_prefix(name);
    // Containers often have the same names.
    let mut compared: BTreeMap<&str, Option<&'static str>> = BTreeMap::new();
    for (container, setting) in settings.filter(|(_, set)| is_unknown(set.name)) {
        let name = setting.name;
        if compared.len() == MAX_UNKNOWN && !compared.contains_key(name) {
            continue;
        }
        if let Some(near) = *compared.entry(name).or_insert_with(|| misspelled_variable(name)) {
            let message = format!("{}: NCCL has no variable {name}: did you mean {near}?", container.display_name());
            findings.push(container.settings.field(name), message);
        }
    }
}
