//! The ways to end istio-proxy, in the order in which they are tried.

use std::time::Duration;

use super::{Action, Agent, Method, Step};
use crate::config::Termination;

/// pilot-agent's status port where the pod says nothing.
const STATUS_PORT: u16 = 15020;
/// The ports to which `pilot-agent request` agrees to talk (since Istio 1.12; before, there is no list).
const REQUEST_PORTS: [u16; 4] = [15000, 15004, 15020, 15021];
/// How long pilot-agent sleeps before it ends where the pod says nothing, up to Istio 1.25.
const DRAIN: Duration = Duration::from_secs(5);
/// How long processes, container and kubelet may take until the end is seen, on a busy node.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pilot-agent's path on the status port.
const QUIT: &str = "/quitquitquit";

/// The steps that end a proxy whose agent is set up as `agent` says.
///
/// Envoy's own admin port first: it ends cleanly and without a drain on every version of Istio, and pilot-agent follows.
/// Without Envoy there is no such port, so that the agent comes first there.
pub(super) fn of(agent: Agent, settings: &Termination) -> Vec<Step> {
    let status_port = match agent.status_port {
        None => Some(STATUS_PORT),
        Some(0) => None,
        port => port,
    };
    let patience = agent.drain.unwrap_or(DRAIN) + PATIENCE;
    let admin = Step {
        method: Method::EnvoyAdmin,
        action: exec(&["pilot-agent", "request", "POST", "quitquitquit"]),
        patience: PATIENCE,
    };
    let allowed = status_port.filter(|port| REQUEST_PORTS.contains(port));
    let status = allowed.map(|port| Step {
        method: Method::StatusPort,
        action: exec(&["pilot-agent", "request", "--debug-port", &port.to_string(), "POST", "quitquitquit"]),
        patience,
    });
    let forward = status_port.filter(|_| settings.port_forward).map(|port| Step {
        method: Method::StatusForward,
        action: Action::Post { port, path: QUIT.to_owned() },
        patience,
    });
    let curl = status_port.filter(|_| settings.curl).map(|port| Step {
        method: Method::StatusCurl,
        action: exec(&["curl", "-fsS", "-X", "POST", &format!("http://127.0.0.1:{port}{QUIT}")]),
        patience,
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

    fn agent(status_port: Option<u16>) -> Agent {
        Agent { status_port, ..Agent::default() }
    }

    #[rstest]
    #[case::plain(agent(None), true, false, &[A, B, C])]
    #[case::said_so(agent(Some(15020)), true, false, &[A, B, C])]
    #[case::proxyless(Agent { proxyless: true, ..agent(None) }, true, false, &[B, A, C])]
    #[case::no_forward(agent(None), false, false, &[A, B])]
    #[case::curl(agent(None), true, true, &[A, B, C, "curl -fsS -X POST http://127.0.0.1:15020/quitquitquit"])]
    #[case::no_status_server(agent(Some(0)), true, true, &[A])]
    #[case::port_that_pilot_agent_refuses(agent(Some(15999)), true, false, &[A, "POST 15999 /quitquitquit"])]
    #[case::another_port_of_the_list(
        agent(Some(15021)),
        false,
        false,
        &[A, "pilot-agent request --debug-port 15021 POST quitquitquit"]
    )]
    fn rungs(#[case] agent: Agent, #[case] port_forward: bool, #[case] curl: bool, #[case] expected: &[&str]) {
        let settings = Termination { port_forward, curl, ..Configuration::embedded().termination };
        let found: Vec<String> = of(agent, &settings)
            .into_iter()
            .map(|step| match step.action {
                Action::Exec { argv } => argv.join(" "),
                Action::Post { port, path } => format!("POST {port} {path}"),
            })
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_agent_may_drain_first() {
        let settings = Termination { port_forward: true, ..Configuration::embedded().termination };
        let agent = Agent { drain: Some(Duration::from_secs(30)), ..Agent::default() };
        let patience: Vec<u64> = of(agent, &settings).iter().map(|step| step.patience.as_secs()).collect();
        assert_eq!(patience, [10, 40, 40]);
    }
}
