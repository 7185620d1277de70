//! Checks that the policy which limits the controller's exec is in force.

use super::{CheckFinding, Code, ExecPolicy};
use crate::objects::EXEC_POLICY;

/// Action of a binding that rejects a request.
const DENY: &str = "Deny";

/// Checks the policy of `account`, the user name of the controller. `may_exec`: the configuration requires exec.
pub(super) fn check(policy: &ExecPolicy, account: &str, may_exec: bool) -> Vec<CheckFinding> {
    if !may_exec {
        return vec![(Code::ExecPolicyUnused, String::new())];
    }
    let ExecPolicy { conditions, actions } = policy;
    let Some(conditions) = conditions else {
        return vec![(Code::ExecPolicyMissing, format!("ValidatingAdmissionPolicy {EXEC_POLICY} does not exist"))];
    };
    // In quotes, so that no other account has this name as its prefix.
    if !conditions.iter().any(|condition| condition.contains(&format!("'{account}'"))) {
        return vec![(
            Code::ExecPolicyMissing,
            format!("ValidatingAdmissionPolicy {EXEC_POLICY} does not name {account}"),
        )];
    }
    let binding = format!("ValidatingAdmissionPolicyBinding {EXEC_POLICY}");
    match actions {
        None => vec![(Code::ExecPolicyMissing, format!("{binding} does not exist"))],
        Some(actions) if !actions.iter().any(|action| action == DENY) => {
            vec![(Code::ExecPolicyMissing, format!("{binding} does not deny"))]
        }
        Some(_) => vec![(Code::ExecPolicyInForce, String::new())],
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const ACCOUNT: &str = "system:serviceaccount:trainmesh-system:trainmesh-controller";

    fn policy(condition: Option<&str>, actions: Option<&[&str]>) -> ExecPolicy {
        let texts = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect();
        ExecPolicy { conditions: condition.map(|text| texts(&[text])), actions: actions.map(texts) }
    }

    #[rstest]
    #[case::in_force(&policy(Some(&format!("request.userInfo.username == '{ACCOUNT}'")), Some(&["Deny"])), true, (Code::ExecPolicyInForce, ""))]
    #[case::termination_is_disabled(&ExecPolicy::default(), false, (Code::ExecPolicyUnused, ""))]
    #[case::no_policy(&policy(None, Some(&["Deny"])), true, (Code::ExecPolicyMissing, "ValidatingAdmissionPolicy trainmesh-controller does not exist"))]
    #[case::no_binding(&policy(Some(&format!("'{ACCOUNT}'")), None), true, (Code::ExecPolicyMissing, "ValidatingAdmissionPolicyBinding trainmesh-controller does not exist"))]
    #[case::only_warns(&policy(Some(&format!("'{ACCOUNT}'")), Some(&["Warn", "Audit"])), true, (Code::ExecPolicyMissing, "ValidatingAdmissionPolicyBinding trainmesh-controller does not deny"))]
    #[case::of_another_account(&policy(Some(&format!("'{ACCOUNT}-2'")), Some(&["Deny"])), true, (Code::ExecPolicyMissing, "ValidatingAdmissionPolicy trainmesh-controller does not name system:serviceaccount:trainmesh-system:trainmesh-controller"))]
    fn checks_policy_and_binding(#[case] policy: &ExecPolicy, #[case] may_exec: bool, #[case] expected: (Code, &str)) {
        assert_eq!(check(policy, ACCOUNT, may_exec), [(expected.0, expected.1.to_owned())]);
    }
}
