//! The ports of the rendezvous that a launcher uses if nothing sets one.

use std::borrow::Cow;
use std::path::Path;
use std::{iter, mem};

use super::{MAIN_PROCESS_PORT, assignments, is_flag_of, is_loopback, words};
use crate::pod::{Container, Expansion};

/// Port of the master: `--master-port` of torchrun and `DeepSpeed`, and `--main_process_port` of Accelerate.
const MASTER: u16 = 29500;
/// Port of the backend `c10d` of torchrun, for an endpoint without a port.
const C10D: u16 = 29400;

const MASTER_ADDRESS: &str = "PET_MASTER_ADDR";
const MASTER_PORT: &str = "PET_MASTER_PORT";
const BACKEND: &str = "PET_RDZV_BACKEND";
const ENDPOINT: &str = "PET_RDZV_ENDPOINT";
/// Settings that decide about the default port.
const SETTINGS: [&str; 5] = [MASTER_ADDRESS, MASTER_PORT, BACKEND, ENDPOINT, MAIN_PROCESS_PORT];

/// Launchers that can read the address of the master from a file, so that the command need not contain it.
enum Launcher {
    Accelerate,
    DeepSpeed,
}

/// Returns the default ports of the launchers in the command of `container`. A port that a script computes is set, although
/// it is unknown.
pub(super) fn default_ports(container: Container<'_>) -> Vec<u16> {
    let expansion = Expansion::new(container);
    let variables = SETTINGS.iter().filter_map(|name| Some((*name, expansion.expand(container.env(name)?))));
    let of_command = assignments(words(container), &expansion).filter(|(name, _)| SETTINGS.contains(name));
    let settings: Vec<(&str, Cow<'_, str>)> = variables.chain(of_command).collect();
    let has = |name: &str, test: fn(&str) -> bool| settings.iter().any(|(known, value)| *known == name && test(value));
    let is_set = |name: &str| has(name, |_| true);
    // torchrun reads the address of the master only with the backend static, for which an endpoint contains the port.
    let by_torchrun = has(MASTER_ADDRESS, |host| !is_loopback(host)) && !is_set(ENDPOINT) && !is_set(MASTER_PORT);
    // The launcher of DeepSpeed reads only its flag, while operators and scripts set the variable for torchrun.
    let is_port_flag = |flag: &str| is_flag_of(flag.split('=').next().unwrap_or(flag), MASTER_PORT);
    let has_port_flag = || words(container).filter_map(|word| word.strip_prefix("--")).any(is_port_flag);
    let by_launcher = launchers(container).any(|launcher| match launcher {
        Launcher::Accelerate => !is_set(MAIN_PROCESS_PORT),
        Launcher::DeepSpeed => !has_port_flag(),
    });
    let has_no_port = |endpoint: &str| !endpoint.is_empty() && !endpoint.contains(':') && !is_loopback(endpoint);
    let by_c10d = has(BACKEND, |backend| backend == "c10d") && has(ENDPOINT, has_no_port);
    let ports = [(by_torchrun || by_launcher, MASTER), (by_c10d, C10D)];
    ports.into_iter().filter_map(|(is_used, port)| is_used.then_some(port)).collect()
}

/// Returns the launchers in the command of `container`, with or without a path, and as a module of Python.
fn launchers(container: Container<'_>) -> impl Iterator<Item = Launcher> {
    let mut words = words(container).peekable();
    let mut previous = "";
    iter::from_fn(move || {
        while let Some(word) = words.next() {
            let before = mem::replace(&mut previous, word);
            let launcher = match (program(before), program(word)) {
                ("accelerate", "launch") | (_, "accelerate.commands.launch") => Launcher::Accelerate,
                (_, "deepspeed.launcher.runner") => Launcher::DeepSpeed,
                // The word can also be a package to install, a directory or the value of a flag.
                (_, "deepspeed") if !before.starts_with("--") && words.peek().is_some_and(|next| is_argument(next)) => {
                    Launcher::DeepSpeed
                }
                _ => continue,
            };
            return Some(launcher);
        }
        None
    })
}

/// Returns the last part of a path.
fn program(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// Returns true for the first argument of the launcher of `DeepSpeed`: a flag or a script of Python.
fn is_argument(word: &str) -> bool {
    word.starts_with('-') || Path::new(word).extension().is_some_and(|extension| extension == "py")
}
