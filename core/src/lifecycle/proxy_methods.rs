//! The methods that terminate istio-proxy, in order of preference.

use std::time::Duration;

use super::{Action, AgentConfig, Attempt, Method};
use crate::config::Termination;

/// Default status port of pilot-agent.
const DEFAULT_STATUS_PORT: u16 = 15020;
/// Ports that `pilot-agent request` accepts since Istio 1.12; older versions accept all.
const REQUEST_PORTS: [u16; 4] = [15000, 15004, 15020, 15021];
/// Default drain duration of pilot-agent before it exits, up to Istio 1.25.
const DEFAULT_DRAIN: Duration = Duration::from_secs(5);
/// Time from the exit of the processes to the status reported by the kubelet of a busy node.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);
/// Path of the quit endpoint on the status port.
const QUIT: &str = "/quitquitquit";

/// Returns the attempts for a proxy with this agent configuration, in order of preference.
///
/// Envoy's admin port comes first: with every version of Istio, Envoy exits cleanly and without a drain, and
/// pilot-agent follows. A proxyless agent has no Envoy, so its own status port comes first.
pub(super) fn proxy_attempts(agent: AgentConfig, settings: &Termination) -> Vec<Attempt> {
    let status_port = match agent.status_port {
        None => Some(DEFAULT_STATUS_PORT),
        Some(0) => None,
        port => port,
    };
    let exit_timeout = agent.drain.unwrap_or(DEFAULT_DRAIN) + EXIT_TIMEOUT;
    let admin = Attempt {
        method: Method::EnvoyAdmin,
        action: exec(&["pilot-agent", "request", "POST", "quitquitquit"]),
        exit_timeout: EXIT_TIMEOUT,
    };
    let allowed = status_port.filter(|port| REQUEST_PORTS.contains(port));
    let status = allowed.map(|port| Attempt {
        method: Method::StatusPort,
        action: exec(&["pilot-agent", "request", "--debug-port", &port.to_string(), "POST", "quitquitquit"]),
        exit_timeout,
    });
    let forward = status_port.filter(|_| settings.port_forward).map(|port| Attempt {
        method: Method::StatusForward,
        action: Action::Post { port, path: QUIT.to_owned() },
        exit_timeout,
    });
    let curl = status_port.filter(|_| settings.curl).map(|port| Attempt {
        method: Method::StatusCurl,
        action: exec(&["curl", "-fsS", "-X", "POST", &format!("http://127.0.0.1:{port}{QUIT}")]),
        exit_timeout,
    });
    let [first, second] = if agent.proxyless { [status, Some(admin)] } else { [Some(admin), status] };
    [first, second, forward, curl].into_iter().flatten().collect()
}

fn exec(argv: &[&str]) -> Action {
    Action::Exec { argv: argv.iter().map(|word| (*word).to_owned()).collect() }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::config::Configuration;

    const A: &str = "pilot-agent request POST quitquitquit";
    const B: &str = "pilot-agent request --debug-port 15020 POST quitquitquit";
    const C: &str = "POST 15020 /quitquitquit";

    fn agent(status_port: Option<u16>) -> AgentConfig {
        AgentConfig { status_port, ..AgentConfig::default() }
    }

    #[rstest]
    #[case::plain(agent(None), true, false, &[A, B, C])]
    #[case::explicit_status_port(agent(Some(15020)), true, false, &[A, B, C])]
    #[case::proxyless(AgentConfig { proxyless: true, ..agent(None) }, true, false, &[B, A, C])]
    #[case::no_forward(agent(None), false, false, &[A, B])]
    #[case::curl(agent(None), true, true, &[A, B, C, "curl -fsS -X POST http://127.0.0.1:15020/quitquitquit"])]
    #[case::no_status_server(agent(Some(0)), true, true, &[A])]
    #[case::port_rejected_by_pilot_agent(agent(Some(15999)), true, false, &[A, "POST 15999 /quitquitquit"])]
    #[case::another_accepted_port(
        agent(Some(15021)),
        false,
        false,
        &[A, "pilot-agent request --debug-port 15021 POST quitquitquit"]
    )]
    fn methods_in_order_of_preference(
        #[case] agent: AgentConfig,
        #[case] port_forward: bool,
        #[case] curl: bool,
        #[case] expected: &[&str],
    ) {
        let settings = Termination { port_forward, curl, ..Configuration::embedded().termination };
        let found: Vec<String> = proxy_attempts(agent, &settings)
            .into_iter()
            .map(|attempt| match attempt.action {
                Action::Exec { argv } => argv.join(" "),
                Action::Post { port, path } => format!("POST {port} {path}"),
            })
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_exit_timeout_includes_the_drain_duration() {
        let settings = Termination { port_forward: true, ..Configuration::embedded().termination };
        let agent = AgentConfig { drain: Some(Duration::from_secs(30)), ..AgentConfig::default() };
        let timeouts: Vec<u64> =
            proxy_attempts(agent, &settings).iter().map(|attempt| attempt.exit_timeout.as_secs()).collect();
        assert_eq!(timeouts, [10, 40, 40]);
    }
}
